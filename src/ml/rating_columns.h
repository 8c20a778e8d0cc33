/* Which columns of a file of ratings are users, items, ratings and times. */
#ifndef TAMIS_ML_RATING_COLUMNS_H
#define TAMIS_ML_RATING_COLUMNS_H

#include "ml/rating_line.h"

enum { ML_USER = 0, ML_ITEM, ML_RATING, ML_TIME, ML_ROLES };

typedef struct ml_rating_columns {
    int at[ML_ROLES]; /* its number, from 0; -1: there is none */
    int needed;       /* fields of a line up to the last of them */
    bool named;       /* they are as they were asked for: a line has all of them */
} ml_rating_columns;

/* Finds the columns and whether the file's first line of data is one of titles. `requested`: tamis_ratings_options.
   columns, or NULL. */
tamis_status ml_rating_columns_find(const tamis_bounded_text *text, const ml_rating_form *form, const char *line,
                                    const char *requested, ml_rating_columns *columns, bool *titles);

/* Reads a time: a number, or a date YYYY-MM-DD with or without HH:MM[:SS] as seconds since 1970. */
bool ml_rating_time(const ml_rating_form *form, const ml_rating_field *f, double *seconds);

#endif
