/* The nonzeros of a file as a list (row, column, value) in file order, which most readers make, and its conversion to
   the requested matrix. */
#ifndef TAMIS_IO_ENTRIES_H
#define TAMIS_IO_ENTRIES_H

#include "io/reading.h"
#include "sparse/element.h"

typedef struct tamis_entries {
    int64_t rows, cols, count;
    tamis_index_type index_type;
    tamis_type value_type;                /* TAMIS_F32 or TAMIS_F64 */
    void *row_indices, *columns, *values; /* values NULL: a pattern */
    int64_t capacity;
} tamis_entries;

/* Empties *entries, and gives what it will hold at the scope's end (base/scope.h) to that. */
tamis_status tamis_entries_own(tamis_entries *entries);

/* Allocates `capacity` entries. wide: 64-bit indices. */
tamis_status tamis_entries_allocate(const tamis_reading *reading, int64_t capacity, bool wide, bool with_values,
                                    tamis_entries *entries);
/* The same for entries that the scope owns from now on. */
tamis_status tamis_entries_create(const tamis_reading *reading, int64_t capacity, bool wide, bool with_values,
                                  tamis_entries *entries);
void tamis_entries_free(tamis_entries *entries);

static inline void tamis_entries_set(const tamis_entries *entries, int64_t at, int64_t row, int64_t column,
                                     double value) {
    tamis_index_store(entries->row_indices, entries->index_type, at, row);
    tamis_index_store(entries->columns, entries->index_type, at, column);
    if (entries->values) tamis_element_store(entries->values, entries->value_type, at, value);
}

/* Moves `count` entries from `from` to `to`, which is not behind it. */
void tamis_entries_move(const tamis_entries *entries, int64_t to, int64_t from, int64_t count);

/* Enlarges the arrays to `capacity` entries, and keeps their contents. */
tamis_status tamis_entries_reserve(tamis_entries *entries, int64_t capacity);

/* Widens indices to 64 bits. */
tamis_status tamis_entries_widen(tamis_entries *entries);

/* Inserts behind each off-diagonal entry its mirror image, with the value times `sign`. */
tamis_status tamis_entries_mirror(tamis_entries *entries, double sign);

/* Narrows indices to 32 bits if rows and columns allow it. */
void tamis_entries_narrow(tamis_entries *entries);

/* Turns the entries into the matrix that the options ask for, which may take their arrays. */
tamis_status tamis_entries_finish(const tamis_reading *reading, tamis_entries *entries, tamis_owned_sparse **matrix);

#endif
