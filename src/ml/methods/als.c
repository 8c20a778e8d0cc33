/*
 * ALS for explicit ratings by conjugate gradients: all rows at once with the columns fixed, then all columns with the
 * rows fixed.
 *
 * It minimises  sum over ratings (s_ui - x_u.y_i)^2 + lambda sum n_u |x_u|^2 + lambda sum n_i |y_i|^2.  Here s is (r -
 * mean) / the ratings' deviation, so that one lambda serves all scales, and n is the number of ratings of a user or
 * item plus ML_PRIOR_RATINGS (with plain lambda, n is 1). For fixed Y each x_u solves (sum over u's items of y_i y_i^T
 * + lambda n_u) x_u = sum s_ui y_i. Applying the operator is one fused call (edge mask: <p_u, y_i> at u's items, times
 * y_i), and the right-hand side is SpMM: no normal matrix is formed. Each half makes cg_steps steps from the last x_u,
 * with a step length for each row; no step increases the sum.
 *
 * A bias is one more number in each row: x_u ends in b_u, which meets a 1 in place of b_i, and b_i is subtracted from
 * the ratings. So factors and biases are solved together, under the same lambda. `regressors` is Y with its last column
 * set to 1.
 *
 * With lambda 0, each iteration estimates it from the noise of the ratings (noise.c); the loss uses the last estimate.
 *
 * Memory in addition to data and factors: four matrices of each side's size, and the centred ratings in both orders.
 */
#include <math.h>

#include "base/scope.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/fit/first.h"
#include "ml/fit/group.h"
#include "ml/fit/place.h"
#include "ml/methods/biases.h"
#include "ml/methods/method.h"
#include "ml/methods/noise.h"
#include "ml/model.h"
#include "ml/serve/chance.h"
#include "ml/serve/fold.h"
#include "ml/serve/operands.h"
#include "ml/serve/popular.h"

/* One half-step: solves for the rows of S (users) or of its transpose (items) with the columns' factors fixed. */
typedef struct side {
    ml_sparse S;
    tamis_plan *fused, *spmm;
    tamis_plan *less_bias;              /* with biases: subtracts the columns' biases from the ratings */
    tamis_dense lambda;                 /* one per row; only if lambda is weighted */
    tamis_dense weights;                /* the factor of lambda in `lambda`; only if lambda is found by the noise */
    tamis_dense P, R, AP, rr;           /* vectors of conjugate gradients */
    tamis_dense regressors, bias, ones; /* with biases: the columns' regressors and biases; a 1 for each row */
    void *centred;                      /* ratings minus their mean, divided by their deviation */
    void *targets;                      /* centred minus the columns' biases; without biases it is `centred` */
} side;

typedef struct als {
    side sides[2];          /* rows, columns */
    tamis_plan *residual;   /* for the loss */
    void *errors;           /* a rating each */
    tamis_dense squares[2]; /* squared norms of the factors' rows */
    ml_units units;         /* with biases */
    ml_noise noise;         /* used if lambda is 0 */
    double left;            /* sum of squares of this rank's errors with the current factors; NaN: not known */
} als;

/* ------------------------------------------------------------------------------------------ options */

static void defaults(tamis_model_options *options) {
    options->iterations = 15;
    options->regularization = 0; /* found by the noise */
    options->weighted = true;
    options->biases = true;
    options->cg_steps = 6;
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_lambda(options));
    return ml_check_rounds("cg_steps", options->cg_steps);
}

/* ------------------------------------------------------------------------------------------ one side */

static tamis_status make_centred(const tamis_model *model, side *half) {
    const int64_t nnz = half->S.view.nnz;
    TRY(ml_values_make(model, nnz, &half->centred));
    const tamis_dense ratings = ml_values_view(model, (void *)(uintptr_t)half->S.view.values, nnz);
    const tamis_dense centred = ml_values_view(model, half->centred, nnz);
    TRY(tamis_dense_fill(model->device, NULL, &centred, -model->mean / model->scale));
    return tamis_dense_axpby(model->device, NULL, 1 / model->scale, &ratings, 1, &centred);
}

static tamis_status side_make(const tamis_model *model, const tamis_sparse *data, bool transpose, int visits, int steps,
                              side *half) {
    const int64_t width = model->width;
    TRY(ml_half_place(model, data, transpose, &half->S));
    const tamis_sparse *const S = &half->S.view;
    TRY(ml_plan(model, S, TAMIS_OP_FUSED, TAMIS_EDGE_MASK, width, width, visits * (int64_t)(1 + steps), &half->fused));
    if (model->options.weighted) TRY(ml_row_lambdas(model, &half->S, &half->lambda));
    if (model->options.weighted && ml_finds_lambda(model)) TRY(ml_row_weights(model, &half->S, &half->weights));
    TRY(ml_scratch(model, S->rows, width, &half->P));
    TRY(ml_scratch(model, S->rows, width, &half->R));
    TRY(ml_scratch(model, S->rows, width, &half->AP));
    TRY(ml_scratch(model, S->rows, 1, &half->rr));
    TRY(make_centred(model, half));
    half->targets = half->centred;
    if (ml_biased(model)) {
        half->targets = NULL;
        TRY(ml_values_make(model, S->nnz, &half->targets));
    }
    const tamis_sparse fitted = ml_with_values(S, half->targets);
    TRY(ml_plan(model, &fitted, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, width, visits, &half->spmm));
    if (!ml_biased(model)) return TAMIS_OK;
    TRY(ml_scratch(model, S->cols, width, &half->regressors));
    TRY(ml_scratch(model, S->cols, 1, &half->bias));
    TRY(ml_scratch(model, S->rows, 1, &half->ones));
    TRY(tamis_dense_fill(model->device, NULL, &half->ones, 1));
    const tamis_sparse centred = ml_with_values(S, half->centred);
    return ml_plan(model, &centred, TAMIS_OP_SDDMM, TAMIS_EDGE_RESIDUAL, 1, 0, visits, &half->less_bias);
}

/* Makes the regressors and targets of the rows' systems: Y, or with biases Y ending in ones and targets minus Y's
   biases. */
static tamis_status make_regressors(tamis_model *model, const als *work, side *half, const tamis_dense *Y,
                                    const tamis_dense **regressors) {
    *regressors = Y;
    if (!ml_biased(model)) return TAMIS_OK;
    tamis_device *const device = model->device;
    TRY(tamis_dense_multiply(device, NULL, 1, Y, &work->units.last, 0, &half->bias));
    const tamis_dense targets = ml_values_view(model, half->targets, half->S.view.nnz);
    TRY(ml_sddmm(model, half->less_bias, &half->ones, &half->bias, 1, 0, &targets));
    TRY(tamis_dense_fill(device, NULL, &half->regressors, 1));
    TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_COLUMNS, &work->units.last, 0, &half->regressors, 0,
                          &half->regressors));
    TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_COLUMNS, &work->units.first, 0, Y, 1, &half->regressors));
    *regressors = &half->regressors;
    return TAMIS_OK;
}

static tamis_status solve(tamis_model *model, const als *work, side *half, const tamis_dense *X,
                          const tamis_dense *columns, int steps) {
    tamis_device *const device = model->device;
    const tamis_dense *const lambda = model->options.weighted ? &half->lambda : NULL;
    const double shift = model->options.weighted ? 0 : ml_lambda(model);
    const tamis_dense *G;
    tamis_dense Y;
    TRY(ml_gather(model, &half->S, columns, &Y));
    TRY(make_regressors(model, work, half, &Y, &G));
    /* R = b - (A + lambda) X */
    TRY(ml_spmm(model, half->spmm, G, 1, 0, &half->R));
    TRY(ml_fused(model, half->fused, X, G, 1, 0, &half->AP));
    TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, lambda, shift, X, 1, &half->AP));
    TRY(tamis_dense_axpby(device, NULL, -1, &half->AP, 1, &half->R));
    TRY(tamis_dense_axpby(device, NULL, 1, &half->R, 0, &half->P));
    TRY(tamis_dense_row_dots(device, NULL, &half->R, &half->R, &half->rr));
    for (int i = 0; i < steps; i++) {
        TRY(ml_fused(model, half->fused, &half->P, G, 1, 0, &half->AP));
        TRY(tamis_dense_cg_step(device, NULL, lambda, shift, &half->AP, &half->P, X, &half->R, &half->rr));
    }
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ fitting */

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    bool fresh;
    TRY(ml_model_factors(model, data->rows, ml_own_columns(model, data), &fresh));
    if (ml_finds_lambda(model) && model->iterations_done == 0) TRY(ml_noise_begin(model, data));
    als *work;
    TRY(tamis_allocate_zeros(1, "the work of als", work));
    model->work = work;
    work->left = (double)NAN;
    TRY(ml_times_reserve(model, 2.0 * (4 + model->options.cg_steps))); /* calls of both halves, and of the errors */
    if (ml_biased(model)) TRY(ml_units_make(model, &work->units));
    if (ml_finds_lambda(model)) TRY(ml_noise_make(model, model->width, &work->noise));
    for (int i = 0; i < 2; i++) {
        TRY(side_make(model, data, i == 1, ML_PASSES, model->options.cg_steps, &work->sides[i]));
        TRY(ml_scratch(model, work->sides[i].S.view.rows, 1, &work->squares[i]));
    }
    TRY(ml_first_factors(model, &work->sides[0].S, &work->sides[1].S));
    const tamis_sparse fitted = ml_with_values(&work->sides[0].S.view, work->sides[0].targets);
    TRY(ml_plan(model, &fitted, TAMIS_OP_SDDMM, TAMIS_EDGE_RESIDUAL, model->width, 0, ML_PASSES, &work->residual));
    return ml_values_make(model, data->nnz, &work->errors);
}

/* Computes the errors and work->left. */
static tamis_status find_errors(tamis_model *model, als *work) {
    const tamis_dense *G;
    tamis_dense Y;
    TRY(ml_gather(model, &work->sides[0].S, &model->column_factors, &Y));
    TRY(make_regressors(model, work, &work->sides[0], &Y, &G));
    const tamis_dense errors = ml_values_view(model, work->errors, work->sides[0].S.view.nnz);
    TRY(ml_sddmm(model, work->residual, &model->row_factors, G, 1, 0, &errors));
    return tamis_dense_dot(model->device, NULL, model->workspace, &errors, &errors, &work->left);
}

/* Estimates lambda for the next iteration. */
static tamis_status find_lambda(tamis_model *model, als *work) {
    const tamis_dense *const factors[2] = {&model->row_factors, &model->column_factors};
    if (isnan(work->left)) TRY(find_errors(model, work));
    TRY(ml_noise_lambda(model, &work->noise, work->left, factors, ml_biased(model)));
    for (int i = 0; i < 2 && model->options.weighted; i++)
        TRY(tamis_dense_axpby(model->device, NULL, model->lambda, &work->sides[i].weights, 0, &work->sides[i].lambda));
    return TAMIS_OK;
}

static tamis_status iterate(tamis_model *model) {
    als *const work = model->work;
    const tamis_dense *const X = &model->row_factors, *const Y = &model->column_factors;
    if (ml_finds_lambda(model) && model->iterations_done > 0) TRY(find_lambda(model, work));
    work->left = (double)NAN;
    TRY(solve(model, work, &work->sides[0], X, Y, model->options.cg_steps));
    ml_changed(model);
    TRY(solve(model, work, &work->sides[1], Y, X, model->options.cg_steps));
    ml_changed(model);
    return TAMIS_OK;
}

static tamis_status loss(tamis_model *model, double *result) {
    als *const work = model->work;
    tamis_device *const device = model->device;
    const tamis_dense *const factors[] = {&model->row_factors, &model->column_factors};
    TRY(find_errors(model, work));
    double sum = work->left;
    for (int i = 0; i < 2; i++) {
        double squares;
        if (model->options.weighted) {
            TRY(tamis_dense_row_dots(device, NULL, factors[i], factors[i], &work->squares[i]));
            TRY(tamis_dense_dot(device, NULL, model->workspace, &work->sides[i].lambda, &work->squares[i], &squares));
        } else {
            TRY(tamis_dense_dot(device, NULL, model->workspace, factors[i], factors[i], &squares));
            squares *= ml_lambda(model);
        }
        sum += squares;
    }
    *result = sum;
    return ml_add_ranks(model, result, 1);
}

/* ------------------------------------------------------------------------------------------ new rows */

static void make_system(ml_fold *fold) {
    const tamis_model *const model = fold->model;
    const int64_t last = model->width - 1;
    fold->shift = ml_lambda(model) * ml_lambda_weight(model, fold->count);
    for (int64_t t = 0; t < fold->count; t++) {
        double *const y = fold->Y + t * model->width;
        fold->weights[t] = 1;
        fold->targets[t] = (fold->targets[t] - model->mean) / model->scale;
        if (!ml_biased(model)) continue;
        fold->targets[t] -= y[last];
        y[last] = 1;
    }
}

static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    if (ml_folds_alone(model, data->rows)) return ml_fold_rows(model, data, NULL, make_system, W);
    als work = {.left = (double)NAN};
    if (ml_biased(model)) TRY(ml_units_make(model, &work.units));
    const int steps = ml_fold_in_steps(model->width);
    TRY(side_make(model, data, false, 1, steps, &work.sides[0]));
    TRY(tamis_dense_fill(model->device, NULL, W, 0));
    TRY(solve(model, &work, &work.sides[0], W, &model->column_factors, steps));
    return tamis_stream_synchronize(model->device, NULL);
}

/* ------------------------------------------------------------------------------------------ prediction */

static tamis_status operands(tamis_model *model, const tamis_dense *W, ml_operands *made) {
    *made = (ml_operands){.offset = model->mean, .scale = model->scale, .least = model->least, .most = model->most};
    return ml_biased_operands(model, W, made);
}

static const tamis_method_option own_options[] = {{"regularization", NULL}, {"weighted", NULL},      {"biases", NULL},
                                                  {"cg_steps", NULL},       {"by_prediction", NULL}, {NULL, NULL}};

const ml_method ml_als = {
    .about = {.method = TAMIS_ALS,
              .data = TAMIS_DATA_RATINGS,
              .name = "als",
              .summary = "ratings: alternating least squares",
              .options = own_options,
              .row_factors = true,
              .groups = true},
    .biases = true,
    .noise = true,
    .sizes = true,
    .chance = true,
    .features = true,
    .states = {[ML_POPULARITY] = ML_POPULARITY_STATE},
    .prepare = ml_chance_prepare,
    .defaults = defaults,
    .check = check,
    .begin = begin,
    .iterate = iterate,
    .loss = loss,
    .transform = transform,
    .system = make_system,
    .operands = operands,
};
