/* Message passing on a GPU. */
#ifndef TAMIS_GPU_MESSAGES_MESSAGES_H
#define TAMIS_GPU_MESSAGES_MESSAGES_H

#include "backend/message.h"
#include "gpu/rows/cuts.h"

/* State of an order: its cut rows. */
typedef struct tamis_gpu_message_plan {
    tamis_prepared base; /* owns the lists */
    tamis_gpu_cuts cuts;
} tamis_gpu_message_plan;

/* The cut rows of an order. */
static inline const tamis_gpu_cuts *tamis_gpu_message_cuts(const tamis_message_order *order) {
    static const tamis_gpu_cuts none = {.limit = INT64_MAX};
    const tamis_gpu_message_plan *const plan = order->plan;
    return plan ? &plan->cuts : &none;
}

extern const tamis_message_functions tamis_gpu_message_functions;

#endif
