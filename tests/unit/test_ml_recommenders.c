/*
 * Implicit ALS, CCD++ and sparse factor analysis: against their equations in double (ml_recommender_*.c), and what they
 * have in common: objectives that never rise, stopping and going on with the same bits, seeds, data with nothing in
 * them, refusals, failing allocations. test_ml_recommenders [DEVICE]
 */
#include "test_ml_recommenders.h"
#include "support/brief.h"
#include "support/faults.h"
#include "support/refusals.h"
#include "support/skip.h"

static const char *device_name = "cpu";
static int64_t live;

static const tamis_method methods[] = {TAMIS_IMPLICIT_ALS, TAMIS_CCD, TAMIS_SFA};
enum { METHODS = 3 };

/* ------------------------------------------------------------------------------------------ objectives */

typedef struct watch {
    double last, share; /* how much of itself a loss may rise by rounding */
    int count;
    tamis_method method;
} watch;

static bool falls(void *context, const tamis_iteration *iteration) {
    watch *const w = context;
    if (iteration->batch != iteration->batches) return true;
    if (!(iteration->loss <= w->last * (1 + w->share)))
        fail_msg("%s: the loss rose from %.12g to %.12g in iteration %d", tamis_method_name(w->method), w->last,
                 iteration->loss, iteration->iteration);
    w->last = iteration->loss;
    w->count++;
    return true;
}

/* Half iterations and updates make the objective smaller or leave it; what remains is the rounding of two sums, of fp32
   over a few thousand terms in blocks. The objective of implicit-als also cancels: terms of some ten times its size.
   SFA promises nothing of the kind, with all rows in a mini-batch and a small rate it still falls. */
TEST(test_falling) {
    for (int n = 0; n < 2 * METHODS; n++) {
        for (uint64_t seed = 1; seed < 4; seed++) {
            table t = table_of_rank(70, 50, 4, 0.4, 60 + seed);
            tamis_model_options options = options_of(methods[n / 2], n % 2 ? TAMIS_F64 : TAMIS_F32, 5, 25);
            watch w = {.last = INFINITY, .share = n % 2 ? 1e-11 : 2e-5, .method = options.method};
            options.seed = seed;
            options.nonnegative = seed == 2;
            options.weighted = seed != 3;
            options.cg_steps = (int)seed;
            options.batch_rows = 1000;
            options.rate = 0.02;
            options.callback = falls;
            options.callback_context = &w;
            tamis_model_free(fitted(&options, &t));
            assert_int_equal(w.count, 25);
            table_free(&t);
        }
    }
}

/* ------------------------------------------------------------------------------------------ the same bits */

static void same_bits(tamis_model *x, tamis_model *y, bool expected) {
    for (int columns = 0; columns < 2; columns++) {
        tamis_owned_dense *a, *b;
        tamis_status (*const get)(tamis_model *, tamis_owned_dense **) =
            columns ? tamis_model_column_factors : tamis_model_row_factors;
        if (get(x, &a) != TAMIS_OK) continue; /* sfa has none of rows */
        works(get(y, &b));
        const tamis_dense *const v = tamis_owned_dense_view(a);
        const size_t bytes = (size_t)(v->rows * v->cols) * tamis_type_size(v->type);
        const bool same = memcmp(v->data, tamis_owned_dense_view(b)->data, bytes) == 0;
        if (same != expected)
            fail_msg("%s factors are %s", columns ? "column" : "row", same ? "the same" : "different");
        tamis_owned_dense_free(a);
        tamis_owned_dense_free(b);
    }
    tamis_model_description dx, dy;
    works(tamis_model_describe(x, &dx));
    works(tamis_model_describe(y, &dy));
    if (expected) assert_memory_equal(&dx.loss, &dy.loss, sizeof dx.loss);
}

/* Stops after some calls. */
static bool stops(void *context, const tamis_iteration *iteration) {
    (void)iteration;
    int *const left = context;
    return --*left > 0;
}

static const char *const checkpoint = "test_ml_recommenders.model";

/* `file`: the model that goes on comes from its checkpoint. */
static void interrupted(const tamis_model_options *whole, const table *t, int calls, bool file) {
    tamis_model_options options = *whole;
    tamis_model *model;
    int left = calls;
    options.callback = stops;
    options.callback_context = &left;
    options.checkpoint = file ? checkpoint : NULL;
    works(tamis_model_create(device, &options, &model));
    assert_int_equal(tamis_model_fit(model, &t->S, NULL), TAMIS_ERROR_CANCELLED);
    if (file) {
        tamis_model_free(model);
        works(tamis_model_load(device, checkpoint, &model));
        remove(checkpoint);
    }
    options = *whole;
    works(tamis_model_continue_with(model, &options));
    works(tamis_model_fit(model, &t->S, NULL));
    tamis_model *const uninterrupted = fitted(whole, t);
    same_bits(model, uninterrupted, true);
    tamis_model_free(model);
    tamis_model_free(uninterrupted);
}

TEST(test_going_on) {
    table t = table_of_rank(64, 50, 4, 0.4, 71);
    for (int n = 0; n < 2 * METHODS; n++) {
        tamis_model_options options = options_of(methods[n / 2], n % 2 ? TAMIS_F64 : TAMIS_F32, 7, 4);
        options.batch_rows = 20; /* four mini-batches: a call after each, so 5 and 6 are within a pass */
        for (int calls = 1; calls < 4; calls++) {
            interrupted(&options, &t, calls, false);
            interrupted(&options, &t, calls, true);
        }
        if (options.method == TAMIS_SFA)
            for (int calls = 4; calls < 10; calls++) interrupted(&options, &t, calls, calls % 2 == 0);
        options.skip_loss = true;
        interrupted(&options, &t, 2, false);
    }
    table_free(&t);
}

TEST(test_seeds) {
    table t = table_of_rank(64, 50, 4, 0.4, 72);
    for (int n = 0; n < METHODS; n++) {
        tamis_model_options options = options_of(methods[n], TAMIS_F32, 6, 2);
        tamis_model *const first = fitted(&options, &t), *const again = fitted(&options, &t);
        options.seed = 2;
        tamis_model *const other = fitted(&options, &t);
        same_bits(first, again, true);
        same_bits(first, other, false);
        if (on_cpu) {
            options.seed = 1;
            options.threads = 3;
            tamis_model *const threads = fitted(&options, &t);
            tamis_model *const threads_again = fitted(&options, &t);
            same_bits(threads, threads_again, true);
            tamis_model_free(threads);
            tamis_model_free(threads_again);
        }
        tamis_model_free(first);
        tamis_model_free(again);
        tamis_model_free(other);
    }
    table_free(&t);
}

/* ------------------------------------------------------------------------------------------ nothing in the data */

TEST(test_small_data) {
    static const int64_t sizes[][2] = {{1, 1}, {0, 4}, {5, 3}, {1, 9}, {12, 1}};
    for (int n = 0; n < METHODS; n++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int given = 0; given < 2; given++) {
                table t = table_of_rank(sizes[i][0], sizes[i][1], 1, given ? 1 : 0, 5);
                const tamis_model_options options = options_of(methods[n], TAMIS_F32, 3, 2);
                tamis_model *const model = fitted(&options, &t);
                int64_t width;
                double *const Y = factors_of(model, true, &width), *const W = folded(model, &t, width, TAMIS_F32);
                for (int64_t k = 0; k < width * t.cols; k++) assert_true(isfinite(Y[k]));
                for (int64_t k = 0; k < width * t.rows; k++) assert_true(isfinite(W[k]));
                for (int64_t k = 0; k < width * t.rows; k++)
                    if (table_empty_row(&t, k / width)) assert_true(W[k] == 0);
                free(Y), free(W);
                tamis_model_free(model);
                table_free(&t);
            }
}

/* ------------------------------------------------------------------------------------------ refusals */

TEST(test_refusals) {
    tamis_model *none;
#define SPOILT_OPTION(field, value, words)                                                                             \
    SPOILT_MADE(none, options.field, value, ARGUMENT, words, tamis_model_create(device, &options, &none))
    for (int n = 0; n < METHODS; n++) {
        tamis_model_options options = options_of(methods[n], TAMIS_F32, 3, 2);
        static const struct {
            double lambda;
            const char *message;
        } cases[] = {{-1, "regularization = -1, expected a positive number"},
                     {NAN, "regularization = nan, expected a positive number"},
                     {INFINITY, "regularization = inf, expected a positive number"}};
        for (int i = 0; i < 3; i++) {
            char message[120];
            snprintf(message, sizeof message, "^%s, or 0 to %s$", cases[i].message,
                     methods[n] == TAMIS_SFA ? "choose it" : "find it by the noise of the data");
            SPOILT_OPTION(regularization, cases[i].lambda, message);
        }
    }
    tamis_model_options options = options_of(TAMIS_IMPLICIT_ALS, TAMIS_F32, 3, 2);
    SPOILT_OPTION(cg_steps, 0, "^cg_steps = 0, expected 1 to 1000$");
    SPOILT_OPTION(confidence, -2, "^confidence = -2, expected 0 or more$");
    options = options_of(TAMIS_CCD, TAMIS_F32, 3, 2);
    SPOILT_OPTION(inner_rounds, 0, "^inner_rounds = 0, expected 1 to 1000$");
    options = options_of(TAMIS_SFA, TAMIS_F32, 3, 2);
    SPOILT_OPTION(rate, 0, "^rate = 0, expected a positive number$");
    SPOILT_OPTION(column_regularization, -0.5, "^column_regularization = -0.5, expected 0 or more$");
    SPOILT_OPTION(cg_steps, -3, "^cg_steps = -3, expected 1 to 1000$");
    table t = table_of_rank(10, 8, 1, 0.5, 1);
    options = options_of(TAMIS_CCD, TAMIS_F32, 3, 2);
    tamis_model *model;
    works(tamis_model_create(device, &options, &model));
    assert_int_equal(tamis_model_partial_fit(model, &t.S), TAMIS_ERROR_UNSUPPORTED);
    tamis_model_free(model);
    table_free(&t);
}

/* ------------------------------------------------------------------------------------------ faults */

static tamis_status use_all(const tamis_model_options *options, const table *t) {
    tamis_model *model;
    tamis_owned_dense *W = NULL;
    double *const found = malloc((size_t)t->nnz * sizeof *found);
    tamis_status status = tamis_model_create(device, options, &model);
    if (status == TAMIS_OK) status = tamis_model_fit(model, &t->S, NULL);
    if (status == TAMIS_OK && options->method == TAMIS_SFA) status = tamis_model_partial_fit(model, &t->S);
    tamis_model_description description = {0};
    if (status == TAMIS_OK) status = tamis_model_describe(model, &description);
    if (status == TAMIS_OK)
        status = tamis_owned_dense_create(t->rows, description.width, options->type, TAMIS_ROW_MAJOR, &W);
    if (status == TAMIS_OK) status = tamis_model_transform(model, &t->S, tamis_owned_dense_view(W));
    if (status == TAMIS_OK) status = tamis_model_predict(model, tamis_owned_dense_view(W), &t->S, found);
    free(found);
    tamis_owned_dense_free(W);
    tamis_model_free(model);
    return status;
}

/* Each allocation failing in turn: that status, and nothing left behind. And a model whose fit failed can be fitted. */
TEST(test_faults) {
    if (!on_cpu) skip_because("of the CPU alone: compiling allocates as it likes");
    table t = table_of_rank(23, 17, 2, 0.4, 81);
    for (int n = 0; n < METHODS; n++) {
        tamis_model_options options = options_of(methods[n], TAMIS_F32, 3, 1);
        options.batch_rows = 12;
        options.threads = 1;
        EACH_FAULT_OF(w, .step = test_rounds(1, 4)) FAULTY(w, use_all(&options, &t));
        tamis_model *model, *const other = fitted(&options, &t);
        for (int64_t fail = 1; fail < 120; fail += 7) {
            works(tamis_model_create(device, &options, &model));
            tamis_memory_fail_at(fail);
            const tamis_status status = tamis_model_fit(model, &t.S, NULL);
            tamis_memory_fail_at(0);
            if (status != TAMIS_OK) works(tamis_model_fit(model, &t.S, NULL));
            same_bits(model, other, true);
            tamis_model_free(model);
        }
        tamis_model_free(other);
    }
    table_free(&t);
}

static int set_up(void **state) {
    (void)state;
    live = tamis_memory_live();
    return tamis_device_open(device_name, &device) == TAMIS_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tamis_device_close(device);
    return tamis_memory_live() == live ? 0 : -1;
}

TEST_RUN() {
    if (argc > 1) device_name = argv[1];
    on_cpu = strcmp(device_name, "cpu") == 0;
    if (tamis_device_open(device_name, &device) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    tamis_device_close(device);
    return test_run("recommenders", NULL, set_up, tear_down);
}
