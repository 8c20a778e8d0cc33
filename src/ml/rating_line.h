/* Lines of ratings: their separator, and their fields. */
#ifndef TAMIS_ML_RATING_LINE_H
#define TAMIS_ML_RATING_LINE_H

#include "io/input.h"

enum { ML_FIELDS_MOST = 64 }; /* of a line; what is behind them is not read */

typedef struct ml_rating_field {
    const char *begin;
    size_t length;
    bool doubled; /* has doubled quotes in it, each of which stands for one */
} ml_rating_field;

/* How a file's lines are split. */
typedef struct ml_rating_form {
    char separator; /* ':' means "::", ' ' any number of blanks */
    bool quotes;    /* a field may be quoted */
} ml_rating_form;

/* Returns the end of a line, without the line's end itself. */
const char *ml_rating_line_end(const tamis_bounded_text *text, const char *line);
/* Returns the next line from p on that has something but a comment, or the end of the text. */
const char *ml_rating_line_next(const tamis_bounded_text *text, const char *p);
/* Chooses the separator by the first lines from `line` on: one that separates each of them, else one of the first. */
char ml_rating_separator(const tamis_bounded_text *text, const char *line, bool ended, bool quotes);
/* Splits a line into at most `most` fields, up to ML_FIELDS_MOST; *count is how many there are. */
tamis_status ml_rating_split(const tamis_bounded_text *text, const ml_rating_form *form, const char *line, int most,
                             ml_rating_field *fields, int *count);
/* Whether all of the field is one number. Where no comma separates fields it may be a decimal one. */
bool ml_rating_number(const ml_rating_form *form, const ml_rating_field *f, double *value);

#endif
