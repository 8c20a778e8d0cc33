/*
 * Nearest neighbours of columns for ratings (Koren 2010, "Factor in the neighbors: scalable and accurate collaborative
 * filtering", without its learned weights). z_ui are ratings less the mean and the damped biases of their row and
 * column (biases.h), in units of the ratings' deviation. The similarity of two columns is
 *
 *   s_ij = sum over u of z_ui z_uj / sqrt((FEW + sum over u of z_ui^2) (FEW + sum over u of z_uj^2))
 *
 * over the rows that have both above the line, and over all that have one below: what few rows say of a pair, or of a
 * column, counts for little. Of each column i the `neighbours` largest s_ij are kept, those above 0. A row's prediction
 * for j is, in the same units and beside the mean,
 *
 *   b_u + b_j + sum of s_ij z_ui / (DOUBT + sum of s_ij)
 *
 * over its entries i that keep j. With few entries near j the prediction is near the biases.
 *
 * Kept are the columns' biases and neighbours (lists.h), and no rows: a row's bias and its z follow from its ratings.
 */
#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/data/host.h"
#include "ml/factors.h"
#include "ml/methods/biases.h"
#include "ml/methods/items.h"
#include "ml/methods/method.h"
#include "ml/methods/pairs.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/chance.h"
#include "ml/serve/lists.h"
#include "ml/serve/popular.h"

enum { NEIGHBOURS = 200, BIASES = 0 /* the number of a state */ };
static const double FEW = 100, DOUBT = 0.3;

typedef struct rating_knn {
    ml_pairs pairs;
    double *norms; /* of columns */
} rating_knn;

static void defaults(tamis_model_options *options) {
    options->factors = 1;
    options->iterations = 1;
    options->neighbours = NEIGHBOURS;
}

static tamis_status check(const tamis_model_options *options) { return ml_lists_check_option(options, 1); }

/* ------------------------------------------------------------------------------------------ fitting */

/* Finds the columns' biases, which the model keeps, and what they and the rows' leave of the ratings. */
static tamis_status subtract_biases(tamis_model *model, const tamis_sparse *data, void **left) {
    double *rows, *columns;
    bool fresh;
    TRY(ml_model_state(model, BIASES, &fresh));
    TRY(tamis_allocate_array(data->rows, "biases", rows));
    TRY(tamis_allocate_array(data->cols, "biases", columns));
    TRY(ml_damped_biases(model, data, rows, columns));
    ml_row_biases(model, data, columns, rows); /* as transform() finds them */
    TRY(ml_dense_write_doubles(model, &model->states[BIASES], columns));
    TRY(ml_less_biases(model, data, rows, columns, left));
    tamis_scope_drop(rows);
    tamis_scope_drop(columns);
    return TAMIS_OK;
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    rating_knn *work;
    void *left;
    TRY(ml_items_begin_lists(model, data->cols));
    TRY(tamis_allocate_zeros(1, "the work of rating-knn", work));
    model->work = work;
    TRY(subtract_biases(model, data, &left));
    const tamis_sparse residuals = ml_with_values(data, left);
    TRY(ml_pairs_make(&residuals, &work->pairs));
    tamis_scope_drop(left);
    TRY(tamis_allocate_zeros(data->cols, "norms of columns", work->norms));
    for (int64_t t = 0; t < data->nnz; t++)
        work->norms[work->pairs.columns[t]] += work->pairs.values[t] * work->pairs.values[t];
    for (int64_t j = 0; j < data->cols; j++) work->norms[j] = sqrt(FEW + work->norms[j]);
    return ml_pairs_turn(&work->pairs);
}

static double weigh(const void *context, const ml_pair_sums *sums, int32_t other, double total) {
    const rating_knn *const work = context;
    (void)total;
    return other == sums->column ? 0 : sums->sums[other] / (work->norms[other] * work->norms[sums->column]);
}

static tamis_status iterate(tamis_model *model) {
    rating_knn *const work = model->work;
    return ml_pairs_keep(model, &work->pairs, ml_pairs_products, weigh, work);
}

/* ------------------------------------------------------------------------------------------ using it */

/* A row in use: its line of W, and sums of similarities by column. */
typedef struct line {
    const ml_lists *lists;
    const double *biases; /* of columns */
    double *numbers, *sums;
} line;

static void fill_line(const tamis_model *model, const tamis_sparse *data, int64_t row, double bias, line *l) {
    for (int64_t j = 0; j < data->cols; j++) l->numbers[j] = l->sums[j] = 0;
    for (int64_t t = ml_offset(data, row); t < ml_offset(data, row + 1); t++) {
        const int64_t i = ml_column(data, t);
        const double left = (ml_value(data, t) - model->mean) / model->scale - l->biases[i] - bias;
        for (int64_t k = l->lists->offsets[i]; k < l->lists->offsets[i + 1]; k++) {
            const double similarity = ml_number(l->lists->weights, l->lists->type, k);
            l->numbers[l->lists->columns[k]] += similarity * left;
            l->sums[l->lists->columns[k]] += similarity;
        }
    }
    for (int64_t j = 0; j < data->cols; j++) l->numbers[j] = bias + l->numbers[j] / (DOUBT + l->sums[j]);
}

/* A row's line has its predictions without the mean and the columns' biases: zeros for a row without ratings. */
static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    const int64_t cols = model->cols;
    double *lines, *rows, *biases;
    line l = {.numbers = NULL};
    TAMIS_SCOPE;
    TRY(ml_kept_lists(model, &l.lists));
    TRY(ml_state_read(model, BIASES, &biases));
    l.biases = biases;
    TRY(tamis_allocate_array(data->rows, "biases", rows));
    TRY(tamis_allocate_array(cols, "sums of similarities", l.sums));
    TRY(tamis_allocate_array(tamis_times(data->rows, cols), "predictions", lines));
    ml_row_biases(model, data, biases, rows);
    for (int64_t i = 0; i < data->rows; i++) {
        l.numbers = lines + i * cols;
        fill_line(model, data, i, rows[i], &l);
    }
    return ml_dense_write_doubles(model, W, lines);
}

static tamis_status operands(tamis_model *model, const tamis_dense *W, ml_operands *made) {
    double *biases;
    TRY(ml_items_operands(model, W, made));
    made->offset = model->mean;
    made->scale = model->scale;
    made->least = model->least;
    made->most = model->most;
    TRY(ml_state_read(model, BIASES, &biases));
    TRY(ml_host_make(W->rows, W->cols, W->type, &made->A.host));
    for (int64_t i = 0; i < W->rows; i++)
        for (int64_t j = 0; j < W->cols; j++) ml_put_element(&made->A.host, i, j, ml_element(W, i, j) + biases[j]);
    return TAMIS_OK;
}

/* Similarities that are kept are not negative, so that no sum of them and DOUBT is 0. */
static tamis_status check_kept(const char *path, const tamis_model *model, const tamis_dense *kept) {
    (void)model;
    TRY(ml_lists_check(path, kept));
    for (int64_t j = 0; j < kept->rows; j++)
        for (int64_t k = kept->cols / 2; k < kept->cols; k++)
            if (ml_element(kept, j, k) < 0)
                return tamis_fail(TAMIS_ERROR_FORMAT, "%s: a similarity of column %lld is %g, expected 0 or more", path,
                                  (long long)j, ml_element(kept, j, k));
    return TAMIS_OK;
}

static const tamis_method_option own_options[] = {{"neighbours", NULL}, {"by_prediction", NULL}, {NULL, NULL}};

const ml_method ml_rating_knn = {
    .about = {.method = TAMIS_RATING_KNN,
              .data = TAMIS_DATA_RATINGS,
              .name = "rating-knn",
              .summary = "ratings: biases, and what a user's ratings of near items add",
              .options = own_options,
              .pairs = true},
    .chance = true,
    .defaults = defaults,
    .check = check,
    .states = {[BIASES] = {.rows = {ML_COLUMNS, 0}, .cols = {ML_NONE, 1}, .range = ML_FINITE},
               [ML_POPULARITY] = ML_POPULARITY_STATE},
    .check_kept = check_kept,
    .lists = ml_items_give_lists,
    .column_width = ml_items_lists_width,
    .prepare = ml_chance_prepare,
    .admits = ml_items_admit_lists,
    .begin = begin,
    .iterate = iterate,
    .transform = transform,
    .operands = operands,
};
