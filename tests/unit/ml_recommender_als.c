/* ALS against exact normal equations in double, factors of known rank that are found again, the loss by its definition.
 */
#define TEST_PATH "test_ml_recommenders"
#include "test_ml_recommenders.h"

#include "ml/data/canonical.h"
#include "ml/model.h"

static int64_t count_of(const table *t, bool column, int64_t i) {
    int64_t count = 0;
    for (int64_t other = 0; other < (column ? t->rows : t->cols); other++)
        count += !isnan(column ? t->at[other * t->cols + i] : t->at[i * t->cols + other]);
    return count;
}

/* After a fit the columns are the exact solution for the rows as they are: gradients to the end make it so. */
static void check_columns(tamis_model *model, const table *t, const tamis_model_options *options) {
    int64_t k;
    OWN(double) *const X = factors_of(model, false, &k), *const Y = factors_of(model, true, NULL);
    OWN(double) *const a = calloc((size_t)(k * k), sizeof *a), *const b = calloc((size_t)k, sizeof *b);
    assert_true(a && b);
    double worst = 0, size = 0;
    for (int64_t i = 0; i < t->rows && options->biases; i++) { /* the last number of a column is for a one */
        const double bias = X[i * k + k - 1];
        for (int64_t j = 0; j < t->cols; j++) t->at[i * t->cols + j] -= bias * model->scale;
        X[i * k + k - 1] = 1;
    }
    for (int64_t j = 0; j < t->cols; j++) {
        memset(a, 0, (size_t)(k * k) * sizeof *a);
        memset(b, 0, (size_t)k * sizeof *b);
        for (int64_t i = 0; i < t->rows; i++) {
            const double target = (t->at[i * t->cols + j] - model->mean) / model->scale;
            for (int64_t p = 0; p < k && !isnan(target); p++) {
                b[p] += target * X[i * k + p];
                for (int64_t q = 0; q < k; q++) a[p * k + q] += X[i * k + p] * X[i * k + q];
            }
        }
        const double weight = options->weighted ? (double)count_of(t, true, j) + 40 : 1;
        for (int64_t p = 0; p < k; p++) a[p * k + p] += options->regularization * weight;
        eliminate(k, a, b);
        for (int64_t p = 0; p < k; p++) {
            worst = fmax(worst, fabs(b[p] - Y[j * k + p]));
            size = fmax(size, fabs(b[p]));
        }
    }
    /* conjugate gradients with 1e-8 in their denominators stop improving near a residual of 1e-4 (tamis/dense.h) */
    if (!(worst <= 2e-3 * size)) fail_msg("a column is %g from the exact solution, of size %g", worst, size);
}

TEST(als_is_exact) {
    for (int variant = 0; variant < 8; variant++) {
        OWN(table) t = table_of_rank(70, 55, 3, 0.5, 11);
        tamis_model_options options =
            options_of(TAMIS_ALS, variant % 3 == 0 ? TAMIS_F64 : TAMIS_F32, variant & 1 ? 7 : 4, 6);
        options.biases = (variant & 2) != 0;
        options.weighted = (variant & 4) != 0;
        options.regularization = options.weighted ? 0.05 : 0.5;
        options.cg_steps = 12;
        OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
        check_columns(model, &t, &options);
    }
}

/* Ratings that are exactly mean + rank 2, half of them seen, hardly any regularisation: what is fitted must be
   foreseen. */
TEST(als_finds_known_factors) {
    OWN(table) t = table_of_rank(200, 120, 2, 0.5, 37);
    /* the mean of ratings is not the constant they were made with: rank 3 holds the difference */
    tamis_model_options options = options_of(TAMIS_ALS, TAMIS_F64, 3, 40);
    options.regularization = 1e-6;
    options.biases = false;
    options.cg_steps = 8;
    OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
    /* the regularised optimum is no worse than the known factors: errors 0, lambda times their squares; each |x|^2 of a
       rank-3 factorisation that is balanced is under 4 in units of the ratings, and a rating counts for its row and its
       column, which count 40 more */
    const double counted = (double)(t.nnz + 20 * (t.rows + t.cols));
    const double bound = options.regularization * counted * 2 * 4 * 3 / model->scale;
    if (!(model->loss <= bound + 1e-3)) fail_msg("loss %g, bound %g", model->loss, bound);
}

/* The loss by its definition, with lambda as it is or times the numbers of ratings. */
TEST(als_loss_is_the_sum) {
    OWN(table) t = table_of_rank(40, 30, 2, 0.5, 41);
    for (int weighted = 0; weighted < 2; weighted++) {
        tamis_model_options options = options_of(TAMIS_ALS, TAMIS_F64, 3, 3);
        options.regularization = 0.75; /* most of the loss */
        options.weighted = weighted;
        options.biases = false;
        OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
        OWN(double) *const X = factors_of(model, false, NULL), *const Y = factors_of(model, true, NULL);
        double expected = 0;
        for (int64_t i = 0; i < t.rows * t.cols; i++) {
            const double error =
                (t.at[i] - model->mean) / model->scale - dot(X + i / t.cols * 3, Y + i % t.cols * 3, 3);
            if (!isnan(error)) expected += error * error;
        }
        for (int side = 0; side < 2; side++)
            for (int64_t i = 0; i < (side ? t.cols : t.rows); i++) {
                const double *const x = (side ? Y : X) + i * 3;
                const double weight = weighted ? (double)count_of(&t, side, i) + ML_PRIOR_RATINGS : 1;
                expected += options.regularization * weight * dot(x, x, 3);
            }
        model_expect_near("loss", &model->loss, &expected, 1, 1e-9 * expected);
    }
}

/* A checkpoint of an earlier version has another fingerprint of its data: it goes on with these, and no others. */
TEST(former_fingerprints_are_known) {
    OWN(table) t = table_of_rank(30, 20, 3, 0.3, 5);
    tamis_model_options options = options_of(TAMIS_ALS, TAMIS_F32, 5, 1);
    for (int n = 0; n < 2; n++) {
        OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
        tamis_sparse canonical;
        TAMIS_SCOPE;
        const uint64_t now = model->data_sum;
        works(ml_canonical(model, &t.S, "S", &canonical));
        model->data_sum = ml_former_sum(&canonical);
        assert_true(model->data_sum != now);
        assert_true(model->data_sum == 0x0f343f46d625c23d); /* as version 0.1 had it */
        model->data_sum += (uint64_t)n;
        model->options.iterations = 3;
        assert_int_equal(tamis_model_fit(model, &t.S, NULL), n ? TAMIS_ERROR_ARGUMENT : TAMIS_OK);
        if (n == 0) assert_true(model->data_sum == now);
    }
}
