/*
 * Factors from features, for rows and columns without entries. After the last iteration a ridge regression maps the
 * features of all columns that have entries to their factors, biases included; the map then gives factors to the
 * columns that have none. The same for rows.
 *
 * With F the features, each divided by its largest absolute value, and a last column of ones, and Y the factors less
 * their mean, it solves  (F^T D F + lambda) M = F^T D Y  by conjugate gradients, for all columns of Y with the same
 * step lengths: two sparse products a step, and no matrix of features x features. The weight of a column with n entries
 * is n / (n + ML_PRIOR_RATINGS), since factors of few entries are mostly noise. Lambda counts columns: features that
 * fewer have are hardly believed. A fifth of the columns is held out to choose it. If none predicts the held-out
 * factors better than zero and the mean do, and by more than chance, features tell nothing, and factors stay at 0.
 */
#include "ml/fit/features.h"

#include <math.h>

#include "base/random.h"
#include "base/scope.h"
#include "ml/data/canonical.h"
#include "ml/data/host.h"
#include "ml/fit/calls.h"
#include "ml/fit/loop.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/methods/methods.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/kept.h"

enum { STEPS = 100, FOLDS = 5, CALLS = 128 };
enum { HELD_OUT = 0x66656174 }; /* a stream of random numbers */
static const double lambdas[] = {300, 100, 30, 10, 3, 1, 0.3};
enum { LAMBDAS = sizeof lambdas / sizeof *lambdas };
static const double SOLVED = 1e-9; /* squared residuals, relative to the first */
static const double SURE = 2.5;    /* a gain that is as many standard errors is no chance */

/* ------------------------------------------------------------------------------------------ the features */

static bool takes_features(const ml_method *method) { return method->features; }

tamis_status tamis_model_set_features(tamis_model *model, bool rows, const tamis_sparse *features) {
    tamis_clear_error();
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    tamis_owned_sparse **const own = &model->features[rows ? 0 : 1];
    if (!features) {
        tamis_owned_sparse_free(*own);
        *own = NULL;
        return TAMIS_OK;
    }
    if (!model->method->features) {
        char names[ML_METHOD_NAMES];
        ml_method_names(takes_features, "and", names);
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s takes no features, only %s do", model->method->about.name,
                          names);
    }
    if (features->location != TAMIS_HOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "features.location = device: models need features in host memory");
    tamis_convert_options options = ml_conversion(model, features);
    options.value_type = TAMIS_F64;
    options.index_type = options.offset_type = TAMIS_I64;
    tamis_owned_sparse *made;
    TRY(tamis_convert(features, &options, &made));
    const tamis_status status = ml_check_values(tamis_owned_sparse_view(made), false, "features");
    if (status != TAMIS_OK) {
        tamis_owned_sparse_free(made);
        return status;
    }
    tamis_owned_sparse_free(*own);
    *own = made;
    return TAMIS_OK;
}

void ml_features_forget(tamis_model *model) {
    for (int i = 0; i < 2; i++) {
        tamis_owned_sparse_free(model->features[i]);
        model->features[i] = NULL;
    }
}

tamis_status ml_features_check(const tamis_model *model, int64_t rows, int64_t cols) {
    static const char *const names[] = {"row", "column"};
    const int64_t counts[] = {rows, cols};
    for (int i = 0; i < 2; i++) {
        if (!model->features[i]) continue;
        const int64_t has = tamis_owned_sparse_view(model->features[i])->rows;
        if (has != counts[i])
            return tamis_fail(TAMIS_ERROR_ARGUMENT,
                              "features.rows = %lld, S has %lld %ss: expected a row of features for each %s",
                              (long long)has, (long long)counts[i], names[i], names[i]);
    }
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the regression */

/* The regression of the model's rows or columns, here called items. */
typedef struct regression {
    tamis_model *model;
    int64_t steps;
    const tamis_sparse *features; /* as given */
    const tamis_dense *factors;
    int64_t count, width;          /* items, and numbers of each */
    int64_t *entries;              /* of each item */
    double *Y, *Z;                 /* the factors, and what the map makes of the features */
    double *mean;                  /* of the factors by which the map was made */
    double *weights;               /* of the items that have entries and features, else 0 */
    double *errors[2], *predicted; /* held-out items': of zero and of the mean, of the map */
    bool *held;
    ml_sparse F, T; /* T: the transpose */
    tamis_plan *forth, *back;
    tamis_dense D, product, M, P, R, AP;
} regression;

static bool has_features(const regression *r, int64_t item) {
    return ml_offset(r->features, item + 1) > ml_offset(r->features, item);
}

/* Makes F: each feature divided by its largest absolute value, and a one for the items with features. */
static tamis_status scale_features(const regression *r, tamis_sparse *made) {
    static const char *const what = "features";
    const tamis_sparse *const given = r->features;
    double *largest, *values;
    int64_t *offsets, *columns, at = 0;
    TRY(tamis_allocate_zeros(given->cols + 1, what, largest));
    TRY(tamis_allocate_array(given->rows + 1, what, offsets));
    TRY(tamis_allocate_array(given->nnz + given->rows, what, columns));
    TRY(tamis_allocate_array(given->nnz + given->rows, what, values));
    for (int64_t t = 0; t < given->nnz; t++)
        largest[ml_column(given, t)] = fmax(largest[ml_column(given, t)], fabs(ml_value(given, t)));
    for (int64_t i = 0; i < given->rows; i++) {
        offsets[i] = at;
        for (int64_t t = ml_offset(given, i); t < ml_offset(given, i + 1); t++) {
            const double most = largest[ml_column(given, t)];
            columns[at] = ml_column(given, t);
            values[at++] = most > 0 ? ml_value(given, t) / most : 0;
        }
        if (!has_features(r, i)) continue;
        columns[at] = given->cols;
        values[at++] = 1;
    }
    offsets[given->rows] = at;
    *made = (tamis_sparse){.format = TAMIS_CSR,
                           .rows = given->rows,
                           .cols = given->cols + 1,
                           .nnz = at,
                           .index_type = TAMIS_I64,
                           .offset_type = TAMIS_I64,
                           .value_type = TAMIS_F64,
                           .offsets = offsets,
                           .columns = columns,
                           .values = values};
    return TAMIS_OK;
}

static tamis_status count_entries(regression *r, const tamis_sparse *data, bool rows) {
    TRY(tamis_allocate_zeros(r->count, "entries of each item", r->entries));
    for (int64_t i = 0; i < data->rows && rows; i++) r->entries[i] = ml_offset(data, i + 1) - ml_offset(data, i);
    for (int64_t t = 0; t < data->nnz && !rows; t++) r->entries[ml_column(data, t)]++;
    return TAMIS_OK;
}

/* Makes all that the regression needs. */
static tamis_status make(regression *r) {
    const tamis_model *const model = r->model;
    static const char *const what = "factors from features";
    tamis_sparse F;
    TRY(tamis_allocate_zeros(r->count, what, r->weights));
    TRY(tamis_allocate_zeros(r->count, what, r->held));
    TRY(tamis_allocate_zeros(r->width, what, r->mean));
    TRY(tamis_allocate_array(tamis_times(r->count, r->width), what, r->Z));
    TRY(tamis_allocate_zeros(r->count, what, r->predicted));
    for (int i = 0; i < 2; i++) TRY(tamis_allocate_zeros(r->count, what, r->errors[i]));
    TRY(scale_features(r, &F));
    TRY(ml_sparse_place(model, &F, false, &r->F));
    TRY(ml_sparse_place(model, &F, true, &r->T));
    TRY(ml_plan(model, &r->F.view, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, r->width, CALLS, &r->forth));
    TRY(ml_plan(model, &r->T.view, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, r->width, CALLS, &r->back));
    TRY(ml_scratch(model, r->count, 1, &r->D));
    TRY(ml_scratch(model, r->count, r->width, &r->product));
    tamis_dense *const of_features[] = {&r->M, &r->P, &r->R, &r->AP};
    for (int i = 0; i < 4; i++) TRY(ml_scratch(model, F.cols, r->width, of_features[i]));
    for (int64_t i = 0; i < r->count; i++) {
        const double n = (double)r->entries[i];
        if (has_features(r, i)) r->weights[i] = n / (n + ML_PRIOR_RATINGS);
        r->held[i] = tamis_random_at(model->options.seed, HELD_OUT, (uint64_t)i) % FOLDS == 0;
    }
    return TAMIS_OK;
}

/* Takes the items by which a map is made: sets the mean, D and R = F^T D Y. */
static tamis_status take_items(regression *r, bool held_too) {
    double sum = 0, *weights;
    TAMIS_SCOPE;
    TRY(tamis_allocate_zeros(r->count, "weights of items", weights));
    for (int64_t k = 0; k < r->width; k++) r->mean[k] = 0;
    for (int64_t i = 0; i < r->count; i++) {
        weights[i] = held_too || !r->held[i] ? r->weights[i] : 0;
        sum += weights[i];
        for (int64_t k = 0; k < r->width; k++) r->mean[k] += weights[i] * r->Y[i * r->width + k];
    }
    for (int64_t k = 0; k < r->width && sum > 0; k++) r->mean[k] /= sum;
    for (int64_t i = 0; i < r->count; i++)
        for (int64_t k = 0; k < r->width; k++)
            r->Z[i * r->width + k] = weights[i] * (r->Y[i * r->width + k] - r->mean[k]);
    TRY(ml_dense_write_doubles(r->model, &r->D, weights));
    return ml_dense_write_doubles(r->model, &r->product, r->Z);
}

/* AP = (F^T D F + lambda) P */
static tamis_status apply(regression *r, double lambda) {
    tamis_device *const device = r->model->device;
    TRY(ml_spmm(r->model, r->forth, &r->P, 1, 0, &r->product));
    TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, &r->D, 0, &r->product, 0, &r->product));
    TRY(ml_spmm(r->model, r->back, &r->product, 1, 0, &r->AP));
    return tamis_dense_axpby(device, NULL, lambda, &r->P, 1, &r->AP);
}

/* Finds the map, and Z = F M. */
static tamis_status solve(regression *r, double lambda, bool held_too) {
    tamis_device *const device = r->model->device;
    tamis_dense_workspace *const workspace = r->model->workspace;
    double squares, first, next, curve;
    TRY(take_items(r, held_too));
    TRY(ml_spmm(r->model, r->back, &r->product, 1, 0, &r->R));
    TRY(tamis_dense_fill(device, NULL, &r->M, 0));
    TRY(tamis_dense_axpby(device, NULL, 1, &r->R, 0, &r->P));
    TRY(tamis_dense_dot(device, NULL, workspace, &r->R, &r->R, &squares));
    first = squares;
    for (int i = 0; i < STEPS && squares > SOLVED * first; i++) {
        TRY(apply(r, lambda));
        TRY(tamis_dense_dot(device, NULL, workspace, &r->P, &r->AP, &curve));
        if (!(curve > 0)) break;
        TRY(tamis_dense_axpby(device, NULL, squares / curve, &r->P, 1, &r->M));
        TRY(tamis_dense_axpby(device, NULL, -squares / curve, &r->AP, 1, &r->R));
        TRY(tamis_dense_dot(device, NULL, workspace, &r->R, &r->R, &next));
        TRY(tamis_dense_axpby(device, NULL, 1, &r->R, next / squares, &r->P));
        squares = next;
        if (!ml_tell_step(r->model, ++r->steps))
            return tamis_fail(TAMIS_ERROR_CANCELLED, "stopped while features gave factors: the model is without these");
    }
    TRY(ml_spmm(r->model, r->forth, &r->M, 1, 0, &r->product));
    return ml_dense_take_doubles(r->model, &r->product, r->Z);
}

/* Computes the weighted errors of held-out items: of the map times `of_map` plus the mean times `of_mean`. Returns
   their sum. */
static double find_errors(const regression *r, double of_map, double of_mean, double *errors) {
    double sum = 0;
    for (int64_t i = 0; i < r->count; i++) {
        if (!r->held[i] || r->weights[i] == 0) continue;
        double squares = 0;
        for (int64_t k = 0; k < r->width; k++) {
            const double guess = of_mean * r->mean[k] + (of_map != 0 ? of_map * r->Z[i * r->width + k] : 0);
            squares += (r->Y[i * r->width + k] - guess) * (r->Y[i * r->width + k] - guess);
        }
        errors[i] = r->weights[i] * squares;
        sum += errors[i];
    }
    return sum;
}

/* Returns true if the map's errors are less than these by more than chance. */
static bool is_better(const regression *r, const double *errors) {
    double gain = 0, squares = 0;
    for (int64_t i = 0; i < r->count; i++) {
        const double less = errors[i] - r->predicted[i];
        gain += less;
        squares += less * less;
    }
    return gain > SURE * sqrt(squares);
}

/* Chooses lambda, from the largest down to where the error rises; *tells is false if features tell nothing. */
static tamis_status choose(regression *r, double *lambda, bool *tells) {
    double best = INFINITY;
    *tells = false;
    for (int i = 0; i < LAMBDAS; i++) {
        TRY(solve(r, lambdas[i], false));
        const double error = find_errors(r, 1, 1, r->predicted);
        if (!(error < best)) break;
        best = error;
        *lambda = lambdas[i];
        find_errors(r, 0, 0, r->errors[0]);
        find_errors(r, 0, 1, r->errors[1]);
        *tells = is_better(r, r->errors[0]) && is_better(r, r->errors[1]);
    }
    return TAMIS_OK;
}

/* Writes the factors of items without entries, and counts those that get them from their features. */
static tamis_status write_unused(regression *r, bool tells, int64_t *featured) {
    for (int64_t i = 0; i < r->count; i++) {
        if (r->entries[i] > 0) continue;
        const bool told = tells && has_features(r, i);
        if (told) ++*featured;
        for (int64_t k = 0; k < r->width; k++) r->Y[i * r->width + k] = told ? r->mean[k] + r->Z[i * r->width + k] : 0;
    }
    return ml_dense_write_doubles(r->model, r->factors, r->Y);
}

static tamis_status use(tamis_model *model, const tamis_sparse *data, bool rows, int64_t *featured) {
    regression r = {.model = model, .features = tamis_owned_sparse_view(model->features[rows ? 0 : 1])};
    int64_t unused = 0;
    double lambda = 0;
    bool tells;
    TAMIS_SCOPE;
    r.factors = rows ? &model->row_factors : &model->column_factors;
    r.count = r.factors->rows;
    r.width = r.factors->cols;
    TRY(count_entries(&r, data, rows));
    for (int64_t i = 0; i < r.count; i++) unused += r.entries[i] == 0 && has_features(&r, i);
    if (unused == 0) return TAMIS_OK;
    TRY(ml_dense_read_doubles(model, r.factors, &r.Y));
    TRY(make(&r));
    TRY(choose(&r, &lambda, &tells));
    if (tells) TRY(solve(&r, lambda, true));
    TRY(write_unused(&r, tells, featured));
    if (!tells) *featured = -1;
    return TAMIS_OK;
}

tamis_status ml_features_use(tamis_model *model, const tamis_sparse *data) {
    for (int i = 0; i < 2; i++) {
        model->featured[i] = 0;
        if (model->features[i]) TRY(use(model, data, i == 0, &model->featured[i]));
    }
    ml_forget(model);
    return TAMIS_OK;
}
