/*
 * Segments: pieces of rows of S, the unit that all CPU kernels work through. Whether rows are taken whole, cut between
 * threads, cut by chunks, or cut by column tiles, the inner loops see the same thing.
 */
#ifndef TAMIS_CPU_KERNELS_SEGMENT_H
#define TAMIS_CPU_KERNELS_SEGMENT_H

#include "cpu/kernels/kernels.h"
#include "cpu/kernels/vector.h"

/* What a product with the sampled values does at the two ends of a segment (SpMM and fused). */
enum {
    SEGMENT_CONTINUE = 1, /* begin from the accumulator, times load_scale, instead of zero */
    SEGMENT_KEEP = 2      /* leave the sum in the accumulator instead of finishing the output row */
};

typedef struct segment {
    int64_t row, begin, count;
    real *accumulator;
    real load_scale, final_scale; /* the sum is multiplied by final_scale when the row is finished */
    int flags;
} segment;

INLINE const char *column_pointer(const void *columns, int64_t t, int wide) {
    return (const char *)columns + t * (wide ? 8 : 4);
}

INLINE int64_t column_at(const char *columns, int64_t t, int wide) {
    if (wide) return ((const int64_t *)(const void *)columns)[t];
    return ((const int32_t *)(const void *)columns)[t];
}

INLINE int64_t offset_at(const tamis_cpu_job *job, int64_t row) {
    return job->wide_offsets ? ((const int64_t *)job->offsets)[row] : ((const int32_t *)job->offsets)[row];
}

#endif
