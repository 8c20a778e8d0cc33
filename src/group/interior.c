/* Cutting a shard's rows into an interior and the rest. */
#include "group/interior.h"

#include "base/memory.h"
#include "base/status.h"
#include "group/shard.h"
#include "sparse/index.h"

static int64_t column_of(const tamis_sparse *S, int64_t entry) {
    return tamis_index_load(S->columns, S->index_type, entry);
}

static bool is_interior(const tamis_shard_description *is, int64_t row) {
    for (int64_t t = tamis_row_start(&is->local, row); t < tamis_row_start(&is->local, row + 1); t++)
        if (tamis_ghost_of(is, column_of(&is->local, t)) >= 0) return false;
    return true;
}

tamis_interior tamis_interior_find(const tamis_shard_description *is) {
    const tamis_sparse *const S = &is->local;
    tamis_interior best = {0}, now = {0};
    for (int64_t i = 0; i < S->rows; i++) {
        if (!is_interior(is, i)) {
            now = (tamis_interior){.first = i + 1};
            continue;
        }
        now.end = i + 1;
        now.nnz = tamis_row_start(S, i + 1) - tamis_row_start(S, now.first);
        if (now.nnz > best.nnz) best = now;
    }
    return best;
}

static tamis_status cut(const tamis_shard_description *is, int64_t first, int64_t end, bool interior,
                        tamis_row_range *range) {
    const tamis_sparse *const S = &is->local;
    const int64_t from = tamis_row_start(S, first), nnz = tamis_row_start(S, end) - from;
    const int64_t shift = interior ? is->ghosts_before : 0;
    TRY(tamis_allocate(end - first + 1, tamis_index_size(S->offset_type), "the offsets of a range", &range->arrays[0]));
    TRY(tamis_allocate(nnz, tamis_index_size(S->index_type), "the columns of a range", &range->arrays[1]));
    for (int64_t i = first; i <= end; i++)
        tamis_index_store(range->arrays[0], S->offset_type, i - first, tamis_row_start(S, i) - from);
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t column = column_of(S, from + t), own = column - is->ghosts_before;
        tamis_index_store(range->arrays[1], S->index_type, t, column - shift);
        if (tamis_ghost_of(is, column) >= 0) continue;
        if (range->last_own == 0 || own < range->first_own) range->first_own = own;
        if (own >= range->last_own) range->last_own = own + 1;
    }
    range->first_row = first;
    range->first_entry = from;
    range->S = *S;
    range->S.rows = end - first;
    range->S.cols = interior ? is->own_rows : S->cols;
    range->S.nnz = nnz;
    range->S.offsets = range->arrays[0];
    range->S.columns = range->arrays[1];
    if (S->values) range->S.values = (const char *)S->values + from * (int64_t)tamis_type_size(S->value_type);
    return TAMIS_OK;
}

tamis_status tamis_row_ranges_make(const tamis_shard_description *is, const tamis_interior *interior,
                                   tamis_row_range *ranges) {
    TRY(cut(is, interior->first, interior->end, true, &ranges[TAMIS_INTERIOR]));
    TRY(cut(is, 0, interior->first, false, &ranges[TAMIS_BEFORE]));
    return cut(is, interior->end, is->local.rows, false, &ranges[TAMIS_BEHIND]);
}

void tamis_row_ranges_release(tamis_row_range *ranges) {
    for (int i = 0; i < TAMIS_ROW_RANGES; i++)
        for (int a = 0; a < 2; a++) tamis_release(ranges[i].arrays[a]);
}
