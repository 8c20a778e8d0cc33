/* The public conversions between CSR and COO, and the transpose. */
#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/order.h"
#include "sparse/structure.h"

/* ------------------------------------------------------------------------------------------- CSR to COO */

typedef struct expansion {
    const tamis_sparse *S;
    void *row_indices;
} expansion;

TAMIS_INLINE void fill_rows(void *to, tamis_index_type type, int64_t begin, int64_t end, int64_t row) {
    if (type == TAMIS_I32)
        for (int64_t z = begin; z < end; z++) ((int32_t *)to)[z] = (int32_t)row;
    else
        for (int64_t z = begin; z < end; z++) ((int64_t *)to)[z] = row;
}

static void expand_thread(void *context, int thread, int threads) {
    const expansion *const e = context;
    const tamis_sparse *const S = e->S;
    int64_t begin, end, row, unused;
    tamis_partition_nonzeros(S->offsets, S->offset_type, S->rows, S->nnz, threads, thread, &begin, &row);
    tamis_partition_nonzeros(S->offsets, S->offset_type, S->rows, S->nnz, threads, thread + 1, &end, &unused);
    for (; begin < end; row++) {
        const int64_t row_end = tamis_index_load(S->offsets, S->offset_type, row + 1);
        const int64_t stop = row_end < end ? row_end : end;
        fill_rows(e->row_indices, S->index_type, begin, stop, row);
        begin = stop;
    }
}

void tamis_expand_rows(const tamis_sparse *S, int threads, void *row_indices) {
    enum { SHARE = 1 << 16 };
    expansion e = {.S = S, .row_indices = row_indices};
    tamis_threads_run(tamis_threads_for(threads, S->nnz, SHARE), expand_thread, &e);
}

/* ------------------------------------------------------------------------------------------- arguments */

static tamis_status need_array(const char *name, const void *array, int64_t entries) {
    if (array || entries == 0) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected an array of %lld entries", name, (long long)entries);
}

static tamis_status need_offsets(const tamis_sparse *S, const void *offsets, int64_t size) {
    TRY(need_array("offsets", offsets, size + 1));
    return tamis_offset_check("S", "nnz", S->nnz, S->offset_type);
}

/* ------------------------------------------------------------------------------------------- public */

tamis_status tamis_csr_to_coo(const tamis_sparse *S, void *row_indices) {
    tamis_clear_error();
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_format_check(S, TAMIS_CSR));
    TRY(tamis_index_check("S", "rows", S->rows, S->index_type));
    TRY(need_array("row_indices", row_indices, S->nnz));
    TRY(tamis_validate_threads(S, 0));
    tamis_sparse view;
    void *own = NULL;
    TRY(tamis_slice_rebase(S, &view, &own));
    tamis_expand_rows(&view, 0, row_indices);
    tamis_release(own);
    return TAMIS_OK;
}

tamis_status tamis_coo_to_csr(const tamis_sparse *S, void *offsets, void *columns, void *values, int64_t *permutation) {
    tamis_clear_error();
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_format_check(S, TAMIS_COO));
    TRY(need_offsets(S, offsets, S->rows));
    TRY(need_array("columns", columns, S->nnz));
    TRY(tamis_validate_threads(S, 0));
    return tamis_group(S, false, 0, S->offset_type, offsets, &(tamis_reordered){columns, values, permutation});
}

tamis_status tamis_transpose(const tamis_sparse *S, void *offsets, void *columns, void *values, int64_t *permutation) {
    tamis_clear_error();
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_index_check("S", "rows", S->rows, S->index_type));
    TRY(need_offsets(S, offsets, S->cols));
    TRY(need_array("columns", columns, S->nnz));
    TRY(tamis_validate_threads(S, 0));
    tamis_sparse view;
    void *own = NULL;
    TRY(tamis_slice_rebase(S, &view, &own));
    const tamis_status status =
        tamis_group(&view, true, 0, S->offset_type, offsets, &(tamis_reordered){columns, values, permutation});
    tamis_release(own);
    return status;
}

tamis_status tamis_sort(const tamis_sparse *S, void *columns, void *values, int64_t *permutation) {
    tamis_clear_error();
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_format_check(S, TAMIS_CSR));
    TRY(need_array("columns", columns, S->nnz));
    TRY(tamis_validate_threads(S, 0));
    tamis_sparse view;
    void *own = NULL;
    TRY(tamis_slice_rebase(S, &view, &own));
    const tamis_status status = tamis_sort_rows(&view, 0, &(tamis_reordered){columns, values, permutation});
    tamis_release(own);
    return status;
}
