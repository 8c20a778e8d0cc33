/*
 * Fitting and explicit ALS: a half iteration against exact normal equations in double, an objective that never rises,
 * factors of known rank that are found again, stopping and going on, seeds, refusals, failing allocations.
 *   test_ml_fit [DEVICE]
 */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/data.h>
#include <tamis/ml.h>

#include "base/memory.h"
#include "base/random.h"
#include "eliminate.h"
#include "ml/data/canonical.h"
#include "ml/model.h"
#include "support/faults.h"
#include "support/refusals.h"
#include "support/works.h"

static const char *device_name = "cpu";
static tamis_device *device;

/* ------------------------------------------------------------------------------------------ data */

/* Ratings of rank `rank` (and biases) at random places; some rows and columns have none. CSR in COO's clothes. */
typedef struct ratings {
    int64_t rows, cols, nnz;
    int32_t *row, *column;
    float *value;
} ratings;

static double factor(uint64_t seed, int64_t i, int64_t f) {
    return tamis_random_uniform_at(seed, (uint64_t)i, (uint64_t)f) - 0.5;
}

static ratings draw(int64_t rows, int64_t cols, double share, int rank, double noise, uint64_t seed) {
    ratings r = {.rows = rows, .cols = cols};
    const size_t most = (size_t)(rows * cols);
    r.row = malloc(most * sizeof *r.row);
    r.column = malloc(most * sizeof *r.column);
    r.value = malloc(most * sizeof *r.value);
    assert_true(r.row && r.column && r.value);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            if (i % 17 == 3 || j % 13 == 5) continue;
            if (tamis_random_uniform_at(seed, 1, (uint64_t)(i * cols + j)) >= share) continue;
            double value = 3;
            for (int f = 0; f < rank; f++) value += 4 * factor(seed + 1, i, f) * factor(seed + 2, j, f);
            value += noise * (tamis_random_uniform_at(seed, 2, (uint64_t)(i * cols + j)) - 0.5);
            r.row[r.nnz] = (int32_t)i;
            r.column[r.nnz] = (int32_t)j;
            r.value[r.nnz++] = (float)value;
        }
    return r;
}

static tamis_sparse view_of(const ratings *r) {
    return (tamis_sparse){.format = TAMIS_COO,
                          .rows = r->rows,
                          .cols = r->cols,
                          .nnz = r->nnz,
                          .value_type = TAMIS_F32,
                          .row_indices = r->row,
                          .columns = r->column,
                          .values = r->value};
}

static void drop(ratings *r) {
    free(r->row);
    free(r->column);
    free(r->value);
}

static tamis_model_options options_of(tamis_method method) {
    tamis_model_options options;
    works(tamis_model_options_init(&options, method));
    return options;
}

static tamis_model *model_of(const tamis_model_options *options) {
    tamis_model *model;
    works(tamis_model_create(device, options, &model));
    return model;
}

static double at(const tamis_owned_dense *array, int64_t i, int64_t j) {
    const tamis_dense *const view = tamis_owned_dense_view(array);
    return view->type == TAMIS_F64 ? ((double *)view->data)[i * view->stride + j]
                                   : (double)((float *)view->data)[i * view->stride + j];
}

/* ------------------------------------------------------------------------------------------ against normal equations
 */

/* After a fit the columns are the exact solution for the rows as they are: gradients to the end make it so. */
static void check_columns(tamis_model *model, const ratings *r, const tamis_model_options *options) {
    tamis_model_description d;
    works(tamis_model_describe(model, &d));
    tamis_owned_dense *X, *Y;
    works(tamis_model_row_factors(model, &X));
    works(tamis_model_column_factors(model, &Y));
    const int64_t k = d.width;
    double *const a = calloc((size_t)(k * k), sizeof *a), *const b = calloc((size_t)k, sizeof *b);
    assert_true(a && b);
    double worst = 0, size = 0;
    for (int64_t j = 0; j < r->cols; j++) {
        memset(a, 0, (size_t)(k * k) * sizeof *a);
        memset(b, 0, (size_t)k * sizeof *b);
        int64_t count = 0;
        for (int64_t t = 0; t < r->nnz; t++) {
            if (r->column[t] != j) continue;
            count++;
            double target = ((double)r->value[t] - d.mean) / d.scale;
            if (options->biases) target -= at(X, r->row[t], k - 1);
            for (int64_t p = 0; p < k; p++) {
                const double xp = options->biases && p == k - 1 ? 1 : at(X, r->row[t], p);
                b[p] += target * xp;
                for (int64_t q = 0; q < k; q++)
                    a[p * k + q] += xp * (options->biases && q == k - 1 ? 1 : at(X, r->row[t], q));
            }
        }
        const double lambda = options->regularization * (options->weighted ? (double)count + 40 : 1);
        for (int64_t p = 0; p < k; p++) a[p * k + p] += lambda;
        eliminate(k, a, b);
        for (int64_t p = 0; p < k; p++) {
            worst = fmax(worst, fabs(b[p] - at(Y, j, p)));
            size = fmax(size, fabs(b[p]));
        }
    }
    /* conjugate gradients with 1e-8 in their denominators stop improving near a residual of 1e-4 (tamis/dense.h) */
    if (!(worst <= 2e-3 * size)) fail_msg("a column is %g from the exact solution, of size %g", worst, size);
    free(a);
    free(b);
    tamis_owned_dense_free(X);
    tamis_owned_dense_free(Y);
}

TEST(als_is_exact) {
    ratings r = draw(70, 55, 0.5, 3, 0.1, 11);
    const tamis_sparse S = view_of(&r);
    for (int variant = 0; variant < 8; variant++) {
        tamis_model_options options = options_of(TAMIS_ALS);
        options.factors = variant & 1 ? 7 : 4;
        options.biases = (variant & 2) != 0;
        options.weighted = (variant & 4) != 0;
        options.regularization = options.weighted ? 0.05 : 0.5;
        options.type = variant % 3 == 0 ? TAMIS_F64 : TAMIS_F32;
        options.iterations = 6;
        options.cg_steps = 12;
        tamis_model *const model = model_of(&options);
        works(tamis_model_fit(model, &S, NULL));
        check_columns(model, &r, &options);
        tamis_model_free(model);
    }
    drop(&r);
}

/* ------------------------------------------------------------------------------------------ the objective */

typedef struct history {
    int count, stop_after;
    double loss[64];
} history;

static bool remember(void *context, const tamis_iteration *iteration) {
    history *const h = context;
    assert_true(iteration->seconds >= 0 && iteration->sddmm_share >= 0 && iteration->fused_share >= 0);
    assert_int_equal(iteration->batch, iteration->batches);
    h->loss[h->count++] = iteration->loss;
    return h->count != h->stop_after;
}

TEST(als_never_rises) {
    ratings r = draw(90, 64, 0.3, 4, 0.5, 23);
    const tamis_sparse S = view_of(&r);
    for (int variant = 0; variant < 4; variant++) {
        history h = {0};
        tamis_model_options options = options_of(TAMIS_ALS);
        options.factors = 6;
        options.biases = variant & 1;
        options.type = variant & 2 ? TAMIS_F64 : TAMIS_F32;
        options.cg_steps = 1 + variant;
        options.callback = remember;
        options.callback_context = &h;
        tamis_model *const model = model_of(&options);
        works(tamis_model_fit(model, &S, NULL));
        assert_int_equal(h.count, options.iterations);
        for (int i = 1; i < h.count; i++) {
            const double rounding = (options.type == TAMIS_F64 ? 1e-10 : 1e-5) * h.loss[0];
            if (!(h.loss[i] <= h.loss[i - 1] + rounding))
                fail_msg("the loss rises from %.9g to %.9g", h.loss[i - 1], h.loss[i]);
        }
        tamis_model_free(model);
    }
    drop(&r);
}

/* Ratings that are exactly mean + rank 2, half of them seen, hardly any regularisation: what is fitted must be
 * foreseen. */
TEST(als_finds_known_factors) {
    ratings r = draw(200, 120, 0.5, 2, 0, 37);
    const tamis_sparse S = view_of(&r);
    tamis_model_options options = options_of(TAMIS_ALS);
    options.factors = 3; /* the mean of ratings is not the constant they were made with: rank 3 holds the difference */
    options.regularization = 1e-6;
    options.biases = false;
    options.iterations = 40;
    options.cg_steps = 8;
    options.type = TAMIS_F64;
    history h = {0};
    options.callback = remember;
    options.callback_context = &h;
    tamis_model *const model = model_of(&options);
    works(tamis_model_fit(model, &S, NULL));
    /* the regularised optimum is no worse than the known factors: errors 0, lambda times their squares; each |x|^2 of a
       rank-3 factorisation that is balanced is under 4 in units of the ratings, and a rating counts for its row and its
       column, which count 40 more */
    tamis_model_description d;
    works(tamis_model_describe(model, &d));
    const double counted = (double)(r.nnz + 20 * (r.rows + r.cols));
    const double bound = options.regularization * counted * 2 * 4 * 3 / d.scale;
    if (!(h.loss[h.count - 1] <= bound + 1e-3)) fail_msg("loss %g, bound %g", h.loss[h.count - 1], bound);
    tamis_model_free(model);
    drop(&r);
}

/* The loss by its definition, with lambda as it is or times the numbers of ratings. */
TEST(als_loss_is_the_sum) {
    ratings r = draw(40, 30, 0.5, 2, 0.5, 41);
    const tamis_sparse S = view_of(&r);
    for (int weighted = 0; weighted < 2; weighted++) {
        tamis_model_options options = options_of(TAMIS_ALS);
        options.factors = 3;
        options.regularization = 0.75; /* most of the loss */
        options.weighted = weighted;
        options.biases = false;
        options.iterations = 3;
        options.type = TAMIS_F64;
        tamis_model *const model = model_of(&options);
        works(tamis_model_fit(model, &S, NULL));
        tamis_model_description d;
        tamis_owned_dense *X, *Y;
        works(tamis_model_describe(model, &d));
        works(tamis_model_row_factors(model, &X));
        works(tamis_model_column_factors(model, &Y));
        double count[2][64] = {{0}}, expected = 0;
        for (int64_t t = 0; t < r.nnz; t++) {
            double error = ((double)r.value[t] - d.mean) / d.scale;
            for (int f = 0; f < 3; f++) error -= at(X, r.row[t], f) * at(Y, r.column[t], f);
            expected += error * error;
            count[0][r.row[t]]++;
            count[1][r.column[t]]++;
        }
        for (int side = 0; side < 2; side++)
            for (int64_t i = 0; i < (side ? r.cols : r.rows); i++) {
                double squares = 0;
                for (int f = 0; f < 3; f++) squares += at(side ? Y : X, i, f) * at(side ? Y : X, i, f);
                expected += options.regularization * (weighted ? count[side][i] + ML_PRIOR_RATINGS : 1) * squares;
            }
        if (!(fabs(d.loss - expected) <= 1e-9 * expected))
            fail_msg("weighted %d: the loss is %.15g, expected %.15g", weighted, d.loss, expected);
        tamis_owned_dense_free(X);
        tamis_owned_dense_free(Y);
        tamis_model_free(model);
    }
    drop(&r);
}

/* ------------------------------------------------------------------------------------------ stopping, seeds */

static bool same_factors(tamis_model *a, tamis_model *b) {
    bool same = true;
    for (int side = 0; side < 2; side++) {
        tamis_owned_dense *x, *y;
        works(side ? tamis_model_row_factors(a, &x) : tamis_model_column_factors(a, &x));
        works(side ? tamis_model_row_factors(b, &y) : tamis_model_column_factors(b, &y));
        const tamis_dense *const u = tamis_owned_dense_view(x), *const v = tamis_owned_dense_view(y);
        assert_int_equal(u->rows, v->rows);
        same = same && memcmp(u->data, v->data, (size_t)(u->rows * u->cols) * tamis_type_size(u->type)) == 0;
        tamis_owned_dense_free(x);
        tamis_owned_dense_free(y);
    }
    return same;
}

/* A checkpoint of an earlier version has another fingerprint of its data: it goes on with these, and no others. */
TEST(former_fingerprints_are_known) {
    ratings r = draw(30, 20, 0.3, 3, 0.3, 5);
    const tamis_sparse S = view_of(&r);
    tamis_model_options options = options_of(TAMIS_ALS);
    history h = {.stop_after = 1};
    options.iterations = 3;
    options.callback = remember;
    options.callback_context = &h;
    for (int n = 0; n < 2; n++) {
        tamis_model *const model = model_of(&options);
        tamis_owned_sparse *data;
        h = (history){.stop_after = 1};
        assert_int_equal(tamis_model_fit(model, &S, NULL), TAMIS_ERROR_CANCELLED);
        const uint64_t now = model->data_sum;
        works(ml_canonical(model, &S, "S", &data));
        model->data_sum = ml_former_sum(tamis_owned_sparse_view(data));
        assert_true(model->data_sum != now);
        assert_true(model->data_sum == 0x71ce4b5a16358c78); /* as version 0.1 had it */
        tamis_owned_sparse_free(data);
        model->data_sum += (uint64_t)n;
        assert_int_equal(tamis_model_fit(model, &S, NULL), n ? TAMIS_ERROR_ARGUMENT : TAMIS_OK);
        if (n == 0) assert_true(model->data_sum == now);
        tamis_model_free(model);
    }
    drop(&r);
}

TEST(stopping_changes_nothing) {
    ratings r = draw(80, 60, 0.3, 3, 0.3, 5);
    const tamis_sparse S = view_of(&r);
    tamis_model_options options = options_of(TAMIS_ALS);
    options.factors = 5;
    options.biases = true;
    options.iterations = 7;
    tamis_model *const whole = model_of(&options);
    works(tamis_model_fit(whole, &S, NULL));
    history h = {.stop_after = 3};
    options.callback = remember;
    options.callback_context = &h;
    tamis_model *const stopped = model_of(&options);
    assert_int_equal(tamis_model_fit(stopped, &S, NULL), TAMIS_ERROR_CANCELLED);
    assert_string_equal(tamis_last_error(), "stopped after iteration 3 of 7");
    assert_false(same_factors(whole, stopped));
    ratings other = draw(80, 60, 0.3, 3, 0.3, 6);
    const tamis_sparse T = view_of(&other);
    REFUSED(ARGUMENT, "S differs from the data of the first 3 iterations", tamis_model_fit(stopped, &T, NULL));
    works(tamis_model_fit(stopped, &S, NULL));
    assert_true(same_factors(whole, stopped));
    assert_int_equal(h.count, 7);
    works(tamis_model_fit(stopped, &S, NULL)); /* nothing is left to do */
    assert_int_equal(h.count, 7);
    options.seed = 2;
    options.callback = NULL;
    tamis_model *const seeded = model_of(&options);
    works(tamis_model_fit(seeded, &S, NULL));
    assert_false(same_factors(whole, seeded));
    tamis_model_free(whole);
    tamis_model_free(stopped);
    tamis_model_free(seeded);
    drop(&r);
    drop(&other);
}

TEST(tolerance_ends_it) {
    ratings r = draw(80, 60, 0.3, 2, 0.3, 5);
    const tamis_sparse S = view_of(&r);
    history h = {0};
    tamis_model_options options = options_of(TAMIS_ALS);
    options.iterations = 60;
    options.tolerance = 0.01;
    options.callback = remember;
    options.callback_context = &h;
    tamis_model *const model = model_of(&options);
    works(tamis_model_fit(model, &S, NULL));
    assert_true(h.count > 2 && h.count < 60);
    assert_true(h.loss[h.count - 2] - h.loss[h.count - 1] < 0.01 * h.loss[h.count - 2]);
    tamis_model_free(model);
    drop(&r);
}

/* ------------------------------------------------------------------------------------------ refusals and faults */

TEST(bad_options_are_named) {
    tamis_model_options o = options_of(TAMIS_BPR);
    tamis_model *model;
#define SPOILT_OPTION(field, value, words)                                                                             \
    SPOILT_MADE(model, o.field, value, ARGUMENT, words, tamis_model_create(device, &o, &model))
    SPOILT_OPTION(factors, 0, "^factors = 0, expected 1 to 1024$");
    o = options_of(TAMIS_ITEM_KNN);
    SPOILT_OPTION(weights, TAMIS_WEIGHTS_AUTO, "^weights = 4, expected 0 to 3$");
    o = options_of(TAMIS_ALS);
    SPOILT_OPTION(factors, -1, "^factors = -1, expected 0 to 1024$");
    SPOILT_OPTION(regularization, -1,
                  "^regularization = -1, expected a positive number, or 0 to find it by the noise of the data$");
    SPOILT_OPTION(type, TAMIS_F16, "^type = fp16, models are fp32 or fp64$");
    SPOILT_OPTION(cg_steps, 0, "^cg_steps = 0, expected 1 to 1000$");
    SPOILT_OPTION(algorithms, "a,b", "^algorithms = \"a,b\", expected one name or three$");
    SPOILT_OPTION(method, (tamis_method)9, "^method = 9 is not a valid method$");
    SPOILT_OPTION(tolerance, NAN, "^tolerance = nan, expected 0 to below 1$");
    tamis_method method;
    assert_int_equal(tamis_method_from_name("svd", &method), TAMIS_ERROR_ARGUMENT);
    for (int i = 0; i < 6; i++) {
        works(tamis_method_from_name(tamis_method_name((tamis_method)i), &method));
        assert_int_equal(method, i);
    }
}

TEST(bad_data_are_named) {
    ratings r = draw(40, 30, 0.5, 2, 0, 3);
    tamis_sparse S = view_of(&r);
    tamis_model_options options = options_of(TAMIS_ALS);
    options.factors = 3;
    tamis_model *const model = model_of(&options);
    char text[120];
    snprintf(text, sizeof text, "^S has the value %g at row %d, column %d: expected a finite number$", (double)NAN,
             r.row[7], r.column[7]);
    SPOILT(r.value[7], NAN, ARGUMENT, text, tamis_model_fit(model, &S, NULL));
    REFUSED(ARGUMENT, "^S is NULL$", tamis_model_fit(model, NULL, NULL));
    const tamis_held_out nothing = {0};
    REFUSED(ARGUMENT, "^held_out.entries is NULL$", tamis_model_fit(model, &S, &nothing));
    assert_int_equal(tamis_model_partial_fit(model, &S), TAMIS_ERROR_UNSUPPORTED);
    works(tamis_model_fit(model, &S, NULL)); /* none of these left a trace */
    S.cols = 31;
    REFUSED(ARGUMENT, "^S.cols = 31, the model has 30 columns$", tamis_model_fit(model, &S, NULL));
    tamis_model_free(model);
    drop(&r);
}

static tamis_names *names_of(int64_t count) {
    tamis_names *names;
    works(tamis_names_create(&names));
    for (int64_t i = 0; i < count; i++) {
        char name[24];
        int64_t index;
        snprintf(name, sizeof name, "%lld", (long long)i);
        works(tamis_names_add(names, name, strlen(name), &index));
    }
    return names;
}

/* As many as there are rows and columns, no fewer and no more. */
TEST(names_are_counted) {
    static const int counts[][2] = {{39, 30}, {41, 30}, {40, 29}, {40, 31}, {40, 30}};
    ratings r = draw(40, 30, 0.5, 2, 0, 3);
    const tamis_sparse S = view_of(&r);
    tamis_model_options options = options_of(TAMIS_ALS);
    options.factors = 3;
    for (int i = 0; i < 5; i++) {
        tamis_names *const rows = names_of(counts[i][0]), *const columns = names_of(counts[i][1]);
        tamis_model *const model = model_of(&options);
        char text[80];
        works(tamis_model_set_names(model, rows, columns));
        const bool of_rows = counts[i][0] != 40;
        snprintf(text, sizeof text, "S has %d %s, the model has names for %d", of_rows ? 40 : 30,
                 of_rows ? "rows" : "columns", counts[i][!of_rows]);
        assert_int_equal(tamis_model_fit(model, &S, NULL), i < 4 ? TAMIS_ERROR_ARGUMENT : TAMIS_OK);
        if (i < 4) assert_string_equal(tamis_last_error(), text);
        tamis_model_free(model);
        tamis_names_free(rows);
        tamis_names_free(columns);
    }
    drop(&r);
}

TEST(nothing_to_fit) {
    const int32_t offsets[] = {0, 0, 0};
    const tamis_sparse empty = {.rows = 2, .cols = 5, .offsets = offsets, .value_type = TAMIS_F32};
    tamis_model_options options = options_of(TAMIS_ALS);
    options.factors = 2;
    tamis_model *const model = model_of(&options);
    works(tamis_model_fit(model, &empty, NULL));
    tamis_model_description d;
    works(tamis_model_describe(model, &d));
    assert_int_equal(d.iterations_done, 15);
    assert_true(d.loss <= 1e-6);
    tamis_model_free(model);
}

TEST(faults_leak_nothing) {
    ratings r = draw(30, 25, 0.5, 2, 0, 3);
    const tamis_sparse S = view_of(&r);
    EACH_FAULT_OF(w, .least = 21) {
        tamis_model_options options = options_of(TAMIS_ALS);
        options.factors = 3;
        options.biases = true;
        options.iterations = 2;
        tamis_model *model = NULL;
        fault_begin(&w);
        tamis_status status = tamis_model_create(device, &options, &model);
        if (status == TAMIS_OK) status = tamis_model_fit(model, &S, NULL);
        if (fault_end(&w, status) != TAMIS_OK && model) works(tamis_model_fit(model, &S, NULL)); /* tried again */
        tamis_model_free(model);
    }
    drop(&r);
}

TEST_RUN() {
    if (argc > 1) device_name = argv[1];
    if (tamis_device_open(device_name, &device) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    const int failed = test_run(NULL, NULL, NULL, NULL);
    tamis_device_close(device);
    return failed;
}
