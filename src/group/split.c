/* Splitting a shard into its own and its ghost part, each with a CSR of its own and its entries' numbers in the whole.
 */
#include "group/split.h"

#include "base/memory.h"
#include "base/status.h"
#include "sparse/index.h"

enum { OFFSETS, COLUMNS, ENTRIES, ARRAYS };

static tamis_status allocate_part(const tamis_shard_description *is, int64_t nnz, void **arrays) {
    const tamis_sparse *const S = &is->local;
    TRY(tamis_allocate(S->rows + 1, tamis_index_size(S->offset_type), "the offsets of a part", &arrays[OFFSETS]));
    TRY(tamis_allocate(nnz, tamis_index_size(S->index_type), "the columns of a part", &arrays[COLUMNS]));
    return tamis_allocate(nnz, sizeof(int64_t), "the entries of a part", &arrays[ENTRIES]);
}

/* Fills a part with the entries with columns first .. first + cols - 1. */
static tamis_sparse fill(const tamis_sparse *S, int64_t first, int64_t cols, int64_t nnz, void *const *arrays) {
    int64_t *const entries = arrays[ENTRIES];
    int64_t count = 0;
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t end = tamis_index_load(S->offsets, S->offset_type, i + 1);
        tamis_index_store(arrays[OFFSETS], S->offset_type, i, count);
        for (int64_t t = tamis_index_load(S->offsets, S->offset_type, i); t < end; t++) {
            const int64_t column = tamis_index_load(S->columns, S->index_type, t) - first;
            if (column < 0 || column >= cols) continue;
            tamis_index_store(arrays[COLUMNS], S->index_type, count, column);
            entries[count++] = t;
        }
    }
    tamis_index_store(arrays[OFFSETS], S->offset_type, S->rows, count);
    tamis_sparse part = *S;
    part.cols = cols;
    part.nnz = nnz;
    part.offsets = arrays[OFFSETS];
    part.columns = arrays[COLUMNS];
    part.values = NULL;
    part.batch_stride = 0;
    return part;
}

tamis_status tamis_split_columns(tamis_shard_description *is, void **arrays) {
    void **const own = arrays, **const ghost = arrays + ARRAYS;
    const int64_t ghost_nnz = is->local.nnz - is->own_nnz;
    TRY(allocate_part(is, is->own_nnz, own));
    TRY(allocate_part(is, ghost_nnz, ghost));
    is->own = fill(&is->local, 0, is->own_rows, is->own_nnz, own);
    is->ghost = fill(&is->local, is->own_rows, is->ghost_rows, ghost_nnz, ghost);
    is->own_entries = own[ENTRIES];
    is->ghost_entries = ghost[ENTRIES];
    return TAMIS_OK;
}
