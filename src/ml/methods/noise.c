/*
 * Estimates lambda from the noise of the data. Regularisation by lambda keeps a pair of factors u, v if |W^-1/2 E
 * V^-1/2| > lambda, where E are the residuals and W, V the diagonal weights of lambda (a row's ratings plus 40). For
 * pure noise with deviation s, that norm is about s (sqrt a + sqrt b) / sqrt(w v), with a and b ratings in a row and in
 * a column (the largest singular value of a random matrix). So
 *
 *   lambda = share s (sqrt a + sqrt b) / sqrt((a + 40) (b + 40)),   a = nnz / rows, b = nnz / columns
 *
 * admits the factors above the noise and few others: one rule for dense and sparse ratings, for strong signals and for
 * none. Each iteration first estimates s from the residuals: s^2 = (sum of squares) / (nnz - d). d are the factors'
 * degrees of freedom: for rows, rows trace(A (A + w lambda)^-1) with A = a times the mean of y y^T over the columns,
 * and likewise for columns. Without d a fit that begins to follow the noise sees less of it, lowers lambda, and follows
 * it more (measured with a share of 0.7: 6 % worse than means and biases, for data with no other signal). In the first
 * iteration s is the deviation of all ratings; so lambda falls as factors are found.
 *
 * implicit-als has weights c p at uses and 0 elsewhere. These weights are taken for noise, as if uses were random, with
 * their geometric mean in place of s, which is robust: one count of a million among ones hardly changes it. There
 * lambda is not weighted, and is the same in all iterations.
 *
 * ease adds lambda to X^T X, whose largest eigenvalue is the square of that norm if the uses are noise, with the mean
 * of their squares in place of s^2. Twice the square times the share is near the best for matrices of many shapes,
 * where a share of the mean of the diagonal, which is the square but for a factor (1 + sqrt(columns / rows))^2, is not.
 *
 * The share is 0.9 unless an inner split finds a better one (choose.c).
 *
 * This is the square-root form of nuclear-norm regularisation (Klopp 2014, "Noisy low-rank matrix completion with
 * general sampling distribution", for unknown variance), with degrees of freedom added.
 */
#include "ml/methods/noise.h"

#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/fit/group.h"
#include "ml/fit/place.h"
#include "ml/methods/cholesky.h"
#include "ml/model.h"
#include "ml/numbers.h"

/* Lower limit of the noise, as a share of the ratings' deviation, so that lambda is never 0. */
static const double LEAST = 1e-3;

/* Upper limit of the degrees of freedom, as a share of the ratings. */
static const double TAKEN_MOST = 0.75;

tamis_status ml_check_lambda(const tamis_model_options *options) {
    return ml_check_number("regularization", options->regularization, options->regularization >= 0,
                           "a positive number, or 0 to find it by the noise of the data");
}

static double weight_of(const tamis_model *model, double ratings) {
    return model->options.weighted ? ratings + model->prior_ratings : 1;
}

/* Estimates the largest singular value of random entries with that deviation at the data's positions. */
static double norm_of(const tamis_model *model, double deviation) {
    const double nnz = (double)model->nnz;
    return deviation * (sqrt(nnz / (double)model->rows) + sqrt(nnz / (double)model->cols));
}

/* Returns trace(A^-1) of a positive definite matrix, as the sum of squares of its Cholesky factor's inverse; overwrites
   A. No eigenvalue is below `least`. */
static double inverse_trace(double *A, int64_t n, double least) {
    double trace = 0;
    ml_invert_cholesky(A, n, least);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) trace += A[i * n + j] * A[i * n + j];
    return trace;
}

tamis_status ml_noise_make(const tamis_model *model, int64_t features, ml_noise *noise) {
    const int64_t count = tamis_times(features, features);
    TRY(ml_scratch(model, features, features, &noise->gram));
    TRY(tamis_scope_allocate(count, tamis_type_size(model->options.type), "the noise of ratings", &noise->narrow));
    return tamis_allocate_array(count, "the noise of ratings", noise->numbers);
}

/* Computes the degrees of freedom of `rows` rows with `ratings` each, whose regressors are `others` rows of Y. */
static tamis_status freedom_of(const tamis_model *model, const ml_noise *noise, double rows, double ratings,
                               double others, const tamis_dense *Y, bool last_is_bias, double *freedom) {
    const int64_t n = Y->cols;
    const double shift = model->lambda * weight_of(model, ratings);
    double *const A = noise->numbers;
    TRY(ml_gram(model, Y, 0, &noise->gram));
    TRY(ml_dense_read(model, &noise->gram, noise->narrow));
    for (int64_t i = 0; i < n * n; i++) A[i] = ml_number(noise->narrow, model->options.type, i) * ratings / others;
    if (last_is_bias) { /* it multiplies a one, not the others' biases */
        for (int64_t i = 0; i < n; i++) A[(n - 1) * n + i] = 0;
        A[n * n - 1] = ratings;
    }
    for (int64_t i = 0; i < n; i++) A[i * n + i] += shift;
    *freedom = rows * ((double)n - shift * inverse_trace(A, n, shift));
    return TAMIS_OK;
}

tamis_status ml_noise_lambda(tamis_model *model, const ml_noise *noise, double squares,
                             const tamis_dense *const *features, bool last_is_bias) {
    const double nnz = (double)model->nnz, sizes[2] = {(double)model->rows, (double)model->cols};
    double taken = 0;
    if (nnz == 0) {
        model->lambda = 1; /* irrelevant: all factors are 0 */
        return TAMIS_OK;
    }
    TRY(ml_add_ranks(model, &squares, 1));
    for (int i = 0; i < 2 && features; i++) {
        double freedom;
        TRY(freedom_of(model, noise, sizes[i], nnz / sizes[i], sizes[1 - i], features[1 - i], last_is_bias, &freedom));
        taken += freedom;
    }
    const double rows = nnz / sizes[0], cols = nnz / sizes[1];
    const double deviation = fmax(sqrt(squares / (nnz - fmin(taken, TAKEN_MOST * nnz))), LEAST);
    model->lambda = model->share * norm_of(model, deviation) / sqrt(weight_of(model, rows) * weight_of(model, cols));
    if (!(model->lambda > 0) || !isfinite(model->lambda))
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "regularization = 0: no noise can be found where the ratings' errors add up to %g", squares);
    return TAMIS_OK;
}

tamis_status ml_noise_begin(tamis_model *model, const tamis_sparse *data) {
    return ml_noise_lambda(model, NULL, (double)data->nnz, NULL, false); /* in units of their deviation */
}

tamis_status ml_noise_of_uses(tamis_model *model, double logarithms, double uses) {
    double sums[] = {logarithms, uses};
    TRY(ml_add_ranks(model, sums, 2));
    model->lambda = sums[1] > 0 ? model->share * norm_of(model, exp(sums[0] / sums[1])) : 1;
    if (!isfinite(model->lambda))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "regularization = 0: the logarithms of the weights add up to %g",
                          sums[0]);
    return TAMIS_OK;
}

tamis_status ml_noise_of_pairs(tamis_model *model, double squares) {
    const double nnz = (double)model->nnz, norm = squares > 0 ? norm_of(model, sqrt(squares / nnz)) : 0;
    model->lambda = norm > 0 ? model->share * 2 * norm * norm : 1;
    if (!isfinite(model->lambda))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "regularization = 0: the squares of the weights add up to %g", squares);
    return TAMIS_OK;
}
