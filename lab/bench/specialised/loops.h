/*
 * Minimal loops for each operation, as code generators write them for one K: K is a constant, sums and the row of A are
 * in registers, nothing is checked. They are compiled for this machine.
 */
#ifndef TAMIS_BENCH_SPECIALISED_LOOPS_H
#define TAMIS_BENCH_SPECIALISED_LOOPS_H

#include <stdint.h>

typedef struct product {
    const int32_t *offsets, *columns;
    const void *values, *a, *b, *d; /* fp32, or bf16 in the operations named so */
    void *out;                      /* likewise */
    float *samples;                 /* fused in two passes: nnz */
    int64_t rows;
} product;

typedef void range_loop(const product *x, int64_t row_begin, int64_t row_end);

typedef enum operation_kind {
    SPMM,
    SDDMM_MASK,
    SDDMM_SCALE,
    FUSED,      /* with its own D, scale, as two calls */
    FUSED_ONCE, /* the same, as dot, scalar, axpy for each nonzero */
    FUSED_SAME, /* D = B: dot, scalar, axpy */
    SOFTMAX,    /* fused with softmax and its own D */
    SPMM_BF16,
    SDDMM_BF16, /* mask */
    OPERATIONS
} operation_kind;

/* Passes of an operation at K, to be called in sequence; NULL: there is none. */
range_loop *specialised_loop(operation_kind operation, int width, int pass);

#endif
