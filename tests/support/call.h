/* What a call is given beside its operands, in few words; and samples as the view that calls take. */
#ifndef TAMIS_TESTS_CALL_H
#define TAMIS_TESTS_CALL_H

#include <tamis/reference.h>
#include <tamis/tamis.h>

typedef struct test_call {
    tamis_options options;
    tamis_execution execution;
    tamis_device *on; /* what computes; NULL: a CPU */
} test_call;

static inline tamis_execution scaled(double alpha, double beta) {
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    execution.alpha = alpha;
    execution.beta = beta;
    return execution;
}

static inline tamis_options with_edge(tamis_edge edge) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.edge = edge;
    return options;
}

/* SDDMM has no width, SpMM no inner: there the number is not looked at. */
static inline tamis_options options_for(tamis_operation operation, int64_t inner, int64_t width) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = operation;
    options.inner = inner;
    options.width = width;
    return options;
}

static inline test_call call_of(tamis_edge edge, double alpha, double beta) {
    return (test_call){with_edge(edge), scaled(alpha, beta), NULL};
}

/* By a plan, or by one call. SpMM takes D as its B. */
static inline tamis_status call_plan(const tamis_plan *plan, tamis_operation operation, const tamis_dense *A,
                                     const tamis_dense *B, const tamis_dense *D, const tamis_dense *out,
                                     const tamis_execution *execution) {
    switch (operation) {
    case TAMIS_OP_SDDMM: return tamis_plan_sddmm(plan, A, B, out, execution);
    case TAMIS_OP_SPMM: return tamis_plan_spmm(plan, D, out, execution);
    case TAMIS_OP_FUSED: break;
    }
    return tamis_plan_fused(plan, A, B, D, out, execution);
}

static inline tamis_status call_at_once(tamis_device *on, tamis_operation operation, const tamis_sparse *S,
                                        const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                                        const tamis_dense *out, const tamis_options *options,
                                        const tamis_execution *execution) {
    switch (operation) {
    case TAMIS_OP_SDDMM: return tamis_sddmm(on, S, A, B, out, options, execution);
    case TAMIS_OP_SPMM: return tamis_spmm(on, S, D, out, options, execution);
    case TAMIS_OP_FUSED: break;
    }
    return tamis_fused(on, S, A, B, D, out, options, execution);
}

/* The oracle's. */
static inline tamis_status call_oracle(tamis_operation operation, const tamis_sparse *S, const tamis_dense *A,
                                       const tamis_dense *B, const tamis_dense *D, const tamis_options *options,
                                       const tamis_execution *execution, double *out) {
    switch (operation) {
    case TAMIS_OP_SDDMM: return tamis_reference_sddmm(S, A, B, options, execution, out);
    case TAMIS_OP_SPMM: return tamis_reference_spmm(S, D, options, execution, out);
    case TAMIS_OP_FUSED: break;
    }
    return tamis_reference_fused(S, A, B, D, options, execution, out);
}

/* Gradients of A, B, D and S's values; G is the output's. */
static inline tamis_status call_oracle_back(tamis_operation operation, const tamis_sparse *S, const tamis_dense *G,
                                            const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                                            const tamis_options *options, const tamis_execution *execution, double *da,
                                            double *db, double *dd, double *ds) {
    switch (operation) {
    case TAMIS_OP_SDDMM: return tamis_reference_sddmm_backward(S, G, A, B, options, execution, da, db, ds);
    case TAMIS_OP_SPMM: return tamis_reference_spmm_backward(S, G, D, options, execution, dd, ds);
    case TAMIS_OP_FUSED: break;
    }
    return tamis_reference_fused_backward(S, G, A, B, D, options, execution, da, db, dd, ds);
}

/* Arrays of the host as a matrix, CSR of the types that they have. values: NULL for a pattern. */
#define CSR_INDEX(x) _Generic((x), int64_t * : TAMIS_I64, const int64_t * : TAMIS_I64, default : TAMIS_I32)
#define CSR_VALUE(x) _Generic((x), double * : TAMIS_F64, const double * : TAMIS_F64, default : TAMIS_F32)
#define CSR(row_count, col_count, row_offsets, column_indices, entries)                                                \
    ((tamis_sparse){.format = TAMIS_CSR,                                                                               \
                    .rows = (row_count),                                                                               \
                    .cols = (col_count),                                                                               \
                    .nnz = (row_offsets)[row_count],                                                                   \
                    .index_type = CSR_INDEX(column_indices),                                                           \
                    .offset_type = CSR_INDEX(row_offsets),                                                             \
                    .value_type = CSR_VALUE(entries),                                                                  \
                    .offsets = (row_offsets),                                                                          \
                    .columns = (column_indices),                                                                       \
                    .values = (entries)})

/* The same with 32-bit indices, whatever the pointers are. */
static inline tamis_sparse csr_of(tamis_type type, int64_t rows, int64_t cols, int64_t nnz, const void *offsets,
                                  const void *columns, const void *values) {
    tamis_sparse S = {.rows = rows, .cols = cols, .nnz = nnz, .value_type = type};
    S.offsets = offsets;
    S.columns = columns;
    S.values = values;
    return S;
}

static inline tamis_sparse coo_of(tamis_type type, int64_t rows, int64_t cols, int64_t nnz, const void *row_indices,
                                  const void *columns, const void *values) {
    tamis_sparse S = csr_of(type, rows, cols, nnz, NULL, columns, values);
    S.format = TAMIS_COO;
    S.row_indices = row_indices;
    return S;
}

/* nnz elements; the members of a batch one after another */
static inline tamis_dense samples_of(const tamis_sparse *S, void *p, tamis_type type) {
    return (tamis_dense){
        .data = p, .rows = S->nnz, .cols = 1, .type = type, .location = S->location, .batch_stride = S->nnz};
}

#endif
