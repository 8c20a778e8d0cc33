/* Lambda by the noise of the data, options.regularization = 0: what it is, and what it is good for. */
#define TEST_PATH "test_ml_recommenders"
#include "test_ml_recommenders.h"

#include "ml/model.h"

static const double SHARE = 0.9;

/* (sqrt a + sqrt b) / sqrt((a + 40) (b + 40)), or with plain lambda sqrt a + sqrt b. */
static double norm_of(const table *t, bool weighted) {
    const double a = (double)t->nnz / (double)t->rows, b = (double)t->nnz / (double)t->cols;
    return (sqrt(a) + sqrt(b)) / (weighted ? sqrt((a + 40) * (b + 40)) : 1);
}

/* rows * trace(A (A + shift)^-1), A = ratings * the mean of y y^T; with a bias the last regressor is a one. */
static double freedom(const double *Y, int64_t rows, int64_t others, int64_t width, int64_t used, double ratings,
                      double shift, bool bias) {
    double A[64], column[8], trace = 0;
    for (int64_t c = 0; c < used; c++) {
        for (int64_t i = 0; i < used; i++)
            for (int64_t j = 0; j < used; j++) {
                double sum = 0;
                for (int64_t r = 0; r < others; r++) sum += Y[r * width + i] * Y[r * width + j];
                const bool last = bias && (i == used - 1 || j == used - 1);
                A[i * used + j] = (last ? (i == j ? ratings : 0) : sum * ratings / (double)others) + (i == j) * shift;
            }
        for (int64_t i = 0; i < used; i++) column[i] = i == c ? 1 : 0;
        eliminate(used, A, column);
        trace += column[c];
    }
    return (double)rows * ((double)used - shift * trace);
}

/* Of the second iteration, from the factors of the first, by the definition. */
static double second_lambda(tamis_model *model, const table *t) {
    const bool als = model->options.method == TAMIS_ALS, biases = model->options.biases;
    int64_t width;
    OWN(double) *const X = factors_of(model, false, &width), *const Y = factors_of(model, true, &width);
    const int64_t used = als ? width : model->options.factors;
    const double a = (double)t->nnz / (double)t->rows, b = (double)t->nnz / (double)t->cols;
    const double prior = model->options.weighted ? 40 : 0, lambda = SHARE * norm_of(t, model->options.weighted);
    double squares = 0, taken = 0;
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = 0; j < t->cols; j++) {
            if (isnan(t->at[i * t->cols + j])) continue;
            double left = (t->at[i * t->cols + j] - model->mean) / model->scale;
            for (int64_t f = 0; f < model->options.factors; f++) left -= X[i * width + f] * Y[j * width + f];
            if (biases) left -= X[i * width + width - 1] + Y[j * width + width - 1];
            squares += left * left;
        }
    const double of_rows = model->options.weighted ? lambda * (a + prior) : lambda;
    const double of_cols = model->options.weighted ? lambda * (b + prior) : lambda;
    taken += freedom(Y, t->rows, t->cols, width, used, a, of_rows, als && biases);
    taken += freedom(X, t->cols, t->rows, width, used, b, of_cols, als && biases);
    return lambda * sqrt(squares / ((double)t->nnz - fmin(taken, 0.75 * (double)t->nnz)));
}

TEST(test_noise) {
    static const struct {
        tamis_method method;
        bool weighted, biases;
    } cases[] = {{TAMIS_ALS, true, true}, {TAMIS_ALS, true, false}, {TAMIS_ALS, false, true}, {TAMIS_CCD, true, true}};
    OWN(table) t = table_of_rank(50, 40, 2, 0.4, 5);
    for (int n = 0; n < 4; n++) {
        tamis_model_options options = options_of(cases[n].method, TAMIS_F64, 4, 1);
        options.regularization = 0;
        options.weighted = cases[n].weighted;
        options.biases = cases[n].biases;
        OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
        /* the first: all of the ratings is noise, and their deviation is 1 */
        const double first = SHARE * norm_of(&t, options.weighted);
        assert_true(fabs(model->lambda - first) <= 1e-14 * first);
        const double second = second_lambda(model, &t);
        options.iterations = 2;
        works(tamis_model_continue_with(model, &options));
        works(tamis_model_fit(model, &t.S, NULL));
        /* sums of a thousand terms in double */
        if (!(fabs(model->lambda - second) <= 1e-11 * second))
            fail_msg("case %d: %.17g, by the definition %.17g", n, model->lambda, second);
        assert_true(second < first);
    }
}

TEST(test_noise_of_uses) {
    OWN(table) t = table_of_rank(50, 40, 2, 0.3, 6);
    double sum = 0, count = 0;
    tamis_model_options options = options_of(TAMIS_IMPLICIT_ALS, TAMIS_F64, 4, 2);
    options.regularization = 0;
    options.confidence = 3;
    for (int64_t n = 0; n < t.nnz; n++)
        if (t.values[n] > 0) sum += log(1 + 3 * t.values[n]), count++;
    OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
    const double expected = SHARE * exp(sum / count) * norm_of(&t, false);
    assert_true(fabs(model->lambda - expected) <= 1e-12 * expected);
}

/* ------------------------------------------------------------------------------------------ what it is good for */

static double error_of(tamis_method method, double lambda, const table *fit, const table *held) {
    tamis_model_options options = default_options(method);
    options.factors = 8; /* sooner done */
    options.threads = 1;
    options.regularization = lambda;
    OWN(tamis_model) *const model = model_fitted(device, &options, &fit->S);
    const tamis_held_out out = {.entries = &held->S};
    tamis_score score;
    works(tamis_model_score(model, &out, false, 10, &score));
    return score.rmse;
}

/* Biases and noise alone: nothing is found, where lambda = 0.1 follows the noise. Exact ratings of rank 2: they are
   found, where it shrinks them. */
TEST(test_noise_gain) {
    static const tamis_method methods[] = {TAMIS_ALS, TAMIS_CCD};
    for (int kind = 0; kind < 2; kind++) {
        OWN(table) fit = table_of_rank(240, 100, 2, 0.3, 93), held = table_of_rank(240, 100, 2, 0.3, 93);
        for (int64_t i = 0; kind == 0 && i < fit.rows * fit.cols; i++)
            if (!isnan(fit.at[i]))
                fit.at[i] =
                    table_noise(93, 31, i / fit.cols) + table_noise(93, 32, i % fit.cols) + 2 * table_noise(93, 33, i);
        table_part(&fit, &held);
        double biased;
        works(tamis_baseline(TAMIS_ALS, &fit.S, &held.S, &biased));
        for (int n = 0; n < 2; n++) {
            const double error = error_of(methods[n], 0, &fit, &held), fixed = error_of(methods[n], 0.1, &fit, &held);
            const bool good = kind == 0 ? error <= 1.002 * biased && error < fixed : error <= 0.5 * fixed;
            if (!good)
                fail_msg("%s, kind %d: %g, with 0.1 %g, means and biases %g", tamis_method_name(methods[n]), kind,
                         error, fixed, biased);
        }
    }
}
