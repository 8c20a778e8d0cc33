/* CCD++ against its algorithm written out in double, rating by rating. */
#define TEST_PATH "test_ml_recommenders"
#include "test_ml_recommenders.h"

static const tamis_type types[] = {TAMIS_F32, TAMIS_F64};

typedef struct reference {
    const table *t;
    const tamis_model_options *options;
    double *R, *X, *Y; /* R as table: 0 where there is no rating */
    double mean, scale;
    double *of_rows, *of_columns; /* biases or NULL */
    int64_t k;
} reference;

static void reference_free(reference *r) { free(r->R), free(r->X), free(r->Y), free(r->of_rows), free(r->of_columns); }
OWN_VALUE(reference, reference_free)

static bool rated(const table *t, int64_t i, int64_t j) { return !isnan(t->at[i * t->cols + j]); }

static double mean_of(const table *t) {
    double sum = 0;
    for (int64_t n = 0; n < t->nnz; n++) sum += t->values[n];
    return sum / (double)t->nnz;
}

static double lambda_of(const reference *r, bool column, int64_t i) {
    int64_t count = 0;
    for (int64_t j = 0; j < (column ? r->t->rows : r->t->cols); j++)
        count += column ? rated(r->t, j, i) : rated(r->t, i, j);
    return r->options->regularization * (r->options->weighted ? (double)count + 40 : 1);
}

/* What the features are fitted to. */
static double target(const reference *r, int64_t i, int64_t j) {
    const double biases = r->of_rows ? r->of_rows[i] + r->of_columns[j] : 0;
    return (r->t->at[i * r->t->cols + j] - r->mean) / r->scale - biases;
}

static void add_feature(reference *r, int64_t f, double sign) {
    for (int64_t i = 0; i < r->t->rows; i++)
        for (int64_t j = 0; j < r->t->cols; j++)
            if (rated(r->t, i, j)) r->R[i * r->t->cols + j] += sign * r->X[i * r->k + f] * r->Y[j * r->k + f];
}

/* The best feature f of the rows or columns; by how much the objective falls. */
static double update(reference *r, bool columns, int64_t f) {
    const table *const t = r->t;
    double *const mine = columns ? r->Y : r->X, *const others = columns ? r->X : r->Y;
    double decrease = 0;
    for (int64_t i = 0; i < (columns ? t->cols : t->rows); i++) {
        double above = 0, below = lambda_of(r, columns, i);
        for (int64_t j = 0; j < (columns ? t->rows : t->cols); j++) {
            const int64_t row = columns ? j : i, col = columns ? i : j;
            if (!rated(t, row, col)) continue;
            above += r->R[row * t->cols + col] * others[j * r->k + f];
            below += others[j * r->k + f] * others[j * r->k + f];
        }
        double value = above / below;
        if (r->options->nonnegative && value < 0) value = 0;
        decrease += below * (value - mine[i * r->k + f]) * (value - mine[i * r->k + f]);
        mine[i * r->k + f] = value;
    }
    return decrease;
}

static double objective(const reference *r) {
    double sum = 0;
    for (int64_t i = 0; i < r->t->rows; i++)
        sum += lambda_of(r, false, i) * dot(r->X + i * r->k, r->X + i * r->k, r->k);
    for (int64_t j = 0; j < r->t->cols; j++) sum += lambda_of(r, true, j) * dot(r->Y + j * r->k, r->Y + j * r->k, r->k);
    for (int64_t i = 0; i < r->t->rows; i++)
        for (int64_t j = 0; j < r->t->cols; j++) {
            if (!rated(r->t, i, j)) continue;
            const double error = target(r, i, j) - dot(r->X + i * r->k, r->Y + j * r->k, r->k);
            sum += error * error;
        }
    return sum;
}

static void iterate(reference *r, bool first) {
    double largest = 0;
    for (int64_t f = 0; f < r->k; f++) {
        add_feature(r, f, 1);
        for (int round = 0; round < r->options->inner_rounds; round++) {
            const double of_columns = update(r, true, f), decrease = of_columns + update(r, false, f);
            if (decrease < 1e-3 * largest) break;
            if (!(first && f == 0 && round == 0)) largest = fmax(largest, decrease);
        }
        add_feature(r, f, -1);
    }
}

/* The same factors after three iterations, and the same loss. fp64: nothing but rounding, which three iterations of
   divisions by denominators above 0.01 leave far below 1e-9. fp32: 1e-7 times some 1e3. */
static void literally(const tamis_model_options *wanted, const table *t) {
    tamis_model_options options = *wanted;
    const bool biases = wanted->biases && !wanted->nonnegative;
    OWN(reference) r = {.t = t, .options = wanted, .mean = wanted->nonnegative ? 0 : mean_of(t)};
    r.scale = table_scale(t, r.mean);
    options.iterations = 0;
    OWN(tamis_model) *const start = model_fitted(device, &options, &t->S);
    OWN(tamis_model) *const model = model_fitted(device, wanted, &t->S);
    r.X = factors_of(start, false, &r.k);
    r.Y = factors_of(start, true, NULL);
    if (biases) {
        r.of_rows = split_last(r.X, t->rows, r.k);
        r.of_columns = split_last(r.Y, t->cols, r.k);
        r.k--;
        table_biases(t, r.mean, r.scale, r.of_rows, r.of_columns);
    }
    r.R = calloc((size_t)(t->rows * t->cols), sizeof *r.R);
    for (int64_t i = 0; i < t->rows * t->cols; i++) r.R[i] = isnan(t->at[i]) ? 0 : target(&r, i / t->cols, i % t->cols);
    for (int i = 0; i < wanted->iterations; i++) iterate(&r, i == 0);
    OWN(double) *const X = factors_of(model, false, NULL), *const Y = factors_of(model, true, NULL);
    const bool exact = wanted->type == TAMIS_F64;
    if (biases) {
        OWN(double) *const of_rows = split_last(X, t->rows, r.k + 1);
        OWN(double) *const of_columns = split_last(Y, t->cols, r.k + 1);
        model_expect_near("biases of rows", of_rows, r.of_rows, t->rows, exact ? 1e-12 : 1e-6);
        model_expect_near("biases of columns", of_columns, r.of_columns, t->cols, exact ? 1e-12 : 1e-6);
    }
    model_expect_near("rows", X, r.X, t->rows * r.k, exact ? 1e-9 : 2e-4);
    model_expect_near("columns", Y, r.Y, t->cols * r.k, exact ? 1e-9 : 2e-4);
    const double expected = objective(&r);
    const double loss = model_loss(model);
    model_expect_near("loss", &loss, &expected, 1, (exact ? 1e-10 : 1e-4) * expected);
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t f = 0; f < r.k; f++)
            if (table_empty_row(t, i)) assert_true(X[i * r.k + f] == 0);
    for (int64_t i = 0; i < t->cols * r.k; i++)
        if (wanted->nonnegative) assert_true(Y[i] >= 0);
}

TEST(test_ccd_literally) {
    OWN(table) t = table_of_rank(45, 38, 3, 0.5, 21);
    for (int n = 0; n < 32; n++) {
        tamis_model_options options = options_of(TAMIS_CCD, types[n & 1], n & 8 ? 1 : 7, 3);
        options.biases = n < 16; /* no matter where nothing may be negative */
        options.weighted = (n & 2) != 0;
        options.nonnegative = (n & 4) != 0;
        options.regularization = options.weighted ? 0.05 : 0.5;
        if (n == 15) options.inner_rounds = 1;
        literally(&options, &t);
    }
}

/* A matrix of rank 3 about its mean, 60 of 100 places given. The factors that it was made of cost F in the objective:
   what its mean takes from it (their residual, since the mean of what is given is not 3), and lambda for their size.
   The minimum costs no more, and a fit that has come to 1.05 F has a squared error below that on what it was given; the
   unknown places follow with an error of at most three times that here (6 numbers a row from 24 ratings). */
TEST(test_ccd_rank) {
    enum { RANK = 3 };
    const uint64_t seed = 31;
    OWN(table) all = table_of_rank(80, 60, RANK, 1, seed), t = table_of_rank(80, 60, RANK, 0.6, seed);
    tamis_model_options options = options_of(TAMIS_CCD, TAMIS_F64, RANK + 1, 60);
    options.regularization = 1e-3;
    options.biases = false;
    OWN(reference) truth = {.t = &t, .options = &options, .mean = mean_of(&t), .k = RANK};
    truth.scale = table_scale(&t, truth.mean);
    truth.X = malloc((size_t)(t.rows * RANK) * sizeof *truth.X);
    truth.Y = malloc((size_t)(t.cols * RANK) * sizeof *truth.Y);
    for (int64_t i = 0; i < t.rows * RANK; i++)
        truth.X[i] = table_factor(seed, false, i / RANK, (int)(i % RANK)) / truth.scale;
    for (int64_t i = 0; i < t.cols * RANK; i++) truth.Y[i] = table_factor(seed, true, i / RANK, (int)(i % RANK));
    const double F = objective(&truth);
    OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
    const double loss = model_loss(model);
    if (!(loss <= 1.05 * F)) fail_msg("the loss is %g, the truth's %g", loss, F);
    OWN(double) *const found = malloc((size_t)all.nnz * sizeof *found);
    works(tamis_model_predict(model, NULL, &all.S, found));
    table_expect_found(&all, &t, found, truth.scale * sqrt(1.05 * F / (double)t.nnz));
}

/* New rows: what elimination says, or with non-negative factors what no small change makes better. */
TEST(test_ccd_fold_in) {
    OWN(table) t = table_of_rank(45, 38, 3, 0.5, 21), others = table_of_rank(19, 38, 3, 0.6, 77);
    for (int n = 0; n < 4; n++) {
        tamis_model_options options = options_of(TAMIS_CCD, types[n & 1], 5, 3);
        options.nonnegative = (n & 2) != 0;
        const int64_t width = options.nonnegative ? 5 : 6;
        OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
        OWN(double) *const Y = factors_of(model, true, NULL), *const W = model_transformed(model, &others.S);
        OWN(reference) r = {.t = &others, .options = &options, .mean = options.nonnegative ? 0 : mean_of(&t)};
        r.scale = table_scale(&t, r.mean);
        if (!options.nonnegative) { /* a new row's bias is that of its ratings, given the columns' */
            r.of_columns = split_last(Y, t.cols, width);
            r.of_rows = split_last(W, others.rows, width);
            for (int64_t i = 0; i < others.rows; i++) {
                double sum = 0, count = 10;
                for (int64_t j = 0; j < others.cols; j++) {
                    if (!rated(&others, i, j)) continue;
                    sum += (others.at[i * others.cols + j] - r.mean) / r.scale - r.of_columns[j];
                    count++;
                }
                sum /= count;
                model_expect_near("a new row's bias", &r.of_rows[i], &sum, 1, n & 1 ? 1e-12 : 1e-6);
            }
        }
        for (int64_t i = 0; i < others.rows; i++) {
            double a[25] = {0}, b[5] = {0};
            const double lambda = lambda_of(&r, false, i);
            for (int f = 0; f < 5; f++) a[f * 5 + f] = lambda;
            for (int64_t j = 0; j < others.cols; j++) {
                if (!rated(&others, i, j)) continue;
                for (int f = 0; f < 5; f++) {
                    b[f] += target(&r, i, j) * Y[j * 5 + f];
                    for (int g = 0; g < 5; g++) a[f * 5 + g] += Y[j * 5 + f] * Y[j * 5 + g];
                }
            }
            const double *const w = W + i * 5;
            if (!options.nonnegative) {
                eliminate(5, a, b);
                model_expect_near("a new row", w, b, 5, n & 1 ? 1e-7 : 1e-3);
                continue;
            }
            for (int f = 0; f < 5; f++) { /* each number is the best, given the others */
                double rest = b[f];
                for (int g = 0; g < 5; g++)
                    if (g != f) rest -= a[f * 5 + g] * w[g];
                const double best = fmax(0, rest / a[f * 5 + f]);
                model_expect_near("a new non-negative row", &w[f], &best, 1, n & 1 ? 1e-7 : 1e-3);
            }
        }
    }
}
