/*
 * See rating_columns.h. Columns are those asked for; else those whose titles are known names of a user and an item;
 * else the first is the user, the second the item, the third the rating and the fourth the time.
 */
#include "ml/rating_columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { NAME_BYTES = 128 };

static const char *const roles[ML_ROLES] = {"user", "item", "rating", "time"};

/* Names in lower case, without anything but letters and digits, and without "id", "name" or "s" at their end. */
static const char *const known[ML_ROLES][24] = {
    {"user", "u", "customer", "member", "visitor", "reviewer", "account", "person", "client", "reader", "viewer",
     "listener", NULL},
    {"item", "i",   "movie",    "film", "product",    "artist", "book", "isbn", "song", "track", "album", "article",
     "page", "url", "business", "asin", "parentasin", "anime",  "game", "show", "joke", "sku",   NULL},
    {"rating", "r", "score", "star", "value", "count", "play", "playcount", "quantity", "weight", "preference", NULL},
    {"time", "t", "timestamp", "date", "datetime", "unixtime", "ts", "created", "createdat", NULL}};

/* ------------------------------------------------------------------------------------------ titles */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & '\x80'); }

/* Writes a name as in `known`; false if nothing is left of it. */
static bool simplify(const ml_rating_field *f, char name[NAME_BYTES]) {
    static const char *const endings[] = {"id", "name", "s"};
    size_t length = 0;
    for (size_t i = 0; i < f->length && length + 1 < NAME_BYTES; i++) {
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

static bool is_known(const ml_rating_field *f, int role) {
    char name[NAME_BYTES];
    if (!simplify(f, name)) return false;
    for (const char *const *one = known[role]; *one; one++)
        if (strcmp(name, *one) == 0) return true;
    return false;
}

/* The first column with a known name, -1 for none. */
static int find_known(const ml_rating_field *fields, int count, int role) {
    for (int i = 0; i < count; i++)
        if (is_known(&fields[i], role)) return i;
    return -1;
}

/* Whether the field stands where a number should and is a title: a word, and not one for a missing number. */
static bool is_title_of_numbers(const ml_rating_form *form, const ml_rating_field *f) {
    static const char *const missing[] = {"na", "n/a", "nan", "null", "none", "inf", "infinity"};
    double ignored;
    char word[16] = {0};
    if (f->length == 0 || !is_letter(f->begin[0]) || ml_rating_number(form, f, &ignored)) return false;
    if (f->length >= sizeof word) return true;
    for (size_t i = 0; i < f->length; i++)
        word[i] = (char)(f->begin[i] >= 'A' && f->begin[i] <= 'Z' ? f->begin[i] + ('a' - 'A') : f->begin[i]);
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (strcmp(word, missing[i]) == 0) return false;
    return true;
}

/* ------------------------------------------------------------------------------------------ columns asked for */

/* Finds a name among the titles, or takes it for a number from 1. */
static tamis_status find_requested(const tamis_bounded_text *text, const ml_rating_field *fields, int count,
                                   const char *line, const char *name, size_t length, int *at, bool *by_title) {
    for (int i = 0; i < count; i++)
        if (fields[i].length == length && memcmp(fields[i].begin, name, length) == 0) {
            *at = i;
            *by_title = true;
            return TAMIS_OK;
        }
    char *end;
    const long number = strtol(name, &end, 10);
    if (end != name + length || number < 1 || number > ML_FIELDS_MOST)
        return tamis_text_fail(text, line, "a line of titles with '%.*s', as the columns are named", (int)length, name);
    *at = (int)number - 1;
    return TAMIS_OK;
}

/* A line has a field for each role, so that no two roles share one. */
static tamis_status check_apart(const char *requested, const ml_rating_columns *columns) {
    for (int role = 1; role < ML_ROLES; role++)
        for (int other = 0; other < role; other++)
            if (columns->at[role] >= 0 && columns->at[role] == columns->at[other])
                return tamis_fail(TAMIS_ERROR_ARGUMENT,
                                  "columns = \"%s\": %s= and %s= are both column %d: name a column of its own for each",
                                  requested, roles[other], roles[role], columns->at[role] + 1);
    return TAMIS_OK;
}

static tamis_status take_requested(const tamis_bounded_text *text, const ml_rating_field *fields, int count,
                                   const char *line, const char *requested, ml_rating_columns *columns,
                                   bool *by_title) {
    for (const char *p = requested; *p;) {
        const size_t length = strcspn(p, ",");
        const char *const equals = memchr(p, '=', length);
        int role = 0;
        while (equals && role < ML_ROLES &&
               !(strlen(roles[role]) == (size_t)(equals - p) && strncmp(p, roles[role], (size_t)(equals - p)) == 0))
            role++;
        if (!equals || role == ML_ROLES || equals + 1 == p + length)
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
    columns->named = true;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ all together */

static bool is_taken(const ml_rating_columns *columns, int at) {
    for (int role = 0; role < ML_ROLES; role++)
        if (columns->at[role] == at) return true;
    return false;
}

/* Sets the columns by the names of the titles, where they tell user and item. */
static void use_titles(const ml_rating_field *fields, int count, ml_rating_columns *columns) {
    int found[ML_ROLES];
    for (int role = 0; role < ML_ROLES; role++) found[role] = find_known(fields, count, role);
    if (found[ML_USER] < 0 || found[ML_ITEM] < 0) return;
    memcpy(columns->at, found, sizeof found);
    if (found[ML_RATING] < 0 && count > ML_RATING && !is_taken(columns, ML_RATING)) columns->at[ML_RATING] = ML_RATING;
}

tamis_status ml_rating_columns_find(const tamis_bounded_text *text, const ml_rating_form *form, const char *line,
                                    const char *requested, ml_rating_columns *columns, bool *titles) {
    ml_rating_field fields[ML_FIELDS_MOST];
    int count = 0;
    *titles = false;
    *columns = (ml_rating_columns){.at = {-1, -1, -1, -1}};
    if (line < text->end && ml_rating_split(text, form, line, ML_FIELDS_MOST, fields, &count) != TAMIS_OK) {
        tamis_clear_error(); /* it is told again when the line is read as data */
        count = 0;
    }
    if (requested)
        TRY(take_requested(text, fields, count, line, requested, columns, titles));
    else
        for (int role = 0; role < ML_ROLES; role++) columns->at[role] = role;
    const int rating = columns->at[ML_RATING];
    if (rating >= 0 && rating < count && is_title_of_numbers(form, &fields[rating])) *titles = true;
    const bool both = find_known(fields, count, ML_USER) >= 0 && find_known(fields, count, ML_ITEM) >= 0;
    if (both && count == ML_RATING) *titles = true;
    if (*titles && !requested) use_titles(fields, count, columns);
    for (int role = 0; role < ML_ROLES; role++)
        if (columns->at[role] >= columns->needed) columns->needed = columns->at[role] + 1;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ times */

/* Returns the days from 1970-01-01 to a date of the Gregorian calendar: years begin in March, with the leap day at
   their end. */
static double days_of(int year, int month, int day) {
    const int y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;
    const int leap_days = y / 4 - y / 100 + y / 400, before_month = (153 * m + 2) / 5;
    return 365.0 * y + leap_days + before_month + day - 719469;
}

static bool take_digits(const char **p, const char *end, int digits, int most, int *value) {
    *value = 0;
    for (int i = 0; i < digits; i++, ++*p) {
        if (*p >= end || **p < '0' || **p > '9') return false;
        *value = *value * 10 + (**p - '0');
    }
    return *value <= most;
}

static bool take_mark(const char **p, const char *end, const char *marks) {
    if (*p >= end || !strchr(marks, **p) || !**p) return false;
    ++*p;
    return true;
}

bool ml_rating_time(const ml_rating_form *form, const ml_rating_field *f, double *seconds) {
    if (ml_rating_number(form, f, seconds)) return isfinite(*seconds);
    const char *p = f->begin, *const end = f->begin + f->length;
    int year, month, day, hour = 0, minute = 0, second = 0;
    if (!take_digits(&p, end, 4, 9999, &year) || !take_mark(&p, end, "-/") || !take_digits(&p, end, 2, 12, &month) ||
        !take_mark(&p, end, "-/") || !take_digits(&p, end, 2, 31, &day) || month == 0 || day == 0)
        return false;
    if (take_mark(&p, end, "T ")) {
        if (!take_digits(&p, end, 2, 24, &hour) || !take_mark(&p, end, ":") || !take_digits(&p, end, 2, 59, &minute))
            return false;
        if (take_mark(&p, end, ":") && !take_digits(&p, end, 2, 60, &second)) return false;
    }
    *seconds = 86400 * days_of(year, month, day) + 3600.0 * hour + 60.0 * minute + second;
    return true;
}
