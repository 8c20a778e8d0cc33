/* Lines of lists: their separator, and their fields. */
#ifndef TAMIS_IO_FIELDS_H
#define TAMIS_IO_FIELDS_H

#include "io/text/text.h"

enum { TAMIS_FIELDS_MOST = 64 }; /* of a line; further fields are not read */

typedef struct tamis_field {
    const char *begin;
    size_t length;
    bool quoted;
    bool doubled; /* contains doubled quotes, each for one quote */
} tamis_field;

/* Syntax of a file's lines. */
typedef struct tamis_field_form {
    char separator; /* ':' means "::", ' ' any number of blanks */
    bool quotes;    /* a field may be quoted */
} tamis_field_form;

/* Returns the end of a line's text, before its end-of-line characters. */
TAMIS_PRIVATE_API const char *tamis_fields_end(const tamis_bounded_text *text, const char *line);
/* Returns the next line from p on that is not blank or a comment, or the end of the text. form = NULL (before the first
   line of data): all lines that begin with # or % are comments. Later such a line is a comment only if
   tamis_fields_are_none. Adds the number of comments to *comments (NULL: not wanted). */
TAMIS_PRIVATE_API const char *tamis_fields_next(const tamis_bounded_text *text, const tamis_field_form *form,
                                                const char *p, int64_t *comments);
/* Returns true if a line that begins with # or %, after the first line of data, is not an entry: blanks surround the
   mark, or the line has one field. */
bool tamis_fields_are_none(const tamis_field_form *form, const char *p, const char *end);
/* Chooses the separator by the first lines from `line` on: one that occurs in each of them, else one of the first line.
   ended: the text's last line is complete. */
char tamis_fields_separator(const tamis_bounded_text *text, const char *line, bool ended, bool quotes);

/* Reads the field at p, which must not be padding. Returns the beginning of the next field; NULL: this was the line's
   last, or *fault points to an error. */
TAMIS_PRIVATE_API const char *tamis_field_take(const tamis_field_form *form, const char *p, const char *end,
                                               tamis_field *field, const char **fault);
/* Splits a line into at most `most` fields (up to TAMIS_FIELDS_MOST); sets *count to their number. */
TAMIS_PRIVATE_API tamis_status tamis_fields_split(const tamis_bounded_text *text, const tamis_field_form *form,
                                                  const char *line, int most, tamis_field *fields, int *count);
/* Returns true if more than `most` fields begin at p or later, not counting empty fields at the end. */
TAMIS_PRIVATE_API bool tamis_fields_exceed(const tamis_field_form *form, const char *p, const char *end, int most);
/* Returns true if the whole field is one number. A decimal comma is accepted unless commas separate fields. */
TAMIS_PRIVATE_API bool tamis_field_number(const tamis_field_form *form, const tamis_field *f, double *value);
/* Reads a time: a number, or a date YYYY-MM-DD with or without HH:MM[:SS] as seconds since 1970. */
TAMIS_PRIVATE_API bool tamis_field_time(const tamis_field_form *form, const tamis_field *f, double *seconds);

#endif
