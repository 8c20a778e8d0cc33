/*
 * CCD++ for explicit ratings (Nisa et al., algorithm 1; Yu, Hsieh, Si, Dhillon 2012): one feature at a time.
 *
 * It minimises  sum over ratings (s_ui - x_u.y_i)^2 + lambda sum n_u |x_u|^2 + lambda sum n_i |y_i|^2.  Here s is (r -
 * mean) / the ratings' deviation minus the damped biases of user and item, which are computed beforehand (biases.h) and
 * are the last column of the factors. In a non-negative fit, s is r / the root of its mean square. n is the number of
 * ratings of a user or item plus ML_PRIOR_RATINGS (with plain lambda, n is 1). With all features but one fixed, and R^
 * the ratings minus the other features' part, each number of that feature has a closed form: v_i = sum R^_ui u_u /
 * (lambda n_i + sum u_u^2)  over the item's ratings, and likewise u_u; they alternate inner_rounds times. Each step
 * minimises over one number, so the sum never increases.
 *
 *   R^ = R + u v^T at the ratings     SDDMM, edge mask, K = 1, added to the residual in place; together with
 * subtracting the new feature before it, K = 2 sum R^_ui u_u                     SpMM of width 1 with the residual as
 * values sum u_u^2                         SpMM of width 1 with the pattern alone, on squares The residual is kept by
 * rows and by columns. Each iteration begins by computing it anew from the factors (SDDMM, edge residual). So rounding
 * errors do not accumulate, and a fit that continues from its factors gives the same bits as one that never stopped.
 *
 * A feature is a column of the factors. On OpenCL a column has no view of its own, since it does not begin at the first
 * byte. It is extracted by a product with the unit vector e_t and put back as X + (u - old u) e_t^T; e_t moves on by a
 * product with a cyclic shift. That reads the factors about three times for each feature, while each of the
 * `inner_rounds` rounds reads ratings and vectors four times. So it costs little, and needs no second copy of the
 * factors.
 *
 * Memory in addition to data and factors: the residual in both orders, and nine vectors of each side's size.
 */
#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/fit/place.h"
#include "ml/fit/sums.h"
#include "ml/methods/biases.h"
#include "ml/methods/method.h"
#include "ml/methods/noise.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/chance.h"
#include "ml/serve/operands.h"
#include "ml/serve/popular.h"

/* The least divisor; lambda keeps divisors far above it. */
static const double TINY = 1e-37;

/* Rows of S (users; or of its transpose: items). */
typedef struct side {
    ml_sparse S;    /* its values are the targets of the features */
    void *residual; /* a rating each */
    tamis_plan *exact, *rank_one, *rank_two, *numerator, *denominator;
    tamis_dense lambda;  /* times the number of ratings */
    tamis_dense weights; /* the factor of lambda in `lambda`; only if lambda is found by the noise */
    tamis_dense feature; /* as it is now */
    tamis_dense before;  /* as it was */
    tamis_dense pair;    /* the feature to add to the residual, and the one to subtract */
    tamis_dense next, divisor, squares, cut; /* scratch of a step */
} side;

typedef struct ccd {
    side sides[2];                 /* rows, columns */
    tamis_dense shift, unit, step; /* width x width, and 1 x width twice */
    tamis_dense places[2];         /* in a pair: 1 x 2 each */
    tamis_dense decrease[2];       /* of the objective by a round's update of rows, columns: 1 x 1 */
    ml_noise noise;                /* used if lambda is 0 */
    bool residual_is_new[2];       /* the residual is up to date with the factors */
} ccd;

/* ------------------------------------------------------------------------------------------ options */

static void defaults(tamis_model_options *options) {
    options->iterations = 15;
    options->regularization = 0; /* found by the noise */
    options->weighted = true;
    options->biases = true;
    options->inner_rounds = 5;
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_lambda(options));
    return ml_check_rounds("inner_rounds", options->inner_rounds);
}

/* ------------------------------------------------------------------------------------------ one side */

/* data: the targets of the features. The plans expect `passes` passes over all features, with up to `rounds` rounds
   each. */
static tamis_status side_make(const tamis_model *model, const tamis_sparse *data, bool transpose, int passes,
                              int rounds, side *half) {
    const int64_t features = passes * model->options.factors;
    TRY(ml_sparse_place(model, data, transpose, &half->S));
    const tamis_sparse *const S = &half->S.view;
    TRY(ml_values_make(model, S->nnz, &half->residual));
    TRY(ml_row_lambdas(model, &half->S, &half->lambda));
    if (ml_finds_lambda(model)) TRY(ml_row_weights(model, &half->S, &half->weights));
    tamis_dense *const vectors[] = {&half->feature, &half->before,  &half->next,
                                    &half->divisor, &half->squares, &half->cut};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) TRY(ml_vector_make(model, S->rows, vectors[i]));
    TRY(ml_plan(model, S, TAMIS_OP_SDDMM, TAMIS_EDGE_RESIDUAL, model->options.factors, 0, passes, &half->exact));
    TRY(ml_plan(model, S, TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, 1, 0, 2 * features, &half->rank_one));
    const tamis_sparse left = ml_with_values(S, half->residual), pattern = ml_with_values(S, NULL);
    TRY(ml_plan(model, &left, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, 1, rounds * features, &half->numerator));
    return ml_plan(model, &pattern, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, 1, rounds * features, &half->denominator);
}

/* Makes the pair for a fit: new rows have one feature at a time. */
static tamis_status pair_make(const tamis_model *model, side *half) {
    TRY(ml_scratch(model, half->S.view.rows, 2, &half->pair));
    const int64_t calls = ML_PASSES * model->options.factors;
    return ml_plan(model, &half->S.view, TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, 2, 0, calls, &half->rank_two);
}

/* Sets half->next to the optimal feature of these rows, given the other side's feature, with R^ as the residual. */
static tamis_status update(tamis_model *model, side *half, const tamis_dense *others, const tamis_dense *squares) {
    tamis_device *const device = model->device;
    TRY(tamis_dense_map(device, NULL, TAMIS_MAP_MULTIPLY_ADD, 1, 0, others, others, squares));
    TRY(tamis_dense_axpby(device, NULL, 1, &half->lambda, 0, &half->divisor));
    TRY(ml_spmm(model, half->denominator, squares, 1, 1, &half->divisor));
    TRY(ml_spmm(model, half->numerator, others, 1, 0, &half->next));
    TRY(tamis_dense_map(device, NULL, TAMIS_MAP_DIVIDE, 1, TINY, &half->next, &half->divisor, &half->next));
    if (model->options.nonnegative)
        TRY(tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 0, INFINITY, &half->next, NULL, &half->next));
    return TAMIS_OK;
}

/* Replaces the feature by half->next. */
static void take(side *half) {
    const tamis_dense old = half->feature;
    half->feature = half->next;
    half->next = old;
}

/* Computes the decrease of the objective by the last update: its curvature times the squared change (a lower bound for
   clamped numbers). Call it before take(); it overwrites `squares`. */
static tamis_status decrease_of(tamis_model *model, side *half, const tamis_dense *decrease) {
    tamis_device *const device = model->device;
    TRY(tamis_dense_axpby(device, NULL, -1, &half->next, 1, &half->feature));
    TRY(tamis_dense_map(device, NULL, TAMIS_MAP_MULTIPLY_ADD, 1, 0, &half->divisor, &half->feature, &half->cut));
    return ml_vector_dot(model, &half->cut, &half->feature, &half->squares, decrease);
}

/* residual = residual + sign * feature x feature^T. */
static tamis_status add_feature(tamis_model *model, side *half, const side *other, double sign) {
    const tamis_dense residual = ml_values_view(model, half->residual, half->S.view.nnz);
    return ml_sddmm(model, half->rank_one, &half->feature, &other->feature, sign, 1, &residual);
}

/* Puts the feature, times sign, into the `place` of the side's pair. */
static tamis_status put_in_pair(const tamis_model *model, const ccd *work, side *half, int place, double sign) {
    return tamis_dense_multiply(model->device, NULL, sign, &half->feature, &work->places[place], place == 0 ? 0 : 1,
                                &half->pair);
}

/* Adds the product of the rows' and columns' pairs to both residuals. */
static tamis_status exchange(tamis_model *model, ccd *work) {
    for (int i = 0; i < 2; i++) {
        side *const half = &work->sides[i];
        const tamis_dense residual = ml_values_view(model, half->residual, half->S.view.nnz);
        TRY(ml_sddmm(model, half->rank_two, &half->pair, &work->sides[1 - i].pair, 1, 1, &residual));
    }
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ features */

static tamis_status make_units(const tamis_model *model, ccd *work) {
    const int64_t width = model->options.factors;
    TRY(ml_scratch(model, width, width, &work->shift));
    TRY(ml_scratch(model, 1, width, &work->unit));
    TRY(ml_scratch(model, 1, width, &work->step));
    double *numbers;
    TAMIS_SCOPE;
    TRY(tamis_allocate_zeros(tamis_times(width, width), "the shift of features", numbers));
    for (int64_t i = 0; i < width; i++) numbers[i * width + (i + 1) % width] = 1;
    TRY(ml_dense_write_doubles(model, &work->shift, numbers));
    for (int64_t i = 0; i < width; i++) numbers[i] = i == 0;
    return ml_dense_write_doubles(model, &work->unit, numbers);
}

/* Goes to the next feature; the one after the last is the first. */
static tamis_status advance(const tamis_model *model, ccd *work) {
    TRY(tamis_dense_multiply(model->device, NULL, 1, &work->unit, &work->shift, 0, &work->step));
    const tamis_dense old = work->unit;
    work->unit = work->step;
    work->step = old;
    return TAMIS_OK;
}

static tamis_status take_out(const tamis_model *model, const ccd *work, const tamis_dense *factors,
                             const tamis_dense *feature) {
    tamis_dense unit = work->unit; /* as a column */
    unit.rows = unit.cols;
    unit.cols = unit.stride = 1;
    return tamis_dense_multiply(model->device, NULL, 1, factors, &unit, 0, feature);
}

/* Writes the feature back to the factors. Non-negative numbers stay so: a rounded u - old is at least -old. */
static tamis_status put_back(const tamis_model *model, const ccd *work, side *half, const tamis_dense *factors) {
    TRY(tamis_dense_axpby(model->device, NULL, 1, &half->feature, -1, &half->before));
    return tamis_dense_multiply(model->device, NULL, 1, &half->before, &work->unit, 1, factors);
}

/* ------------------------------------------------------------------------------------------ fitting */

/* Computes the targets of the features. It reads the biases from the factors, so that a resumed fit has the same
   targets. */
static tamis_status make_values(const tamis_model *model, const tamis_sparse *data, void **values) {
    double *rows = NULL, *columns = NULL;
    if (ml_biased(model)) TRY(ml_last_read(model, &model->row_factors, &rows));
    if (ml_biased(model)) TRY(ml_last_read(model, &model->column_factors, &columns));
    TRY(ml_less_biases(model, data, rows, columns, values));
    tamis_scope_drop(rows);
    tamis_scope_drop(columns);
    return TAMIS_OK;
}

static tamis_status make_biases(const tamis_model *model, const tamis_sparse *data) {
    double *rows;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(data->rows + data->cols, "biases", rows));
    double *const columns = rows + data->rows;
    TRY(ml_damped_biases(model, data, rows, columns));
    TRY(ml_last_write(model, &model->row_factors, rows));
    return ml_last_write(model, &model->column_factors, columns);
}

/* Initialises the factors of a new fit. */
static tamis_status make_first(const tamis_model *model, const tamis_sparse *data) {
    const double size = 1 / sqrt((double)model->options.factors);
    TRY(tamis_dense_fill(model->device, NULL, &model->column_factors, 0));
    TRY(ml_dense_random(model, &model->row_factors, 1, model->options.nonnegative ? 0 : -size, size));
    return ml_biased(model) ? make_biases(model, data) : TAMIS_OK;
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    bool fresh;
    TRY(ml_model_factors(model, data->rows, data->cols, &fresh));
    /* `fresh` would not do: a failed begin() may leave uninitialised factors */
    if (model->iterations_done == 0) TRY(make_first(model, data));
    if (ml_finds_lambda(model) && model->iterations_done == 0) TRY(ml_noise_begin(model, data));
    ccd *work;
    TRY(tamis_allocate_zeros(1, "the work of ccd", work));
    model->work = work;
    TRY(ml_times_reserve(model, 2 + (double)model->options.factors * (4 + 4.0 * model->options.inner_rounds)));
    TRY(make_units(model, work));
    if (ml_finds_lambda(model)) TRY(ml_noise_make(model, model->options.factors, &work->noise));
    for (int i = 0; i < 2; i++) {
        const double place[] = {i == 0, i == 1};
        TRY(ml_scratch(model, 1, 1, &work->decrease[i]));
        TRY(ml_scratch(model, 1, 2, &work->places[i]));
        TRY(ml_dense_write_doubles(model, &work->places[i], place));
    }
    void *values;
    TRY(make_values(model, data, &values));
    const tamis_sparse left = ml_with_values(data, values);
    for (int i = 0; i < 2; i++)
        TRY(side_make(model, &left, i == 1, ML_PASSES, model->options.inner_rounds, &work->sides[i]));
    for (int i = 0; i < 2; i++) TRY(pair_make(model, &work->sides[i]));
    tamis_scope_drop(values);
    return TAMIS_OK;
}

static tamis_status make_residual(tamis_model *model, ccd *work, int i) {
    if (work->residual_is_new[i]) return TAMIS_OK;
    const tamis_dense factors[] = {ml_features(model, &model->row_factors), ml_features(model, &model->column_factors)};
    const tamis_dense residual = ml_values_view(model, work->sides[i].residual, work->sides[i].S.view.nnz);
    TRY(ml_sddmm(model, work->sides[i].exact, &factors[i], &factors[1 - i], 1, 0, &residual));
    work->residual_is_new[i] = true;
    return TAMIS_OK;
}

/* Reads the decrease of both halves of a round: the only number for which the host waits. */
static tamis_status read_decrease(const tamis_model *model, const ccd *work, double *decrease) {
    double number;
    TRY(tamis_dense_axpby(model->device, NULL, 1, &work->decrease[0], 1, &work->decrease[1]));
    TRY(ml_dense_read(model, &work->decrease[1], &number));
    *decrease = ml_number(&number, model->options.type, 0);
    return TAMIS_OK;
}

/* Does the rounds of a feature, columns first: in the first iteration columns are 0 and rows random. *largest: the
   largest decrease by a round of this iteration. */
static tamis_status rounds(tamis_model *model, ccd *work, bool very_first, double *largest) {
    side *const rows = &work->sides[0], *const columns = &work->sides[1];
    const int count = model->options.inner_rounds;
    for (int round = 0; round < count; round++) {
        double decrease = 0;
        TRY(update(model, columns, &rows->feature, &rows->squares));
        if (count > 1) TRY(decrease_of(model, columns, &work->decrease[1]));
        take(columns);
        TRY(update(model, rows, &columns->feature, &columns->squares));
        if (count > 1) TRY(decrease_of(model, rows, &work->decrease[0]));
        take(rows);
        if (count > 1) TRY(read_decrease(model, work, &decrease));
        if (decrease < 1e-3 * *largest) return TAMIS_OK;
        /* the very first round decreases far more than others, so it is not counted */
        if (decrease > *largest && !(very_first && round == 0)) *largest = decrease;
    }
    return TAMIS_OK;
}

/* Estimates lambda for the next iteration, from current residuals. */
static tamis_status find_lambda(tamis_model *model, ccd *work) {
    const tamis_dense X = ml_features(model, &model->row_factors), Y = ml_features(model, &model->column_factors);
    const tamis_dense *const features[2] = {&X, &Y};
    const tamis_dense residual = ml_values_view(model, work->sides[0].residual, work->sides[0].S.view.nnz);
    double squares;
    TRY(tamis_dense_dot(model->device, NULL, model->workspace, &residual, &residual, &squares));
    TRY(ml_noise_lambda(model, &work->noise, squares, features, false));
    for (int i = 0; i < 2; i++)
        TRY(tamis_dense_axpby(model->device, NULL, model->lambda, &work->sides[i].weights, 0, &work->sides[i].lambda));
    return TAMIS_OK;
}

static tamis_status iterate(tamis_model *model) {
    ccd *const work = model->work;
    side *const rows = &work->sides[0], *const columns = &work->sides[1];
    tamis_device *const device = model->device;
    const bool first = model->iterations_done == 0;
    for (int i = 0; i < 2; i++) TRY(make_residual(model, work, i));
    if (ml_finds_lambda(model) && !first) TRY(find_lambda(model, work));
    work->residual_is_new[0] = work->residual_is_new[1] = false;
    double largest = 0;
    const tamis_dense X = ml_features(model, &model->row_factors), Y = ml_features(model, &model->column_factors);
    for (int64_t t = 0; t < X.cols; t++) {
        TRY(take_out(model, work, &X, &rows->before));
        TRY(take_out(model, work, &Y, &columns->before));
        TRY(tamis_dense_axpby(device, NULL, 1, &rows->before, 0, &rows->feature));
        TRY(tamis_dense_axpby(device, NULL, 1, &columns->before, 0, &columns->feature));
        for (int i = 0; i < 2 && t > 0; i++) TRY(put_in_pair(model, work, &work->sides[i], 1, 1));
        if (t > 0) {
            TRY(exchange(model, work));
        } else if (!first) { /* else columns are 0 */
            TRY(add_feature(model, rows, columns, 1));
            TRY(add_feature(model, columns, rows, 1));
        }
        TRY(rounds(model, work, first && t == 0, &largest));
        /* the last feature is not subtracted, since the next iteration recomputes the residual */
        TRY(put_in_pair(model, work, rows, 0, -1));
        TRY(put_in_pair(model, work, columns, 0, 1));
        TRY(put_back(model, work, rows, &X));
        TRY(put_back(model, work, columns, &Y));
        TRY(advance(model, work));
    }
    return TAMIS_OK;
}

/* Computes the loss from the residual, which the next iteration needs anyway. */
static tamis_status loss(tamis_model *model, double *result) {
    ccd *const work = model->work;
    tamis_device *const device = model->device;
    const tamis_dense factors[] = {ml_features(model, &model->row_factors), ml_features(model, &model->column_factors)};
    TRY(make_residual(model, work, 0));
    const tamis_dense residual = ml_values_view(model, work->sides[0].residual, work->sides[0].S.view.nnz);
    double sum;
    TRY(tamis_dense_dot(device, NULL, model->workspace, &residual, &residual, &sum));
    for (int i = 0; i < 2; i++) {
        side *const half = &work->sides[i];
        double part;
        TRY(tamis_dense_row_dots(device, NULL, &factors[i], &factors[i], &half->squares));
        TRY(tamis_dense_dot(device, NULL, model->workspace, &half->lambda, &half->squares, &part));
        sum += part;
    }
    *result = sum;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ new rows */

/* One pass over the features of new rows, with the columns fixed; non-negative rows stay so. */
static tamis_status fold_in(tamis_model *model, ccd *work, const tamis_dense *columns, const tamis_dense *W) {
    side *const rows = &work->sides[0], *const fixed = &work->sides[1];
    for (int64_t t = 0; t < W->cols; t++) {
        TRY(take_out(model, work, W, &rows->before));
        TRY(take_out(model, work, columns, &fixed->feature));
        TRY(tamis_dense_axpby(model->device, NULL, 1, &rows->before, 0, &rows->feature));
        TRY(add_feature(model, rows, fixed, 1));
        TRY(update(model, rows, &fixed->feature, &fixed->squares));
        take(rows);
        TRY(add_feature(model, rows, fixed, -1));
        TRY(put_back(model, work, rows, W));
        TRY(advance(model, work));
    }
    return TAMIS_OK;
}

/* Number of passes that plans expect; usual are a few to some tens. */
enum { FOLD_IN_PASSES = 10 };

/* Repeats passes until they change the rows by less than a share of 1e-5 (fp64: 1e-9), at most 100 (400). */
static tamis_status fold_in_all(tamis_model *model, ccd *work, const tamis_dense *columns, const tamis_dense *W,
                                const tamis_dense *last) {
    tamis_device *const device = model->device;
    const bool exact = model->options.type == TAMIS_F64;
    const double share = exact ? 1e-18 : 1e-10;
    for (int pass = 0; pass < (exact ? 400 : 100); pass++) {
        double change, size;
        TRY(tamis_dense_axpby(device, NULL, 1, W, 0, last));
        TRY(fold_in(model, work, columns, W));
        TRY(tamis_dense_axpby(device, NULL, -1, W, 1, last));
        TRY(tamis_dense_dot(device, NULL, model->workspace, last, last, &change));
        TRY(tamis_dense_dot(device, NULL, model->workspace, W, W, &size));
        if (change <= share * size) return TAMIS_OK;
    }
    return TAMIS_OK;
}

/* Computes the features of new rows from `data`. */
static tamis_status find_features(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    const tamis_dense columns = ml_features(model, &model->column_factors);
    tamis_dense last;
    ccd work = {0};
    side *const rows = &work.sides[0];
    TRY(make_units(model, &work));
    TRY(side_make(model, data, false, FOLD_IN_PASSES, 1, rows));
    TRY(ml_scratch(model, columns.rows, 1, &work.sides[1].feature));
    TRY(ml_scratch(model, columns.rows, 1, &work.sides[1].squares));
    TRY(ml_scratch(model, W->rows, W->cols, &last));
    const tamis_dense residual = ml_values_view(model, rows->residual, rows->S.view.nnz);
    TRY(ml_sddmm(model, rows->exact, W, &columns, 1, 0, &residual)); /* the ratings */
    TRY(fold_in_all(model, &work, &columns, W, &last));
    return tamis_stream_synchronize(model->device, NULL);
}

static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    bool fresh;
    TRY(ml_model_factors(model, model->row_factors.rows, model->column_factors.rows, &fresh)); /* the workspace */
    double *rows = NULL, *columns = NULL;
    void *values;
    TRY(tamis_dense_fill(model->device, NULL, W, 0));
    if (ml_biased(model)) {
        TRY(ml_last_read(model, &model->column_factors, &columns));
        TRY(tamis_allocate_array(data->rows, "biases", rows));
        ml_row_biases(model, data, columns, rows);
        TRY(ml_last_write(model, W, rows));
    }
    TRY(ml_less_biases(model, data, rows, columns, &values));
    const tamis_sparse left = ml_with_values(data, values);
    const tamis_dense features = ml_features(model, W);
    return find_features(model, &left, &features);
}

/* ------------------------------------------------------------------------------------------ prediction */

static tamis_status operands(tamis_model *model, const tamis_dense *W, ml_operands *made) {
    *made =
        (ml_operands){.offset = ml_centre(model), .scale = model->scale, .least = model->least, .most = model->most};
    return ml_biased_operands(model, W, made);
}

static const tamis_method_option own_options[] = {
    {"regularization", NULL}, {"weighted", NULL},      {"biases", NULL}, {"inner_rounds", "rounds per feature"},
    {"nonnegative", NULL},    {"by_prediction", NULL}, {NULL, NULL}};

const ml_method ml_ccd = {
    .about = {.method = TAMIS_CCD,
              .data = TAMIS_DATA_RATINGS,
              .name = "ccd",
              .summary = "ratings, one feature at a time (CCD++)",
              .options = own_options,
              .row_factors = true},
    .biases = true,
    .nonnegative = true,
    .noise = true,
    .as_als = true,
    .sizes = true,
    .over_biases = true,
    .chance = true,
    .states = {[ML_POPULARITY] = ML_POPULARITY_STATE},
    .prepare = ml_chance_prepare,
    .defaults = defaults,
    .check = check,
    .begin = begin,
    .iterate = iterate,
    .loss = loss,
    .transform = transform,
    .operands = operands,
};
