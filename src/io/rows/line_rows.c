/*
 * Converts lists of nonzeros to rows by the cheapest way. While rows rise, entries are appended to the result's arrays.
 * From the first row that falls, entries go to buckets; from the first index that does not fit 32 bits, they go to a
 * list of entries.
 */
#include "io/rows/line_rows.h"

#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "io/rows/buckets.h"

typedef enum line_way { WAY_ROWS, WAY_BUCKETS, WAY_ENTRIES } line_way;

typedef struct appending {
    const tamis_reading *reading;
    const tamis_line_form *form;
    tamis_line_list *list;
    line_way way;
    tamis_buckets buckets;
    int64_t offsets;  /* allocated rows */
    int64_t capacity; /* allocated entries */
    int64_t row;      /* the first row whose offset is not known yet */
} appending;

static bool keeps_values(const tamis_line_rule *rule) {
    return rule->keep_values && rule->value != TAMIS_LINE_NO_VALUE;
}

/* ------------------------------------------------------------------------------------------- rows that rise */

static bool rows_rise(const tamis_entries *window, int64_t least) {
    const int32_t *const rows = window->row_indices;
    if (window->count == 0) return true;
    bool falls = rows[0] < least;
    for (int64_t t = 1; t < window->count; t++) falls |= rows[t] < rows[t - 1];
    return !falls;
}

/* Reserves room for the window's entries, and an estimate for later ones. */
static tamis_status reserve(appending *to, const tamis_entries *window, double share) {
    const tamis_line_rule *const rule = to->form->rule;
    tamis_rows *const list = &to->list->rows;
    const int64_t rows = rule->rows != INT64_MAX ? rule->rows : window->rows, needed = list->count + window->count;
    if (rows >= to->offsets) {
        TRY(tamis_check_backing(to->reading, rows));
        int64_t most = rows + 1;
        if (rule->rows == INT64_MAX) most = tamis_guess_entries(most, share, 2 * most); /* one id may be far off */
        TRY(tamis_reallocate(to->offsets, most, tamis_index_size(list->offset_type), "the row offsets",
                             &list->offsets));
        to->offsets = most;
    }
    if (needed <= to->capacity) return TAMIS_OK;
    const int64_t most = tamis_guess_entries(needed, share, rule->count);
    TRY(tamis_reallocate(to->capacity, most, tamis_index_size(list->index_type), "the column indices", &list->columns));
    if (keeps_values(rule))
        TRY(tamis_reallocate(to->capacity, most, tamis_type_size(list->value_type), "the values", &list->values));
    to->capacity = most;
    return TAMIS_OK;
}

static void copy_columns(const tamis_rows *list, const tamis_entries *window) {
    if (list->index_type == TAMIS_I32)
        memcpy((int32_t *)list->columns + list->count, window->columns, (size_t)window->count * sizeof(int32_t));
    else
        for (int64_t t = 0; t < window->count; t++)
            ((int64_t *)list->columns)[list->count + t] = ((const int32_t *)window->columns)[t];
}

static void copy_values(const tamis_rows *list, const tamis_entries *window) {
    const size_t size = tamis_type_size(list->value_type);
    if (!list->values) return;
    if (list->value_type == window->value_type)
        memcpy((char *)list->values + (size_t)list->count * size, window->values, (size_t)window->count * size);
    else
        for (int64_t t = 0; t < window->count; t++)
            tamis_element_store(list->values, list->value_type, list->count + t,
                                tamis_element_load(window->values, window->value_type, t));
}

static tamis_status append_rows(appending *to, const tamis_entries *window, double share) {
    tamis_rows *const list = &to->list->rows;
    const int32_t *const rows = window->row_indices;
    TRY(reserve(to, window, share));
    for (int64_t t = 0; t < window->count; t++)
        for (; to->row <= rows[t]; to->row++) tamis_rows_set_offset(list, to->row, list->count + t);
    if (window->count > 0) {
        copy_columns(list, window);
        copy_values(list, window);
    }
    list->count += window->count;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------- other ways */

static tamis_status add_to_buckets(appending *to, const tamis_entries *window) {
    const bool columns_too = to->form->mirror != 0 && window->cols > window->rows;
    return tamis_buckets_add(&to->buckets, window, columns_too ? window->cols : window->rows);
}

/* Converts rows from *row on, beginning with entry *at, to entries. */
static void take_some(const appending *to, int64_t *row, int64_t *at, int64_t most, tamis_entries *some) {
    const tamis_rows *const list = &to->list->rows;
    for (some->count = 0; *at < list->count && some->count < most; ++*at) {
        while (*row + 1 < to->row && tamis_rows_offset(list, *row + 1) <= *at) ++*row;
        tamis_entries_set(some, some->count++, *row, tamis_index_load(list->columns, list->index_type, *at),
                          list->values ? tamis_element_load(list->values, list->value_type, *at) : 0);
    }
}

/* Frees the arrays, but keeps sizes and types. */
static void empty_rows(tamis_rows *list) {
    tamis_rows kept = *list;
    tamis_rows_free(list);
    kept.offsets = kept.columns = kept.values = NULL;
    *list = kept;
}

static tamis_status turn_to_buckets(appending *to, const tamis_entries *window) {
    enum { SOME = 1 << 16 };
    const int64_t most = to->list->rows.count < SOME ? to->list->rows.count : SOME;
    tamis_entries some;
    TAMIS_SCOPE;
    to->way = WAY_BUCKETS;
    TRY(tamis_entries_create(to->reading, most, false, keeps_values(to->form->rule), &some));
    some.rows = window->rows;
    some.cols = window->cols;
    for (int64_t row = 0, at = 0; at < to->list->rows.count;) {
        take_some(to, &row, &at, SOME, &some);
        TRY(add_to_buckets(to, &some));
    }
    empty_rows(&to->list->rows);
    return TAMIS_OK;
}

static tamis_status turn_to_entries(appending *to) {
    to->way = WAY_ENTRIES;
    to->list->as_rows = false;
    to->list->mirrored = to->form->mirror != 0;
    TRY(tamis_entries_allocate(to->reading, 1, true, keeps_values(to->form->rule), &to->list->entries));
    return tamis_buckets_to_entries(&to->buckets, &to->list->entries);
}

static tamis_status append_entries(appending *to, const tamis_entries *window, double share) {
    tamis_entries *const entries = &to->list->entries;
    const double mirror = to->form->mirror;
    const int64_t needed = entries->count + (mirror != 0 ? 2 : 1) * window->count;
    if (needed > entries->capacity) TRY(tamis_entries_reserve(entries, tamis_guess_entries(needed, share, -1)));
    for (int64_t t = 0; t < window->count; t++) {
        const int64_t row = tamis_index_load(window->row_indices, window->index_type, t);
        const int64_t column = tamis_index_load(window->columns, window->index_type, t);
        const double value = window->values ? tamis_element_load(window->values, window->value_type, t) : 0;
        tamis_entries_set(entries, entries->count++, row, column, value);
        if (mirror != 0 && row != column) tamis_entries_set(entries, entries->count++, column, row, mirror * value);
    }
    entries->rows = window->rows;
    entries->cols = window->cols;
    return TAMIS_OK;
}

static tamis_status append(void *context, const tamis_entries *window, double share) {
    appending *const to = context;
    tamis_rows *const list = &to->list->rows;
    list->rows = window->rows;
    list->cols = window->cols;
    if (to->way != WAY_ENTRIES && window->index_type != TAMIS_I32) {
        if (to->way == WAY_ROWS) TRY(turn_to_buckets(to, window));
        TRY(turn_to_entries(to));
    }
    if (to->way == WAY_ROWS &&
        (!rows_rise(window, to->row - 1) || !tamis_index_holds(list->offset_type, list->count + window->count)))
        TRY(turn_to_buckets(to, window));
    if (to->way == WAY_ROWS) return append_rows(to, window, share);
    return to->way == WAY_BUCKETS ? add_to_buckets(to, window) : append_entries(to, window, share);
}

/* ------------------------------------------------------------------------------------------- the whole */

/* Completes the offsets, also of rows behind the last entry. */
static tamis_status end_rows(appending *to) {
    tamis_rows *const list = &to->list->rows;
    TRY(tamis_check_backing(to->reading, list->rows));
    if (to->way == WAY_BUCKETS) return tamis_buckets_to_rows(&to->buckets, list);
    if (list->rows >= to->offsets)
        TRY(tamis_reallocate(to->offsets, list->rows + 1, tamis_index_size(list->offset_type), "the row offsets",
                             &list->offsets));
    for (; to->row <= list->rows; to->row++) tamis_rows_set_offset(list, to->row, list->count);
    return TAMIS_OK;
}

static void set_sizes(const tamis_line_form *form, int64_t *rows, int64_t *cols) {
    if (form->rule->rows != INT64_MAX) *rows = form->rule->rows;
    if (form->rule->cols != INT64_MAX) *cols = form->rule->cols;
    if (form->square) *rows = *cols = *rows > *cols ? *rows : *cols;
}

static tamis_status start(const tamis_reading *reading, appending *to) {
    tamis_line_list *const list = to->list;
    to->buckets = (tamis_buckets){.value_type = reading->options.value_type,
                                  .with_values = keeps_values(to->form->rule),
                                  .mirror = to->form->mirror,
                                  .threads = reading->threads};
    *list = (tamis_line_list){.as_rows = true};
    TRY(tamis_entries_own(&list->entries));
    TRY(tamis_rows_own(&list->rows));
    list->rows = (tamis_rows){.offset_type = reading->options.offset_type,
                              .index_type = reading->options.index_type,
                              .value_type = reading->options.value_type,
                              .sort = true};
    return TAMIS_OK;
}

static tamis_status read_all(const tamis_line_form *form, appending *to) {
    tamis_line_list *const list = to->list;
    if (form->mirror != 0) to->way = WAY_BUCKETS;
    TRY(tamis_read_windows(to->reading, form->rule, form->body, append, to));
    set_sizes(form, &list->rows.rows, &list->rows.cols);
    if (to->way != WAY_ENTRIES) return end_rows(to);
    set_sizes(form, &list->entries.rows, &list->entries.cols);
    return TAMIS_OK;
}

static tamis_status read_rows(const tamis_reading *reading, const tamis_line_form *form, tamis_line_list *list) {
    appending to = {.reading = reading, .form = form, .list = list};
    TRY(start(reading, &to));
    const tamis_status status = read_all(form, &to);
    tamis_buckets_free(&to.buckets);
    return status;
}

/* Returns true if the CSR is built directly, without COO: it has 32-bit indices, and the file exceeds one window. */
static bool wants_rows(const tamis_reading *reading, const tamis_line_form *form) {
    const tamis_line_rule *const rule = form->rule;
    const bool any = rule->rows == INT64_MAX;
    return reading->options.format == TAMIS_CSR && !form->any_ids && !reading->input->ended &&
           (any || (!tamis_needs_wide(rule->rows) && !tamis_needs_wide(rule->cols)));
}

tamis_status tamis_read_line_list(const tamis_reading *reading, const tamis_line_form *form, tamis_line_list *list) {
    if (wants_rows(reading, form)) return read_rows(reading, form, list);
    *list = (tamis_line_list){.as_rows = false};
    return tamis_read_lines(reading, form->rule, form->body, &list->entries);
}

tamis_status tamis_line_list_finish(const tamis_reading *reading, tamis_line_list *list, tamis_owned_sparse **matrix) {
    return list->as_rows ? tamis_rows_finish(reading, &list->rows, matrix)
                         : tamis_entries_finish(reading, &list->entries, matrix);
}
