/*
 * The models of the registry as tests walk them: each method, in the ways that its own options allow, on data of its
 * kind. A new method is walked without a line here; a new option needs a value in model_rows.c.
 */
#ifndef TAMIS_TESTS_MODEL_ROWS_H
#define TAMIS_TESTS_MODEL_ROWS_H

#include "support/test.h"

#include "model_files.h"

enum { MODEL_ROWS = 60, MODEL_COLS = 45, MODEL_FACTORS = 6, MODEL_BEST = 9 };

/* A method and options that are its defaults but for one; small and quick, from one thread, in mini-batches of 25 rows
   where it has any. */
typedef struct model_case {
    int way;
    tamis_method_description about;
    tamis_model_options options;
    char name[64]; /* "lda elbo" */
} model_case;

/* The next way of the method; false after the last one. */
bool model_next(model_case *c, tamis_method method);
#define EACH_WAY(c, method) for (model_case c = {0}; model_next(&(c), method);)
/* The first way alone. */
model_case model_case_of(tamis_method method);
bool model_has_option(const tamis_method_description *about, const char *name);
/* The same, or it is every method's. */
bool model_takes(const tamis_method_description *about, const char *name);
/* A flag turns, whatever the value. */
void model_set_option(tamis_model_options *options, const char *name, double value);

/* Whole numbers from 1 to 5, which are ratings, uses and counts; of uses some are dislikes. Every seventh row is empty.
 */
data model_data(const tamis_method_description *about, int64_t rows, int64_t cols, uint64_t seed);

tamis_model *model_made(tamis_device *on, const tamis_model_options *options);
tamis_model *model_fitted(tamis_device *on, const tamis_model_options *options, const tamis_sparse *S);

/* An array's numbers as packed doubles, which the caller frees; the array goes. */
double *model_numbers(tamis_owned_dense *array);
/* The row factors of a model, or the columns', as such. *count: the rows of them. */
double *model_factors(tamis_model *model, bool rows, int64_t *count);
/* What it makes of rows, and the same as such numbers. */
tamis_owned_dense *model_of_rows(tamis_model *model, const tamis_sparse *S);
double *model_transformed(tamis_model *model, const tamis_sparse *S);
tamis_model_description model_about(const tamis_model *model);
double model_loss(const tamis_model *model);
/* |found - expected| <= bound, for all. */
void model_expect_near(const char *what, const double *found, const double *expected, int64_t count, double bound);
/* By the largest of the numbers that are expected. */
void model_expect_close(const char *what, const double *found, const double *expected, int64_t count, double share);

/* How two models are unlike to the bit, in options that files keep, in numbers, factors, states or names; NULL: they
   are the same. */
const char *model_difference(const tamis_model *found, const tamis_model *expected);
void model_expect_same(const char *what, const tamis_model *found, const tamis_model *expected);

/* One row of the data. */
tamis_sparse model_row_of(const data *d, int64_t row, int64_t offsets[2]);

/* A model's answers about MODEL_ROWS rows and all columns. */
typedef struct answers {
    double W[MODEL_ROWS * MODEL_COLS]; /* the memory of factors, width of them a row */
    double scores[MODEL_ROWS * MODEL_BEST], own_scores[MODEL_ROWS * MODEL_BEST], cosines[MODEL_COLS * MODEL_BEST],
        row_cosines[MODEL_ROWS * MODEL_BEST];
    int64_t columns[MODEL_ROWS * MODEL_BEST], own_columns[MODEL_ROWS * MODEL_BEST], similar[MODEL_COLS * MODEL_BEST],
        similar_rows[MODEL_ROWS * MODEL_BEST];
} answers;
OWN_POINTER(answers, free)

tamis_dense model_lines(const tamis_model *model, answers *a, int64_t first, int64_t count);
/* Asks for so many rows and columns at a time. */
tamis_status model_ask(tamis_model *model, const data *d, int64_t at_once, answers *a);
/* Two models say the same, asked for one row at a time and for all at once. */
void model_expect_answers(const char *what, tamis_model *found, tamis_model *expected, const data *d);

#endif
