/*
 * Lists of id pairs: graphs as SNAP and KONECT give them ("from to [weight [time]]", "from to time") and ratings ("user
 * item rating [time]"). Both are found out from the first line that is no comment: what stands between the fields, how
 * many there are, and whether it is a line of column titles. KONECT's first comment tells more. A third column is times
 * where the first lines say so (times.c), and then it is no weight.
 */
#include <string.h>

#include "io/format.h"
#include "io/ids.h"
#include "io/line_rows.h"
#include "io/lists.h"

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
/* KONECT's bip: a line has ids of different things. */
static const list_kind bipartite_list = {
    "#%", "an integer id", "an integer id", "a weight", 2, "two ids and optionally a weight and a time", false};
static const list_kind rating_list = {
    "#%", "an integer user id", "an integer item id", "a rating", 3, "a user, an item, a rating and optionally a time",
    false};

/* What the first lines tell. */
typedef struct list_shape {
    char separator;
    int fields;
    bool numeric;     /* the fields are numbers: no titles */
    bool names;       /* one of the ids is no integer, or a field is quoted */
    const char *line; /* the line that was looked at */
} list_shape;

static char find_separator(const tamis_bounded_text *text, const char *line) {
    const char *const end = tamis_next_line(text, line);
    for (const char *p = line; p < end; p++) {
        if (*p == ',' || *p == ';') return *p;
        if (p[0] == ':' && p[1] == ':') return ':';
    }
    return ' ';
}

static const char *skip_field(const tamis_bounded_text *text, const char *p, char separator) {
    while (!tamis_at_line_end(text, p) && p < text->end && !(separator == ' ' ? tamis_is_blank(*p) : *p == separator))
        p++;
    return p;
}

static bool is_id(const tamis_bounded_text *text, const char *p, char separator) {
    int64_t ignored;
    const char *const after = tamis_parse_index(p, &ignored), *const end = skip_field(text, p, separator);
    return after && tamis_skip_blanks(after) >= end;
}

static list_shape look_at(const tamis_bounded_text *text, const char *line) {
    list_shape shape = {.separator = find_separator(text, line), .numeric = true, .line = line};
    for (const char *p = line; !tamis_at_line_end(text, p) && p < text->end && shape.fields <= MOST_FIELDS;) {
        double ignored;
        shape.fields++;
        shape.names |= *p == '"' || (shape.fields <= 2 && !is_id(text, p, shape.separator));
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

/* Finds the first line with data; it passes over a line of titles before it. */
static list_shape find_shape(const tamis_bounded_text *text, const list_kind *kind) {
    const char *const first = tamis_skip_comments(text, text->begin, kind->comments);
    const list_shape shape = look_at(text, first);
    if (shape.numeric || shape.fields < kind->fewest_fields || tamis_is_digit(*first)) return shape;
    const char *const second = tamis_skip_comments(text, tamis_next_line(text, first), kind->comments);
    return second < text->end ? look_at(text, second) : shape;
}

static bool sniff(const tamis_bounded_text *text, const list_kind *kind) {
    const list_shape shape = find_shape(text, kind);
    return shape.numeric && !shape.names && shape.fields >= kind->fewest_fields && shape.fields <= MOST_FIELDS;
}

/* Recognises edges. Three fields with commas are more likely a rating. */
static bool sniff_edges(const tamis_bounded_text *text) {
    if (tamis_konect_of(text).found) return true;
    const list_shape shape = find_shape(text, &edge_list);
    return sniff(text, &edge_list) && (shape.separator == ' ' || shape.fields == 2);
}

static bool sniff_ratings(const tamis_bounded_text *text) { return sniff(text, &rating_list); }

/* Finds the column of the values: 3, 4, or 0 if there are none. */
static int find_values(const tamis_reading *reading, const list_kind *kind, const tamis_konect *konect,
                       const list_shape *shape) {
    const int requested = kind == &rating_list ? 0 : reading->options.value_column;
    tamis_read_report *const report = reading->options.report;
    int times = kind != &rating_list && shape->fields > 3 && requested != 4 ? 4 : 0, values = shape->fields > 2 ? 3 : 0;
    if (requested != 0) {
        values = requested;
    } else if (konect->found) {
        if (!konect->weights) values = 0;
    } else if (values == 3 && (kind != &rating_list || shape->fields == 3) &&
               tamis_column_is_times(&reading->text, shape->line, shape->separator, kind->comments)) {
        values = 0;
        times = 3;
    }
    if (report) report->times_column = times;
    return values;
}

static tamis_status refuse_fields(const tamis_bounded_text *text, const list_shape *shape, const char *expected) {
    return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, shape->line, "found %s%d field%s, expected %s",
                             shape->fields > MOST_FIELDS ? "more than " : "",
                             shape->fields > MOST_FIELDS ? MOST_FIELDS : shape->fields, shape->fields == 1 ? "" : "s",
                             expected);
}

static tamis_status check_shape(const tamis_reading *reading, const list_kind *kind, const list_shape *shape) {
    const tamis_bounded_text *const text = &reading->text;
    tamis_read_report *const report = reading->options.report;
    if (shape->line >= text->end) return TAMIS_OK;
    if (report) report->graph = kind->square;
    if (report) report->weights = shape->fields > 2;
    if (report) report->other_ids = shape->names && shape->fields >= 2 && shape->fields <= MOST_FIELDS;
    if (shape->fields < kind->fewest_fields || shape->fields > MOST_FIELDS)
        return refuse_fields(text, shape, kind->fields);
    if (kind != &rating_list && shape->fields < reading->options.value_column)
        return refuse_fields(text, shape,
                             reading->options.value_column == 3 ? "a value in column 3" : "a value in column 4");
    return TAMIS_OK;
}

static tamis_status read_list(const tamis_reading *reading, const list_kind *kind, tamis_line_list *list) {
    const tamis_bounded_text *const text = &reading->text;
    const tamis_konect konect = kind == &rating_list ? (tamis_konect){0} : tamis_konect_of(text);
    const list_shape shape = find_shape(text, kind);
    if (reading->options.titles)
        *reading->options.titles = shape.line != tamis_skip_comments(text, text->begin, kind->comments);
    const int values = find_values(reading, kind, &konect, &shape);
    TRY(check_shape(reading, kind, &shape));
    if (konect.bipartite && reading->options.undirected)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "%s: undirected = true, but its first line says that it is bipartite: rows and columns are "
                          "different things",
                          text->name);
    if (reading->options.report) {
        reading->options.report->undirected = konect.symmetric && !reading->options.undirected;
        reading->options.report->bipartite = konect.bipartite;
    }
    const int fields = shape.fields > 2 ? shape.fields - 2 : 0; /* behind the ids */
    const tamis_line_rule rule = {.comments = kind->comments,
                                  .separator = shape.separator,
                                  .base = 0,
                                  .rows = INT64_MAX,
                                  .cols = INT64_MAX,
                                  .row_name = kind->row_name,
                                  .column_name = kind->column_name,
                                  .value_name = kind->value_name,
                                  .value = values > 0 ? TAMIS_LINE_REAL : TAMIS_LINE_NO_VALUE,
                                  .keep_values = tamis_wants_values(reading),
                                  .names = kind == &rating_list,
                                  .skipped = values == 4 ? 1 : 0,
                                  .extra = values == 4   ? 0
                                           : values == 3 ? fields - 1
                                                         : fields,
                                  .count = -1};
    const tamis_line_form form = {.rule = &rule,
                                  .body = shape.line,
                                  .any_ids = reading->options.relabel,
                                  .square = kind->square,
                                  .mirror = kind->square && reading->options.undirected ? 1 : 0};
    return tamis_read_line_list(reading, &form, list);
}

/* Refuses ids beyond what the result's indices can hold. */
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

static tamis_status read_edges(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    const list_kind *const kind = tamis_konect_of(&reading->text).bipartite ? &bipartite_list : &edge_list;
    tamis_line_list list;
    TRY(read_list(reading, kind, &list));
    return finish_list(reading, kind, &list, matrix);
}

static tamis_status read_rating_lines(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    tamis_line_list list;
    TRY(read_list(reading, &rating_list, &list));
    return finish_list(reading, &rating_list, &list, matrix);
}

const tamis_file_row tamis_edges_file = {
    .format = TAMIS_FILE_EDGES,
    .lines = true,
    .shape = TAMIS_SHAPE_IDS,
    .name = "edges",
    .endings = ".txt .el .edges .tsv .wel ?.csv +out.",
    .sniff = sniff_edges,
    .read = read_edges,
};

const tamis_file_row tamis_ratings_file = {
    .format = TAMIS_FILE_RATINGS,
    .lines = true,
    .shape = TAMIS_SHAPE_IDS,
    .name = "ratings",
    .endings = ".csv .ratings .data .tsv .dat",
    .sniff = sniff_ratings,
    .read = read_rating_lines,
};
