/*
 * Segments: pieces of rows of S, the unit of work of all CPU kernels. Rows may be whole, or cut by threads, chunks or
 * column tiles; the inner loops are the same for all of them.
 */
#ifndef TAMIS_CPU_KERNELS_SEGMENT_H
#define TAMIS_CPU_KERNELS_SEGMENT_H

#include "cpu/kernels/kernels.h"
#include "cpu/kernels/loops.h"

/* How SpMM and fused initialise and finish a segment. */
enum {
    SEGMENT_CONTINUE = 1, /* start from the accumulator, times load_scale, instead of zero */
    SEGMENT_KEEP = 2      /* leave the sum in the accumulator instead of finishing the output row */
};

typedef struct segment {
    int64_t row, begin, count;
    real *accumulator;
    real load_scale, final_scale; /* the sum is multiplied by final_scale when the row is finished */
    int flags;
} segment;

/* The arguments of the inner loops of sampled dot products (dots.h) and weighted sums (accumulate.h). */
typedef struct dot_arguments {
    const char *a, *b;
    int64_t a_stride, b_stride;
    const void *columns;
    int64_t vectors;  /* whole vectors of a row, of DOT_LANES elements */
    int tail;         /* elements after them */
    int64_t prefetch; /* prefetch distance in nonzeros; 0: none */
    int64_t nnz;
    int64_t lines; /* cache lines of a row of B */
    int far_a;     /* A is so large that its rows come from memory: prefetch them */

    /* without a list of segments: nonzeros from `begin` on, in `row` and later rows */
    const char *offsets;
    int wide_offsets;
    int64_t row, begin;
} dot_arguments;

typedef void dot_function(const dot_arguments *arguments, const segment *segments, int count, real *x);

typedef struct sum_arguments {
    const char *b;
    int64_t b_stride;
    const void *columns;
    char *out;
    int64_t out_stride;
    int real_out; /* out holds reals, whatever the type of the inputs */
    real beta;
    int64_t width;    /* elements of a row */
    int64_t prefetch; /* prefetch distance in nonzeros; 0: none */
    int64_t nnz;
    int64_t prefetch_end; /* rows that end after this nonzero prefetch nothing */
    int ones;             /* the weights are all 1 and not stored */
    int stream;           /* non-temporal stores of whole rows */
    int in_order;         /* adds a row's nonzeros one after the other, however wide it is and whatever is beside it */

    /* without a list of segments: whole rows from `row` on, times alpha */
    const char *offsets;
    int wide_offsets;
    int64_t row;
    real alpha;
} sum_arguments;

/* segments may be NULL: whole rows from arguments->row on, `count` of them. */
typedef void sum_function(const sum_arguments *arguments, const segment *segments, int64_t count, const real *weights);

#ifdef TAMIS_KERNEL_SUMS /* the loops of this instruction set and type (accumulate.h), for messages */
sum_function *TAMIS_KERNEL_SUMS(bool wide_columns);
#endif

INLINE const char *column_pointer(const void *columns, int64_t t, int wide) {
    return (const char *)columns + t * (wide ? 8 : 4);
}

INLINE int64_t column_at(const char *columns, int64_t t, int wide) {
    if (wide) return ((const int64_t *)(const void *)columns)[t];
    return ((const int32_t *)(const void *)columns)[t];
}

INLINE void column_store(char *columns, int64_t t, int wide, int64_t column) {
    if (wide)
        ((int64_t *)(void *)columns)[t] = column;
    else
        ((int32_t *)(void *)columns)[t] = (int32_t)column;
}

INLINE int64_t offset_at(const tamis_cpu_job *job, int64_t row) {
    return job->wide_offsets ? ((const int64_t *)job->offsets)[row] : ((const int32_t *)job->offsets)[row];
}

#endif
