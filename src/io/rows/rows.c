/* CSR lists of nonzeros. */
#include "io/rows/rows.h"

#include "base/memory.h"
#include "base/scope.h"
#include "sparse/matrix.h"
#include "sparse/order.h"

tamis_status tamis_rows_allocate(tamis_rows *list, int64_t capacity, bool with_values) {
    TRY(tamis_allocate(list->rows + 1, tamis_index_size(list->offset_type), "the row offsets", &list->offsets));
    TRY(tamis_allocate(capacity, tamis_index_size(list->index_type), "the column indices", &list->columns));
    if (!with_values) return TAMIS_OK;
    return tamis_allocate(capacity, tamis_type_size(list->value_type), "the values", &list->values);
}

static void free_rows(void *list) { tamis_rows_free(list); }

tamis_status tamis_rows_own(tamis_rows *list) {
    *list = (tamis_rows){0};
    return tamis_scope_own(free_rows, list);
}

tamis_status tamis_rows_create(const tamis_reading *reading, int64_t rows, int64_t capacity, bool wide,
                               bool with_values, tamis_rows *list) {
    const tamis_read_options *const options = &reading->options;
    TRY(tamis_rows_own(list));
    *list = (tamis_rows){.rows = rows,
                         .offset_type =
                             tamis_index_holds(options->offset_type, capacity) ? options->offset_type : TAMIS_I64,
                         .index_type = wide ? TAMIS_I64 : options->index_type,
                         .value_type = reading->options.value_type};
    TRY(tamis_rows_allocate(list, capacity, with_values));
    tamis_rows_set_offset(list, 0, 0);
    return TAMIS_OK;
}

void tamis_rows_free(tamis_rows *list) {
    tamis_release(list->offsets);
    tamis_release(list->columns);
    tamis_release(list->values);
    *list = (tamis_rows){0};
}

/* ------------------------------------------------------------------------------------------- a line a row */

/* Capacity of the list's arrays. */
typedef struct rows_room {
    int64_t rows, entries;
} rows_room;

/* Reserves room for the window's rows and entries, and an estimate for the remaining windows. */
static tamis_status make_room(const tamis_input *input, tamis_rows *list, rows_room *room) {
    const double share = input->ended ? 1 : tamis_input_share(input);
    int64_t rows = list->rows + 1, entries = list->count;
    for (const char *p = input->text.begin; p < input->text.end; p++) {
        rows += *p == '\n';
        entries += *p == ':';
    }
    if (rows > room->rows) {
        const int64_t most = tamis_guess_entries(rows, share, -1);
        TRY(tamis_reallocate(room->rows + 1, most + 1, tamis_index_size(list->offset_type), "the row offsets",
                             &list->offsets));
        room->rows = most;
    }
    if (entries <= room->entries) return TAMIS_OK;
    const int64_t most = tamis_guess_entries(entries, share, -1);
    TRY(tamis_reallocate(room->entries, most, tamis_index_size(list->index_type), "the column indices",
                         &list->columns));
    if (list->values)
        TRY(tamis_reallocate(room->entries, most, tamis_type_size(list->value_type), "the values", &list->values));
    room->entries = most;
    return TAMIS_OK;
}

static tamis_status read_pairs(const tamis_reading *reading, const char *comments, tamis_row_taker *take, void *context,
                               tamis_rows *list) {
    tamis_input *const input = reading->input;
    const tamis_bounded_text *const text = &input->text;
    rows_room room = {1, 1};
    for (;;) {
        TRY(make_room(input, list, &room));
        for (const char *p = tamis_skip_comments(text, text->begin, comments); p < text->end;
             p = tamis_skip_comments(text, p, comments)) {
            TRY(take(context, text, &p, list));
            tamis_rows_set_offset(list, ++list->rows, list->count);
        }
        const double share = input->ended ? 1 : tamis_input_share(input);
        TRY(tamis_progress_step(&reading->progress, share, text->name));
        if (input->ended) return TAMIS_OK;
        TRY(tamis_input_next(input));
    }
}

/* Indices that do not fit the result's type are refused at the end, by the number of columns. */
tamis_status tamis_rows_read_pairs(const tamis_reading *reading, const char *comments, tamis_row_taker *take,
                                   void *context, tamis_rows *list) {
    TRY(tamis_rows_create(reading, 1, 1, false, tamis_wants_values(reading), list));
    list->rows = 0;
    return read_pairs(reading, comments, take, context, list);
}

tamis_sparse tamis_rows_view(const tamis_rows *list) {
    return (tamis_sparse){.format = TAMIS_CSR,
                          .location = TAMIS_HOST,
                          .rows = list->rows,
                          .cols = list->cols,
                          .nnz = list->count,
                          .index_type = list->index_type,
                          .offset_type = list->offset_type,
                          .value_type = list->value_type,
                          .offsets = list->offsets,
                          .columns = list->columns,
                          .values = list->values};
}

/* ------------------------------------------------------------------------------------------- in place */

/* Returns true if the arrays have the result's index types and can become its arrays. Values may still be doubles. */
static bool can_stay(const tamis_read_options *options, const tamis_rows *list) {
    return options->format == TAMIS_CSR && options->index_type == list->index_type &&
           options->offset_type == list->offset_type;
}

/* Sorts each row; the scratch is proportional to the longest rows. */
static tamis_status sort_rows(const tamis_reading *reading, const tamis_rows *list) {
    const tamis_sparse view = tamis_rows_view(list);
    return tamis_sort_rows(&view, reading->threads, &(tamis_reordered){list->columns, list->values, NULL});
}

/* Copies an array to a smaller one if it is at least half empty. */
static tamis_status shrink(int64_t before, int64_t after, size_t size, const char *what, void **array) {
    if (!*array || after > before / 2) return TAMIS_OK;
    return tamis_reallocate(before, after, size, what, array);
}

/* Gives a pattern values of 1, which merging sums to counts. */
static tamis_status fill_ones(const tamis_reading *reading, tamis_rows *list) {
    if (list->values) return TAMIS_OK;
    list->value_type = reading->options.value_type;
    TRY(tamis_allocate(list->count, tamis_type_size(list->value_type), "the values", &list->values));
    for (int64_t t = 0; t < list->count; t++) tamis_element_store(list->values, list->value_type, t, 1);
    return TAMIS_OK;
}

/* Merges duplicates. A pattern's sums are counts, unless it stays a pattern. */
static tamis_status merge(const tamis_reading *reading, tamis_rows *list) {
    const int64_t before = list->count;
    const tamis_sparse pattern = tamis_rows_view(list);
    int64_t duplicates = 0;
    tamis_is_sorted(&pattern, reading->threads, &duplicates);
    if (duplicates == 0) return TAMIS_OK;
    if (reading->options.duplicates == TAMIS_DUPLICATES_SUM && tamis_wants_values(reading))
        TRY(fill_ones(reading, list));
    const tamis_sparse view = tamis_rows_view(list);
    tamis_owned_sparse merged = {
        .view = view, .offsets = list->offsets, .columns = list->columns, .values = list->values};
    tamis_merge_in_place(&merged, reading->options.duplicates == TAMIS_DUPLICATES_LAST);
    list->count = merged.view.nnz;
    TRY(shrink(before, list->count, tamis_index_size(list->index_type), "the column indices", &list->columns));
    return shrink(before, list->count, tamis_type_size(list->value_type), "the values", &list->values);
}

/* Rounds doubles to the result's type. */
static tamis_status round_values(const tamis_reading *reading, tamis_rows *list) {
    const tamis_type from = list->value_type, to = reading->options.value_type;
    void *values = NULL;
    list->value_type = to;
    if (!list->values || from == to) return TAMIS_OK;
    TRY(tamis_allocate(list->count, tamis_type_size(to), "the values", &values));
    for (int64_t t = 0; t < list->count; t++)
        tamis_element_store(values, to, t, tamis_element_load(list->values, from, t));
    tamis_release(list->values);
    list->values = values;
    return TAMIS_OK;
}

/* Moves the arrays into the result. */
static tamis_status hand_over(const tamis_reading *reading, tamis_rows *list, tamis_owned_sparse **matrix) {
    if (reading->options.values == TAMIS_VALUES_ONES) TRY(fill_ones(reading, list));
    if (list->sort || reading->options.duplicates != TAMIS_DUPLICATES_KEEP) TRY(sort_rows(reading, list));
    if (reading->options.duplicates != TAMIS_DUPLICATES_KEEP) TRY(merge(reading, list));
    TRY(round_values(reading, list));
    const tamis_sparse shape = tamis_rows_view(list);
    const tamis_rows taken = *list;
    *list = (tamis_rows){0};
    return tamis_owned_sparse_adopt(&shape, taken.offsets, NULL, taken.columns, taken.values, matrix);
}

tamis_status tamis_rows_finish(const tamis_reading *reading, tamis_rows *list, tamis_owned_sparse **matrix) {
    tamis_input_close(reading->input); /* the text is of no more use */
    TRY(tamis_check_sizes(reading, list->rows, list->cols, list->count));
    if (can_stay(&reading->options, list)) return hand_over(reading, list, matrix);
    const tamis_sparse view = tamis_rows_view(list);
    return tamis_convert_read(reading, &view, list->sort, matrix);
}
