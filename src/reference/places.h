/* Shared by the oracles of entries: their rows and columns, cleared results, and extremes. */
#ifndef TAMIS_REFERENCE_PLACES_H
#define TAMIS_REFERENCE_PLACES_H

#include <tamis/tamis.h>

typedef struct tamis_oracle_places {
    const tamis_sparse *S;
    int64_t *row, *column; /* of each entry, in S's order */
    int64_t *count;        /* entries of each row */
} tamis_oracle_places;

/* Finds the row and the column of each entry. */
void tamis_oracle_find_places(const tamis_sparse *S, int64_t *rows, int64_t *columns);

/* Checks S, in host memory, and finds the places of its entries, which belong to the scope. */
tamis_status tamis_oracle_places_begin(tamis_oracle_places *places, const tamis_sparse *S);

/* Sets the elements of x to 0, if it is not NULL. */
void tamis_oracle_clear(double *x, int64_t count);

/* True if a value replaces the largest, or the smallest, so far. */
bool tamis_oracle_replaces(bool largest, double next, double best);

#endif
