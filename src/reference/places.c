/* The rows and columns of entries, cleared results, and extremes. */
#include "reference/places.h"

#include <math.h>

#include "base/scope.h"
#include "base/status.h"
#include "sparse/check.h"
#include "sparse/index.h"
#include "sparse/structure.h"

void tamis_oracle_find_places(const tamis_sparse *S, int64_t *rows, int64_t *columns) {
    for (int64_t i = 0; S->format == TAMIS_CSR && i < S->rows; i++)
        for (int64_t t = tamis_row_start(S, i); t < tamis_row_start(S, i + 1); t++) rows[t - S->offset_base] = i;
    for (int64_t t = 0; t < S->nnz; t++) {
        if (S->format == TAMIS_COO) rows[t] = tamis_index_load(S->row_indices, S->index_type, t);
        columns[t] = tamis_index_load(S->columns, S->index_type, S->offset_base + t);
    }
}

tamis_status tamis_oracle_places_begin(tamis_oracle_places *places, const tamis_sparse *S) {
    tamis_oracle_places *const c = places;
    *c = (tamis_oracle_places){.S = S};
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_validate_threads(S, 1));
    TRY(tamis_allocate_array(S->nnz, "rows of entries", c->row));
    TRY(tamis_allocate_array(S->nnz, "columns of entries", c->column));
    TRY(tamis_allocate_zeros(S->rows, "entries of rows", c->count));
    tamis_oracle_find_places(S, c->row, c->column);
    for (int64_t t = 0; t < S->nnz; t++) c->count[c->row[t]]++;
    return TAMIS_OK;
}

void tamis_oracle_clear(double *x, int64_t count) {
    for (int64_t i = 0; x && i < count; i++) x[i] = 0;
}

bool tamis_oracle_replaces(bool largest, double next, double best) {
    if (isnan(best)) return false;
    return isnan(next) || (largest ? next > best : next < best);
}
