/* Lists of nonzeros: allocation, mirroring of symmetric files, and conversion to the result. */
#include "io/rows/entries.h"

#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "io/rows/rows.h"
#include "sparse/order.h"

static void free_entries(void *entries) { tamis_entries_free(entries); }

tamis_status tamis_entries_own(tamis_entries *entries) {
    *entries = (tamis_entries){0};
    return tamis_scope_own(free_entries, entries);
}

tamis_status tamis_entries_create(const tamis_reading *reading, int64_t capacity, bool wide, bool with_values,
                                  tamis_entries *entries) {
    TRY(tamis_entries_own(entries));
    return tamis_entries_allocate(reading, capacity, wide, with_values, entries);
}

tamis_status tamis_entries_allocate(const tamis_reading *reading, int64_t capacity, bool wide, bool with_values,
                                    tamis_entries *entries) {
    *entries = (tamis_entries){.index_type = wide ? TAMIS_I64 : TAMIS_I32,
                               .value_type = reading->options.value_type == TAMIS_F32 ? TAMIS_F32 : TAMIS_F64};
    const size_t index_size = tamis_index_size(entries->index_type);
    TRY(tamis_allocate(capacity, index_size, "the row indices", &entries->row_indices));
    TRY(tamis_allocate(capacity, index_size, "the column indices", &entries->columns));
    if (with_values)
        TRY(tamis_allocate(capacity, tamis_type_size(entries->value_type), "the values", &entries->values));
    entries->capacity = capacity;
    return TAMIS_OK;
}

void tamis_entries_free(tamis_entries *entries) {
    tamis_release(entries->row_indices);
    tamis_release(entries->columns);
    tamis_release(entries->values);
    *entries = (tamis_entries){0};
}

/* Narrows indices in place: a 32-bit index is never stored behind its 64-bit one. */
static void narrow(int64_t count, void *indices) {
    for (int64_t t = 0; t < count; t++) {
        int64_t wide;
        memcpy(&wide, (char *)indices + (size_t)t * sizeof wide, sizeof wide);
        const int32_t index = (int32_t)wide;
        memcpy((char *)indices + (size_t)t * sizeof index, &index, sizeof index);
    }
}

void tamis_entries_narrow(tamis_entries *entries) {
    const int64_t size = entries->rows > entries->cols ? entries->rows : entries->cols;
    if (entries->index_type == TAMIS_I32 || tamis_needs_wide(size)) return;
    narrow(entries->count, entries->row_indices);
    narrow(entries->count, entries->columns);
    entries->index_type = TAMIS_I32;
}

static tamis_status widen(int64_t count, int64_t capacity, const char *what, void **indices) {
    void *memory = NULL;
    const int32_t *const narrow = *indices;
    TRY(tamis_allocate(capacity, sizeof(int64_t), what, &memory));
    int64_t *const wide = memory;
    for (int64_t t = 0; t < count; t++) wide[t] = narrow[t];
    tamis_release(*indices);
    *indices = wide;
    return TAMIS_OK;
}

/* Widens the indices to 64 bits. After a failure the entries are unusable. */
tamis_status tamis_entries_widen(tamis_entries *entries) {
    if (entries->index_type == TAMIS_I64) return TAMIS_OK;
    TRY(widen(entries->count, entries->capacity, "the row indices", &entries->row_indices));
    TRY(widen(entries->count, entries->capacity, "the column indices", &entries->columns));
    entries->index_type = TAMIS_I64;
    return TAMIS_OK;
}

static void move_part(void *array, size_t size, int64_t to, int64_t from, int64_t count) {
    if (array) memmove((char *)array + (size_t)to * size, (char *)array + (size_t)from * size, (size_t)count * size);
}

void tamis_entries_move(const tamis_entries *entries, int64_t to, int64_t from, int64_t count) {
    if (to == from || count == 0) return;
    const size_t index_size = tamis_index_size(entries->index_type);
    move_part(entries->row_indices, index_size, to, from, count);
    move_part(entries->columns, index_size, to, from, count);
    move_part(entries->values, tamis_type_size(entries->value_type), to, from, count);
}

tamis_status tamis_entries_reserve(tamis_entries *entries, int64_t capacity) {
    if (capacity <= entries->capacity) return TAMIS_OK;
    const size_t index_size = tamis_index_size(entries->index_type);
    TRY(tamis_reallocate(entries->capacity, capacity, index_size, "the row indices", &entries->row_indices));
    TRY(tamis_reallocate(entries->capacity, capacity, index_size, "the column indices", &entries->columns));
    if (entries->values)
        TRY(tamis_reallocate(entries->capacity, capacity, tamis_type_size(entries->value_type), "the values",
                             &entries->values));
    entries->capacity = capacity;
    return TAMIS_OK;
}

tamis_status tamis_entries_mirror(tamis_entries *entries, double sign) {
    const int64_t count = entries->count;
    const tamis_index_type type = entries->index_type;
    int64_t mirrored = 0;
    for (int64_t t = 0; t < count; t++)
        mirrored += tamis_index_load(entries->row_indices, type, t) != tamis_index_load(entries->columns, type, t);
    if (mirrored == 0) return TAMIS_OK;
    TRY(tamis_entries_reserve(entries, count + mirrored));
    entries->count = count + mirrored;
    for (int64_t t = count, to = count + mirrored; t-- > 0;) {
        const int64_t row = tamis_index_load(entries->row_indices, type, t);
        const int64_t column = tamis_index_load(entries->columns, type, t);
        const double value = entries->values ? tamis_element_load(entries->values, entries->value_type, t) : 0;
        if (row != column) tamis_entries_set(entries, --to, column, row, sign * value);
        tamis_entries_set(entries, --to, row, column, value);
    }
    return TAMIS_OK;
}

static tamis_sparse view_of(const tamis_reading *reading, const tamis_entries *entries) {
    return (tamis_sparse){.format = TAMIS_COO,
                          .location = TAMIS_HOST,
                          .rows = entries->rows,
                          .cols = entries->cols,
                          .nnz = entries->count,
                          .index_type = entries->index_type,
                          .offset_type = reading->options.offset_type,
                          .value_type = entries->values ? entries->value_type : reading->options.value_type,
                          .row_indices = entries->row_indices,
                          .columns = entries->columns,
                          .values = entries->values};
}

/* ------------------------------------------------------------------------------------------- rows */

static bool rows_rise(const tamis_entries *entries) {
    for (int64_t t = 1; t < entries->count; t++)
        if (tamis_index_load(entries->row_indices, entries->index_type, t) <
            tamis_index_load(entries->row_indices, entries->index_type, t - 1))
            return false;
    return true;
}

/* Finds where each row begins, if rows rise. */
static void count_rows(const tamis_entries *entries, const tamis_rows *list) {
    int64_t row = 0;
    for (int64_t t = 0; t < entries->count; t++)
        for (const int64_t to = tamis_index_load(entries->row_indices, entries->index_type, t); row <= to; row++)
            tamis_rows_set_offset(list, row, t);
    for (; row <= entries->rows; row++) tamis_rows_set_offset(list, row, entries->count);
}

/* Groups one array after the other, so that not all old and new arrays exist at once. */
static tamis_status group_rows(const tamis_reading *reading, tamis_entries *entries, const tamis_rows *list) {
    const struct {
        void **array;
        size_t size;
        const char *what;
    } parts[] = {{&entries->columns, tamis_index_size(entries->index_type), "the column indices"},
                 {&entries->values, tamis_type_size(entries->value_type), "the values"}};
    for (int i = 0; i < 2 && *parts[i].array; i++) {
        const tamis_sparse view = view_of(reading, entries);
        void *grouped = NULL;
        TRY(tamis_allocate(entries->count, parts[i].size, parts[i].what, &grouped));
        const tamis_status status =
            tamis_group(&view, false, reading->threads, list->offset_type, list->offsets,
                        &(tamis_reordered){i == 0 ? grouped : NULL, i == 1 ? grouped : NULL, NULL});
        tamis_release(*parts[i].array);
        *parts[i].array = grouped;
        TRY(status);
    }
    return TAMIS_OK;
}

/* Groups the entries by rows, in file order within each; empties *entries. */
static tamis_status take_rows(const tamis_reading *reading, tamis_entries *entries, tamis_rows *list) {
    const tamis_index_type requested = reading->options.offset_type;
    TRY(tamis_rows_own(list));
    *list = (tamis_rows){.rows = entries->rows,
                         .cols = entries->cols,
                         .count = entries->count,
                         .offset_type = tamis_index_holds(requested, entries->count) ? requested : TAMIS_I64,
                         .index_type = entries->index_type,
                         .value_type = entries->value_type,
                         .sort = true};
    TRY(tamis_check_sizes(reading, entries->rows, entries->cols, entries->count));
    TRY(tamis_allocate(entries->rows + 1, tamis_index_size(list->offset_type), "the row offsets", &list->offsets));
    if (rows_rise(entries))
        count_rows(entries, list);
    else
        TRY(group_rows(reading, entries, list));
    list->columns = entries->columns;
    list->values = entries->values;
    entries->columns = entries->values = NULL;
    tamis_entries_free(entries);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------- the result */

/* Returns true if the arrays can become the result without conversion. */
static bool is_result(const tamis_read_options *requested, const tamis_entries *entries) {
    const bool values_fit =
        entries->values ? entries->value_type == requested->value_type : requested->values != TAMIS_VALUES_ONES;
    return requested->format == TAMIS_COO && requested->duplicates == TAMIS_DUPLICATES_KEEP &&
           requested->index_type == entries->index_type && values_fit;
}

tamis_status tamis_entries_finish(const tamis_reading *reading, tamis_entries *entries, tamis_owned_sparse **matrix) {
    tamis_rows list;
    TAMIS_SCOPE;
    const bool by_rows = reading->options.format == TAMIS_CSR;
    if (by_rows) TRY(tamis_check_backing(reading, entries->rows));
    tamis_input_close(reading->input); /* the text is no longer needed */
    if (by_rows) {
        TRY(take_rows(reading, entries, &list));
        return tamis_rows_finish(reading, &list, matrix);
    }
    const tamis_sparse view = view_of(reading, entries);
    if (!is_result(&reading->options, entries)) return tamis_convert_read(reading, &view, false, matrix);
    const tamis_entries taken = *entries;
    *entries = (tamis_entries){0};
    return tamis_owned_sparse_adopt(&view, NULL, taken.row_indices, taken.columns, taken.values, matrix);
}
