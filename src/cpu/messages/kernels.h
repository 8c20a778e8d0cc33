/* The kernels of message passing of one compiled variant and type. */
#ifndef TAMIS_CPU_MESSAGES_KERNELS_H
#define TAMIS_CPU_MESSAGES_KERNELS_H

#include "backend/attention.h"

typedef struct tamis_cpu_messages {
    /* elements first .. last - 1 of rows begin .. end - 1 of `out` */
    void (*rows)(const tamis_message_job *job, int64_t begin, int64_t end, int64_t first, int64_t last);
    /* positions begin .. end - 1 of the order, for TAMIS_PASS_ENTRIES */
    void (*entries)(const tamis_message_job *job, int64_t begin, int64_t end);
    /* heads first .. last - 1 of rows begin .. end - 1 */
    void (*attention)(const tamis_attention_job *job, int64_t begin, int64_t end, int64_t first, int64_t last);
    void (*segments)(const tamis_segment_job *job, int64_t begin, int64_t end, int64_t first, int64_t last);
} tamis_cpu_messages;

#endif
