/*
 * See columns.h. The first lines decide. Titles name the columns; lines without titles are checked for signs that they
 * are not a list of pairs with ratings.
 */
#include "io/text/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text_buffer.h"
#include "io/pack/unpack.h"

enum { NAME_BYTES = 128, LOOKED_AT = 64, MOST_UNTITLED = 4 };

static const char *const roles[TAMIS_ROLES] = {"user", "item", "rating", "time"};
static const char *const ends[TAMIS_ROLES] = {"from", "to", "weight", "time"}; /* of a graph */

/* Known names, normalised: lower case, only letters and digits, without "id", "name" or "s" at the end. */
static const char *const known[TAMIS_ROLES][32] = {
    {"user", "u", "customer", "member", "visitor", "reviewer", "account", "person", "client", "reader", "viewer",
     "listener", "source", "src", "from", "fromnode", "head", NULL},
    {"item",  "i",       "movie",  "film", "product",  "artist", "book",       "isbn",  "song", "track",
     "album", "article", "page",   "url",  "business", "asin",   "parentasin", "anime", "game", "show",
     "joke",  "sku",     "target", "dst",  "to",       "tonode", "tail",       NULL},
    {"rating", "r", "score", "star", "value", "count", "play", "playcount", "quantity", "weight", "preference",
     "overall", NULL},
    {"time", "t", "timestamp", "date", "datetime", "unixtime", "unixreviewtime", "ts", "created", "createdat", NULL}};

/* ------------------------------------------------------------------------------------------ titles */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & '\x80'); }

/* Returns the length of a title without RecBole's type, "user_id:token"; all of it where there is none. */
static size_t untyped_length(const tamis_field *f) {
    static const char *const types[] = {":token", ":float", ":token_seq", ":float_seq"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t length = strlen(types[i]);
        if (f->length > length && memcmp(f->begin + f->length - length, types[i], length) == 0)
            return f->length - length;
    }
    return f->length;
}

/* Returns true if every field is a title with a type, as "user_id:token". */
static bool are_typed(const tamis_field *fields, int count) {
    for (int i = 0; i < count; i++)
        if (untyped_length(&fields[i]) == fields[i].length) return false;
    return count >= 2;
}

/* Normalises a title to the form of the names in `known`; false if nothing is left of it. */
static bool simplify(const tamis_field *f, char name[NAME_BYTES]) {
    static const char *const endings[] = {"id", "name", "s"};
    const size_t untyped = untyped_length(f);
    size_t length = 0;
    for (size_t i = 0; i < untyped && length + 1 < NAME_BYTES; i++) {
        const char c = f->begin[i], lower = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9')) name[length++] = lower;
    }
    name[length] = '\0';
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending + 2 && strcmp(name + length - ending, endings[i]) == 0) {
            length -= ending;
            name[length] = '\0';
        }
    }
    return length > 0;
}

/* Returns true if a title is one of the names, which end with NULL. */
static bool is_one_of(const tamis_field *f, const char *const *names) {
    char name[NAME_BYTES];
    if (!simplify(f, name)) return false;
    while (*names && strcmp(name, *names) != 0) names++;
    return *names != NULL;
}

/* Returns true if a title names the source or the target of an edge. */
static bool is_of_graph(const tamis_field *f) {
    static const char *const titles[] = {"source", "src", "from",   "fromnode", "head", "target",
                                         "dst",    "to",  "tonode", "tail",     NULL};
    return is_one_of(f, titles);
}

/* Returns true if a title is that of the index column that pandas and R write. */
static bool is_of_rows(const tamis_field *f) {
    static const char pandas[] = "Unnamed: ";
    return f->length == 0 || (f->length >= sizeof pandas && memcmp(f->begin, pandas, sizeof pandas - 1) == 0);
}

/* Returns the first column with a known name for the role, or -1. */
static int find_known(const tamis_field *fields, int count, int role) {
    for (int i = 0; i < count; i++)
        if (is_one_of(&fields[i], known[role])) return i;
    return -1;
}

/* Returns true if a field that should be a number is a title: a word other than those for missing numbers. */
static bool is_title_of_numbers(const tamis_field_form *form, const tamis_field *f) {
    static const char *const missing[] = {"na", "n/a", "nan", "null", "none", "inf", "infinity"};
    double ignored;
    char word[16] = {0};
    if (f->length == 0 || !is_letter(f->begin[0]) || tamis_field_number(form, f, &ignored)) return false;
    if (f->length >= sizeof word) return true;
    for (size_t i = 0; i < f->length; i++)
        word[i] = (char)(f->begin[i] >= 'A' && f->begin[i] <= 'Z' ? f->begin[i] + ('a' - 'A') : f->begin[i]);
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (strcmp(word, missing[i]) == 0) return false;
    return true;
}

/* ------------------------------------------------------------------------------------------ columns asked for */

/* Looks up a requested column: a title, or a number from 1. A title that is a number must be quoted. */
static tamis_status find_requested(const tamis_bounded_text *text, const tamis_field *fields, int count,
                                   const char *line, const char *name, size_t length, int *at, bool *by_title) {
    const bool digits = strspn(name, "0123456789") >= length;
    for (int i = 0; i < count; i++)
        if ((fields[i].length == length || untyped_length(&fields[i]) == length) && (fields[i].quoted || !digits) &&
            memcmp(fields[i].begin, name, length) == 0) {
            *at = i;
            *by_title = true;
            return TAMIS_OK;
        }
    char *end;
    const long number = strtol(name, &end, 10);
    if (end != name + length || number < 1 || number > TAMIS_FIELDS_MOST)
        return tamis_text_fail(text, line, "a line of titles with '%.*s', as the columns are named", (int)length, name);
    *at = (int)number - 1;
    return TAMIS_OK;
}

/* Checks that no two roles share a column. */
static tamis_status check_apart(const char *requested, const tamis_columns *columns) {
    for (int role = 1; role < TAMIS_ROLES; role++)
        for (int other = 0; other < role; other++)
            if (columns->at[role] >= 0 && columns->at[role] == columns->at[other])
                return tamis_fail(TAMIS_ERROR_ARGUMENT,
                                  "columns = \"%s\": %s= and %s= are both column %d: name a column of its own for each",
                                  requested, roles[other], roles[role], columns->at[role] + 1);
    return TAMIS_OK;
}

static bool is_word(const char *p, const char *end, const char *word) {
    return strlen(word) == (size_t)(end - p) && memcmp(p, word, (size_t)(end - p)) == 0;
}

static tamis_status take_requested(const tamis_bounded_text *text, const tamis_field *fields, int count,
                                   const char *line, const char *requested, tamis_columns *columns, bool *by_title) {
    for (const char *p = requested; *p;) {
        const size_t length = strcspn(p, ",");
        const char *const equals = memchr(p, '=', length);
        int role = 0;
        while (equals && role < TAMIS_ROLES && !is_word(p, equals, roles[role]) && !is_word(p, equals, ends[role]))
            role++;
        if (!equals || role == TAMIS_ROLES || equals + 1 == p + length)
            return tamis_fail(
                TAMIS_ERROR_ARGUMENT,
                "columns = \"%s\": expected user=NAME,item=NAME and maybe rating=NAME and time=NAME, where "
                "NAME is a title or a number from 1",
                requested);
        if (columns->at[role] >= 0)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "columns = \"%s\": %s= is given twice: name one column for it",
                              requested, roles[role]);
        TRY(find_requested(text, fields, count, line, equals + 1, length - (size_t)(equals + 1 - p), &columns->at[role],
                           by_title));
        p += length + (p[length] == ',');
    }
    for (int role = 0; role < 2; role++)
        if (columns->at[role] < 0)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "columns = \"%s\": %s= is missing", requested, roles[role]);
    TRY(check_apart(requested, columns));
    columns->named = columns->known = true;
    columns->graph = strncmp(requested, "from=", 5) == 0 || strstr(requested, ",from=");
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ columns by titles */

static bool is_taken(const tamis_columns *columns, int at) {
    for (int role = 0; role < TAMIS_ROLES; role++)
        if (columns->at[role] == at) return true;
    return false;
}

static tamis_status ask_for_columns(const tamis_bounded_text *text, const char *line, const char *what) {
    return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, line,
                             "%s: name the columns, by titles or by numbers from 1: --columns "
                             "user=1,item=2,rating=3,time=4 (`columns` in the options)",
                             what);
}

/* Titles without a known user and item are accepted for columns in the usual order. They are refused if a known name is
   elsewhere (x, y and t may mean anything), or if there are four or more columns and one is unknown. */
static tamis_status check_in_order(const tamis_bounded_text *text, const char *line, const tamis_field *fields,
                                   int count, const int found[TAMIS_ROLES]) {
    bool moved = count > MOST_UNTITLED || (count > 0 && is_of_rows(&fields[0]));
    for (int role = 0; role < TAMIS_ROLES; role++)
        moved |= found[role] >= 0 && found[role] != role && fields[found[role]].length > 1;
    moved |= count == MOST_UNTITLED && found[TAMIS_ROLE_RATING] < 0 && found[TAMIS_ROLE_TIME] < 0;
    return moved && count > 2 ? ask_for_columns(text, line, "the titles do not tell both user and item") : TAMIS_OK;
}

/* Sets the columns by titles, if these name user and item. If only one other column is left, it is the rating. */
static tamis_status use_titles(const tamis_bounded_text *text, const char *line, const tamis_field *fields, int count,
                               tamis_columns *columns) {
    int found[TAMIS_ROLES], left = -1, lefts = 0;
    for (int role = 0; role < TAMIS_ROLES; role++) found[role] = find_known(fields, count, role);
    if (found[TAMIS_ROLE_USER] < 0 || found[TAMIS_ROLE_ITEM] < 0)
        return check_in_order(text, line, fields, count, found);
    memcpy(columns->at, found, sizeof found);
    columns->known = true;
    columns->graph = is_of_graph(&fields[found[TAMIS_ROLE_USER]]) && is_of_graph(&fields[found[TAMIS_ROLE_ITEM]]);
    if (found[TAMIS_ROLE_RATING] >= 0) return TAMIS_OK;
    for (int i = 0; i < count; i++)
        if (!is_taken(columns, i) && !is_of_rows(&fields[i])) {
            left = i;
            lefts++;
        }
    if (lefts > 1) return ask_for_columns(text, line, "no title is the known name of a rating");
    columns->at[TAMIS_ROLE_RATING] = left;
    return TAMIS_OK;
}

/* Returns true if the line has no numbers and the ids of all following lines are numbers: so it is a line of titles. */
static bool is_above_numbers(const tamis_bounded_text *text, const tamis_field_form *form, const char *line, bool ended,
                             const tamis_field *fields, int count, const tamis_columns *columns) {
    const int user = columns->at[TAMIS_ROLE_USER], item = columns->at[TAMIS_ROLE_ITEM];
    const int needed = (user > item ? user : item) + 1;
    double ignored;
    int n = 0;
    if (count < needed) return false;
    for (int i = 0; i < count; i++)
        if (tamis_field_number(form, &fields[i], &ignored)) return false;
    for (; n < LOOKED_AT; n++) {
        tamis_field behind[TAMIS_FIELDS_MOST];
        line = tamis_fields_next(text, form, tamis_next_line(text, line), NULL);
        if (line >= text->end || (tamis_fields_end(text, line) == text->end && !ended)) break; /* it may be cut */
        if (tamis_fields_split(text, form, line, needed, behind, &count) != TAMIS_OK || count < needed ||
            !tamis_field_number(form, &behind[user], &ignored) || !tamis_field_number(form, &behind[item], &ignored)) {
            tamis_clear_error();
            return false;
        }
    }
    return n > 0;
}

/* Finds out if the line has titles, and sets the columns. */
static tamis_status find_columns(const tamis_bounded_text *text, const char *line, const tamis_list_request *request,
                                 tamis_list_form *form) {
    tamis_columns *const columns = &form->columns;
    tamis_field fields[TAMIS_FIELDS_MOST];
    int count = 0;
    bool titles = false;
    *columns = (tamis_columns){.at = {-1, -1, -1, -1}};
    if (line < text->end &&
        tamis_fields_split(text, &form->fields, line, TAMIS_FIELDS_MOST, fields, &count) != TAMIS_OK) {
        tamis_clear_error(); /* reading the line as data reports it again */
        count = 0;
    }
    if (request->columns)
        TRY(take_requested(text, fields, count, line, request->columns, columns, &titles));
    else
        for (int role = 0; role < TAMIS_ROLES; role++) columns->at[role] = role;
    const int user = columns->at[TAMIS_ROLE_USER], item = columns->at[TAMIS_ROLE_ITEM],
              rating = columns->at[TAMIS_ROLE_RATING];
    double ignored;
    const bool numbers = user < count && item < count && tamis_field_number(&form->fields, &fields[user], &ignored) &&
                         tamis_field_number(&form->fields, &fields[item], &ignored);
    if (!numbers && rating >= 0 && rating < count && is_title_of_numbers(&form->fields, &fields[rating])) titles = true;
    const bool both =
        find_known(fields, count, TAMIS_ROLE_USER) >= 0 && find_known(fields, count, TAMIS_ROLE_ITEM) >= 0;
    if ((both && count == 2) || are_typed(fields, count)) titles = true;
    titles = titles || is_above_numbers(text, &form->fields, line, request->ended, fields, count, columns);
    if (titles && !request->columns) TRY(use_titles(text, line, fields, count, columns));
    if (titles) form->titled = count;
    for (int role = 0; role < TAMIS_ROLES; role++)
        if (columns->at[role] >= columns->needed) columns->needed = columns->at[role] + 1;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ lines without titles */

/* Statistics of the first lines of data. */
typedef struct list_look {
    int least, most;   /* number of fields */
    bool ids;          /* each field is an integer of 0 or more */
    int terms;         /* lines whose fields behind the first are all "index:value" */
    int others;        /* other lines, except a first line of three integers */
    bool pairs;        /* both ids of every line are numbers */
    bool fractions;    /* and the ids of some line have fractions */
    const char *other; /* the first line with another number of fields than the one before; NULL: none */
} list_look;

static bool is_fraction(double value) { return isfinite(value) && value != floor(value); }

/* Returns true if all fields but the first are "index:value", as in svmlight and lda-c files. */
static bool are_terms(const tamis_field *fields, int count) {
    for (int i = 1; i < count; i++) {
        const char *const f = fields[i].begin;
        const size_t digits = strspn(f, "0123456789");
        double ignored;
        if (digits == 0 || f[digits] != ':' || tamis_parse_real(f + digits + 1, &ignored) != f + fields[i].length)
            return false;
    }
    return count > 1;
}

static list_look look_at(const tamis_bounded_text *text, const tamis_list_form *form, bool ended) {
    list_look look = {.least = TAMIS_FIELDS_MOST, .ids = true, .pairs = true};
    const char *line = form->first;
    for (int n = 0; n < LOOKED_AT && line < text->end; n++) {
        const char *const end = tamis_fields_end(text, line);
        tamis_field fields[TAMIS_FIELDS_MOST];
        double value[2] = {0};
        int count = 0;
        if (n > 0 && end == text->end && !ended) break; /* it may be cut */
        if (tamis_fields_split(text, &form->fields, line, TAMIS_FIELDS_MOST, fields, &count) != TAMIS_OK) {
            tamis_clear_error(); /* reading the line as data reports the error */
            look.ids = look.pairs = false;
            look.others++;
            break;
        }
        if (n > 0 && !look.other && (count != look.least || count != look.most)) look.other = line;
        if (count < look.least) look.least = count;
        if (count > look.most) look.most = count;
        for (int i = 0; i < count; i++) look.ids &= strspn(fields[i].begin, "0123456789") >= fields[i].length;
        const bool terms = are_terms(fields, count);
        look.terms += terms;
        look.others += !terms && !(n == 0 && look.ids && count == 3);
        for (int i = 0; i < 2; i++) look.pairs &= i < count && tamis_field_number(&form->fields, &fields[i], &value[i]);
        look.fractions |= is_fraction(value[0]) && is_fraction(value[1]);
        line = tamis_fields_next(text, &form->fields, tamis_next_line(text, line), NULL);
    }
    return look;
}

/* Refuses untitled lines that do not look like a list of pairs. */
static tamis_status check_untitled(const tamis_bounded_text *text, const tamis_list_request *request,
                                   tamis_list_form *form) {
    const list_look look = look_at(text, form, request->ended);
    if (form->first >= text->end) return TAMIS_OK;
    if (look.pairs && look.fractions)
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, form->first,
                                 "both ids are numbers with fractions: this looks like a dense table, expected a list "
                                 "of pairs of ids. Write the table as .npy (numpy.save), or say which columns are ids: "
                                 "--columns user=1,item=2 (`columns` in the options)");
    if (look.terms > 0 && look.others == 0)
        return tamis_text_refuse(
            TAMIS_ERROR_FORMAT, text, form->first,
            "fields \"index:value\", as in bags of words and svmlight's files: read it with --from "
            "svmlight or --from ldac (file_format in the options), or if these are ids say so: "
            "--columns user=1,item=2 (`columns` in the options)");
    if (look.most <= MOST_UNTITLED || form->titles) return TAMIS_OK;
    if (look.other && look.ids) {
        form->lists = true;
        return TAMIS_OK;
    }
    char what[96];
    snprintf(what, sizeof what, "found %s%d fields without titles, expected up to %d",
             look.most == TAMIS_FIELDS_MOST ? "at least " : "", look.most, MOST_UNTITLED);
    return ask_for_columns(text, look.other ? look.other : form->first, what);
}

/* ------------------------------------------------------------------------------------------ the number of fields */

/* Sets the number of fields of a line: as many as in the first line of data; with titles, from the last field that is
   read up to the number of titles. Roles beyond get no column. */
static void set_width(const tamis_bounded_text *text, tamis_list_form *form) {
    tamis_columns *const columns = &form->columns;
    tamis_field fields[TAMIS_FIELDS_MOST];
    int count = form->titled;
    if (count == 0 && form->first < text->end &&
        tamis_fields_split(text, &form->fields, form->first, TAMIS_FIELDS_MOST, fields, &count) != TAMIS_OK) {
        tamis_clear_error(); /* reading the line as data reports the error */
        return;
    }
    columns->most = count < TAMIS_FIELDS_MOST ? count : 0;
    columns->needed = 0;
    for (int role = 0; role < TAMIS_ROLES; role++) {
        if (role > TAMIS_ROLE_ITEM && columns->at[role] >= count) columns->at[role] = -1;
        if (columns->at[role] >= columns->needed) columns->needed = columns->at[role] + 1;
    }
}

tamis_status tamis_list_check_width(const tamis_bounded_text *text, const tamis_list_form *form, const char *line) {
    const tamis_columns *const columns = &form->columns;
    tamis_field fields[TAMIS_FIELDS_MOST];
    int count = 0;
    TRY(tamis_fields_split(text, &form->fields, line, TAMIS_FIELDS_MOST, fields, &count));
    const bool more = tamis_fields_exceed(&form->fields, line, tamis_fields_end(text, line), columns->most);
    if (columns->most == 0 || form->lists || (count >= columns->needed && !more)) return TAMIS_OK;
    return tamis_text_refuse(
        TAMIS_ERROR_FORMAT, text, line,
        "found %s%d field%s, and %s %d: complete or delete the line, or name the columns that every line has: "
        "--columns user=1,item=2, of a graph from=1,to=2 (`columns` in the options)%s",
        count == TAMIS_FIELDS_MOST ? "at least " : "", count, count == 1 ? "" : "s",
        form->titled > 0 ? "the titles have" : "the first line of data has", columns->most,
        form->titled > 0 ? "" : ". Of lists of items by user write a line `user item` for each");
}

/* ------------------------------------------------------------------------------------------ all together */

tamis_status tamis_list_find(const tamis_bounded_text *text, const tamis_list_request *request, tamis_list_form *form) {
    const bool quotes = tamis_unpacked_name_ends(text->name, ".csv");
    *form = (tamis_list_form){0};
    const char *line = request->header ? text->begin : tamis_fields_next(text, NULL, text->begin, &form->comments);
    form->fields =
        (tamis_field_form){.separator = tamis_fields_separator(text, line, request->ended, quotes), .quotes = quotes};
    TRY(find_columns(text, line, request, form));
    form->first = line;
    const char *const behind = tamis_next_line(text, line), *const other = tamis_skip_comments(text, behind, "#%");
    const bool alone = tamis_skip_comments(text, behind, "") >= text->end;
    if (request->header || (alone && request->integers && (!form->columns.known || request->columns)))
        form->titled = 0; /* the line may be anything, or ids are names */
    if ((form->titled > 0 || request->header) && line < text->end) {
        form->titles = line;
        if (!alone)
            form->fields.separator =
                tamis_fields_separator(text, other < text->end ? other : behind, request->ended, quotes);
        form->first = tamis_fields_next(text, &form->fields, behind, &form->comments);
    }
    if (!form->columns.known) TRY(check_untitled(text, request, form));
    if (!form->columns.named && !form->lists) set_width(text, form);
    return TAMIS_OK;
}

/* Returns true if a title can be shown: it is short and printable ASCII, so it has no control sequences. */
static bool is_shown(const tamis_field *f) {
    enum { SHOWN = 24 };
    bool plain = f->length > 0 && f->length <= SHOWN;
    for (size_t i = 0; i < f->length && plain; i++) plain = f->begin[i] >= 0x20 && f->begin[i] < 0x7f;
    return plain;
}

void tamis_list_describe(const tamis_bounded_text *text, const tamis_list_form *form, bool graph,
                         char described[TAMIS_FOUND_BYTES]) {
    tamis_text_buffer to = {.to = described, .bytes = TAMIS_FOUND_BYTES};
    tamis_field fields[TAMIS_FIELDS_MOST];
    int count = 0;
    described[0] = '\0';
    const char *const line = form->titles ? form->titles : form->first;
    if (line >= text->end) return;
    if (tamis_fields_split(text, &form->fields, line, TAMIS_FIELDS_MOST, fields, &count) != TAMIS_OK) {
        tamis_clear_error();
        return;
    }
    tamis_text_add(&to, "%s",
                   form->lists ? "lists: user = column 1, items = the others"
                   : graph     ? "edges:"
                               : "ratings:");
    for (int role = 0, told = 0; role < TAMIS_ROLES && !form->lists; role++) {
        const int at = form->columns.at[role];
        if (at < 0 || at >= count) continue;
        tamis_text_add(&to, "%s %s = column %d", told++ > 0 ? "," : "", graph ? ends[role] : roles[role], at + 1);
        if (form->titles && is_shown(&fields[at]))
            tamis_text_add(&to, " '%.*s'", (int)fields[at].length, fields[at].begin);
    }
    const char *separator = ";";
    const struct {
        int64_t count;
        const char *what;
    } lines[] = {{form->titles != NULL, "titles"}, {form->comments, "comments"}};
    for (int i = 0; i < 2; i++) {
        if (lines[i].count == 0) continue;
        tamis_text_add(&to, "%s %lld line%s of %s", separator, (long long)lines[i].count,
                       lines[i].count == 1 ? "" : "s", lines[i].what);
        separator = ",";
    }
}
