/* The kernels of message passing of one compiled variant and type. */
#ifndef TAMIS_CPU_MESSAGES_KERNELS_H
#define TAMIS_CPU_MESSAGES_KERNELS_H

#include "backend/attention.h"
#include "backend/cached_attention.h"
#include "cpu/edge_network/network.h"

/* Computes elements or heads first .. last - 1 of rows begin .. end - 1 of a job. */
typedef void tamis_cpu_shared_rows(const void *job, int64_t begin, int64_t end, int64_t first, int64_t last);

typedef struct tamis_cpu_messages {
    tamis_cpu_shared_rows *rows; /* elements, of a tamis_message_job */
    /* positions begin .. end - 1 of the order, for TAMIS_PASS_ENTRIES */
    void (*entries)(const tamis_message_job *job, int64_t begin, int64_t end);
    tamis_cpu_shared_rows *attention; /* heads, of a tamis_attention_job */
    tamis_cpu_shared_rows *segments;  /* heads, of a tamis_segment_job */
    /* partial results of positions begin .. end - 1 of a cache, for each query head of that key head; and their
       merge */
    void (*cached)(const tamis_cached_job *job, int64_t sequence, int64_t key_head, int64_t begin, int64_t end,
                   void *parts);
    void (*cached_merge)(const tamis_cached_job *job, int64_t sequence, int64_t head, const void *parts, int64_t apart,
                         int64_t count);
    tamis_cpu_network_kernels network; /* on edges */
} tamis_cpu_messages;

#endif
