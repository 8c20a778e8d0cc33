/*
 * Lists of id pairs: graphs as SNAP and KONECT give them ("from to [weight [time]]", "from to time") and ratings ("user
 * item rating [time]"). columns.c finds the separator, the titles and the columns. KONECT's first comment has more
 * details. A third column is times, not weights, if the first lines look so (lists.c).
 */
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "io/formats/format.h"
#include "io/rows/line_rows.h"
#include "io/text/columns.h"
#include "io/text/ids.h"
#include "io/text/lists.h"

typedef struct list_kind {
    const char *comments;
    const char *row_name, *column_name, *value_name;
    int fewest_fields; /* 2 or 3: without or with a value; up to four fields are read */
    const char *fields;
    bool square; /* a graph: rows and columns are the same nodes */
} list_kind;

enum { MOST_FIELDS = 4 };

static const list_kind edge_list = {
    "#%", "an integer node id", "an integer node id", "a weight", 2, "two ids and optionally a weight and a time",
    true};
/* KONECT's bip: the two ids of a line are of different kinds. */
static const list_kind bipartite_list = {
    "#%", "an integer id", "an integer id", "a weight", 2, "two ids and optionally a weight and a time", false};
static const list_kind rating_list = {
    "#%", "an integer user id", "an integer item id", "a rating", 3, "a user, an item, a rating and optionally a time",
    false};

/* Titles name users and items, whatever the file's name. */
static const list_kind titled_list = {
    "#%", "an integer user id", "an integer item id", "a rating", 2, "a user, an item, a rating and optionally a time",
    false};

/* Properties of the list, found from its first lines. */
typedef struct list_shape {
    tamis_list_form form;
    char separator;
    int fields;
    bool numeric;     /* the ids, and a third field, begin like numbers */
    bool names;       /* an id is not an integer, or a field is quoted */
    bool anywhere;    /* columns are as `form` says, else in the usual order */
    const char *line; /* the first line of data */
} list_shape;

static bool is_id(const tamis_field *field) {
    int64_t ignored;
    return tamis_parse_id(field->begin, &ignored) == field->begin + field->length;
}

/* Returns true if the columns are in the order of a list without titles and the fields behind the ids are numbers. */
static bool is_in_order(const tamis_columns *columns, const tamis_field_form *form, const tamis_field *fields,
                        int count) {
    double ignored;
    for (int role = 0; role < TAMIS_ROLES; role++)
        if (columns->at[role] >= 0 && columns->at[role] != role) return false;
    for (int i = 2; i < count; i++)
        if (!tamis_field_number(form, &fields[i], &ignored)) return false;
    return columns->at[TAMIS_ROLE_RATING] >= 0 && count <= MOST_FIELDS;
}

/* Finds a data line's separator, and if its ids are integers. */
static void look_at_line(const tamis_bounded_text *text, list_shape *shape) {
    const tamis_columns *const columns = &shape->form.columns;
    tamis_field_form form = shape->form.fields;
    tamis_field fields[TAMIS_FIELDS_MOST];
    int count = 0;
    double ignored;
    if (form.separator == '\t' && !columns->known) form.separator = ' '; /* blanks may also separate numbers */
    shape->separator = form.separator == '\t' ? ' ' : form.separator;
    shape->numeric = true;
    if (tamis_fields_split(text, &form, shape->line, TAMIS_FIELDS_MOST, fields, &count) != TAMIS_OK)
        tamis_clear_error(); /* reading the line as data reports the error */
    if (count > 0 && fields[count - 1].begin >= tamis_fields_end(text, shape->line))
        count--; /* a separator at the end */
    shape->anywhere = columns->known && (!is_in_order(columns, &form, fields, count) ||
                                         (columns->most > 0 && columns->most != count)); /* lines may differ */
    for (int i = 0; i < count; i++) {
        const int role = !shape->anywhere ? i : i == columns->at[0] ? 0 : i == columns->at[1] ? 1 : TAMIS_ROLE_TIME;
        const tamis_field *const f = &fields[i];
        shape->names |= role <= TAMIS_ROLE_TIME && (f->quoted || *f->begin == '"') && (role < 2 || !shape->anywhere);
        shape->names |= role <= TAMIS_ROLE_ITEM && !is_id(f);
        if (role <= TAMIS_ROLE_ITEM) shape->numeric &= tamis_is_digit(f->begin[*f->begin == '+']);
        if (role == TAMIS_ROLE_RATING) shape->numeric &= tamis_parse_real(f->begin, &ignored) != NULL;
    }
    shape->fields = count;
}

/* Finds the columns and the first line with data. */
static tamis_status find_shape(const tamis_bounded_text *text, bool ended, const char *columns, list_shape *shape) {
    const tamis_list_request request = {.ended = ended, .integers = true, .columns = columns};
    *shape = (list_shape){0};
    TRY(tamis_list_find(text, &request, &shape->form));
    shape->line = shape->form.first;
    if (shape->line < text->end) look_at_line(text, shape);
    return TAMIS_OK;
}

static bool has_fields(const list_shape *shape, int fewest) {
    if (shape->anywhere) return shape->fields >= shape->form.columns.needed;
    return shape->fields >= fewest && shape->fields <= MOST_FIELDS;
}

/* Returns true if the titles name users and items. */
static bool has_users(const list_shape *shape) { return shape->form.columns.known && !shape->form.columns.graph; }

static bool sniff(const tamis_bounded_text *text, const list_kind *kind, list_shape *shape) {
    if (find_shape(text, false, NULL, shape) == TAMIS_OK)
        return shape->numeric && !shape->names && has_fields(shape, kind->fewest_fields);
    tamis_clear_error(); /* the reader will tell */
    return false;
}

/* Recognises edges. Three fields with commas are more likely a rating. */
static bool sniff_edges(const tamis_bounded_text *text) {
    list_shape shape;
    if (tamis_konect_of(text).found) return true;
    return sniff(text, &edge_list, &shape) && !has_users(&shape) &&
           (shape.separator == ' ' || (shape.fields == 2 && !shape.anywhere));
}

/* Returns true if a value and a time follow the ids, as in lists of ratings. */
static bool has_ratings(const tamis_bounded_text *text) {
    list_shape shape;
    return !tamis_konect_of(text).found && sniff(text, &edge_list, &shape) && shape.fields == MOST_FIELDS &&
           tamis_column_is_times(text, shape.line, 4, shape.separator, edge_list.comments) &&
           !tamis_column_is_times(text, shape.line, 3, shape.separator, edge_list.comments);
}

static bool sniff_ratings(const tamis_bounded_text *text) {
    list_shape shape;
    return sniff(text, &titled_list, &shape) && (has_users(&shape) || has_fields(&shape, rating_list.fewest_fields));
}

/* Returns the column of the values: 3, 4, or by its title; 0 if there is none. */
static int find_values(const tamis_reading *reading, const list_kind *kind, const tamis_konect *konect,
                       const list_shape *shape) {
    const int requested = reading->options.value_column;
    tamis_read_report *const report = reading->options.report;
    int times = kind != &rating_list && shape->fields > 3 && requested != 4 ? 4 : 0, values = shape->fields > 2 ? 3 : 0;
    if (requested != 0) {
        values = requested;
    } else if (shape->form.columns.known) {
        values = shape->form.columns.at[TAMIS_ROLE_RATING] + 1;
        times = shape->form.columns.at[TAMIS_ROLE_TIME] + 1;
        if (times != 3 && (times != 4 || !kind->square)) times = 0; /* only times of edges are reported */
    } else if (konect->found) {
        if (!konect->weights) values = 0;
    } else if (values == 3 && (kind != &rating_list || shape->fields == 3) &&
               tamis_column_is_times(&reading->text, shape->line, 3, shape->separator, kind->comments)) {
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
    if (report) report->other_ids = shape->names && has_fields(shape, 2);
    if (shape->form.lists) {
        if (report) {
            report->other_ids = true;
            report->graph = report->weights = false;
            report->times_column = 0;
        }
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, shape->line,
                                 "lines of different lengths: lists of items by user, which tamis_read_ratings reads");
    }
    if (!shape->anywhere && !has_fields(shape, kind->fewest_fields)) return refuse_fields(text, shape, kind->fields);
    if (shape->fields < reading->options.value_column)
        return refuse_fields(text, shape,
                             reading->options.value_column == 3 ? "a value in column 3" : "a value in column 4");
    for (int role = 0; role <= TAMIS_ROLE_ITEM; role++)
        if (reading->options.value_column > 0 && shape->form.columns.at[role] == reading->options.value_column - 1)
            return tamis_fail(
                TAMIS_ERROR_ARGUMENT,
                "options.value_column = %d: column %d of %s has ids: name the columns (--columns, `columns` "
                "in the options)",
                reading->options.value_column, reading->options.value_column, text->name);
    return tamis_list_check_width(text, &shape->form, shape->line);
}

/* Reports comments among the data. */
static void tell_comments(const tamis_reading *reading, int64_t comments) {
    char *const found = reading->options.found;
    if (!found || comments == 0) return;
    const size_t used = strlen(found);
    snprintf(found + used, TAMIS_FOUND_BYTES - used, "; %lld line%s of comments among the data", (long long)comments,
             comments == 1 ? "" : "s");
}

static tamis_status read_lines(const tamis_reading *reading, const list_kind **of, tamis_line_list *list) {
    const tamis_bounded_text *const text = &reading->text;
    const tamis_konect konect = *of == &rating_list ? (tamis_konect){0} : tamis_konect_of(text);
    list_shape shape;
    TRY(find_shape(text, reading->input->ended, reading->options.columns, &shape));
    if (has_users(&shape)) *of = &titled_list;
    if (shape.form.columns.graph && *of == &rating_list) *of = &edge_list;
    const list_kind *const kind = *of;
    if (reading->options.titles) *reading->options.titles = shape.form.titles != NULL;
    const int values = find_values(reading, kind, &konect, &shape);
    shape.form.columns.at[TAMIS_ROLE_RATING] = values - 1;
    if (shape.form.columns.needed < values) shape.form.columns.needed = values;
    if (reading->options.found) tamis_list_describe(text, &shape.form, kind->square, reading->options.found);
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
    const bool names = !kind->square && kind != &bipartite_list;
    const tamis_size_line sizes =
        reading->options.value_column == 0 ? tamis_size_line_of(text, &shape.form) : (tamis_size_line){0};
    TRY(tamis_size_line_check_next(text, &shape.form, &sizes));
    tamis_line_facts facts = {.row_most = -1, .column_most = -1};
    const int width = shape.form.columns.named ? shape.form.columns.needed : shape.fields;
    const int fields = width > 2 ? width - 2 : 0; /* behind the ids */
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
                                  .names = names,
                                  .skipped = values == 4 ? 1 : 0,
                                  .extra = values == 4   ? 0
                                           : values == 3 ? fields - 1
                                                         : fields,
                                  .count = -1,
                                  .ids = true,
                                  .comma = shape.separator != ',',
                                  .marked = names ? &shape.form.fields : NULL,
                                  .form = shape.anywhere ? &shape.form : NULL,
                                  .list = &shape.form,
                                  .open = shape.form.columns.named,
                                  .facts = &facts};
    const tamis_line_form form = {.rule = &rule,
                                  .body = shape.line,
                                  .any_ids = reading->options.relabel,
                                  .square = kind->square,
                                  .mirror = kind->square && reading->options.undirected ? 1 : 0};
    TRY(tamis_read_line_list(reading, &form, list));
    tell_comments(reading, facts.comments);
    return tamis_size_line_check(text, &sizes, facts.row_most, facts.column_most, facts.entries);
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
    tamis_entries_narrow(entries); /* frees 64-bit ids, which would take memory beside the result */
    if (reading->options.undirected && !mirrored) TRY(tamis_entries_mirror(entries, 1));
    return TAMIS_OK;
}

static tamis_status number_ratings(const tamis_reading *reading, tamis_entries *entries) {
    if (reading->options.relabel) TRY(tamis_relabel_separately(reading, entries));
    TRY(check_ids(reading, entries));
    tamis_entries_narrow(entries);
    return TAMIS_OK;
}

static tamis_status read_list(const tamis_reading *reading, const list_kind *kind, tamis_owned_sparse **matrix) {
    tamis_line_list list;
    TAMIS_SCOPE;
    TRY(read_lines(reading, &kind, &list));
    if (!list.as_rows)
        TRY(kind->square ? number_graph(reading, list.mirrored, &list.entries)
                         : number_ratings(reading, &list.entries));
    return tamis_line_list_finish(reading, &list, matrix);
}

static tamis_status read_edges(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    return read_list(reading, tamis_konect_of(&reading->text).bipartite ? &bipartite_list : &edge_list, matrix);
}

static tamis_status read_ratings(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    return read_list(reading, &rating_list, matrix);
}

const tamis_file_row tamis_edges_file = {
    .format = TAMIS_FILE_EDGES,
    .lines = true,
    .shape = TAMIS_SHAPE_IDS,
    .name = "edges",
    .endings = ".txt .el .edges .tsv .wel ?.csv +out.",
    .sniff = sniff_edges,
    .declines = has_ratings,
    .read = read_edges,
};

const tamis_file_row tamis_ratings_file = {
    .format = TAMIS_FILE_RATINGS,
    .lines = true,
    .shape = TAMIS_SHAPE_IDS,
    .name = "ratings",
    .endings = ".csv .ratings .data .tsv .dat .inter",
    .sniff = sniff_ratings,
    .read = read_ratings,
};
