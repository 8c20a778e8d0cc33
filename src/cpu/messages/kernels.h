/* The kernels of message passing of one compiled variant and type. */
#ifndef TAMIS_CPU_MESSAGES_KERNELS_H
#define TAMIS_CPU_MESSAGES_KERNELS_H

#include "backend/attention.h"
#include "backend/cached_attention.h"

typedef struct tamis_cpu_messages {
    /* elements first .. last - 1 of rows begin .. end - 1 of `out` */
    void (*rows)(const tamis_message_job *job, int64_t begin, int64_t end, int64_t first, int64_t last);
    /* positions begin .. end - 1 of the order, for TAMIS_PASS_ENTRIES */
    void (*entries)(const tamis_message_job *job, int64_t begin, int64_t end);
    /* heads first .. last - 1 of rows begin .. end - 1 */
    void (*attention)(const tamis_attention_job *job, int64_t begin, int64_t end, int64_t first, int64_t last);
    void (*segments)(const tamis_segment_job *job, int64_t begin, int64_t end, int64_t first, int64_t last);
    /* partial results of positions begin .. end - 1 of a cache, for each query head of that key head; and their
       merge */
    void (*cached)(const tamis_cached_job *job, int64_t sequence, int64_t key_head, int64_t begin, int64_t end,
                   void *parts);
    void (*cached_merge)(const tamis_cached_job *job, int64_t sequence, int64_t head, const void *parts, int64_t apart,
                         int64_t count);
} tamis_cpu_messages;

#endif
