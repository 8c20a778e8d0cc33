/*
 * Builds the CSR that a plan computes on from the caller's format: COO in any order, a slice of rows, or the transpose
 * of either. Uses the kernels of order.simt, expand.simt and sort.simt.
 */
#include "gpu/structure/order.h"

#include <string.h>

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/profile.h"
#include "sparse/index.h"

static const char *const structure_file = "order.simt", *const expand_file = "expand.simt";

static tamis_gpu_kinds kinds_of(tamis_index_type index, tamis_index_type offset) {
    return (tamis_gpu_kinds){TAMIS_F32, index, offset};
}

/* ------------------------------------------------------------------------------------------ slices of rows */

static tamis_status rebase_offsets(tamis_gpu_device *device, void *stream, const tamis_sparse *S, void *offsets) {
    return tamis_gpu_utility(
        device, stream, structure_file, "rebase_offsets", kinds_of(TAMIS_I32, S->offset_type),
        tamis_gpu_groups(S->rows + 1),
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", S->rows + 1), tamis_gpu_integer("base", S->offset_base),
                            tamis_gpu_memory("from", S->offsets), tamis_gpu_memory("to", offsets)));
}

/* A pointer may begin anywhere; an OpenCL buffer must be copied from where the slice begins. */
static tamis_status rebase_columns(tamis_gpu_device *device, void *stream, void *kept, const tamis_sparse *S,
                                   tamis_gpu_rebased *to) {
    const int64_t size = (int64_t)tamis_index_size(S->index_type), first = S->offset_base * size;
    if (S->nnz == 0) return TAMIS_OK;
    if (strcmp(device->runtime->name, "cuda") == 0) {
        to->view.columns = (const char *)S->columns + first;
        return TAMIS_OK;
    }
    TRY(tamis_gpu_allocate(device, kept, tamis_bytes(S->nnz, (size_t)size), "columns of a slice", &to->columns));
    to->view.columns = to->columns;
    return device->runtime->copy(device, stream, (tamis_place){to->columns, 0},
                                 (tamis_place){(void *)(uintptr_t)S->columns, first}, (size_t)(S->nnz * size));
}

void tamis_gpu_rebased_release(tamis_gpu_device *device, void *kept, tamis_gpu_rebased *rebased) {
    tamis_gpu_release(device, kept, rebased->offsets);
    tamis_gpu_release(device, kept, rebased->columns);
    *rebased = (tamis_gpu_rebased){.offsets = NULL};
}

tamis_status tamis_gpu_rebase(tamis_gpu_device *device, void *stream, void *kept, const tamis_sparse *S,
                              tamis_gpu_rebased *to) {
    tamis_status status = TAMIS_OK;
    *to = (tamis_gpu_rebased){.view = *S};
    if (S->format != TAMIS_CSR || S->offset_base == 0) return TAMIS_OK;
    to->view.offset_base = 0;
    TRY_GOTO(failed, tamis_gpu_allocate(device, kept, tamis_bytes(S->rows + 1, tamis_index_size(S->offset_type)),
                                        "the offsets of a slice", &to->offsets));
    to->view.offsets = to->offsets;
    TRY_GOTO(failed, rebase_offsets(device, stream, S, to->offsets));
    TRY_GOTO(failed, rebase_columns(device, stream, kept, S, to));
    return TAMIS_OK;
failed:
    tamis_gpu_rebased_release(device, kept, to);
    return status;
}

/* ------------------------------------------------------------------------------------------ COO and CSR */

/* Result of sorting entries by row. */
typedef struct entry_sort {
    tamis_index_type order_type, row_type; /* row_type: TAMIS_I32 if all rows fit it, whatever S has */
    void *order, *rows;
} entry_sort;

static tamis_status gather(const tamis_problem *p, const tamis_sparse *S, const entry_sort *sorted, const void *from,
                           void *permutation, void *to) {
    return tamis_gpu_utility(p->device, p->stream, structure_file, "gather_entries",
                             kinds_of(S->index_type, sorted->order_type), tamis_gpu_groups(S->nnz),
                             TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", S->nnz), tamis_gpu_memory("from", from),
                                                 tamis_gpu_memory("order", sorted->order),
                                                 tamis_gpu_memory("permutation", permutation),
                                                 tamis_gpu_memory("to", to)));
}

static tamis_status count_offsets(const tamis_problem *p, const tamis_sparse *S, tamis_index_type row_type,
                                  const void *row_indices, const tamis_row_order *order) {
    return tamis_gpu_utility(p->device, p->stream, structure_file, "count_offsets",
                             kinds_of(row_type, order->offset_type), tamis_gpu_groups(S->rows + 1),
                             TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", S->rows), tamis_gpu_integer("nnz", S->nnz),
                                                 tamis_gpu_memory("row_indices", row_indices),
                                                 tamis_gpu_memory("offsets", order->offsets)));
}

/* Sorts stably. Rows that fit 32 bits are themselves the sort keys, and are returned with the order. */
static tamis_status sort_rows(const tamis_problem *p, const tamis_sparse *S, entry_sort *sorted) {
    tamis_gpu_sorting what = {.count = S->nnz,
                              .of = S->row_indices,
                              .by = 1,
                              .limit = S->rows,
                              .index_type = S->index_type,
                              .order_type = sorted->order_type};
    TRY(tamis_gpu_allocate(p->device, p->stream, tamis_bytes(S->nnz, tamis_index_size(sorted->row_type)),
                           "sorted row indices", &sorted->rows));
    if (sorted->row_type == TAMIS_I32) what.sorted_keys = sorted->rows;
    return tamis_gpu_sort(p->device, p->stream, &what, &sorted->order, p->stream);
}

/* The COO view of S^T, whose rows are S's columns. Expands the rows of a CSR into *rows. */
static tamis_status turn(const tamis_problem *p, const tamis_sparse *S, tamis_sparse *turned, void **rows) {
    *turned = *S;
    turned->format = TAMIS_COO;
    turned->rows = S->cols;
    turned->cols = S->rows;
    turned->row_indices = S->columns;
    turned->columns = S->row_indices;
    if (S->format == TAMIS_COO) return TAMIS_OK;
    const tamis_problem csr = {.rows = S->rows,
                               .nnz = S->nnz,
                               .offsets = S->offsets,
                               .offset_type = S->offset_type,
                               .index_type = S->index_type};
    TRY(tamis_gpu_allocate(p->device, p->stream, tamis_bytes(S->nnz, tamis_index_size(S->index_type)),
                           "row indices of a transpose", rows));
    turned->columns = *rows;
    return tamis_gpu_expand_rows(p->device, p->stream, &csr, *rows);
}

static void forget(const tamis_problem *p, tamis_row_order *order) {
    void *const kept = tamis_kept_stream(p);
    tamis_gpu_release(p->device, kept, order->offsets);
    tamis_gpu_release(p->device, kept, order->own_columns);
    tamis_gpu_release(p->device, kept, order->permutation);
    *order = (tamis_row_order){.offset_type = order->offset_type};
}

/* Builds the CSR of a COO view with unordered entries. */
static tamis_status order_entries(const tamis_problem *p, const tamis_sparse *S, tamis_row_order *order) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_device *const device = p->device;
    void *const kept = tamis_kept_stream(p);
    entry_sort sorted = {.order_type = order->offset_type,
                         .row_type = S->rows <= INT32_MAX ? TAMIS_I32 : S->index_type};
    TRY_GOTO(done, sort_rows(p, S, &sorted));
    TRY_GOTO(done, tamis_gpu_allocate(device, kept, tamis_bytes(S->nnz, tamis_index_size(S->index_type)),
                                      "columns in the order of rows", &order->own_columns));
    TRY_GOTO(done,
             tamis_gpu_allocate(device, kept, tamis_bytes(S->nnz, 8), "a permutation of entries", &order->permutation));
    if (sorted.row_type != TAMIS_I32)
        TRY_GOTO(done, gather(p, S, &sorted, S->row_indices, order->permutation, sorted.rows));
    TRY_GOTO(done, gather(p, S, &sorted, S->columns, order->permutation, order->own_columns));
    order->columns = order->own_columns;
    TRY_GOTO(done, count_offsets(p, S, sorted.row_type, sorted.rows, order));
done:
    tamis_gpu_release(device, p->stream, sorted.order);
    tamis_gpu_release(device, p->stream, sorted.rows);
    return status;
}

/* Builds the CSR of a COO view. Entries that are already in row order only need offsets. */
static tamis_status make_csr(const tamis_problem *p, const tamis_sparse *S, bool in_order, tamis_row_order *order) {
    TRY(tamis_gpu_allocate(p->device, tamis_kept_stream(p),
                           tamis_bytes(S->rows + 1, tamis_index_size(order->offset_type)),
                           "row offsets in the order of rows", &order->offsets));
    if (!in_order) return order_entries(p, S, order);
    order->columns = S->columns;
    return count_offsets(p, S, S->index_type, S->row_indices, order);
}

tamis_status tamis_gpu_order_rows(const tamis_problem *p, const tamis_sparse *S, bool transpose,
                                  tamis_row_order *order) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_device *const device = p->device;
    tamis_gpu_rebased rebased = {.offsets = NULL};
    tamis_sparse turned;
    void *rows = NULL;
    const int64_t groups = transpose ? S->cols : S->rows;
    tamis_gpu_rising rise = {true, true};
    *order = (tamis_row_order){.offset_type = S->nnz > INT32_MAX ? TAMIS_I64 : TAMIS_I32};
    if (groups >= INT64_MAX / 16)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s = %lld: their offsets exceed every memory",
                          transpose ? "cols" : "rows", (long long)groups);
    if (transpose && !tamis_index_spans(S->index_type, S->rows))
        return tamis_fail(TAMIS_ERROR_OVERFLOW,
                          "S.rows = %lld: of S^T they are columns, which an index_type of %s cannot hold",
                          (long long)S->rows, tamis_index_type_name(S->index_type));
    if (S->format == TAMIS_CSR && !transpose) {
        TRY(tamis_gpu_rebase(device, p->stream, tamis_kept_stream(p), S, &rebased));
        *order = (tamis_row_order){.offsets = rebased.offsets,
                                   .columns = rebased.view.columns,
                                   .own_columns = rebased.columns,
                                   .offset_type = S->offset_type};
        return TAMIS_OK;
    }
    TRY_GOTO(done, tamis_gpu_rebase(device, p->stream, p->stream, S, &rebased));
    if (transpose) {
        TRY_GOTO(done, turn(p, &rebased.view, &turned, &rows));
        TRY_GOTO(done, make_csr(p, &turned, S->nnz == 0 || (S->format == TAMIS_COO && p->columns_rise), order));
    } else {
        if (S->nnz > 1 || (S->nnz > 0 && p->unchecked)) TRY_GOTO(done, tamis_gpu_check_entries(p, S, &rise));
        TRY_GOTO(done, make_csr(p, S, rise.rows, order));
        order->columns_rise = rise.columns;
    }
done:
    tamis_gpu_release(device, p->stream, rows);
    tamis_gpu_rebased_release(device, p->stream, &rebased);
    if (status != TAMIS_OK) forget(p, order);
    return status;
}

tamis_status tamis_gpu_expand_rows_at(tamis_gpu_device *device, void *stream, const tamis_problem *problem,
                                      tamis_place rows) {
    const int64_t chunk = 8 * TAMIS_GPU_GROUP;
    if (problem->nnz == 0) return TAMIS_OK;
    return tamis_gpu_utility(
        device, stream, expand_file, "expand_rows", kinds_of(problem->index_type, problem->offset_type),
        (problem->nnz + chunk - 1) / chunk,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", problem->rows), tamis_gpu_integer("nnz", problem->nnz),
                            tamis_gpu_memory("offsets", problem->offsets), tamis_gpu_place("row_indices", rows)));
}

tamis_status tamis_gpu_expand_rows(tamis_gpu_device *device, void *stream, const tamis_problem *problem, void *rows) {
    return tamis_gpu_expand_rows_at(device, stream, problem, (tamis_place){rows, 0});
}

tamis_status tamis_gpu_expand_rows_ready(tamis_gpu_device *device, const tamis_problem *problem) {
    return tamis_gpu_utility_ready(device, expand_file, "expand_rows",
                                   kinds_of(problem->index_type, problem->offset_type));
}
