/* The nonzeros of a file that lists them row by row, as CSR. */
#ifndef TAMIS_IO_ROWS_H
#define TAMIS_IO_ROWS_H

#include "io/reading.h"
#include "sparse/element.h"

typedef struct tamis_rows {
    int64_t rows, cols, count; /* count: entries so far */
    tamis_index_type offset_type, index_type;
    tamis_type value_type;
    void *offsets;          /* rows + 1 */
    void *columns, *values; /* values NULL: a pattern */
    bool sort;              /* sort the columns of each row; else keep their order */
} tamis_rows;

/* Empties *list, and gives what it will hold at the scope's end (base/scope.h) to that. */
tamis_status tamis_rows_own(tamis_rows *list);

/* Allocates rows and entries, in the result's types if these suffice, for a list that the scope owns from now on. wide:
   64-bit columns. */
tamis_status tamis_rows_create(const tamis_reading *reading, int64_t rows, int64_t capacity, bool wide,
                               bool with_values, tamis_rows *list);
/* Allocates the arrays of a list whose rows and types are set. */
tamis_status tamis_rows_allocate(tamis_rows *list, int64_t capacity, bool with_values);
void tamis_rows_free(tamis_rows *list);

static inline int64_t tamis_rows_offset(const tamis_rows *list, int64_t row) {
    return tamis_index_load(list->offsets, list->offset_type, row);
}

static inline void tamis_rows_set_offset(const tamis_rows *list, int64_t row, int64_t offset) {
    tamis_index_store(list->offsets, list->offset_type, row, offset);
}

static inline void tamis_rows_add(tamis_rows *list, int64_t column, double value) {
    tamis_index_store(list->columns, list->index_type, list->count, column);
    if (list->values) tamis_element_store(list->values, list->value_type, list->count, value);
    list->count++;
}

/* Reads a file with a line per row and "index:value" pairs into a list that the scope owns. take() parses the line at
 *p, which is neither a comment nor blank, and sets *p behind it. */
typedef tamis_status tamis_row_taker(void *context, const tamis_bounded_text *text, const char **p, tamis_rows *list);
tamis_status tamis_rows_read_pairs(const tamis_reading *reading, const char *comments, tamis_row_taker *take,
                                   void *context, tamis_rows *list);

/* Returns a view of the rows as a matrix; the list keeps the arrays. */
tamis_sparse tamis_rows_view(const tamis_rows *list);

/* Turns the rows into the matrix that the options ask for, which may take their arrays. */
tamis_status tamis_rows_finish(const tamis_reading *reading, tamis_rows *list, tamis_owned_sparse **matrix);

#endif
