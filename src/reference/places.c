/* Finds the rows and columns of a pattern's entries. */
#include "reference/places.h"

#include "base/memory.h"
#include "base/status.h"
#include "sparse/check.h"
#include "sparse/index.h"
#include "sparse/structure.h"

void tamis_oracle_places_end(tamis_oracle_places *places) {
    tamis_release(places->row);
    tamis_release(places->column);
    tamis_release(places->count);
}

tamis_status tamis_oracle_places_begin(tamis_oracle_places *places, const tamis_sparse *S) {
    tamis_status status = TAMIS_OK;
    tamis_oracle_places *const c = places;
    *c = (tamis_oracle_places){.S = S};
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_validate_threads(S, 1));
    TRY_GOTO(failed, tamis_allocate(S->nnz, sizeof(int64_t), "rows of entries", (void **)&c->row));
    TRY_GOTO(failed, tamis_allocate(S->nnz, sizeof(int64_t), "columns of entries", (void **)&c->column));
    TRY_GOTO(failed, tamis_allocate_zeroed(S->rows, sizeof(int64_t), "entries of rows", (void **)&c->count));
    if (S->format == TAMIS_CSR)
        for (int64_t i = 0, t = 0; i < S->rows; i++)
            for (; t < tamis_index_load(S->offsets, S->offset_type, i + 1) - S->offset_base; t++) c->row[t] = i;
    for (int64_t t = 0; t < S->nnz; t++) {
        if (S->format == TAMIS_COO) c->row[t] = tamis_index_load(S->row_indices, S->index_type, t);
        c->column[t] = tamis_index_load(S->columns, S->index_type, t + S->offset_base);
        c->count[c->row[t]]++;
    }
    return TAMIS_OK;
failed:
    tamis_oracle_places_end(c);
    return status;
}
