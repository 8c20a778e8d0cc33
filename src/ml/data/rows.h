/* Rows of a CSR matrix as a matrix of their own. */
#ifndef TAMIS_ML_ROWS_H
#define TAMIS_ML_ROWS_H

#include <tamis/tamis.h>

/* A CSR matrix and its arrays. */
typedef struct ml_rows {
    tamis_sparse view;
    int64_t *offsets;
    void *columns, *values;
} ml_rows;

/* Copies the rows of S that are listed in rows[first] to rows[first + count - 1] (NULL: these rows themselves), with
   S's types but int64 offsets. `what` names them in messages. They belong to the scope;
   ml_rows_drop frees them before. */
tamis_status ml_rows_copy(const tamis_sparse *S, const int64_t *rows, int64_t first, int64_t count, const char *what,
                          ml_rows *copied);
void ml_rows_drop(const ml_rows *copied);

/* An entry of a row: its value, and where it is in the data. */
typedef struct ml_place {
    double value;
    int64_t at;
} ml_place;
/* Sorts the entries of a row by their values, equal ones by their columns, which rise in the data. Returns their
 * number. */
int64_t ml_sort_row(const tamis_sparse *data, int64_t row, ml_place *places);

#endif
