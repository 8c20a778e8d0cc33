/* Message passing on a GPU. */
#ifndef TAMIS_GPU_MESSAGES_MESSAGES_H
#define TAMIS_GPU_MESSAGES_MESSAGES_H

#include "backend/message.h"
#include "gpu/rows/cuts.h"

/* State of an order: its cut rows, and rows by falling length where that gains. The second list has rows of more than
   256 entries only, for calls that keep the device busy for as long as such a row takes, or that gain less from a cut.
 */
typedef struct tamis_gpu_message_plan {
    tamis_prepared base; /* owns the lists */
    tamis_gpu_cuts cuts, long_cuts;
    int64_t shared; /* rows of 32 and more entries, the first of the order; 0: no teams share them */
} tamis_gpu_message_plan;

/* The rows of an order that a call cuts: only the long ones, or more. */
static inline const tamis_gpu_cuts *tamis_gpu_message_cuts(const tamis_message_order *order, bool only_long) {
    static const tamis_gpu_cuts none = {.limit = INT64_MAX};
    const tamis_gpu_message_plan *const plan = order->plan;
    return !plan ? &none : only_long ? &plan->long_cuts : &plan->cuts;
}

extern const tamis_message_functions tamis_gpu_message_functions;

#endif
