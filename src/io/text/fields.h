/* Lines of lists: their separator, and their fields. */
#ifndef TAMIS_IO_FIELDS_H
#define TAMIS_IO_FIELDS_H

#include "io/text/text.h"

enum { TAMIS_FIELDS_MOST = 64 }; /* of a line; what is behind them is not read */

typedef struct tamis_field {
    const char *begin;
    size_t length;
    bool quoted;
    bool doubled; /* has doubled quotes in it, each of which stands for one */
} tamis_field;

/* How a file's lines are split. */
typedef struct tamis_field_form {
    char separator; /* ':' means "::", ' ' any number of blanks */
    bool quotes;    /* a field may be quoted */
} tamis_field_form;

/* Returns the end of a line, without the line's end itself. */
TAMIS_PRIVATE_API const char *tamis_fields_end(const tamis_bounded_text *text, const char *line);
/* Returns the next line from p on that has something but a comment, or the end of the text. Before the first line of a
   list all that begins with # or % is a comment: form = NULL. Later such a line is one unless it has fields of an
   entry. *comments: is raised by their number; NULL: not wanted. */
TAMIS_PRIVATE_API const char *tamis_fields_next(const tamis_bounded_text *text, const tamis_field_form *form,
                                                const char *p, int64_t *comments);
/* Whether a line with such a mark, behind the first one, is no entry: the mark stands alone between blanks, or the line
   has one field. */
bool tamis_fields_are_none(const tamis_field_form *form, const char *p, const char *end);
/* Chooses the separator by the first lines from `line` on: one that separates each of them, else one of the first.
   ended: the text's last line is whole. */
char tamis_fields_separator(const tamis_bounded_text *text, const char *line, bool ended, bool quotes);

/* Takes the field at p, which is no padding. Returns where the next one begins; NULL: this was the line's last, or
 *fault says where the field is wrong. */
TAMIS_PRIVATE_API const char *tamis_field_take(const tamis_field_form *form, const char *p, const char *end,
                                               tamis_field *field, const char **fault);
/* Splits a line into at most `most` fields, up to TAMIS_FIELDS_MOST; *count is how many there are. */
TAMIS_PRIVATE_API tamis_status tamis_fields_split(const tamis_bounded_text *text, const tamis_field_form *form,
                                                  const char *line, int most, tamis_field *fields, int *count);
/* Whether there are more than `most` fields from the one at p on, without empty ones at the end. */
TAMIS_PRIVATE_API bool tamis_fields_exceed(const tamis_field_form *form, const char *p, const char *end, int most);
/* Whether all of the field is one number. Where no comma separates fields it may be a decimal one. */
TAMIS_PRIVATE_API bool tamis_field_number(const tamis_field_form *form, const tamis_field *f, double *value);
/* Reads a time: a number, or a date YYYY-MM-DD with or without HH:MM[:SS] as seconds since 1970. */
TAMIS_PRIVATE_API bool tamis_field_time(const tamis_field_form *form, const tamis_field *f, double *seconds);

#endif
