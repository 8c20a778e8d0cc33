/*
 * Every backend works on CSR. A COO view whose entries are in row order only needs offsets; any other order needs
 * columns of its own too, and a permutation through which executions gather values and scatter samples.
 */
#include "base/memory.h"
#include "base/status.h"
#include "core/plan.h"
#include "sparse/index.h"

static bool rows_rise(const tamis_sparse *S) {
    for (int64_t t = 1; t < S->nnz; t++)
        if (tamis_index_load(S->row_indices, S->index_type, t - 1) > tamis_index_load(S->row_indices, S->index_type, t))
            return false;
    return true;
}

tamis_status tamis_plan_normalise(tamis_plan *plan) {
    const tamis_sparse *const S = &plan->pattern;
    tamis_problem *const problem = &plan->problem;
    problem->rows = S->rows;
    problem->cols = S->cols;
    problem->nnz = S->nnz;
    problem->index_type = S->index_type;
    problem->columns = S->columns;
    problem->offsets = S->offsets;
    problem->offset_type = S->offset_type;
    if (S->format == TAMIS_CSR) return TAMIS_OK;

    tamis_sparse view = *S;
    view.values = NULL;
    view.offset_type = S->nnz > INT32_MAX ? TAMIS_I64 : TAMIS_I32;
    const bool in_order = rows_rise(S);
    TRY(tamis_allocate(S->rows + 1, tamis_index_size(view.offset_type), "row offsets of a COO matrix",
                       &plan->own_offsets));
    TRY(tamis_allocate(S->nnz, tamis_index_size(S->index_type), "columns of a COO matrix in row order",
                       &plan->own_columns));
    if (!in_order)
        TRY(tamis_allocate(S->nnz, sizeof(int64_t), "the permutation of a COO matrix", (void **)&plan->permutation));
    TRY(tamis_coo_to_csr(&view, plan->own_offsets, plan->own_columns, NULL, plan->permutation));
    problem->offsets = plan->own_offsets;
    problem->offset_type = view.offset_type;
    if (in_order) {
        tamis_release(plan->own_columns);
        plan->own_columns = NULL;
    } else {
        problem->columns = plan->own_columns;
    }
    return TAMIS_OK;
}
