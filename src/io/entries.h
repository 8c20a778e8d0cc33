/* The nonzeros of a file as a list (row, column, value) in the order of the file: what most readers make, and the ways
   from there to the matrix that was asked for. */
#ifndef TAMIS_IO_ENTRIES_H
#define TAMIS_IO_ENTRIES_H

#include "io/reading.h"

typedef struct tamis_entries {
    int64_t rows, cols, count;
    tamis_index_type index_type;
    tamis_type value_type; /* TAMIS_F32 or TAMIS_F64 */
    void *row_indices, *columns, *values; /* values NULL: a pattern */
    int64_t capacity;
} tamis_entries;

/* Room for `capacity` entries. wide: 64-bit indices. */
tamis_status tamis_entries_create(const tamis_reading *reading, int64_t capacity, bool wide, bool with_values,
                                  tamis_entries *entries);
void tamis_entries_free(tamis_entries *entries);

static inline int64_t tamis_entry_index(const void *indices, tamis_index_type type, int64_t at) {
    return type == TAMIS_I32 ? ((const int32_t *)indices)[at] : ((const int64_t *)indices)[at];
}

static inline void tamis_entries_set(const tamis_entries *entries, int64_t at, int64_t row, int64_t column,
                                     double value) {
    if (entries->index_type == TAMIS_I32) {
        ((int32_t *)entries->row_indices)[at] = (int32_t)row;
        ((int32_t *)entries->columns)[at] = (int32_t)column;
    } else {
        ((int64_t *)entries->row_indices)[at] = row;
        ((int64_t *)entries->columns)[at] = column;
    }
    if (!entries->values) return;
    if (entries->value_type == TAMIS_F32) ((float *)entries->values)[at] = (float)value;
    else ((double *)entries->values)[at] = value;
}

/* Moves `count` entries from `from` to `to`, which is not behind it. */
void tamis_entries_move(const tamis_entries *entries, int64_t to, int64_t from, int64_t count);

/* Appends, for each entry off the diagonal, the entry with row and column exchanged and the value times `sign`. */
tamis_status tamis_entries_mirror(tamis_entries *entries, double sign);

/* Turns the entries into the matrix that the options ask for; empties *entries, also on failure. */
tamis_status tamis_entries_finish(const tamis_reading *reading, tamis_entries *entries, tamis_matrix **matrix);

#endif
