/* Checks, orders and profiles a pattern on the CPU; src/sparse does the work. */
#include "cpu/parts.h"

#include "base/memory.h"
#include "base/status.h"
#include "cpu/memory.h"
#include "cpu/methods/amx/build.h"
#include "cpu/methods/cells/build.h"
#include "cpu/methods/cells/cells.h"
#include "cpu/methods/panels/build.h"
#include "cpu/predict.h"
#include "sparse/index.h"
#include "sparse/locality.h"
#include "sparse/order.h"
#include "sparse/structure.h"

tamis_status tamis_cpu_validate(void *device, void *stream, int threads, const tamis_sparse *S) {
    (void)device;
    (void)stream;
    return tamis_validate_threads(S, threads);
}

static bool rows_rise(const tamis_sparse *S) {
    enum { AT_ONCE = 4096 };
    for (int64_t t = 0; t < S->nnz; t += AT_ONCE) {
        const int64_t end = t + AT_ONCE + 1 < S->nnz ? t + AT_ONCE + 1 : S->nnz;
        if (!tamis_indices_rise(S->row_indices, S->index_type, t, end)) return false;
    }
    return true;
}

static void forget(tamis_row_order *order) {
    tamis_cpu_release_memory(NULL, TAMIS_ALL_STREAMS, order->offsets);
    tamis_cpu_release_memory(NULL, TAMIS_ALL_STREAMS, order->own_columns);
    tamis_cpu_release_memory(NULL, TAMIS_ALL_STREAMS, order->permutation);
    tamis_cpu_release_memory(NULL, TAMIS_ALL_STREAMS, order->rows);
    *order = (tamis_row_order){.offset_type = order->offset_type};
}

/* Allocates memory that a plan owns, from the current memory source if there is one. */
static tamis_status keep(int64_t count, size_t size, const char *what, void **memory) {
    const size_t bytes = tamis_bytes(count, size);
    TRY(tamis_cpu_allocate(NULL, TAMIS_ALL_STREAMS, bytes, what, memory));
    if (*memory) tamis_prefer_large_pages(*memory, bytes);
    return TAMIS_OK;
}

static tamis_status offsets_from_0(const tamis_sparse *S, tamis_row_order *order) {
    const char *const columns = S->columns;
    *order = (tamis_row_order){.offset_type = S->offset_type};
    TRY(keep(S->rows + 1, tamis_index_size(S->offset_type), "the offsets of a slice", &order->offsets));
    for (int64_t i = 0; i <= S->rows; i++)
        tamis_index_store(order->offsets, S->offset_type, i,
                          tamis_index_load(S->offsets, S->offset_type, i) - S->offset_base);
    order->columns = columns ? columns + S->offset_base * (int64_t)tamis_index_size(S->index_type) : NULL;
    return TAMIS_OK;
}

/* A slice of rows needs only offsets, as does COO in row order. Empty rows are dropped if that is allowed and most rows
   are empty. */
tamis_status tamis_cpu_order_rows(const tamis_problem *problem, const tamis_sparse *S, bool transpose,
                                  tamis_row_order *order) {
    tamis_status status = TAMIS_OK;
    tamis_sparse view;
    void *rebased = NULL;
    const int64_t groups = transpose ? S->cols : S->rows;
    *order = (tamis_row_order){.offset_type = S->nnz > INT32_MAX ? TAMIS_I64 : TAMIS_I32};
    if (transpose && !tamis_index_spans(S->index_type, S->rows))
        return tamis_fail(TAMIS_ERROR_OVERFLOW,
                          "S.rows = %lld: they are the columns of S^T, which do not fit into index_type = %s",
                          (long long)S->rows, tamis_index_type_name(S->index_type));
    if (S->format == TAMIS_CSR && !transpose) return offsets_from_0(S, order);
    TRY(tamis_slice_rebase(S, &view, &rebased));
    view.values = NULL;
    const bool in_order = !transpose && rows_rise(S);
    const bool listed = problem->lists_rows && S->format == TAMIS_COO && tamis_groups_are_rare(groups, S->nnz);
    if (listed) TRY_GOTO(done, keep(S->nnz + 1, sizeof(int64_t), "the rows that have entries", &order->rows));
    TRY_GOTO(done, keep((listed ? S->nnz : groups) + 1, tamis_index_size(order->offset_type),
                        "row offsets in the order of rows", &order->offsets));
    if (!in_order) {
        TRY_GOTO(done,
                 keep(S->nnz, tamis_index_size(S->index_type), "columns in the order of rows", &order->own_columns));
        TRY_GOTO(done, keep(S->nnz, sizeof(int64_t), "the permutation of entries", &order->permutation));
    }
    const tamis_reordered to = {order->own_columns, NULL, order->permutation};
    TRY_GOTO(done, listed ? tamis_group_listed(&view, transpose, order->offset_type, order->rows, &order->row_count,
                                               order->offsets, &to)
                          : tamis_group(&view, transpose, problem->threads, order->offset_type, order->offsets, &to));
    order->columns = in_order ? S->columns : order->own_columns;
done:
    tamis_release(rebased);
    if (status != TAMIS_OK) forget(order);
    return status;
}

/* Samples the shapes that methods make of the pattern, for their predictions. */
static void sample_shapes(const tamis_problem *p, int64_t row_bytes, tamis_evidence *evidence) {
    double *const sampled = evidence->sampled;
    const tamis_cpu_panel_shares panels[2] = {tamis_cpu_profile_panels(p, 6), tamis_cpu_profile_panels(p, 8)};
    for (int i = 0; i < 2; i++) {
        double *const to = sampled + TAMIS_CPU_SAMPLED_PANELS + 3 * i;
        to[0] = panels[i].entries, to[1] = panels[i].runs, to[2] = panels[i].single;
    }
    if (row_bytes > 0)
        sampled[TAMIS_CPU_SAMPLED_FRESH] =
            tamis_fresh_share(p->columns, p->index_type, p->nnz, evidence->cache_l1 / row_bytes);
    if (p->operation == TAMIS_OP_FUSED && p->cols <= UINT32_MAX && evidence->profile.max <= TAMIS_CPU_CELLS_MOST)
        sampled[TAMIS_CPU_SAMPLED_CELLS] = tamis_cpu_cells_count(p);
    if (p->type != TAMIS_BF16 || sampled[TAMIS_CPU_SAMPLED_PAIRS] < 2) return;
    const tamis_cpu_amx_shares amx = tamis_cpu_amx_profile(p, TAMIS_CPU_AMX_LEAST);
    sampled[TAMIS_CPU_SAMPLED_AMX] = amx.nonzeros, sampled[TAMIS_CPU_SAMPLED_AMX + 1] = amx.cells;
}

/* The profile of the rows is exact; that of the columns is sampled. Single calls skip what they do not choose by, since
   sampling takes as long as a small call. */
tamis_status tamis_cpu_profile(const tamis_problem *p, tamis_evidence *evidence) {
    const tamis_sparse csr = {.format = TAMIS_CSR,
                              .rows = p->rows,
                              .cols = p->cols,
                              .nnz = p->nnz,
                              .index_type = p->index_type,
                              .offset_type = p->offset_type,
                              .value_type = p->type,
                              .offsets = p->offsets,
                              .columns = p->columns};
    const int64_t wider = p->inner > p->width ? p->inner : p->width;
    const int64_t row_bytes = wider * (int64_t)tamis_type_size(p->type);
    if (p->once)
        tamis_profile_lengths(&csr, p->threads, &evidence->profile);
    else
        tamis_profile_rows(&csr, p->threads, &evidence->profile);
    evidence->sampled[TAMIS_CPU_SAMPLED_FRESH] = 1;
    if (p->type == TAMIS_BF16) evidence->sampled[TAMIS_CPU_SAMPLED_PAIRS] = tamis_cpu_pairs_of(p->type);
    if (!p->once) sample_shapes(p, row_bytes, evidence);
    const bool near = (double)p->cols * tamis_cpu_row_bytes(p) <= 0.75 * (double)evidence->cache_l2;
    evidence->fresh_share = 1;
    if (p->once && near) return TAMIS_OK; /* L2 keeps all rows, new or not */
    evidence->fresh_share =
        tamis_fresh_share(p->columns, p->index_type, p->nnz, row_bytes > 0 ? evidence->cache_l2 / row_bytes : 2048);
    return TAMIS_OK;
}
