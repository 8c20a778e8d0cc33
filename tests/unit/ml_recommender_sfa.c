/* Sparse factor analysis against a plain restatement in double: textbook preconditioned conjugate gradients for each
   user, ADAGRAD for each number of an item. */
#define TEST_PATH "test_ml_recommenders"
#include "test_ml_recommenders.h"

static const tamis_type types[] = {TAMIS_F32, TAMIS_F64};

typedef struct reference {
    const tamis_model_options *options;
    int64_t cols, k;
    double mean, scale, users_so_far;
    double *M, *history, *sums, *counts, *biases;
} reference;

static reference reference_of(const tamis_model_options *options, const table *t) {
    const size_t cols = (size_t)t->cols, k = (size_t)options->factors;
    reference r = {.options = options,
                   .cols = t->cols,
                   .k = options->factors,
                   .history = calloc(cols * k, sizeof(double)),
                   .sums = calloc(cols, sizeof(double)),
                   .counts = calloc(cols, sizeof(double)),
                   .biases = calloc(cols, sizeof(double))};
    for (int64_t n = 0; n < t->nnz; n++) r.mean += t->values[n] / (double)t->nnz;
    r.scale = table_scale(t, r.mean);
    return r;
}

static void reference_free(reference *r) {
    free(r->M), free(r->history), free(r->sums), free(r->counts), free(r->biases);
}
OWN_VALUE(reference, reference_free)

/* Of a row, given the items'; 0 without biases of users. */
static double user_bias(const reference *r, const table *t, int64_t i) {
    double sum = 0, count = 10;
    if (!r->options->biases) return 0;
    for (int64_t n = t->offsets[i]; n < t->offsets[i + 1]; n++, count++)
        sum += (t->values[n] - r->mean) / r->scale - r->biases[t->columns[n]];
    return sum / count;
}

/* Of all ratings so far, less their users' biases as they were then; the first batch's in five rounds. */
static void learn_biases(reference *r, const table *t) {
    OWN(double) *const sums = calloc((size_t)r->cols, sizeof *sums);
    OWN(double) *const users = calloc((size_t)t->rows, sizeof *users);
    const bool first = r->users_so_far == 0;
    r->users_so_far += (double)t->rows;
    for (int64_t n = 0; n < t->nnz; n++) r->counts[t->columns[n]] += 1;
    for (int round = 0; round < (first ? 5 : 1); round++) {
        for (int64_t i = 0; i < t->rows; i++) users[i] = user_bias(r, t, i);
        memset(sums, 0, (size_t)r->cols * sizeof *sums);
        for (int64_t i = 0; i < t->rows; i++)
            for (int64_t n = t->offsets[i]; n < t->offsets[i + 1]; n++)
                sums[t->columns[n]] += (t->values[n] - r->mean) / r->scale - users[i];
        for (int64_t j = 0; j < r->cols; j++) r->biases[j] = (r->sums[j] + sums[j]) / (r->counts[j] + 10);
    }
    for (int64_t j = 0; j < r->cols; j++) r->sums[j] += sums[j];
}

static double user_lambda(const reference *r, const table *t, int64_t i) {
    const double ratings = (double)(t->offsets[i + 1] - t->offsets[i]);
    return r->options->regularization * (r->options->weighted ? ratings + 40 : 1);
}

/* For one user. */
static double item_lambda(const reference *r, int64_t j) {
    return r->options->column_regularization * (r->options->weighted ? (r->counts[j] + 40) / r->users_so_far : 1);
}

/* y = A x + shift x. */
static void apply(int64_t k, const double *A, double shift, const double *x, double *y) {
    for (int64_t f = 0; f < k; f++) y[f] = dot(A + f * k, x, k) + shift * x[f];
}

/* z = B^-1 r, by elimination on copies. */
static void precondition(int64_t k, const double *B, const double *r, double *z) {
    double copy[256];
    assert_true(k * k <= 256);
    memcpy(copy, B, (size_t)(k * k) * sizeof *copy);
    memcpy(z, r, (size_t)k * sizeof *z);
    eliminate(k, copy, z);
}

/* The normal equations of a row of t: A without lambda, and b. */
static void equations(const reference *r, const table *t, int64_t i, double *A, double *b) {
    const int64_t k = r->k;
    const double bias = user_bias(r, t, i);
    memset(A, 0, (size_t)(k * k) * sizeof *A);
    memset(b, 0, (size_t)k * sizeof *b);
    for (int64_t n = t->offsets[i]; n < t->offsets[i + 1]; n++) {
        const int64_t j = t->columns[n];
        const double *const m = r->M + j * k;
        for (int64_t f = 0; f < k; f++) {
            b[f] += ((t->values[n] - r->mean) / r->scale - r->biases[j] - bias) * m[f];
            for (int64_t g = 0; g < k; g++) A[f * k + g] += m[f] * m[g];
        }
    }
}

static void solve_user(const reference *r, const table *t, int64_t i, const double *B, double *u) {
    const int64_t k = r->k;
    double A[256], b[16], z[16], p[16], q[16];
    equations(r, t, i, A, b);
    memset(u, 0, (size_t)k * sizeof *u);
    precondition(k, B, b, z);
    memcpy(p, z, sizeof p);
    for (int step = 0; step < r->options->cg_steps; step++) {
        const double rz = dot(b, z, k);
        if (rz == 0) return;
        apply(k, A, user_lambda(r, t, i), p, q);
        const double a = rz / dot(p, q, k);
        for (int64_t f = 0; f < k; f++) {
            u[f] += a * p[f];
            b[f] -= a * q[f];
        }
        precondition(k, B, b, z);
        const double c = dot(b, z, k) / rz;
        for (int64_t f = 0; f < k; f++) p[f] = z[f] + c * p[f];
    }
}

/* One mini-batch of all rows of t; its loss. */
static double step(reference *r, const table *t) {
    const int64_t k = r->k;
    const double share = (double)t->nnz / (double)t->rows / (double)t->cols;
    const double lambda = r->options->regularization * (r->options->weighted ? share * (double)t->cols + 40 : 1);
    double B[256] = {0}, loss = 0;
    for (int64_t f = 0; f < k; f++) {
        B[f * k + f] = lambda;
        for (int64_t g = 0; g < k; g++)
            for (int64_t j = 0; j < r->cols; j++) B[f * k + g] += share * r->M[j * k + f] * r->M[j * k + g];
    }
    OWN(double) *const gradient = calloc((size_t)(r->cols * k), sizeof *gradient);
    for (int64_t i = 0; i < t->rows; i++) {
        double u[16];
        solve_user(r, t, i, B, u);
        const double bias = user_bias(r, t, i);
        loss += user_lambda(r, t, i) * dot(u, u, k);
        for (int64_t n = t->offsets[i]; n < t->offsets[i + 1]; n++) {
            const int64_t j = t->columns[n];
            const double error = (t->values[n] - r->mean) / r->scale - r->biases[j] - bias - dot(u, r->M + j * k, k);
            loss += error * error;
            for (int64_t f = 0; f < k; f++) gradient[j * k + f] += error * u[f];
        }
    }
    for (int64_t j = 0; j < r->cols; j++)
        loss += item_lambda(r, j) * (double)t->rows * dot(r->M + j * k, r->M + j * k, k);
    for (int64_t n = 0; n < r->cols * k; n++) {
        const double g = gradient[n] - item_lambda(r, n / k) * (double)t->rows * r->M[n];
        r->history[n] += g * g;
        r->M[n] += r->options->rate * g / (sqrt(r->history[n]) + 1e-6);
    }
    return loss / (double)t->nnz;
}

/* The items' features of a model, and their biases, where it has them, checked against the reference's. */
static double *items_of(tamis_model *model, const reference *r) {
    int64_t width;
    double *const M = factors_of(model, true, &width);
    if (width == r->k) return M;
    OWN(double) *const biases = split_last(M, r->cols, width);
    model_expect_near("biases of items", biases, r->biases, r->cols, 1e-6);
    return M;
}

static double *first_items(const tamis_model_options *wanted, const table *t) {
    tamis_model_options options = *wanted;
    options.iterations = 0;
    OWN(tamis_model) *const model = model_fitted(device, &options, &t->S);
    int64_t width;
    double *const M = factors_of(model, true, &width);
    if (width > options.factors) free(split_last(M, t->cols, width));
    return M;
}

/* Three steps of conjugate gradients of seven, so that nothing is solved and the 1e-8 of tamis_dense_cg_step are
   small against <p, A p>, which is above 1e-2 here: 1e-6. ADAGRAD's steps, of 0.1 at first, carry the error of a
   gradient over by its share of it: another factor of 10. fp32: 1e-7 times the condition, some 1e3, and that. */
TEST(test_sfa_literally) {
    OWN(table) t = table_of_rank(53, 41, 3, 0.5, 41);
    for (int variant = 0; variant < 8; variant++) {
        const int n = variant & 1;
        tamis_model_options options = options_of(TAMIS_SFA, types[n], 7, 3);
        options.biases = (variant & 2) != 0;
        options.weighted = (variant & 4) != 0;
        options.regularization = options.weighted ? 0.05 : 0.5;
        options.cg_steps = 3;
        options.batch_rows = 100;
        OWN(reference) r = reference_of(&options, &t);
        r.M = first_items(&options, &t);
        learn_biases(&r, &t);
        double loss = 0;
        for (int i = 0; i < options.iterations; i++) loss = step(&r, &t);
        OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
        OWN(double) *const M = items_of(model, &r);
        const double found = model_loss(model);
        model_expect_near("items", M, r.M, t.cols * 7, n ? 1e-5 : 1e-3);
        model_expect_near("loss", &found, &loss, 1, (n ? 1e-5 : 1e-3) * loss);
    }
}

/* Mini-batches that come one after another: mean of the first, biases of all so far. Bounds as above. */
TEST(test_sfa_stream) {
    table batches[] = {table_of_rank(53, 41, 3, 0.5, 41), table_of_rank(20, 41, 3, 0.4, 42),
                       table_of_rank(34, 41, 3, 0.6, 43)};
    tamis_model_options options = options_of(TAMIS_SFA, TAMIS_F64, 7, 3);
    options.cg_steps = 2; /* the lambda of these makes the third a small one */
    reference r = reference_of(&options, &batches[0]);
    r.M = first_items(&options, &batches[0]);
    tamis_model *model;
    works(tamis_model_create(device, &options, &model));
    for (int i = 0; i < 3; i++) {
        learn_biases(&r, &batches[i]);
        const double loss = step(&r, &batches[i]);
        works(tamis_model_partial_fit(model, &batches[i].S));
        OWN(double) *const M = items_of(model, &r);
        const double found = model_loss(model);
        model_expect_near("items", M, r.M, r.cols * 7, 1e-5);
        model_expect_near("loss", &found, &loss, 1, 1e-5 * loss);
    }
    tamis_model_free(model);
    reference_free(&r);
    for (int i = 0; i < 3; i++) table_free(&batches[i]);
}

/* A matrix of rank 3 about its mean. Its own factors, in the scale that is cheapest, cost F = sum of what mean and
   biases take from it, squared, + 2 sqrt(lambda lambda_m users) |U| |M|. ADAGRAD has no date by which it must be there:
   that a hundred passes come to 1.25 F is measured, not derived; what follows is: a squared error on what was given
   below that. The unknown places have at most three times that error here. */
TEST(test_sfa_rank) {
    enum { RANK = 3 };
    const uint64_t seed = 51;
    OWN(table) all = table_of_rank(200, 40, RANK, 1, seed), t = table_of_rank(200, 40, RANK, 0.6, seed);
    tamis_model_options options = options_of(TAMIS_SFA, TAMIS_F32, RANK + 1, 100);
    options.regularization = 0.02;
    options.weighted = options.biases = false;
    options.column_regularization = 0.001;
    options.batch_rows = 25;
    OWN(reference) r = reference_of(&options, &t);
    learn_biases(&r, &t);
    double F = 0, users = 0, items = 0;
    for (int64_t i = 0; i < t.rows; i++)
        for (int64_t n = t.offsets[i]; n < t.offsets[i + 1]; n++) {
            const double off = (3 - r.mean) / r.scale - r.biases[t.columns[n]];
            F += off * off;
        }
    for (int64_t i = 0; i < (t.rows + t.cols) * RANK; i++) {
        const bool column = i >= t.rows * RANK;
        const double x = table_factor(seed, column, column ? i / RANK - t.rows : i / RANK, (int)(i % RANK));
        *(column ? &items : &users) += x * x / r.scale;
    }
    F += 2 * sqrt(options.regularization * options.column_regularization * (double)t.rows * users * items);
    OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
    const double loss = model_loss(model);
    if (!(loss <= 1.25 * F / (double)t.nnz)) fail_msg("the loss is %g, the truth's %g", loss, F / (double)t.nnz);
    OWN(tamis_owned_dense) *const W = model_of_rows(model, &t.S);
    OWN(double) *const found = malloc((size_t)all.nnz * sizeof *found);
    works(tamis_model_predict(model, tamis_owned_dense_view(W), &all.S, found));
    table_expect_found(&all, &t, found, r.scale * sqrt(1.25 * F / (double)t.nnz));
}

/* New users are solved for to the end: |r|^2 falls to some 1e-8, after which steps shorten, so |u - exact| <= 1e-3 /
   0.5 would do; predictions need a mini-batch's W. */
TEST(test_sfa_fold_in) {
    OWN(table) t = table_of_rank(53, 41, 3, 0.5, 41), others = table_of_rank(19, 41, 3, 0.6, 44);
    for (int variant = 0; variant < 4; variant++) {
        const int n = variant & 1;
        tamis_model_options options = options_of(TAMIS_SFA, types[n], 5, 4);
        options.biases = variant > 1;
        OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
        OWN(reference) r = reference_of(&options, &t);
        learn_biases(&r, &t);
        r.M = items_of(model, &r);
        OWN(double) *const W = model_transformed(model, &others.S);
        OWN(double) *const biases = options.biases ? split_last(W, others.rows, 6) : NULL;
        for (int64_t i = 0; i < others.rows; i++) {
            double A[25], b[5];
            equations(&r, &others, i, A, b);
            for (int f = 0; f < 5; f++) A[f * 5 + f] += user_lambda(&r, &others, i);
            const double bias = user_bias(&r, &others, i);
            if (biases) model_expect_near("a new user's bias", &biases[i], &bias, 1, 1e-6);
            eliminate(5, A, b);
            model_expect_near("a new user", W + i * 5, b, 5, 1e-3);
        }
        double found;
        const tamis_sparse one = {
            .rows = 1, .cols = 41, .nnz = 1, .offsets = (int32_t[]){0, 1}, .columns = (int32_t[]){7}};
        assert_int_equal(tamis_model_predict(model, NULL, &one, &found), TAMIS_ERROR_ARGUMENT);
    }
}
