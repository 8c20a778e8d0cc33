/*
 * Ratings with arbitrary ids: lines of `user item [rating [time]]` become a matrix and two dictionaries. One thread
 * parses the lines in order, since ids are numbered in order of arrival.
 */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/scope.h"
#include "base/status.h"
#include "io/files/input.h"
#include "io/formats/formats.h"
#include "io/text/columns.h"
#include "io/text/lists.h"
#include "ml/data/names.h"
#include "sparse/element.h"

enum { REPORT_EVERY = 1 << 14 };

typedef struct rating_reader {
    const tamis_ratings_options *options;
    tamis_progress progress;
    tamis_input input;
    tamis_list_form form;
    tamis_names *users, *items;
    int32_t *row_indices, *columns;
    void *values;  /* of options->value_type */
    double *times; /* one per entry; NULL: none in the file, or one is invalid */
    bool in_order; /* times do not fall */
    int64_t count, skipped;
} rating_reader;

/* Finds the first line of data, its separator and the columns. */
static tamis_status find_first(rating_reader *reader, const char **first) {
    const tamis_list_request request = {
        .ended = reader->input.ended, .header = reader->options->header, .columns = reader->options->columns};
    TRY(tamis_list_find(&reader->input.text, &request, &reader->form));
    if (reader->options->titles) *reader->options->titles = reader->form.titles && !reader->options->header;
    const tamis_size_line sizes = tamis_size_line_of(&reader->input.text, &reader->form);
    TRY(tamis_size_line_check_next(&reader->input.text, &reader->form, &sizes));
    *first = reader->form.first;
    return TAMIS_OK;
}

static const char *next_line(const rating_reader *reader, const char *line, int64_t *comments) {
    const tamis_bounded_text *const text = &reader->input.text;
    return tamis_fields_next(text, &reader->form.fields, tamis_next_line(text, line), comments);
}

/* ---- entries */

/* Checks an id. Replaces doubled quotes in place: the text is ours and is not read again. */
static tamis_status take_id(rating_reader *reader, tamis_field *id, const char *what) {
    const tamis_bounded_text *const text = &reader->input.text;
    if (id->length == 0) return tamis_text_fail(text, id->begin, "%s", what);
    const char *const zero = memchr(id->begin, '\0', id->length);
    if (zero) return tamis_text_fail(text, zero, "%s without zero bytes", what);
    if (!id->doubled) return TAMIS_OK;
    char *const to = reader->input.memory + (id->begin - reader->input.memory);
    size_t used = 0;
    for (size_t i = 0; i < id->length; i++) {
        to[used++] = to[i];
        if (to[i] == '"') i++;
    }
    id->length = used;
    return TAMIS_OK;
}

static tamis_status take_rating(const rating_reader *reader, const tamis_field *f, double *rating) {
    const tamis_bounded_text *const text = &reader->input.text;
    if (!tamis_field_number(&reader->form.fields, f, rating))
        return tamis_text_fail(text, f->begin, "%s",
                               memchr(f->begin, ',', f->length) ? "a rating with a point, no comma" : "a rating");
    const bool single = reader->options->value_type == TAMIS_F32;
    if (!(fabs(*rating) <= (single ? (double)FLT_MAX : DBL_MAX)))
        return tamis_text_fail(text, f->begin, "a rating that %s can hold", single ? "fp32" : "fp64");
    return TAMIS_OK;
}

/* Splits a line and parses its rating, which is `missing_value` if the line ends before it. */
static tamis_status split_line(const rating_reader *reader, const char *line,
                               tamis_field fields[static TAMIS_FIELDS_MOST], int *count, double *rating) {
    static const char *const what[] = {"a user", "an item after the user", "a rating", "a time"};
    const tamis_bounded_text *const text = &reader->input.text;
    const tamis_columns *const columns = &reader->form.columns;
    const int needed = columns->needed, one_more = needed + (columns->most > 0 && needed < TAMIS_FIELDS_MOST);
    TRY(tamis_fields_split(text, &reader->form.fields, line, one_more, fields, count));
    for (int role = 0; role < TAMIS_ROLES; role++)
        if (columns->at[role] >= *count && (role <= TAMIS_ROLE_ITEM || columns->named))
            return tamis_text_fail(text, tamis_fields_end(text, line), "%s", what[role]);
    if (columns->most > 0 &&
        (*count < needed ||
         (*count > needed && tamis_fields_exceed(&reader->form.fields, fields[needed].begin - fields[needed].quoted,
                                                 tamis_fields_end(text, line), columns->most - needed))))
        TRY(tamis_list_check_width(text, &reader->form, line));
    *rating = reader->options->missing_value;
    const int at = columns->at[TAMIS_ROLE_RATING];
    return at >= 0 && at < *count ? take_rating(reader, &fields[at], rating) : TAMIS_OK;
}

/* Records an entry's time, as long as all lines so far have one. */
static void take_time(rating_reader *reader, const tamis_field *fields, int count) {
    const int at = reader->form.columns.at[TAMIS_ROLE_TIME];
    double *const times = reader->times;
    const int64_t n = reader->count;
    if (!times) return;
    if (at < 0 || at >= count || !tamis_field_time(&reader->form.fields, &fields[at], &times[n])) {
        tamis_release(times);
        reader->times = NULL;
        return;
    }
    if (n > 0 && !(times[n] >= times[n - 1])) reader->in_order = false;
}

/* Looks up or adds the two names. *known: false if a name is missing in a dictionary that must not grow. */
static tamis_status take_pair(rating_reader *reader, const tamis_field *of_user, const tamis_field *of_item,
                              bool *known, int64_t *user, int64_t *item) {
    *known = true;
    if (!reader->options->known_only) {
        TRY(tamis_names_add(reader->users, of_user->begin, of_user->length, user));
        return tamis_names_add(reader->items, of_item->begin, of_item->length, item);
    }
    *user = tamis_names_find(reader->users, of_user->begin, of_user->length);
    *item = tamis_names_find(reader->items, of_item->begin, of_item->length);
    *known = *user >= 0 && *item >= 0;
    if (!*known) reader->skipped++;
    return TAMIS_OK;
}

static void add_entry(rating_reader *reader, int64_t user, int64_t item, double rating) {
    reader->row_indices[reader->count] = (int32_t)user;
    reader->columns[reader->count] = (int32_t)item;
    tamis_element_store(reader->values, reader->options->value_type, reader->count++, rating);
}

static tamis_status take_line(rating_reader *reader, const char *line) {
    tamis_field fields[TAMIS_FIELDS_MOST];
    int count = 0;
    double rating = 0;
    int64_t user, item;
    bool known;
    TRY(split_line(reader, line, fields, &count, &rating));
    tamis_field *const of_user = &fields[reader->form.columns.at[TAMIS_ROLE_USER]],
                       *const of_item = &fields[reader->form.columns.at[TAMIS_ROLE_ITEM]];
    TRY(take_id(reader, of_user, "a user"));
    TRY(take_id(reader, of_item, "an item"));
    TRY(take_pair(reader, of_user, of_item, &known, &user, &item));
    if (!known) return TAMIS_OK;
    take_time(reader, fields, count);
    add_entry(reader, user, item, rating);
    return TAMIS_OK;
}

/* Parses a line with a user and its items. A user without items is a row without entries. */
static tamis_status take_list(rating_reader *reader, const char *line) {
    const tamis_bounded_text *const text = &reader->input.text;
    const char *const end = tamis_fields_end(text, line), *fault = NULL;
    const char *p = line;
    tamis_field of_user = {0}, of_item = {0};
    int64_t user, item;
    bool known;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    p = tamis_field_take(&reader->form.fields, p, end, &of_user, &fault);
    if (!fault) TRY(take_id(reader, &of_user, "a user"));
    if (!fault && !p && !reader->options->known_only)
        return tamis_names_add(reader->users, of_user.begin, of_user.length, &user);
    while (p && p < end) {
        p = tamis_field_take(&reader->form.fields, p, end, &of_item, &fault);
        if (fault) break;
        TRY(take_id(reader, &of_item, "an item"));
        TRY(take_pair(reader, &of_user, &of_item, &known, &user, &item));
        if (known) add_entry(reader, user, item, reader->options->missing_value);
    }
    return fault ? tamis_text_fail(text, fault, "fields that are quoted as a whole") : TAMIS_OK;
}

/* Returns an upper bound of the entries in a line. */
static int64_t count_entries(const rating_reader *reader, const char *line) {
    if (!reader->form.lists) return 1;
    const char *const end = tamis_fields_end(&reader->input.text, line);
    int64_t count = 0;
    for (const char *p = line; p < end; p++)
        count += reader->form.fields.separator == ' ' ? tamis_is_blank(*p) : *p == reader->form.fields.separator;
    return count;
}

/* Makes room for the entries of each line of data from `first` on. */
static tamis_status make_room(rating_reader *reader, const char *first) {
    const tamis_bounded_text *const text = &reader->input.text;
    int64_t lines = 0;
    for (const char *p = first; p < text->end; p = next_line(reader, p, NULL)) lines += count_entries(reader, p);
    TRY(tamis_allocate(lines, sizeof *reader->row_indices, "ratings", (void **)&reader->row_indices));
    TRY(tamis_allocate(lines, sizeof *reader->columns, "ratings", (void **)&reader->columns));
    TRY(tamis_allocate(lines, tamis_type_size(reader->options->value_type), "ratings", &reader->values));
    if (reader->form.columns.at[TAMIS_ROLE_TIME] < 0 || reader->form.lists) return TAMIS_OK;
    TRY(tamis_allocate(lines, sizeof *reader->times, "times of ratings", (void **)&reader->times));
    reader->in_order = true;
    return TAMIS_OK;
}

/* If the first line may be a line of sizes, checks if the number of lines and the ids agree with it. */
static tamis_status check_sizes(const rating_reader *reader, const char *first, int64_t lines) {
    const tamis_bounded_text *const text = &reader->input.text;
    const tamis_size_line sizes = tamis_size_line_of(text, &reader->form);
    int64_t most[2] = {-1, -1};
    if (sizes.count == 0 || sizes.sizes[sizes.count - 1] != lines - 1) return TAMIS_OK;
    for (const char *p = first; p < text->end; p = next_line(reader, p, NULL)) {
        tamis_field fields[2];
        int count = 0;
        TRY(tamis_fields_split(text, &reader->form.fields, p, 2, fields, &count));
        for (int i = 0; i < count; i++) {
            int64_t id;
            if (tamis_parse_index(fields[i].begin, &id) != fields[i].begin + fields[i].length) return TAMIS_OK;
            if (id > most[i]) most[i] = id;
        }
    }
    return tamis_size_line_check(text, &sizes, most[0], most[1], lines);
}

static tamis_status take_lines(rating_reader *reader) {
    const tamis_bounded_text *const text = &reader->input.text;
    const double bytes = (double)(text->end - text->begin);
    const char *line;
    int64_t lines = 0;
    TRY(find_first(reader, &line));
    TRY(make_room(reader, line));
    const char *const first = line;
    for (; line < text->end; line = next_line(reader, line, &reader->form.comments)) {
        TRY(reader->form.lists ? take_list(reader, line) : take_line(reader, line));
        if (++lines % REPORT_EVERY == 0)
            TRY(tamis_progress_step(&reader->progress, 0.5 + 0.4 * (double)(line - text->begin) / bytes, text->name));
    }
    TRY(check_sizes(reader, first, lines));
    if (reader->options->found)
        tamis_list_describe(text, &reader->form, reader->users == reader->items, reader->options->found);
    return TAMIS_OK;
}

/* ---- the matrix */

/* Converts to CSR. Sorting is stable, so that the last of repeated entries is the last rating. */
static tamis_status convert(const rating_reader *reader, tamis_type type, const void *values, bool sum,
                            tamis_owned_sparse **matrix) {
    const tamis_sparse entries = {.format = TAMIS_COO,
                                  .rows = tamis_names_count(reader->users),
                                  .cols = tamis_names_count(reader->items),
                                  .nnz = reader->count,
                                  .row_indices = reader->row_indices,
                                  .columns = reader->columns,
                                  .value_type = type,
                                  .values = values};
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.offset_type = entries.nnz > INT32_MAX ? TAMIS_I64 : TAMIS_I32;
    options.value_type = type;
    options.sort = true;
    options.duplicates = reader->options->keep ? TAMIS_DUPLICATES_KEEP
                         : sum                 ? TAMIS_DUPLICATES_SUM
                                               : TAMIS_DUPLICATES_LAST;
    options.values = TAMIS_VALUES_ONES;
    return tamis_convert(&entries, &options, matrix);
}

typedef struct moment {
    double time;
    int64_t at;
} moment;

static int by_time(const void *a, const void *b) {
    const moment *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Sorts entries stably by time. */
static tamis_status sort_by_time(rating_reader *reader) {
    const int64_t n = reader->count;
    const size_t size = tamis_type_size(reader->options->value_type);
    moment *order;
    int32_t *rows, *columns;
    char *values;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(n, "the order of ratings", order));
    TRY(tamis_allocate_array(n, "ratings", rows));
    TRY(tamis_allocate_array(n, "ratings", columns));
    TRY(tamis_scope_allocate(n, size, "ratings", (void **)&values));
    for (int64_t i = 0; i < n; i++) order[i] = (moment){reader->times[i], i};
    qsort(order, (size_t)n, sizeof *order, by_time);
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = order[i].at;
        rows[i] = reader->row_indices[from];
        columns[i] = reader->columns[from];
        memcpy(values + (size_t)i * size, (const char *)reader->values + (size_t)from * size, size);
        reader->times[i] = order[i].time;
    }
    memcpy(reader->row_indices, rows, (size_t)n * sizeof *rows);
    memcpy(reader->columns, columns, (size_t)n * sizeof *columns);
    memcpy(reader->values, values, (size_t)n * size);
    reader->in_order = true;
    return TAMIS_OK;
}

static void add_found(const rating_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_found(const rating_reader *reader, const char *format, ...) {
    char *const found = reader->options->found;
    const size_t used = found ? strlen(found) : 0;
    va_list arguments;
    if (!found) return;
    va_start(arguments, format);
    vsnprintf(found + used, TAMIS_FOUND_BYTES - used, format, arguments);
    va_end(arguments);
}

/* Puts the positions of entries in the places of their ratings. */
static tamis_status number_entries(rating_reader *reader) {
    int64_t *counts;
    TAMIS_SCOPE;
    if (reader->times && !reader->in_order) TRY(sort_by_time(reader));
    if (!reader->times && !reader->form.lists) add_found(reader, "; without times, in the order of the lines");
    TRY(tamis_allocate_zeros(tamis_names_count(reader->users), "positions", counts));
    for (int64_t t = 0; t < reader->count; t++)
        tamis_element_store(reader->values, reader->options->value_type, t, (double)++counts[reader->row_indices[t]]);
    return TAMIS_OK;
}

static tamis_status make_matrix(rating_reader *reader, tamis_owned_sparse **matrix) {
    const tamis_ratings_options *const options = reader->options;
    if (options->positions) TRY(number_entries(reader));
    TRY(convert(reader, options->value_type, reader->values, options->sum, matrix));
    const int64_t replaced = reader->count - tamis_owned_sparse_view(*matrix)->nnz;
    const bool repeated = replaced > 0;
    if (repeated && !options->sum && !reader->form.lists)
        add_found(reader, "; %lld line%s replaced by a later one of the same pair", (long long)replaced,
                  replaced == 1 ? "" : "s");
    tamis_status status = TAMIS_OK;
    if (repeated && reader->times && !reader->in_order && (!options->sum || options->times)) {
        tamis_owned_sparse_free(*matrix);
        *matrix = NULL;
        TRY(sort_by_time(reader));
        TRY(convert(reader, options->value_type, reader->values, options->sum, matrix));
    }
    if (options->times && reader->times) status = convert(reader, TAMIS_F64, reader->times, false, options->times);
    if (status == TAMIS_OK) return TAMIS_OK;
    tamis_owned_sparse_free(*matrix);
    *matrix = NULL;
    return status;
}

/* ---- public */

static tamis_status take_options(const tamis_ratings_options *given, tamis_ratings_options *options) {
    *options = (tamis_ratings_options)TAMIS_RATINGS_OPTIONS_INIT;
    if (!given) return TAMIS_OK;
    TRY(TAMIS_RESERVED(given, "options"));
    *options = *given;
    if (!(fabs(options->missing_value) <= (double)FLT_MAX))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.missing_value = %g, expected a number that fp32 can hold",
                          options->missing_value);
    if (options->value_type != TAMIS_F32 && options->value_type != TAMIS_F64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.value_type = %d: expected fp32 or fp64",
                          (int)options->value_type);
    if (options->keep < 0 || options->keep > 1 || (options->keep && options->sum))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.keep = %d: expected 0, or 1 without sum", options->keep);
    if (options->positions && options->sum)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.positions and options.sum: positions cannot be summed");
    if (options->known_only && (!options->users || !options->items))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.%s = NULL: known_only needs both dictionaries",
                          options->users ? "items" : "users");
    return TAMIS_OK;
}

/* Checks the beginning of a large file, before the rest is read. */
static tamis_status check_beginning(rating_reader *reader) {
    const tamis_bounded_text *const text = &reader->input.text;
    const char *const zero = memchr(text->begin, '\0', (size_t)(text->end - text->begin));
    if (zero) return tamis_text_fail(text, zero, "a text without zero bytes");
    const char *line;
    TRY(find_first(reader, &line));
    if (reader->input.cut || line >= text->end || reader->form.lists) return TAMIS_OK;
    tamis_field fields[TAMIS_FIELDS_MOST];
    int count = 0;
    double rating;
    return split_line(reader, line, fields, &count, &rating);
}

static tamis_status read_ratings(rating_reader *reader, const char *path, tamis_owned_sparse **matrix) {
    const tamis_ratings_options *const options = reader->options;
    reader->progress = (tamis_progress){.report = options->progress, .context = options->progress_context, .high = 1};
    tamis_progress opening = reader->progress;
    opening.high = 0.5;
    TRY(tamis_input_open_window(path, 0, &opening, &reader->input));
    TRY(tamis_check_signature(&reader->input.text, TAMIS_FILE_RATINGS));
    if (!reader->input.ended) TRY(check_beginning(reader));
    TRY(tamis_input_fill(&reader->input));
    if (!reader->users) TRY(tamis_names_create(&reader->users));
    if (!reader->items) TRY(tamis_names_create(&reader->items));
    TRY(take_lines(reader));
    tamis_owned_sparse *made = NULL;
    TRY(make_matrix(reader, &made));
    const tamis_status status = tamis_progress_step(&reader->progress, 1, path);
    if (status != TAMIS_OK) {
        tamis_owned_sparse_free(made);
        if (options->times) tamis_owned_sparse_free(*options->times);
        if (options->times) *options->times = NULL;
        return status;
    }
    *matrix = made;
    return TAMIS_OK;
}

tamis_status tamis_read_ratings(const char *path, const tamis_ratings_options *options, tamis_owned_sparse **ratings,
                                tamis_names **users, tamis_names **items, int64_t *skipped) {
    tamis_clear_error();
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path = NULL: expected the name of a file");
    if (!ratings) return tamis_fail(TAMIS_ERROR_ARGUMENT, "ratings = NULL: expected an address for the matrix");
    if (!users || !items)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected an address for the dictionary",
                          users ? "items" : "users");
    tamis_ratings_options taken;
    TRY(take_options(options, &taken));
    if (taken.times) *taken.times = NULL;
    const int64_t user_count = tamis_names_count(taken.users), item_count = tamis_names_count(taken.items);
    rating_reader reader = {.options = &taken, .users = taken.users, .items = taken.items};
    const tamis_status status = read_ratings(&reader, path, ratings);
    tamis_input_close(&reader.input);
    tamis_release(reader.row_indices);
    tamis_release(reader.columns);
    tamis_release(reader.values);
    tamis_release(reader.times);
    if (status != TAMIS_OK) { /* frees our dictionaries, and restores the caller's */
        if (taken.users) ml_names_truncate(taken.users, user_count);
        if (taken.items) ml_names_truncate(taken.items, item_count);
        if (!taken.users) tamis_names_free(reader.users);
        if (!taken.items) tamis_names_free(reader.items);
        return status;
    }
    *users = reader.users;
    *items = reader.items;
    if (skipped) *skipped = reader.skipped;
    return TAMIS_OK;
}
