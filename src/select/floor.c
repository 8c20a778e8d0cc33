/* The floor (lower bound) of a call: the time of its arithmetic, and of its minimal traffic, at the machine's
   ceilings. */
#include <tamis/ceilings.h>

#include "base/reserved.h"
#include "base/scope.h"
#include "sparse/check.h"
#include "sparse/index.h"

/* Number of nonempty rows and columns of S: only their rows of A, B and D must move. */
typedef struct touched {
    int64_t rows, cols;
} touched;

static tamis_status count_touched(const tamis_sparse *S, touched *count) {
    static const char what[] = "marks of rows and columns";
    unsigned char *rows, *cols;
    TAMIS_SCOPE;
    *count = (touched){0, 0};
    TRY(tamis_scope_allocate_zeroed(S->rows, 1, what, (void **)&rows));
    TRY(tamis_scope_allocate_zeroed(S->cols, 1, what, (void **)&cols));
    for (int64_t t = 0; t < S->nnz; t++) {
        cols[tamis_index_load(S->columns, S->index_type, S->offset_base + t)] = 1;
        if (S->format == TAMIS_COO) rows[tamis_index_load(S->row_indices, S->index_type, t)] = 1;
    }
    for (int64_t i = 0; i < S->rows && S->format == TAMIS_CSR && S->nnz > 0; i++)
        rows[i] = tamis_row_start(S, i + 1) > tamis_row_start(S, i);
    for (int64_t i = 0; i < S->rows; i++) count->rows += rows[i];
    for (int64_t j = 0; j < S->cols; j++) count->cols += cols[j];
    return TAMIS_OK;
}

static double flops_of(const tamis_sparse *S, const tamis_options *o) {
    const double products = 2 * (double)S->nnz * (double)o->batch, K = (double)o->inner, L = (double)o->width;
    switch (o->operation) {
    case TAMIS_OP_SDDMM: return products * K;
    case TAMIS_OP_SPMM: return products * L;
    case TAMIS_OP_FUSED: return products * (K + L);
    }
    return 0;
}

static double bytes_of(const tamis_sparse *S, const tamis_options *o, const touched *count, bool adds) {
    const tamis_type output = o->output_type == TAMIS_SAME_TYPE ? o->type : o->output_type;
    const double element = (double)tamis_type_size(o->type), index = (double)tamis_index_size(S->index_type);
    const double written = (adds ? 2 : 1) * (double)tamis_type_size(output), nnz = (double)S->nnz;
    const double rows = (double)(o->transpose ? count->cols : count->rows),
                 M = (double)(o->transpose ? S->cols : S->rows);
    const double cols = (double)(o->transpose ? count->rows : count->cols);
    const double K = (double)o->inner, L = (double)o->width;
    const bool reads_values = S->values && (o->operation == TAMIS_OP_SPMM || o->edge != TAMIS_EDGE_MASK);
    double pattern = nnz * index, dense = 0; /* for one batch member */
    pattern += S->format == TAMIS_COO ? nnz * index : (double)(S->rows + 1) * (double)tamis_index_size(S->offset_type);
    if (reads_values) pattern += nnz * element;
    switch (o->operation) {
    case TAMIS_OP_SDDMM: dense = (rows + cols) * K * element + nnz * written; break;
    case TAMIS_OP_SPMM: dense = cols * L * element + M * L * written; break;
    case TAMIS_OP_FUSED:
        dense = (rows + cols) * K * element + M * L * written;
        if (!o->d_is_b) dense += cols * L * element;
    }
    return pattern + (double)o->batch * dense;
}

tamis_status tamis_floor_find(const tamis_sparse *S, const tamis_options *options, bool adds,
                              const tamis_ceilings *ceilings, bool all_threads, tamis_floor *floor) {
    touched count;
    tamis_clear_error();
    if (!floor) return tamis_fail(TAMIS_ERROR_ARGUMENT, "floor = NULL: expected an address for the result");
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the options of the call");
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(tamis_sparse_check_host(S, "S"));
    if (options->inner < 0 && options->operation != TAMIS_OP_SPMM)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.inner = %lld: expected 0 or more", (long long)options->inner);
    if (options->width < 0 && options->operation != TAMIS_OP_SDDMM)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.width = %lld: expected 0 or more", (long long)options->width);
    TRY(count_touched(S, &count));
    *floor = (tamis_floor){.flops = flops_of(S, options), .bytes = bytes_of(S, options, &count, adds)};
    if (!ceilings) return TAMIS_OK;
    const double *const peaks = options->type == TAMIS_F64 ? ceilings->fp64_gflops : ceilings->fp32_gflops;
    floor->bandwidth = ceilings->memory_gbs[all_threads];
    floor->peak = peaks[all_threads];
    const double arithmetic = floor->peak > 0 ? floor->flops / (floor->peak * 1e9) : 0;
    const double transfer = floor->bandwidth > 0 ? floor->bytes / (floor->bandwidth * 1e9) : 0;
    floor->memory_bound = transfer >= arithmetic;
    if (floor->flops > 0) floor->seconds = floor->memory_bound ? transfer : arithmetic;
    return TAMIS_OK;
}
