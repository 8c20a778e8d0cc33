/*
 * Ratings with arbitrary ids: lines of `user item [rating [time]]` become a matrix and two dictionaries. One thread
 * parses the lines in order, since ids are numbered in order of arrival.
 */
#include <float.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/input.h"
#include "ml/names.h"
#include "sparse/element.h"

enum { USER = 0, ITEM, RATING, TIME, FIELDS, REPORT_EVERY = 1 << 14, LINE_BYTES_LEAST = 4 };

typedef struct field {
    const char *begin;
    size_t length;
    bool doubled; /* has doubled quotes in it, each of which stands for one */
} field;

typedef struct rating_reader {
    const tamis_ratings_options *options;
    tamis_progress progress;
    tamis_input input;
    char separator; /* ':' means "::", ' ' any number of blanks */
    bool quotes;    /* a field may be quoted */
    tamis_names *users, *items;
    int32_t *row_indices, *columns;
    void *values; /* of options->value_type */
    int64_t count, skipped;
} rating_reader;

/* ---- lines */

static const char *end_of_line(const tamis_bounded_text *text, const char *line) {
    const char *end = tamis_next_line(text, line);
    if (end > line && end[-1] == '\n') end--;
    return end;
}

/* Whether a character beside a field is padding: blanks, unless they are what separates. */
static bool is_padding(char separator, char c) { return separator == '\t' ? c == ' ' || c == '\r' : tamis_is_blank(c); }

/* Returns the next line from p on that has something but a comment, or the end of the text. */
static const char *find_data(const tamis_bounded_text *text, const char *p) {
    for (; p < text->end; p = tamis_next_line(text, p)) {
        const char *const first = tamis_skip_blanks(p);
        if (first < text->end && *first != '\n' && *first != '#' && *first != '%') return p;
    }
    return text->end;
}

static bool separates(const char *p, const char *end, char separator) {
    if (separator == ':') return end - p >= 2 && p[0] == ':' && p[1] == ':';
    return p < end && *p == separator;
}

static char find_separator(const char *line, const char *end, bool quotes) {
    static const char candidates[] = {'\t', ':', ',', ';', ' '};
    while (line < end && tamis_is_blank(*line)) line++;
    while (end > line && tamis_is_blank(end[-1])) end--;
    for (size_t i = 0; i < sizeof candidates; i++) {
        bool inside = false;
        for (const char *p = line; p < end; p++) {
            if (quotes && *p == '"') inside = !inside;
            if (!inside && separates(p, end, candidates[i])) return candidates[i];
        }
    }
    return ' ';
}

/* Takes a quoted field: *p is at its first quote, and goes behind its last. */
static tamis_status take_quoted(const tamis_bounded_text *text, const char **p, const char *end, field *taken) {
    const char *const start = *p + 1;
    *taken = (field){.begin = start};
    for (const char *at = start; at < end; at++) {
        if (*at != '"') continue;
        if (at + 1 < end && at[1] == '"') {
            taken->doubled = true;
            at++;
            continue;
        }
        taken->length = (size_t)(at - start);
        *p = at + 1;
        return TAMIS_OK;
    }
    return tamis_text_fail(text, *p, "a closing quote at the end of the field");
}

static void take_plain(const rating_reader *reader, const char **p, const char *end, field *taken) {
    const char *at = *p;
    if (reader->separator == ' ')
        while (at < end && !tamis_is_blank(*at)) at++;
    else
        while (at < end && !separates(at, end, reader->separator)) at++;
    const char *last = at;
    while (last > *p && is_padding(reader->separator, last[-1])) last--;
    *taken = (field){.begin = *p, .length = (size_t)(last - *p)};
    *p = at;
}

static const char *skip_padding(const rating_reader *reader, const char *p, const char *end) {
    while (p < end && is_padding(reader->separator, *p)) p++;
    return p;
}

/* Splits a line into fields; *count is how many there are. */
static tamis_status split_line(const rating_reader *reader, const char *p, const char *end, field *fields, int *count) {
    const tamis_bounded_text *const text = &reader->input.text;
    p = skip_padding(reader, p, end);
    for (*count = 0;; ++*count) {
        if (*count == FIELDS) return tamis_text_fail(text, p, "the end of the line after the time");
        if (reader->quotes && p < end && *p == '"') {
            TRY(take_quoted(text, &p, end, &fields[*count]));
            const char *const behind = p;
            p = skip_padding(reader, p, end);
            const bool separated = reader->separator == ' ' ? p > behind : separates(p, end, reader->separator);
            if (p < end && !separated) return tamis_text_fail(text, p, "a separator after the quoted field");
        } else {
            take_plain(reader, &p, end, &fields[*count]);
            p = reader->separator == ' ' ? skip_padding(reader, p, end) : p;
        }
        if (p >= end) break;
        if (reader->separator != ' ') p += reader->separator == ':' ? 2 : 1;
        p = skip_padding(reader, p, end);
    }
    ++*count;
    return TAMIS_OK;
}

/* Whether all of the field is one number. Behind the text there is room to read, as tamis_parse_real wants it. */
static bool is_number(const field *f, double *value) {
    return f->length > 0 && tamis_parse_real(f->begin, value) == f->begin + f->length;
}

static bool is_title(const rating_reader *reader, const char *line) {
    field fields[FIELDS];
    int count = 0;
    double ignored;
    if (split_line(reader, line, end_of_line(&reader->input.text, line), fields, &count) != TAMIS_OK) {
        tamis_clear_error(); /* it is told again when the line is read as data */
        return false;
    }
    return count > RATING && fields[RATING].length > 0 && !is_number(&fields[RATING], &ignored);
}

/* Finds the first line of data, which tells the separator. */
static const char *find_first(rating_reader *reader) {
    const tamis_bounded_text *const text = &reader->input.text;
    const size_t length = tamis_unpacked_name_length(text->name);
    reader->quotes = length > 4 && strncasecmp(text->name + length - 4, ".csv", 4) == 0;
    const char *const start = reader->options->header ? tamis_next_line(text, text->begin) : text->begin;
    const char *line = find_data(text, start);
    reader->separator = find_separator(line, end_of_line(text, line), reader->quotes);
    const bool titles = !reader->options->header && line < text->end && is_title(reader, line);
    if (reader->options->titles) *reader->options->titles = titles;
    if (!titles) return line;
    line = find_data(text, tamis_next_line(text, line));
    reader->separator = find_separator(line, end_of_line(text, line), reader->quotes);
    return line;
}

/* ---- entries */

/* Checks an id. Doubled quotes become single ones where they stand: the text is ours and is not read again. */
static tamis_status take_id(rating_reader *reader, field *id, const char *what) {
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

static tamis_status take_rating(const rating_reader *reader, const field *f, double *rating) {
    const tamis_bounded_text *const text = &reader->input.text;
    if (!is_number(f, rating)) return tamis_text_fail(text, f->begin, "a rating");
    const bool single = reader->options->value_type == TAMIS_F32;
    if (!(fabs(*rating) <= (single ? (double)FLT_MAX : DBL_MAX)))
        return tamis_text_fail(text, f->begin, "a rating that %s can hold", single ? "fp32" : "fp64");
    return TAMIS_OK;
}

static tamis_status take_line(rating_reader *reader, const char *line, const char *end) {
    field fields[FIELDS];
    int count = 0;
    double rating = reader->options->missing_value;
    int64_t user, item;
    TRY(split_line(reader, line, end, fields, &count));
    if (count <= ITEM) return tamis_text_fail(&reader->input.text, end, "an item after the user");
    if (count > RATING) TRY(take_rating(reader, &fields[RATING], &rating));
    TRY(take_id(reader, &fields[USER], "a user"));
    TRY(take_id(reader, &fields[ITEM], "an item"));
    if (reader->options->known_only) {
        user = tamis_names_find(reader->users, fields[USER].begin, fields[USER].length);
        item = tamis_names_find(reader->items, fields[ITEM].begin, fields[ITEM].length);
        if (user < 0 || item < 0) {
            reader->skipped++;
            return TAMIS_OK;
        }
    } else {
        TRY(tamis_names_add(reader->users, fields[USER].begin, fields[USER].length, &user));
        TRY(tamis_names_add(reader->items, fields[ITEM].begin, fields[ITEM].length, &item));
    }
    reader->row_indices[reader->count] = (int32_t)user;
    reader->columns[reader->count] = (int32_t)item;
    tamis_element_store(reader->values, reader->options->value_type, reader->count++, rating);
    return TAMIS_OK;
}

static tamis_status make_room(rating_reader *reader) {
    const tamis_bounded_text *const text = &reader->input.text;
    int64_t lines = 1;
    for (const char *p = text->begin; p < text->end; p = tamis_next_line(text, p)) lines++;
    const int64_t most = (text->end - text->begin) / LINE_BYTES_LEAST + 1; /* many lines may be empty */
    if (lines > most) lines = most;
    void *memory;
    TRY(tamis_allocate(lines, sizeof(int32_t), "ratings", &memory));
    reader->row_indices = memory;
    TRY(tamis_allocate(lines, sizeof(int32_t), "ratings", &memory));
    reader->columns = memory;
    TRY(tamis_allocate(lines, tamis_type_size(reader->options->value_type), "ratings", &reader->values));
    return TAMIS_OK;
}

static tamis_status take_lines(rating_reader *reader) {
    const tamis_bounded_text *const text = &reader->input.text;
    const double bytes = (double)(text->end - text->begin);
    int64_t lines = 0;
    TRY(make_room(reader));
    for (const char *line = find_first(reader); line < text->end; line = find_data(text, tamis_next_line(text, line))) {
        TRY(take_line(reader, line, end_of_line(text, line)));
        if (++lines % REPORT_EVERY == 0)
            TRY(tamis_progress_step(&reader->progress, 0.5 + 0.4 * (double)(line - text->begin) / bytes, text->name));
    }
    return TAMIS_OK;
}

/* ---- the matrix */

/* Sorting keeps the order of the file among entries at the same place, so that the last of them is the last rating. */
static tamis_status make_matrix(const rating_reader *reader, tamis_owned_sparse **matrix) {
    const tamis_sparse entries = {.format = TAMIS_COO,
                                  .rows = tamis_names_count(reader->users),
                                  .cols = tamis_names_count(reader->items),
                                  .nnz = reader->count,
                                  .row_indices = reader->row_indices,
                                  .columns = reader->columns,
                                  .value_type = reader->options->value_type,
                                  .values = reader->values};
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.offset_type = entries.nnz > INT32_MAX ? TAMIS_I64 : TAMIS_I32;
    options.value_type = reader->options->value_type;
    options.sort = true;
    options.duplicates = reader->options->keep  ? TAMIS_DUPLICATES_KEEP
                         : reader->options->sum ? TAMIS_DUPLICATES_SUM
                                                : TAMIS_DUPLICATES_LAST;
    options.values = TAMIS_VALUES_ONES;
    return tamis_convert(&entries, &options, matrix);
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
    if (options->known_only && (!options->users || !options->items))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.%s = NULL: known_only needs both dictionaries",
                          options->users ? "items" : "users");
    return TAMIS_OK;
}

/* Checks before all of a large file is read that its beginning is one of ratings. */
static tamis_status check_beginning(rating_reader *reader) {
    const tamis_bounded_text *const text = &reader->input.text;
    const char *const zero = memchr(text->begin, '\0', (size_t)(text->end - text->begin));
    if (zero) return tamis_text_fail(text, zero, "a text without zero bytes");
    const char *const line = find_first(reader), *const end = end_of_line(text, line);
    if (reader->input.cut || line >= text->end) return TAMIS_OK;
    field fields[FIELDS];
    int count = 0;
    double rating = 0;
    TRY(split_line(reader, line, end, fields, &count));
    if (count <= ITEM) return tamis_text_fail(text, end, "an item after the user");
    return count > RATING ? take_rating(reader, &fields[RATING], &rating) : TAMIS_OK;
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
    const int64_t user_count = tamis_names_count(taken.users), item_count = tamis_names_count(taken.items);
    rating_reader reader = {.options = &taken, .users = taken.users, .items = taken.items};
    const tamis_status status = read_ratings(&reader, path, ratings);
    tamis_input_close(&reader.input);
    tamis_release(reader.row_indices);
    tamis_release(reader.columns);
    tamis_release(reader.values);
    if (status != TAMIS_OK) { /* dictionaries of ours go, the caller's are as they were */
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
