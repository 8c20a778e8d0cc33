/*
 * Sparse factor analysis of ratings in mini-batches of users (Nisa et al. and their reference 19, as BIDMach computes
 * it).
 *
 * The mean and the damped biases of user and item are subtracted from a rating (biases.h), and the rest is divided by
 * the ratings' deviation: s. A user's bias comes from that user's ratings alone, given the items' biases; these come
 * from all ratings so far. With items m_i and users u it minimises sum over ratings (s_ui - u.m_i)^2 + lambda sum n_u
 * |u|^2 + lambda_m sum n_i |m_i|^2 where n is the number of ratings plus ML_PRIOR_RATINGS (with plain lambda: 1 for a
 * user, the number of users for an item). For each mini-batch its users are solved, from zero, by cg_steps steps of
 * preconditioned conjugate gradients (sum over u's items of m_i m_i^T + lambda n_u) u = sum s_ui m_i         fused
 * call, edge mask; SpMM and the items then make one step of ADAGRAD along (half of) the negative gradient sum over i's
 * users of (s_ui - u.m_i) u - lambda_m n_i m_i               fused call on the transpose, edge residual where n_i is
 * the mini-batch's share of it, by its number of users.
 *
 * The preconditioner is B = d M^T M + the mean lambda n_u, where d is the share of ratings that are present (the
 * reference uses 50 / items, its typical number of ratings). It is the mean over users of their own matrices. Its
 * Cholesky factor L is computed once a pass on the host, in double, and applied by a change of variables: with T =
 * L^-T, items M T and users u = T x it is plain conjugate gradients on x, whose steps tamis_dense_cg_step makes, and
 * lambda becomes lambda T^T T. The reference clamps step lengths at 300; here the matrix is never below lambda n_u T^T
 * T, which bounds them anyway.
 *
 * States: 0 ADAGRAD's sums of squares, 1 biases, 2 sum and number of an item's ratings, 3 T of the current pass (so
 * that a fit that stopped within a pass continues with it).
 *
 * The loss of each mini-batch stays on the device, one number in a vector with an element for each mini-batch, until a
 * pass ends or the model is saved within one. They are always added in order on the host, in double.
 *
 * Memory in addition to data and items: each mini-batch in both orders with four plans, six matrices of the largest
 * mini-batch's users, one number for each rating of it, and two matrices of the items' size.
 */
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/fit/minibatch.h"
#include "ml/fit/place.h"
#include "ml/fit/sums.h"
#include "ml/methods/biases.h"
#include "ml/methods/cholesky.h"
#include "ml/methods/method.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/operands.h"

/* Against ADAGRAD's division by zero, far below any gradient that counts. */
static const double LITTLE = 1e-6;

enum { HISTORY = 0, BIASES = 1, SUMS = 2, WHITENING = 3 };

/* The plans of a mini-batch; new rows have the first two. */
enum { RIGHT = 0, NORMAL = 1, GRADIENT = 2, ERRORS = 3 };

typedef struct sfa {
    ml_batches batches;
    tamis_dense X, P, R, AP, Q, rr, U; /* as many rows as the largest mini-batch */
    tamis_dense *lambdas;              /* of each mini-batch's users */
    tamis_dense items, gradient;       /* whitened items; later the items times their lambdas */
    tamis_dense item_lambda;           /* for one user */
    tamis_dense T, transposed, shift;  /* the change of variables; lambda T^T T */
    double *numbers;                   /* width x width on the host, and in the device's type */
    void *narrow;
    tamis_dense errors, zeros, dots;           /* one per rating; a vector of zeros; scratch of sums */
    tamis_dense of_errors, of_users, of_items; /* sums of squares: 1 x 1 */
    tamis_dense losses;                        /* of the pass's mini-batches, in their order */
    void *host_losses;
} sfa;

/* ------------------------------------------------------------------------------------------ options */

static void defaults(tamis_model_options *options) {
    options->iterations = 20;
    options->weighted = true;
    options->biases = true;
    options->cg_steps = 5;
    options->rate = 0.1;
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_number("regularization", options->regularization, options->regularization >= 0,
                        "a positive number, or 0 to choose it"));
    TRY(ml_check_number("column_regularization", options->column_regularization, options->column_regularization >= 0,
                        "0 or more"));
    TRY(ml_check_rounds("cg_steps", options->cg_steps));
    return ml_check_number("rate", options->rate, options->rate > 0, "a positive number");
}

/* ------------------------------------------------------------------------------------------ biases */

/* Adds the sums of each item's ratings minus users' biases, and their counts, to `base`, and computes biases from
   them. */
static void sum_items(const tamis_model *model, const tamis_sparse *data, const double *users, const double *base,
                      double *sums, double *biases) {
    const int64_t *const offsets = data->offsets;
    memcpy(sums, base, 2 * (size_t)data->cols * sizeof *sums);
    for (int64_t i = 0; i < data->rows; i++)
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) {
            double *const of_item = sums + 2 * ml_column(data, t);
            of_item[0] += ml_value(data, t) - model->scale * users[i];
            of_item[1] += 1;
        }
    for (int64_t j = 0; j < data->cols; j++) {
        const double *const of_item = sums + 2 * j;
        biases[j] = (of_item[0] - of_item[1] * model->mean) / model->scale / (of_item[1] + ML_BIAS_DAMPING);
    }
}

/* Adds the ratings of `data` to the items' sums, or restarts these (anew), and computes the biases; anew: in rounds
   that alternate with the users' biases. */
static tamis_status learn_biases(tamis_model *model, const tamis_sparse *data, bool anew) {
    const int64_t cols = model->column_factors.rows;
    double *base, *sums, *users, *biases;
    TAMIS_SCOPE;
    if (anew) {
        TRY(tamis_allocate_zeros(2 * cols, "the sums of items", base));
        TRY(tamis_allocate_zeros(cols, "the biases of items", biases));
    } else {
        TRY(ml_state_read(model, SUMS, &base));
        TRY(ml_state_read(model, BIASES, &biases));
    }
    TRY(tamis_allocate_array(2 * cols, "the sums of items", sums));
    TRY(tamis_allocate_zeros(data->rows, "the biases of users", users));
    for (int round = 0; round < (anew ? ML_BIAS_ROUNDS : 1); round++) {
        if (ml_biased(model)) ml_row_biases(model, data, biases, users);
        sum_items(model, data, users, base, sums, biases);
    }
    TRY(ml_dense_write_doubles(model, &model->states[SUMS], sums));
    TRY(ml_dense_write_doubles(model, &model->states[BIASES], biases));
    return ml_biased(model) ? ml_last_write(model, &model->column_factors, biases) : TAMIS_OK;
}

/* Computes the ratings minus mean and biases, as values for `data`. Writes the users' biases to the last column of W
   (NULL: not). */
static tamis_status centre(const tamis_model *model, const tamis_sparse *data, const tamis_dense *W, void **centred) {
    double *biases, *users = NULL;
    TRY(ml_state_read(model, BIASES, &biases));
    if (ml_biased(model)) {
        TRY(tamis_allocate_array(data->rows, "the biases of users", users));
        ml_row_biases(model, data, biases, users);
        if (W) TRY(ml_last_write(model, W, users));
    }
    TRY(ml_less_biases(model, data, users, biases, centred));
    tamis_scope_drop(biases);
    tamis_scope_drop(users);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ preconditioner */

/* Computes the matrices that depend on T, which is in work->narrow. */
static tamis_status use_whitening(const tamis_model *model, const sfa *work) {
    const int64_t n = model->options.factors;
    const tamis_type type = model->options.type;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) { /* zeros are below */
            ml_put_number(work->narrow, type, i * n + j, ml_number(work->narrow, type, j * n + i));
            ml_put_number(work->narrow, type, j * n + i, 0);
        }
    TRY(ml_dense_write(model, &work->transposed, work->narrow));
    return tamis_dense_gram(model->device, NULL, model->workspace, 1, &work->T, 0, &work->shift);
}

/* Computes T from the current items, and the matrices that depend on it. share: the share of ratings that are
   present. */
static tamis_status make_whitening(const tamis_model *model, const sfa *work, double share) {
    const int64_t n = model->options.factors;
    const tamis_type type = model->options.type;
    const double ratings = share * (double)model->cols + model->prior_ratings;
    const double lambda = model->options.regularization * (model->options.weighted ? fmax(ratings, 1) : 1);
    const tamis_dense M = ml_features(model, &model->column_factors);
    double *const B = work->numbers;
    TRY(tamis_dense_gram(model->device, NULL, model->workspace, share, &M, lambda, &work->T));
    TRY(ml_dense_read(model, &work->T, work->narrow));
    for (int64_t i = 0; i < n * n; i++) B[i] = ml_number(work->narrow, type, i);
    ml_invert_cholesky(B, n, lambda);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) /* transposed, zeros below */
            ml_put_number(work->narrow, type, i * n + j, j < i ? 0 : B[j * n + i]);
    TRY(ml_dense_write(model, &work->T, work->narrow));
    return use_whitening(model, work);
}

/* The same for a resumed pass, which has T. */
static tamis_status take_whitening(const tamis_model *model, const sfa *work) {
    TRY(ml_dense_read(model, &work->T, work->narrow));
    return use_whitening(model, work);
}

/* ------------------------------------------------------------------------------------------ mini-batches */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Allocates the scratch of measure(). */
static tamis_status make_sums(const tamis_model *model, sfa *work) {
    const int64_t users = work->batches.rows, items = model->column_factors.rows, ratings = work->batches.nnz;
    tamis_dense *const sums[] = {&work->of_errors, &work->of_users, &work->of_items};
    TRY(ml_vector_make(model, ratings, &work->errors));
    TRY(ml_vector_make(model, 1, &work->zeros));
    TRY(ml_scratch(model, larger(ml_vector_scratch(ratings), larger(users, items)), 1, &work->dots));
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) TRY(ml_scratch(model, 1, 1, sums[i]));
    TRY(ml_scratch(model, work->batches.count, 1, &work->losses));
    return tamis_scope_allocate(work->batches.count, tamis_type_size(model->options.type), "losses of mini-batches",
                                &work->host_losses);
}

/* Computes each item's lambda per user: its lambda times its share of the users' ratings. */
static tamis_status make_item_lambda(const tamis_model *model, const tamis_dense *item_lambda) {
    double *sums, *lambdas;
    const double lambda = model->options.column_regularization, users = model->rows > 0 ? (double)model->rows : 1;
    TAMIS_SCOPE;
    TRY(ml_state_read(model, SUMS, &sums));
    TRY(tamis_allocate_array(item_lambda->rows, "the lambda of items", lambdas));
    for (int64_t j = 0; j < item_lambda->rows; j++)
        lambdas[j] = model->options.weighted ? lambda * (sums[2 * j + 1] + model->prior_ratings) / users : lambda;
    return ml_dense_write_doubles(model, item_lambda, lambdas);
}

static tamis_status make_lambdas(const tamis_model *model, sfa *work) {
    TRY(tamis_allocate_zeros(work->batches.count, "lambdas", work->lambdas));
    for (int64_t i = 0; i < work->batches.count; i++)
        TRY(ml_row_lambdas(model, &work->batches.batch[i].S, &work->lambdas[i]));
    return TAMIS_OK;
}

/* Allocates the dense matrices, for the largest mini-batch. */
static tamis_status make_scratch(const tamis_model *model, bool fitting, sfa *work) {
    const int64_t width = model->options.factors, cols = model->column_factors.rows, rows = work->batches.rows;
    tamis_dense *const of_users[] = {&work->X, &work->P, &work->R, &work->AP, &work->Q, &work->U};
    for (size_t i = 0; i < sizeof of_users / sizeof of_users[0]; i++) TRY(ml_scratch(model, rows, width, of_users[i]));
    TRY(ml_scratch(model, rows, 1, &work->rr));
    TRY(ml_scratch(model, cols, width, &work->items));
    TRY(ml_scratch(model, width, width, &work->transposed));
    TRY(ml_scratch(model, width, width, &work->shift));
    TRY(tamis_allocate_array(tamis_times(width, width), "the preconditioner", work->numbers));
    TRY(tamis_scope_allocate(tamis_times(width, width), tamis_type_size(model->options.type), "the preconditioner",
                             &work->narrow));
    TRY(make_lambdas(model, work));
    if (!fitting) return TAMIS_OK;
    TRY(ml_scratch(model, cols, width, &work->gradient));
    TRY(ml_scratch(model, cols, 1, &work->item_lambda));
    TRY(make_item_lambda(model, &work->item_lambda));
    return model->options.skip_loss ? TAMIS_OK : make_sums(model, work);
}

/* Makes the work for mini-batches of `rows` rows, 0: of all. With W (new rows) it writes their biases to W, and T is
   its own. If W is NULL (a fit), T is the model's state, and the scratch of the items' step is included. */
static tamis_status make_work(const tamis_model *model, const tamis_sparse *data, int64_t rows, const tamis_dense *W,
                              int visits, int steps, sfa **made) {
    const int64_t width = model->options.factors;
    const bool fitting = !W;
    const ml_batch_plan plans[] = {
        [RIGHT] = {.operation = TAMIS_OP_SPMM, .width = width},
        [NORMAL] =
            {.operation = TAMIS_OP_FUSED, .edge = TAMIS_EDGE_MASK, .inner = width, .width = width, .calls = steps},
        [GRADIENT] = {true, TAMIS_OP_FUSED, TAMIS_EDGE_RESIDUAL, width, width, 1},
        [ERRORS] = {.operation = TAMIS_OP_SDDMM, .edge = TAMIS_EDGE_RESIDUAL, .inner = width}};
    void *centred;
    sfa *work;
    TRY(tamis_allocate_zeros(1, "the work of sfa", work));
    work->T = model->states[WHITENING];
    if (W) TRY(ml_scratch(model, width, width, &work->T));
    TRY(centre(model, data, W, &centred));
    tamis_sparse view = *data;
    view.values = centred;
    const int plan_count = !fitting ? 2 : model->options.skip_loss ? 3 : 4;
    TRY(ml_batches_make(model, &view, rows, fitting, visits, plans, plan_count, &work->batches));
    TRY(make_scratch(model, fitting, work));
    tamis_scope_drop(centred);
    *made = work;
    return TAMIS_OK;
}

static const tamis_dense *lambda_of(const sfa *work, const ml_batch *batch) {
    return &work->lambdas[batch - work->batches.batch];
}

/* Computes U of a mini-batch's users, with the currently whitened items. */
static tamis_status solve(tamis_model *model, const sfa *work, const ml_batch *batch, int steps, const tamis_dense *U) {
    tamis_device *const device = model->device;
    const int64_t rows = batch->rows;
    const tamis_dense X = ml_first_rows(&work->X, rows), P = ml_first_rows(&work->P, rows),
                      R = ml_first_rows(&work->R, rows), AP = ml_first_rows(&work->AP, rows),
                      Q = ml_first_rows(&work->Q, rows), rr = ml_first_rows(&work->rr, rows);
    const tamis_dense *const M = &work->items, *const lambda = lambda_of(work, batch);
    const tamis_dense items = ml_features(model, &model->column_factors);
    TRY(tamis_dense_multiply(device, NULL, 1, &items, &work->T, 0, M));
    TRY(tamis_dense_fill(device, NULL, &X, 0));
    TRY(ml_spmm(model, batch->plans[RIGHT], M, 1, 0, &R));
    TRY(tamis_dense_axpby(device, NULL, 1, &R, 0, &P));
    TRY(tamis_dense_row_dots(device, NULL, &R, &R, &rr));
    for (int i = 0; i < steps; i++) {
        TRY(ml_fused(model, batch->plans[NORMAL], &P, M, 1, 0, &AP));
        TRY(tamis_dense_multiply(device, NULL, 1, &P, &work->shift, 0, &Q));
        TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, lambda, 0, &Q, 1, &AP));
        TRY(tamis_dense_cg_step(device, NULL, NULL, 0, &AP, &P, &X, &R, &rr));
    }
    return tamis_dense_multiply(device, NULL, 1, &X, &work->transposed, 0, U);
}

/* Computes the mini-batch's share of the objective, with its users and the items before their step, into work->losses.
   work->items has the items times their lambda of a user. */
static tamis_status measure(tamis_model *model, const sfa *work, const ml_batch *batch, int64_t number,
                            const tamis_dense *U) {
    tamis_device *const device = model->device;
    const tamis_dense M = ml_features(model, &model->column_factors), Q = ml_first_rows(&work->Q, U->rows);
    const size_t size = tamis_type_size(model->options.type);
    tamis_dense errors;
    const tamis_dense products = ml_values_view(model, work->errors.data, batch->S.view.nnz);
    TRY(ml_sddmm(model, batch->plans[ERRORS], U, &M, 1, 0, &products));
    TRY(ml_vector_first(model, &work->errors, batch->S.view.nnz, &work->zeros, &errors));
    TRY(ml_vector_dot(model, &errors, &errors, &work->dots, &work->of_errors));
    TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, lambda_of(work, batch), 0, U, 0, &Q));
    TRY(ml_dot(model, U, &Q, &work->dots, &work->of_users));
    TRY(ml_dot(model, &M, &work->items, &work->dots, &work->of_items));
    TRY(tamis_dense_axpby(device, NULL, 1, &work->of_users, 1, &work->of_errors));
    TRY(tamis_dense_axpby(device, NULL, (double)U->rows, &work->of_items, 1, &work->of_errors));
    return tamis_device_copy(device, NULL, work->losses.data, (size_t)number * size, work->of_errors.data, 0, size);
}

/* Waits, and adds losses first .. end - 1 to *sum. */
static tamis_status add_losses(const tamis_model *model, const sfa *work, int64_t first, int64_t end, double *sum) {
    const tamis_type type = model->options.type;
    const size_t size = tamis_type_size(type);
    if (model->options.skip_loss || first >= end) return TAMIS_OK;
    TRY(tamis_device_download(model->device, NULL, work->host_losses, work->losses.data, (size_t)first * size,
                              (size_t)(end - first) * size));
    for (int64_t i = 0; i < end - first; i++) *sum += ml_number(work->host_losses, type, i);
    return TAMIS_OK;
}

/* Solves the users, then steps the items. `number` is where the loss goes. */
static tamis_status learn(tamis_model *model, const sfa *work, const ml_batch *batch, int64_t number) {
    tamis_device *const device = model->device;
    const tamis_dense M = ml_features(model, &model->column_factors);
    const tamis_dense U = ml_first_rows(&work->U, batch->rows);
    TRY(solve(model, work, batch, model->options.cg_steps, &U));
    TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, &work->item_lambda, 0, &M, 0, &work->items));
    if (!model->options.skip_loss) TRY(measure(model, work, batch, number, &U));
    TRY(ml_fused(model, batch->plans[GRADIENT], &M, &U, 1, 0, &work->gradient));
    TRY(tamis_dense_axpby(device, NULL, -(double)U.rows, &work->items, 1, &work->gradient));
    return tamis_dense_map(device, NULL, TAMIS_MAP_ADAGRAD, model->options.rate, LITTLE, &work->gradient,
                           &model->states[HISTORY], &M);
}

/* ------------------------------------------------------------------------------------------ fitting */

static double share_of(int64_t rows, int64_t cols, int64_t nnz) {
    return nnz > 0 ? (double)nnz / (double)rows / (double)cols : 0;
}

/* Makes the model's matrices; a new model gets random items. */
static tamis_status make_model(tamis_model *model, const tamis_sparse *data) {
    const int64_t cols = data->cols, width = model->options.factors;
    bool fresh;
    TRY(ml_model_factors(model, 0, cols, &fresh));
    for (int i = 0; i < ML_STATES; i++) TRY(ml_model_state(model, i, &fresh));
    if (model->steps > 0) return TAMIS_OK;
    const double size = 1 / sqrt((double)width);
    TRY(tamis_dense_fill(model->device, NULL, &model->states[HISTORY], 0));
    TRY(tamis_dense_fill(model->device, NULL, &model->states[WHITENING], 0));
    return ml_dense_random(model, &model->column_factors, 1, -size, size);
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    TRY(make_model(model, data));
    if (model->iterations_done == 0 && model->batches_done == 0) TRY(learn_biases(model, data, true));
    int64_t batch_rows = model->options.batch_rows;
    if (batch_rows == 0) batch_rows = data->rows / 30 + 1 < 100000 ? data->rows / 30 + 1 : 100000;
    sfa *work;
    TRY(make_work(model, data, batch_rows, NULL, ML_PASSES, model->options.cg_steps, &work));
    model->work = work;
    TRY(ml_times_reserve(model, (double)work->batches.count * (3.0 + model->options.cg_steps)));
    return model->batches_done > 0 ? take_whitening(model, work) : TAMIS_OK;
}

static tamis_status learn_and_sum(tamis_model *model, ml_batch *batch) {
    TRY(learn(model, model->work, batch, model->batches_done));
    model->parts[1] += (double)batch->S.view.nnz;
    return TAMIS_OK;
}

static tamis_status pending(const tamis_model *model, double parts[]) {
    const sfa *const work = model->work;
    return work ? add_losses(model, work, work->batches.summed, model->batches_done, &parts[0]) : TAMIS_OK;
}

static tamis_status iterate(tamis_model *model) {
    sfa *const work = model->work;
    if (model->batches_done == 0) TRY(make_whitening(model, work, share_of(model->rows, model->cols, model->nnz)));
    return ml_batches_pass(model, &work->batches, learn_and_sum);
}

/* Computes the loss per rating, summed over the pass as its mini-batches had it. */
static tamis_status loss(tamis_model *model, double *result) {
    *result = model->parts[1] > 0 ? model->parts[0] / model->parts[1] : NAN;
    return TAMIS_OK;
}

static tamis_status step(tamis_model *model, const tamis_sparse *batch, int64_t whole, double *sum, double *weight) {
    for (int64_t t = 0; t < batch->nnz; t++) {
        const double rating = ml_value(batch, t);
        model->least = fmin(model->least, rating);
        model->most = fmax(model->most, rating);
    }
    const bool anew = model->steps == 0;
    TRY(make_model(model, batch));
    if (whole == 0) TRY(learn_biases(model, batch, anew)); /* counts each rating once, not in every pass of a stream */
    sfa *work;
    TRY(make_work(model, batch, 0, NULL, 1, model->options.cg_steps, &work));
    TRY(make_whitening(model, work, share_of(batch->rows, batch->cols, batch->nnz)));
    TRY(learn(model, work, &work->batches.batch[0], 0));
    *sum = 0;
    TRY(add_losses(model, work, 0, 1, sum));
    TRY(tamis_stream_synchronize(model->device, NULL));
    *weight = (double)batch->nnz;
    model->steps++;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ new rows */

static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    bool fresh;
    TRY(ml_model_factors(model, 0, model->column_factors.rows, &fresh)); /* the workspace */
    sfa *work;
    TRY(tamis_dense_fill(model->device, NULL, W, 0));
    const int steps = ml_fold_in_steps(model->options.factors);
    TRY(make_work(model, data, 0, W, 1, steps, &work));
    const tamis_dense U = ml_features(model, W);
    TRY(make_whitening(model, work, share_of(model->rows, model->cols, model->nnz)));
    TRY(solve(model, work, &work->batches.batch[0], steps, &U));
    return tamis_stream_synchronize(model->device, NULL);
}

/* ------------------------------------------------------------------------------------------ prediction */

/* Predicts <[u, b_u, 1], [m, 1, b]>, or without users' biases <[u, 1], [m, b]>. */
static tamis_status operands(tamis_model *model, const tamis_dense *W, ml_operands *made) {
    *made = (ml_operands){.offset = model->mean, .scale = model->scale, .least = model->least, .most = model->most};
    if (!W)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "sfa stores no row factors: pass those of tamis_model_transform as W");
    if (ml_biased(model)) return ml_biased_operands(model, W, made);
    tamis_dense items, biases;
    TRY(ml_dense_here(model, &model->column_factors, &items));
    TRY(ml_dense_here(model, &model->states[BIASES], &biases));
    TRY(ml_insert_column(W, W->cols, NULL, &made->A));
    return ml_insert_column(&items, items.cols, &biases, &made->B);
}

static const tamis_method_option own_options[] = {{"regularization", "lambda of a user; 0: chosen by an inner split"},
                                                  {"column_regularization", NULL},
                                                  {"weighted", NULL},
                                                  {"biases", NULL},
                                                  {"cg_steps", "conjugate-gradient steps per mini-batch"},
                                                  {"rate", NULL},
                                                  {"batch_rows", NULL},
                                                  {NULL, NULL}};

const ml_method ml_sfa = {
    .about = {.method = TAMIS_SFA,
              .data = TAMIS_DATA_RATINGS,
              .name = "sfa",
              .summary = "ratings in mini-batches of users (sparse factor analysis)",
              .options = own_options,
              .mini_batches = true},
    .biases = true,
    .lambda = 0.1,
    .sizes = true,
    .over_biases = true,
    .states = {[HISTORY] = {.rows = {ML_COLUMNS, 0}, .cols = {ML_FACTORS, 0}, .range = ML_SQUARES},
               [BIASES] = {.rows = {ML_COLUMNS, 0}, .cols = {ML_NONE, 1}},
               [SUMS] = {.rows = {ML_COLUMNS, 0}, .cols = {ML_NONE, 2}},
               [WHITENING] = {.rows = {ML_FACTORS, 0}, .cols = {ML_FACTORS, 0}}},
    .defaults = defaults,
    .check = check,
    .begin = begin,
    .iterate = iterate,
    .loss = loss,
    .pending = pending,
    .step = step,
    .transform = transform,
    .operands = operands,
};
