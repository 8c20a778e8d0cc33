/* Lists of nonzeros: room, mirroring of symmetric files, and the way to the result. */
#include "io/entries.h"

#include <string.h>

#include "base/memory.h"
#include "sparse/matrix.h"

tamis_status tamis_entries_create(const tamis_reading *reading, int64_t capacity, bool wide, bool with_values,
                                  tamis_entries *entries) {
    tamis_status status = TAMIS_OK;
    *entries = (tamis_entries){.index_type = wide ? TAMIS_I64 : TAMIS_I32, .value_type = tamis_parsed_type(reading)};
    const size_t index_size = tamis_index_size(entries->index_type);
    TRY_GOTO(failed, tamis_allocate(capacity, index_size, "the row indices", &entries->row_indices));
    TRY_GOTO(failed, tamis_allocate(capacity, index_size, "the column indices", &entries->columns));
    if (with_values)
        TRY_GOTO(failed,
                 tamis_allocate(capacity, tamis_type_size(entries->value_type), "the values", &entries->values));
    entries->capacity = capacity;
    return TAMIS_OK;
failed:
    tamis_entries_free(entries);
    return status;
}

void tamis_entries_free(tamis_entries *entries) {
    tamis_release(entries->row_indices);
    tamis_release(entries->columns);
    tamis_release(entries->values);
    *entries = (tamis_entries){0};
}

static tamis_status narrow(int64_t count, int64_t capacity, const char *what, void **indices) {
    void *memory = NULL;
    const int64_t *const wide = *indices;
    TRY(tamis_allocate(capacity, sizeof(int32_t), what, &memory));
    int32_t *const narrow = memory;
    for (int64_t t = 0; t < count; t++) narrow[t] = (int32_t)wide[t];
    tamis_release(*indices);
    *indices = narrow;
    return TAMIS_OK;
}

/* On failure the entries are of no more use. */
tamis_status tamis_entries_narrow(tamis_entries *entries) {
    const int64_t size = entries->rows > entries->cols ? entries->rows : entries->cols;
    if (entries->index_type == TAMIS_I32 || tamis_needs_wide(size)) return TAMIS_OK;
    TRY(narrow(entries->count, entries->capacity, "the row indices", &entries->row_indices));
    TRY(narrow(entries->count, entries->capacity, "the column indices", &entries->columns));
    entries->index_type = TAMIS_I32;
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

static tamis_status grow(tamis_entries *entries, int64_t capacity) {
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
    if (count + mirrored > entries->capacity) TRY(grow(entries, count + mirrored));
    int64_t to = count;
    for (int64_t t = 0; t < count; t++) {
        const int64_t row = tamis_index_load(entries->row_indices, type, t);
        const int64_t column = tamis_index_load(entries->columns, type, t);
        const double value = entries->values ? tamis_element_load(entries->values, entries->value_type, t) : 0;
        if (row != column) tamis_entries_set(entries, to++, column, row, sign * value);
    }
    entries->count = to;
    return TAMIS_OK;
}

/* Nothing to convert: the arrays themselves can be the result. */
static bool is_wanted(const tamis_read_options *wanted, const tamis_entries *entries) {
    const bool values_fit =
        entries->values ? entries->value_type == wanted->value_type : wanted->values != TAMIS_VALUES_ONES;
    return wanted->format == TAMIS_COO && wanted->duplicates == TAMIS_DUPLICATES_KEEP &&
           wanted->index_type == entries->index_type && values_fit;
}

tamis_status tamis_entries_finish(const tamis_reading *reading, tamis_entries *entries, tamis_owned_sparse **matrix) {
    const tamis_read_options *const wanted = &reading->options;
    const tamis_sparse view = {.format = TAMIS_COO,
                               .location = TAMIS_HOST,
                               .rows = entries->rows,
                               .cols = entries->cols,
                               .nnz = entries->count,
                               .index_type = entries->index_type,
                               .offset_type = wanted->offset_type,
                               .value_type = entries->values ? entries->value_type : wanted->value_type,
                               .row_indices = entries->row_indices,
                               .columns = entries->columns,
                               .values = entries->values};
    tamis_entries taken = *entries;
    *entries = (tamis_entries){0};
    if (is_wanted(wanted, &taken))
        return tamis_owned_sparse_adopt(&view, NULL, taken.row_indices, taken.columns, taken.values, matrix);
    const tamis_status status = tamis_convert_read(reading, &view, wanted->format == TAMIS_CSR, matrix);
    tamis_entries_free(&taken);
    return status;
}
