/* Splits a shard into own and ghost part, each a CSR with its entries' indices in the whole. */
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

/* Returns the index of a column in its part, from the first own or the first ghost row. */
static int64_t number_of(const tamis_shard_description *is, int64_t column, bool *own) {
    const int64_t from = column - is->ghosts_before;
    *own = from >= 0 && from < is->own_rows;
    return *own ? from : from < 0 ? column : column - is->own_rows;
}

/* Fills a part with the entries with own columns, or with the others. */
static tamis_sparse fill(const tamis_shard_description *is, bool own, int64_t cols, int64_t nnz, void *const *arrays) {
    const tamis_sparse *const S = &is->local;
    int64_t *const entries = arrays[ENTRIES];
    int64_t count = 0;
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t end = tamis_row_start(S, i + 1);
        tamis_index_store(arrays[OFFSETS], S->offset_type, i, count);
        for (int64_t t = tamis_row_start(S, i); t < end; t++) {
            bool is_own;
            const int64_t column = number_of(is, tamis_index_load(S->columns, S->index_type, t), &is_own);
            if (is_own != own) continue;
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
    is->own = fill(is, true, is->own_rows, is->own_nnz, own);
    is->ghost = fill(is, false, is->ghost_rows, ghost_nnz, ghost);
    is->own_entries = own[ENTRIES];
    is->ghost_entries = ghost[ENTRIES];
    return TAMIS_OK;
}
