/*
 * Implicit ALS (Hu, Koren, Volinsky 2008) by conjugate gradients: for counts of use, where a missing pair means no
 * preference.
 *
 * It minimises  sum over all pairs c_ui (p_ui - x_u.y_i)^2 + lambda (sum |x_u|^2 + sum |y_i|^2).  A stored r (a count
 * after weights.c) has the weight c = 1 + confidence |r| and the preference p = 1 (r > 0) or 0 (r <= 0, a dislike); all
 * other pairs have c = 1 and p = 0. For fixed Y each x_u solves (Y^T Y + lambda + sum over u's items of (c - 1) y_i
 * y_i^T) x_u = sum over u's items of c p y_i. The pairs that are not stored are covered by the small dense matrix G =
 * Y^T Y + lambda (tamis_dense_gram, and one product with it per step). The rest of the operator is one fused call, edge
 * scale, with c
 * - 1 as values; the right-hand side is SpMM with c p as values. Each half makes cg_steps steps from the last x_u, with
 * a step length for each row; no step increases the sum.
 *
 * The loss needs no pass over all pairs: after the items' half it is <Y, A Y - 2 b> + lambda |X|^2 + sum c p, with the
 * items' A and b, since <Y, X^T X Y> is the sum of all squared predictions.
 *
 * Memory in addition to pattern and factors: c - 1 and c p in both orders, three matrices of each side's size.
 */
#include <math.h>

#include "base/scope.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/fit/first.h"
#include "ml/fit/group.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/methods/noise.h"
#include "ml/methods/weights.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/fold.h"
#include "ml/serve/kept.h"
#include "ml/serve/operands.h"
#include "ml/serve/popular.h"

/* One half-step: solves for the rows of S (users) or of its transpose (items) with the columns' factors fixed. */
typedef struct side {
    ml_sparse S;    /* its values are c - 1 */
    void *weighted; /* c p */
    tamis_plan *fused, *spmm;
    tamis_dense P, R, AP, rr; /* of conjugate gradients */
    tamis_dense G;
    bool known;    /* G is the model's */
    tamis_dense Y; /* the other side's factors that the entries refer to */
} side;

typedef struct implicit {
    side sides[2];   /* rows, columns */
    double weighted; /* sum of c p */
} implicit;

/* ------------------------------------------------------------------------------------------ options */

static void defaults(tamis_model_options *options) {
    options->iterations = 15;
    options->regularization = 0; /* found by the noise */
    options->cg_steps = 3;
    options->confidence = (double)NAN; /* chosen */
    options->weights = TAMIS_WEIGHTS_AUTO;
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_lambda(options));
    TRY(ml_check_rounds("cg_steps", options->cg_steps));
    if (!isnan(options->confidence))
        TRY(ml_check_number("confidence", options->confidence, options->confidence >= 0, "0 or more"));
    return ml_weights_check(options, TAMIS_WEIGHTS_AUTO);
}

static tamis_status prepare(tamis_model *model, tamis_sparse *data, bool fit) {
    if (fit && ml_learns_data(model)) TRY(ml_popular_learn(model, data));
    return ml_weights_apply(model, data, fit);
}

/* ------------------------------------------------------------------------------------------ one side */

/* Computes, on the device, c p into `weighted`, and c - 1 in place of r. */
static tamis_status make_weights(const tamis_model *model, side *half) {
    tamis_device *const device = model->device;
    const double confidence = model->options.confidence;
    const int64_t nnz = half->S.view.nnz;
    void *liked;
    TRY(ml_values_make(model, nnz, &half->weighted));
    TAMIS_SCOPE;
    TRY(ml_values_make(model, nnz, &liked));
    const tamis_dense r = ml_values_view(model, (void *)(uintptr_t)half->S.view.values, nnz);
    const tamis_dense positive = ml_values_view(model, liked, nnz),
                      weighted = ml_values_view(model, half->weighted, nnz);
    /* p = r+ / r+, 0 where r+ = max(r, 0) is 0; c p = confidence r+ + p; |r| = 2 r+ - r, exactly */
    TRY(tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 0, INFINITY, &r, NULL, &positive));
    TRY(tamis_dense_map(device, NULL, TAMIS_MAP_DIVIDE, 1, 1e-37, &positive, &positive, &weighted));
    TRY(tamis_dense_axpby(device, NULL, confidence, &positive, 1, &weighted));
    TRY(tamis_dense_axpby(device, NULL, 2, &positive, -1, &r));
    TRY(tamis_dense_axpby(device, NULL, confidence, &r, 0, &r));
    return tamis_stream_synchronize(device, NULL);
}

static tamis_status side_make(const tamis_model *model, const tamis_sparse *data, bool transpose, int visits, int steps,
                              side *half) {
    const int64_t width = model->width;
    TRY(ml_half_place(model, data, transpose, &half->S));
    TRY(make_weights(model, half));
    const tamis_sparse *const S = &half->S.view;
    TRY(ml_plan(model, S, TAMIS_OP_FUSED, TAMIS_EDGE_SCALE, width, width, visits * (int64_t)(1 + steps), &half->fused));
    const tamis_sparse weighted = ml_with_values(S, half->weighted);
    TRY(ml_plan(model, &weighted, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, width, visits, &half->spmm));
    TRY(ml_scratch(model, S->rows, width, &half->P));
    TRY(ml_scratch(model, S->rows, width, &half->R));
    TRY(ml_scratch(model, S->rows, width, &half->AP));
    TRY(ml_scratch(model, S->rows, 1, &half->rr));
    return half->known ? TAMIS_OK : ml_scratch(model, width, width, &half->G);
}

/* Computes AP = A P from half->Y and half->G. */
static tamis_status apply(tamis_model *model, side *half, const tamis_dense *P) {
    TRY(ml_fused(model, half->fused, P, &half->Y, 1, 0, &half->AP));
    return tamis_dense_multiply(model->device, NULL, 1, P, &half->G, 1, &half->AP);
}

/* Sets *solved if every row's squared residual has fallen to rounding, relative to first[]. */
static tamis_status is_solved(const tamis_model *model, const side *half, const double *first, bool *solved) {
    const double little = model->options.type == TAMIS_F64 ? 1e-26 : 1e-13; /* squares */
    double *squares;
    TAMIS_SCOPE;
    TRY(ml_dense_read_doubles(model, &half->rr, &squares));
    *solved = true;
    for (int64_t i = 0; i < half->rr.rows && *solved; i++) *solved = squares[i] <= little * first[i];
    return TAMIS_OK;
}

enum { LOOK_EVERY = 8 };

static tamis_status take_steps(tamis_model *model, side *half, const tamis_dense *X, int steps) {
    double *first = NULL;
    bool solved = false;
    TAMIS_SCOPE;
    if (steps > 2 * LOOK_EVERY) TRY(ml_dense_read_doubles(model, &half->rr, &first));
    for (int i = 0; i < steps && !solved; i++) {
        TRY(apply(model, half, &half->P));
        TRY(tamis_dense_cg_step(model->device, NULL, NULL, 0, &half->AP, &half->P, X, &half->R, &half->rr));
        if (first && i % LOOK_EVERY == LOOK_EVERY - 1) TRY(is_solved(model, half, first, &solved));
    }
    return TAMIS_OK;
}

static tamis_status solve(tamis_model *model, side *half, const tamis_dense *X, const tamis_dense *Y, int steps) {
    tamis_device *const device = model->device;
    if (!half->known) TRY(ml_gram(model, Y, ml_lambda(model), &half->G));
    TRY(ml_gather(model, &half->S, Y, &half->Y));
    TRY(ml_spmm(model, half->spmm, &half->Y, 1, 0, &half->R));
    TRY(apply(model, half, X));
    TRY(tamis_dense_axpby(device, NULL, -1, &half->AP, 1, &half->R));
    TRY(tamis_dense_axpby(device, NULL, 1, &half->R, 0, &half->P));
    TRY(tamis_dense_row_dots(device, NULL, &half->R, &half->R, &half->rr));
    return take_steps(model, half, X, steps);
}

/* ------------------------------------------------------------------------------------------ fitting */

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    bool fresh;
    TRY(ml_model_factors(model, data->rows, ml_own_columns(model, data), &fresh));
    implicit *work;
    TRY(tamis_allocate_zeros(1, "the work of implicit-als", work));
    model->work = work;
    TRY(ml_times_reserve(model, 2.0 * (2 + model->options.cg_steps)));
    for (int i = 0; i < 2; i++)
        TRY(side_make(model, data, i == 1, ML_PASSES, model->options.cg_steps, &work->sides[i]));
    double logarithms = 0, uses = 0;
    for (int64_t t = 0; t < data->nnz; t++) {
        const double r = ml_value(data, t), weight = 1 + model->options.confidence * r;
        if (r > 0) work->weighted += weight, logarithms += log(weight), uses++;
    }
    if (ml_finds_lambda(model) && ml_learns_data(model)) TRY(ml_noise_of_uses(model, logarithms, uses));
    /* Starting with rounds of the power method was no better with 16 factors (visits, KOS, AP: 0.3 % either way), and
       worse with 64 for counts with heavy tails, as the directions nearly coincide. */
    return ml_first_factors(model, &work->sides[0].S, &work->sides[1].S);
}

static tamis_status iterate(tamis_model *model) {
    implicit *const work = model->work;
    const tamis_dense *const X = &model->row_factors, *const Y = &model->column_factors;
    TRY(solve(model, &work->sides[0], X, Y, model->options.cg_steps));
    ml_changed(model);
    TRY(solve(model, &work->sides[1], Y, X, model->options.cg_steps));
    ml_changed(model);
    return TAMIS_OK;
}

/* Computes the loss. The items were solved last, so Y and G of their half are still up to date with X. */
static tamis_status loss(tamis_model *model, double *result) {
    implicit *const work = model->work;
    side *const items = &work->sides[1];
    const tamis_dense *const X = &model->row_factors, *const Y = &model->column_factors;
    double products, squares;
    TRY(apply(model, items, Y));
    TRY(ml_spmm(model, items->spmm, &items->Y, -2, 1, &items->AP));
    TRY(tamis_dense_dot(model->device, NULL, model->workspace, Y, &items->AP, &products));
    TRY(tamis_dense_dot(model->device, NULL, model->workspace, X, X, &squares));
    *result = products + ml_lambda(model) * squares + work->weighted;
    return ml_add_ranks(model, result, 1);
}

/* ------------------------------------------------------------------------------------------ new rows */

static void make_system(ml_fold *fold) {
    const double confidence = fold->model->options.confidence;
    for (int64_t t = 0; t < fold->count; t++) {
        const double r = fold->targets[t];
        fold->weights[t] = confidence * fabs(r);
        fold->targets[t] = r > 0 ? 1 + confidence * r : 0;
    }
}

static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    const ml_gram_kept *gram;
    TRY(ml_kept_gram(model, &gram));
    if (ml_folds_alone(model, data->rows)) return ml_fold_rows(model, data, gram->inverse, make_system, W);
    side half = {.G = gram->G, .known = true};
    const int steps = ml_fold_in_steps(model->width);
    TRY(side_make(model, data, false, 1, steps, &half));
    TRY(tamis_dense_fill(model->device, NULL, W, 0));
    TRY(solve(model, &half, W, &model->column_factors, steps));
    return tamis_stream_synchronize(model->device, NULL);
}

/* ------------------------------------------------------------------------------------------ prediction */

static tamis_status operands(tamis_model *model, const tamis_dense *W, ml_operands *made) {
    *made = (ml_operands){.scale = 1, .least = -INFINITY, .most = INFINITY};
    ml_plain_operands(model, W, made);
    return TAMIS_OK;
}

static const tamis_method_option own_options[] = {
    {"regularization", NULL}, {"cg_steps", NULL}, {"confidence", NULL}, {"weights", NULL}, {NULL, NULL}};

const ml_method ml_implicit_als = {
    .about = {.method = TAMIS_IMPLICIT_ALS,
              .data = TAMIS_DATA_USES,
              .name = "implicit-als",
              .summary = "uses: counts of what was used, bought or played",
              .options = own_options,
              .row_factors = true,
              .groups = true},
    .noise = true,
    .sizes = true,
    .weighs = true,
    .confident = true,
    .features = true,
    .usual = TAMIS_WEIGHTS_LOG,
    .defaults = defaults,
    .check = check,
    .states = {ML_WEIGHTS_STATE, [ML_POPULARITY] = ML_POPULARITY_STATE},
    .prepare = prepare,
    .begin = begin,
    .iterate = iterate,
    .loss = loss,
    .transform = transform,
    .system = make_system,
    .gram = true,
    .operands = operands,
};
