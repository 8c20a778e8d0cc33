/* Checking, ordering and profiling a pattern on the CPU: src/sparse does the work. */
#include "cpu/pattern.h"

#include "base/memory.h"
#include "base/status.h"
#include "sparse/index.h"
#include "sparse/locality.h"
#include "sparse/structure.h"

tamis_status tamis_cpu_validate(void *device, int threads, const tamis_sparse *S) {
    (void)device;
    return tamis_validate_threads(S, threads);
}

static bool rows_rise(const tamis_sparse *S) {
    for (int64_t t = 1; t < S->nnz; t++)
        if (tamis_index_load(S->row_indices, S->index_type, t - 1) > tamis_index_load(S->row_indices, S->index_type, t))
            return false;
    return true;
}

/* Entries in row order already only need offsets. */
tamis_status tamis_cpu_order_rows(void *device, int threads, const tamis_sparse *S, tamis_row_order *order) {
    tamis_status status = TAMIS_OK;
    tamis_sparse view = *S;
    (void)device;
    (void)threads;
    view.values = NULL;
    view.offset_type = S->nnz > INT32_MAX ? TAMIS_I64 : TAMIS_I32;
    *order = (tamis_row_order){.offset_type = view.offset_type};
    const bool in_order = rows_rise(S);
    TRY_GOTO(failed, tamis_allocate(S->rows + 1, tamis_index_size(view.offset_type), "row offsets of a COO matrix",
                                    &order->offsets));
    TRY_GOTO(failed, tamis_allocate(S->nnz, tamis_index_size(S->index_type), "columns of a COO matrix in row order",
                                    &order->columns));
    if (!in_order)
        TRY_GOTO(failed,
                 tamis_allocate(S->nnz, sizeof(int64_t), "the permutation of a COO matrix", &order->permutation));
    TRY_GOTO(failed, tamis_coo_to_csr(&view, order->offsets, order->columns, NULL, order->permutation));
    if (in_order) {
        tamis_release(order->columns);
        order->columns = NULL;
    }
    return TAMIS_OK;
failed:
    tamis_release(order->offsets);
    tamis_release(order->columns);
    tamis_release(order->permutation);
    *order = (tamis_row_order){.offset_type = view.offset_type};
    return status;
}

/* The rows exactly, the columns by sample. */
tamis_status tamis_cpu_look(tamis_problem *p, tamis_profile *profile) {
    const tamis_sparse csr = {.format = TAMIS_CSR,
                              .rows = p->rows,
                              .cols = p->cols,
                              .nnz = p->nnz,
                              .index_type = p->index_type,
                              .offset_type = p->offset_type,
                              .value_type = p->type,
                              .offsets = p->offsets,
                              .columns = p->columns};
    tamis_profile_rows(&csr, p->threads, profile);
    const int64_t wider = p->inner > p->width ? p->inner : p->width;
    const int64_t row_bytes = wider * (int64_t)tamis_type_size(p->type);
    p->fresh_share =
        tamis_fresh_share(p->columns, p->index_type, p->nnz, row_bytes > 0 ? p->cache_l2 / row_bytes : 2048);
    return TAMIS_OK;
}
