/* Message passing on a GPU. */
#ifndef TAMIS_GPU_MESSAGES_MESSAGES_H
#define TAMIS_GPU_MESSAGES_MESSAGES_H

#include "backend/message.h"
#include "gpu/rows/cuts.h"

/* State of an order: its cut rows, and rows by falling length where that gains. `long_cuts` has rows of more than 256
   entries only, for calls that keep the device busy for as long as such a row takes, or that gain less from a cut. */
typedef struct tamis_gpu_message_plan {
    tamis_prepared base; /* owns the lists */
    void *row_indices;   /* index type: the row of each entry, if passes are over entries */
    tamis_gpu_cuts cuts, long_cuts;
    tamis_gpu_cuts whole;                  /* none is cut, in the order of `cuts` */
    tamis_gpu_cuts natural;                /* as long_cuts, but rows come as they are */
    bool neighbours_share;                 /* columns */
    bool shares;                           /* several teams may share a row */
    int64_t longer[TAMIS_GPU_CUTS_POWERS]; /* rows of at least 2^k entries, the first of the order; if `shares` */
} tamis_gpu_message_plan;

/* The cut rows and the order of a call that reads rows of `bytes` at the other end: only long rows are cut, or more. */
const tamis_gpu_cuts *tamis_gpu_message_cuts(const tamis_gpu_device *device, const tamis_message_order *order,
                                             bool only_long, int64_t bytes);

extern const tamis_message_functions tamis_gpu_message_functions;

#endif
