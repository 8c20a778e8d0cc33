/*
 * Lists of id pairs: graphs as SNAP and KONECT give them ("from to [weight [time]]") and ratings ("user item rating
 * [time]"). Both are found out from the first line that is no comment: what stands between the fields, how many there
 * are, and whether it is a line of column titles.
 */
#include <string.h>

#include "io/line_rows.h"

typedef struct list_kind {
    const char *comments;
    const char *row_name, *column_name, *value_name;
    int fewest_fields; /* 2 or 3: without or with a value; up to four are read */
    const char *fields;
    bool square; /* of a graph: rows and columns are the same things */
} list_kind;

enum { MOST_FIELDS = 4 };

static const list_kind edge_list = {
    "#%", "an integer node id", "an integer node id", "a weight", 2, "two ids and optionally a weight and a time",
    true};
static const list_kind rating_list = {
    "#%", "an integer user id", "an integer item id", "a rating", 3, "a user, an item, a rating and optionally a time",
    false};

/* What the first lines tell. */
typedef struct list_shape {
    char separator;
    int fields;
    bool numeric;     /* the fields are numbers: no titles */
    const char *line; /* the line that was looked at */
} list_shape;

static char find_separator(const tamis_text *text, const char *line) {
    const char *const end = tamis_next_line(text, line);
    for (const char *p = line; p < end; p++) {
        if (*p == ',' || *p == ';') return *p;
        if (p[0] == ':' && p[1] == ':') return ':';
    }
    return ' ';
}

static const char *skip_field(const tamis_text *text, const char *p, char separator) {
    while (!tamis_at_line_end(text, p) && p < text->end && !(separator == ' ' ? tamis_is_blank(*p) : *p == separator))
        p++;
    return p;
}

static list_shape look_at(const tamis_text *text, const char *line) {
    list_shape shape = {.separator = find_separator(text, line), .numeric = true, .line = line};
    for (const char *p = line; !tamis_at_line_end(text, p) && p < text->end && shape.fields <= MOST_FIELDS;) {
        double ignored;
        shape.fields++;
        if (shape.fields <= 2)
            shape.numeric &= tamis_is_digit(*p);
        else if (shape.fields == 3)
            shape.numeric &= tamis_parse_real(p, &ignored) != NULL;
        p = skip_field(text, p, shape.separator);
        if (tamis_at_line_end(text, p) || p >= text->end) break;
        if (shape.separator != ' ') p += shape.separator == ':' && p[1] == ':' ? 2 : 1;
        p = tamis_skip_blanks(p);
    }
    return shape;
}

/* The first line with data; a line of titles before it is passed over. */
static list_shape find_shape(const tamis_text *text, const list_kind *kind) {
    const char *const first = tamis_skip_comments(text, text->begin, kind->comments);
    const list_shape shape = look_at(text, first);
    if (shape.numeric || shape.fields < kind->fewest_fields || tamis_is_digit(*first)) return shape;
    const char *const second = tamis_skip_comments(text, tamis_next_line(text, first), kind->comments);
    return second < text->end ? look_at(text, second) : shape;
}

static bool sniff(const tamis_text *text, const list_kind *kind) {
    const list_shape shape = find_shape(text, kind);
    return shape.numeric && shape.fields >= kind->fewest_fields && shape.fields <= MOST_FIELDS;
}

/* Three fields with commas are more likely a rating. */
bool tamis_sniff_edges(const tamis_text *text) {
    const list_shape shape = find_shape(text, &edge_list);
    return sniff(text, &edge_list) && (shape.separator == ' ' || shape.fields == 2);
}

bool tamis_sniff_ratings(const tamis_text *text) { return sniff(text, &rating_list); }

static tamis_status read_list(const tamis_reading *reading, const list_kind *kind, tamis_line_list *list) {
    const tamis_text *const text = &reading->text;
    const list_shape shape = find_shape(text, kind);
    if (reading->options.titles)
        *reading->options.titles = shape.line != tamis_skip_comments(text, text->begin, kind->comments);
    if (shape.line < text->end && (shape.fields < kind->fewest_fields || shape.fields > MOST_FIELDS))
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, shape.line, "found %s%d field%s, expected %s",
                                 shape.fields > MOST_FIELDS ? "more than " : "",
                                 shape.fields > MOST_FIELDS ? MOST_FIELDS : shape.fields, shape.fields == 1 ? "" : "s",
                                 kind->fields);
    const tamis_line_rule rule = {.comments = kind->comments,
                                  .separator = shape.separator,
                                  .base = 0,
                                  .rows = INT64_MAX,
                                  .cols = INT64_MAX,
                                  .row_name = kind->row_name,
                                  .column_name = kind->column_name,
                                  .value_name = kind->value_name,
                                  .value = shape.fields > 2 ? TAMIS_LINE_REAL : TAMIS_LINE_NO_VALUE,
                                  .keep_values = tamis_wants_values(reading),
                                  .extra = shape.fields > 3 ? 1 : 0,
                                  .count = -1};
    const tamis_line_form form = {.rule = &rule,
                                  .body = shape.line,
                                  .any_ids = reading->options.relabel,
                                  .square = kind->square,
                                  .mirror = kind->square && reading->options.undirected ? 1 : 0};
    return tamis_read_line_list(reading, &form, list);
}

/* Ids that are used as indices must stay within what the result can hold. */
static tamis_status check_ids(const tamis_reading *reading, const tamis_entries *entries) {
    const int64_t size = entries->rows > entries->cols ? entries->rows : entries->cols;
    if (size > TAMIS_SIZE_MOST || (tamis_needs_wide(size) && reading->options.index_type == TAMIS_I32))
        return tamis_fail(TAMIS_ERROR_OVERFLOW,
                          "%s: ids up to %lld need index_type = int64%s, or relabel = true to renumber them",
                          reading->text.name, (long long)size - 1,
                          size > TAMIS_SIZE_MOST ? " and more memory than is available" : "");
    return TAMIS_OK;
}

static tamis_status number_graph(const tamis_reading *reading, bool mirrored, tamis_entries *entries) {
    if (reading->options.relabel) TRY(tamis_relabel_shared(reading, entries));
    const int64_t size = entries->rows > entries->cols ? entries->rows : entries->cols;
    entries->rows = entries->cols = size;
    TRY(check_ids(reading, entries));
    tamis_entries_narrow(entries); /* of ids of 64 bits, which would stand beside the result */
    if (reading->options.undirected && !mirrored) TRY(tamis_entries_mirror(entries, 1));
    return TAMIS_OK;
}

static tamis_status number_ratings(const tamis_reading *reading, tamis_entries *entries) {
    if (reading->options.relabel) TRY(tamis_relabel_separately(reading, entries));
    TRY(check_ids(reading, entries));
    tamis_entries_narrow(entries);
    return TAMIS_OK;
}

static tamis_status finish_list(const tamis_reading *reading, const list_kind *kind, tamis_line_list *list,
                                tamis_owned_sparse **matrix) {
    tamis_status status = TAMIS_OK;
    if (!list->as_rows)
        status = kind->square ? number_graph(reading, list->mirrored, &list->entries)
                              : number_ratings(reading, &list->entries);
    return tamis_line_list_finish(reading, status, list, matrix);
}

tamis_status tamis_read_edges(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    tamis_line_list list;
    TRY(read_list(reading, &edge_list, &list));
    return finish_list(reading, &edge_list, &list, matrix);
}

tamis_status tamis_read_rating_lines(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    tamis_line_list list;
    TRY(read_list(reading, &rating_list, &list));
    return finish_list(reading, &rating_list, &list, matrix);
}
