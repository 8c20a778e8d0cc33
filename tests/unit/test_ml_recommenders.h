/* What the tests of implicit-als, ccd and sfa share: ratings of known rank as a dense matrix with holes, models, and
 * the normal equations solved by elimination. */
#ifndef TAMIS_TESTS_ML_RECOMMENDERS_H
#define TAMIS_TESTS_ML_RECOMMENDERS_H

#include "support/test.h"

#include "eliminate.h"
#include "model_rows.h"

extern tamis_device *device;
extern bool on_cpu;

/* ratings[i * cols + j], NaN where there is none; the same as CSR. Some rows and columns have none. */
typedef struct table {
    int64_t rows, cols, nnz;
    double *at;
    int64_t *offsets;
    int32_t *columns;
    double *values;
    tamis_sparse S;
} table;

/* `share` of the places, each a product of `rank` random factors about 3. */
table table_of_rank(int64_t rows, int64_t cols, int rank, double share, uint64_t seed);
/* From at[] into the CSR arrays. */
void table_arrange(table *t);
void table_free(table *t);
OWN_VALUE(table, table_free)
/* `held` gets every fifth rating of `fit`, which keeps the rest. */
void table_part(table *fit, table *held);
/* That predictions of all ratings are off by no more than `bound` where t has them, and three times that elsewhere:
   roots of mean squares. */
void table_expect_found(const table *all, const table *t, const double *found, double bound);
/* From -1 to 1. */
double table_noise(uint64_t seed, uint64_t what, int64_t i);
bool table_empty_row(const table *t, int64_t i);
bool table_empty_column(const table *t, int64_t j);
/* The factors that table_of_rank was made of: i < rows a row's, else a column's. */
double table_factor(uint64_t seed, bool column, int64_t i, int f);

tamis_model_options options_of(tamis_method method, tamis_type type, int64_t factors, int iterations);
/* The factors in double, rows x width: malloc'ed. */
double *factors_of(tamis_model *model, bool columns, int64_t *width);

/* What ratings are divided by about `centre`: the root of the mean of their squares. */
double table_scale(const table *t, double centre);
/* Biases by the definition: five rounds of means of what the others leave, damped by ten ratings; in units of scale. */
void table_biases(const table *t, double mean, double scale, double *rows, double *columns);
/* From `width` numbers a row to the first `width - 1`; the last ones, malloc'ed. */
double *split_last(double *factors, int64_t rows, int64_t width);

/* Solves the k x k system in place by Gauss with pivots; the result is in b. */
double dot(const double *x, const double *y, int64_t n);

#endif
