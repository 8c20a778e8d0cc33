/* Slices of rows: views without a copy, cuts with equal nonzeros, and offsets that begin at 0. */
#include "base/memory.h"
#include "base/status.h"
#include "sparse/check.h"
#include "sparse/index.h"
#include "sparse/structure.h"

static const void *entry_after(const void *array, size_t size, int64_t count) {
    return array ? (const char *)array + count * (int64_t)size : NULL;
}

tamis_status tamis_slice_rebase(const tamis_sparse *S, tamis_sparse *view, void **offsets) {
    *view = *S;
    *offsets = NULL;
    if (S->format != TAMIS_CSR || S->offset_base == 0) return TAMIS_OK;
    TRY(tamis_allocate(S->rows + 1, tamis_index_size(S->offset_type), "the offsets of a slice", offsets));
    for (int64_t i = 0; i <= S->rows; i++)
        tamis_index_store(*offsets, S->offset_type, i, tamis_row_start(S, i) - S->offset_base);
    view->offsets = *offsets;
    view->columns = entry_after(S->columns, tamis_index_size(S->index_type), S->offset_base);
    view->values = entry_after(S->values, tamis_type_size(S->value_type), S->offset_base);
    view->offset_base = 0;
    return TAMIS_OK;
}

tamis_status tamis_slice(const tamis_sparse *S, int64_t first, int64_t rows, int64_t begin, int64_t end,
                         tamis_sparse *slice) {
    tamis_clear_error();
    if (!slice) return tamis_fail(TAMIS_ERROR_ARGUMENT, "slice = NULL: expected an address for the result");
    TRY(tamis_sparse_check(S, "S"));
    TRY(tamis_format_check(S, TAMIS_CSR));
    if (first < 0 || first > S->rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "first = %lld is not in 0 .. %lld", (long long)first,
                          (long long)S->rows);
    if (rows < 0 || rows > S->rows - first)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows = %lld: from row %lld on there are only %lld", (long long)rows,
                          (long long)first, (long long)(S->rows - first));
    if (S->location == TAMIS_HOST) {
        begin = tamis_row_start(S, first);
        end = tamis_row_start(S, first + rows);
    }
    if (begin < S->offset_base || begin > end || end > S->offset_base + S->nnz)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "begin = %lld, end = %lld: expected begin <= end within %lld .. %lld",
                          (long long)begin, (long long)end, (long long)S->offset_base,
                          (long long)(S->offset_base + S->nnz));
    *slice = *S;
    slice->rows = rows;
    slice->nnz = end - begin;
    slice->offset_base = begin;
    slice->offsets = entry_after(S->offsets, tamis_index_size(S->offset_type), first);
    return TAMIS_OK;
}

tamis_status tamis_partition(const tamis_sparse *S, int parts, int64_t *first_rows) {
    tamis_clear_error();
    if (!first_rows) return tamis_fail(TAMIS_ERROR_ARGUMENT, "first_rows = NULL: expected an address for the result");
    if (parts < 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "parts = %d: expected 1 or more", parts);
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_format_check(S, TAMIS_CSR));
    for (int p = 0; p <= parts; p++)
        first_rows[p] =
            p == 0 ? 0
                   : tamis_partition_rows_from(S->offsets, S->offset_type, S->rows, S->offset_base, S->nnz, parts, p);
    return TAMIS_OK;
}
