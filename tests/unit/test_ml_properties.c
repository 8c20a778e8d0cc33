/*
 * What is true of every model of the registry: each property is a test of each method, walked through the ways that its
 * options allow (model_rows.h). A method that is added is tested without a line here.
 *   test_ml_properties [DEVICE]
 */
#include "model_rows.h"

#include <stdio.h>
#include <sys/stat.h>
#include <tamis/group.h>
#include <unistd.h>

#include "base/memory.h"
#include "named_device.h"
#include "support/brief.h"
#include "support/faults.h"
#include "support/refusals.h"
#include "support/skip.h"

static const char *device_name = "cpu";
static tamis_device *device;
static char folder[] = "/tmp/tamis-properties-XXXXXX", path[64];

static bool on_cpu(void) { return strcmp(device_name, "cpu") == 0; }

/* ------------------------------------------------------------------------------------------ the same again */

/* The same options, data, device and threads give the same bits; another seed gives others, where there is chance. */
static void repeats(tamis_method method) {
    EACH_WAY(c, method) {
        data d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 72);
        tamis_model *const first = model_fitted(device, &c.options, &d.view);
        tamis_model *const again = model_fitted(device, &c.options, &d.view);
        model_expect_same(c.name, again, first);
        c.options.seed = 2;
        tamis_model *const other = model_fitted(device, &c.options, &d.view);
        other->options.seed = 1;
        if ((model_difference(other, first) == NULL) != c.about.pairs) fail_msg("%s: the seed is not used", c.name);
        tamis_model_free(first);
        tamis_model_free(again);
        tamis_model_free(other);
        data_free(&d);
    }
}

/* The numbers of a model: what it makes of the data's rows, and its factors of columns, where these are no places. */
static double *numbers_of(tamis_model *model, const data *d, int64_t *count) {
    const int64_t of_rows = d->view.rows * model->width, of_cols = model->method->about.pairs ? 0 : d->view.cols;
    double *const numbers = malloc((size_t)(of_rows + of_cols * model->width + 1) * sizeof *numbers);
    double *const Y = model_factors(model, false, NULL);
    tamis_owned_dense *W;
    works(tamis_owned_dense_create(d->view.rows, model->width, model->options.type, TAMIS_ROW_MAJOR, &W));
    works(tamis_model_transform(model, &d->view, tamis_owned_dense_view(W)));
    for (int64_t i = 0; i < of_rows; i++)
        numbers[i] = number(tamis_owned_dense_view(W), i / model->width, i % model->width);
    memcpy(numbers + of_rows, Y, (size_t)(of_cols * model->width) * sizeof *Y);
    *count = of_rows + of_cols * model->width;
    tamis_owned_dense_free(W);
    free(Y);
    return numbers;
}

static double apart(const double *x, const double *y, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(x[i] - y[i]));
    return most;
}

/* How far the numbers go when each value of the data is off by about one rounding, up or down. */
static double moved(const model_case *c, const data *d, const double *still) {
    double *const old = d->values, *const new = malloc((size_t)d->view.nnz * sizeof *new), most = 0;
    const double unit = c->options.type == TAMIS_F64 ? 0x1p-52 : 0x1p-23;
    data other = *d;
    other.values = new;
    other.view.values = new;
    for (uint64_t seed = 1; seed < 4; seed++) {
        int64_t count;
        for (int64_t t = 0; t < d->view.nnz; t++)
            new[t] = old[t] * (1 + (tamis_random_at(seed, 1, (uint64_t)t) % 2 ? unit : -unit));
        tamis_model *const model = model_fitted(device, &c->options, &other.view);
        double *const numbers = numbers_of(model, &other, &count);
        most = fmax(most, apart(numbers, still, count));
        free(numbers);
        tamis_model_free(model);
    }
    free(new);
    return most;
}

/*
 * On the CPU any number of threads gives the same model: to the bit, where samples are drawn; else but for rounding.
 * Another order of sums has rounding errors of the same size in other places, at each step: eight times the most that a
 * rounding of each value was seen to do, and a few of the largest number.
 */
static void threads_change_nothing(tamis_method method) {
    if (!on_cpu()) skip_because("threads are the CPU's");
    EACH_WAY(c, method) {
        data d = model_data(&c.about, MODEL_ROWS, 3 * MODEL_COLS, 6);
        for (int64_t t = 0; t < d.view.nnz; t++) d.values[t] += 0.001 * (double)t; /* no two sums tie */
        int64_t count;
        tamis_model *const first = model_fitted(device, &c.options, &d.view);
        double *const still = numbers_of(first, &d, &count), largest = 0;
        for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs(still[i]));
        const double few = 32 * (c.options.type == TAMIS_F64 ? 0x1p-53 : 0x1p-24) * largest;
        const double allowed = c.about.sampled ? 0 : 8 * moved(&c, &d, still) + few;
        for (int threads = 2; threads < 8; threads += 3) {
            c.options.threads = threads;
            tamis_model *const other = model_fitted(device, &c.options, &d.view);
            tamis_model *const again = model_fitted(device, &c.options, &d.view);
            model_expect_same(c.name, again, other);
            double *const numbers = numbers_of(other, &d, &count);
            const double off = apart(numbers, still, count);
            if (!(off <= allowed)) fail_msg("%s: %d threads are off by %g, allowed %g", c.name, threads, off, allowed);
            free(numbers);
            tamis_model_free(other);
            tamis_model_free(again);
        }
        free(still);
        tamis_model_free(first);
        data_free(&d);
    }
}

/* A file has the whole model: what is loaded is the same, says the same, and gives the same file; a copy does, too. */
static void saved_is_loaded(tamis_method method) {
    EACH_WAY(c, method) {
        data d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 77);
        tamis_model *const model = model_fitted(device, &c.options, &d.view), *copy;
        tamis_model *const loaded = model_reloaded(device, model);
        model_expect_same(c.name, loaded, model);
        model_expect_answers(c.name, loaded, model, &d);
        works(tamis_model_copy(model, &copy));
        model_expect_same(c.name, copy, model);
        const bytes one = model_bytes(model), two = model_bytes(loaded), three = model_bytes(copy);
        assert_true(one.size == two.size && one.size == three.size);
        assert_memory_equal(one.data, two.data, one.size);
        assert_memory_equal(one.data, three.data, one.size);
        free(one.data), free(two.data), free(three.data);
        tamis_model_free(model);
        tamis_model_free(loaded);
        tamis_model_free(copy);
        data_free(&d);
    }
}

/* ------------------------------------------------------------------------------------------ stopping and going on */

typedef struct watch {
    tamis_model *model;
    int calls, stop_at, save_at;
    const char *failure; /* the last one of a checkpoint */
    double loss[64];     /* of each iteration */
    int iterations;
} watch;

static bool look(void *context, const tamis_iteration *iteration) {
    watch *const w = context;
    w->calls++;
    assert_true(iteration->seconds >= 0 && iteration->sddmm_share >= 0 && iteration->fused_share >= 0);
    assert_true(iteration->batches == 0 || (iteration->batch > 0 && iteration->batch <= iteration->batches));
    if (iteration->batch == iteration->batches && w->iterations < 64) w->loss[w->iterations++] = iteration->loss;
    if (iteration->checkpoint_failure) w->failure = iteration->checkpoint_failure;
    if (w->calls == w->save_at) works(tamis_model_save(w->model, path));
    return w->calls != w->stop_at;
}

static tamis_model *watched(const model_case *c, watch *w, const char *checkpoint) {
    tamis_model_options options = c->options;
    options.callback = look;
    options.callback_context = w;
    options.checkpoint = checkpoint;
    w->model = model_made(device, &options);
    return w->model;
}

static tamis_model *loaded_from(const char *file, const tamis_model_options *options) {
    tamis_model *model;
    works(tamis_model_load(device, file, &model));
    unlink(file);
    works(tamis_model_continue_with(model, options));
    return model;
}

static const char *stopped_after(const model_case *c, const tamis_model *model) {
    static char text[100];
    const int done = model->iterations_done;
    if (model->batches_done > 0)
        snprintf(text, sizeof text, "stopped after %d mini-batches of iteration %d of %d", (int)model->batches_done,
                 done + 1, c->options.iterations);
    else
        snprintf(text, sizeof text, "stopped after iteration %d of %d", done, c->options.iterations);
    return text;
}

/* Stopped after any call of the callback, a fit goes on to the bits of one that was not: in memory, from its
   checkpoint, and from a file that the callback wrote. */
static void resumed_is_whole(tamis_method method) {
    EACH_WAY(c, method) {
        data d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 50);
        tamis_model *const whole = model_fitted(device, &c.options, &d.view);
        watch counted = {0};
        tamis_model *const seen = watched(&c, &counted, NULL);
        works(tamis_model_fit(seen, &d.view, NULL));
        model_expect_same(c.name, seen, whole);
        assert_true(c.about.pairs ? counted.calls >= 1 : counted.iterations == c.options.iterations);
        const int calls = counted.calls;
        works(tamis_model_fit(seen, &d.view, NULL)); /* nothing is left to do */
        assert_int_equal(counted.calls, calls);
        model_expect_same(c.name, seen, whole);
        tamis_model_free(seen);
        for (int stop = 1; stop < counted.calls && !c.about.pairs; stop++) { /* of pairs there is nothing before the end */
            watch w = {.stop_at = stop}, saving = {.save_at = stop};
            tamis_model *const stopped = watched(&c, &w, path);
            assert_int_equal(tamis_model_fit(stopped, &d.view, NULL), TAMIS_ERROR_CANCELLED);
            assert_string_equal(tamis_last_error(), stopped_after(&c, stopped));
            assert_non_null(model_difference(stopped, whole));
            tamis_model *const loaded = loaded_from(path, &c.options);
            works(tamis_model_fit(stopped, &d.view, NULL));
            unlink(path);
            assert_int_equal(w.calls, counted.calls); /* nothing is done twice */
            model_expect_same(c.name, stopped, whole);
            works(tamis_model_fit(loaded, &d.view, NULL));
            model_expect_same(c.name, loaded, whole);
            tamis_model *const saved = watched(&c, &saving, NULL);
            works(tamis_model_fit(saved, &d.view, NULL));
            model_expect_same(c.name, saved, whole);
            tamis_model *const within = loaded_from(path, &c.options);
            works(tamis_model_fit(within, &d.view, NULL));
            model_expect_same(c.name, within, whole);
            tamis_model_free(stopped);
            tamis_model_free(loaded);
            tamis_model_free(saved);
            tamis_model_free(within);
        }
        tamis_model_free(whole);
        data_free(&d);
    }
}

/* A checkpoint without a folder is no end of a fit, unless the fit ends. It goes on once there is a folder, to the
   model of one that never ended. */
static void errors_are_gone_on_from(tamis_method method) {
    char inner[64], file[80];
    snprintf(inner, sizeof inner, "%s/later", folder);
    snprintf(file, sizeof file, "%s/model", inner);
    EACH_WAY(c, method) {
        data d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 51);
        tamis_model *const whole = model_fitted(device, &c.options, &d.view);
        watch w = {.stop_at = c.about.pairs ? 0 : 2};
        c.options.checkpoint_seconds = 0;
        tamis_model *const ended = watched(&c, &w, file);
        assert_int_equal(tamis_model_fit(ended, &d.view, NULL), TAMIS_ERROR_FILE);
        assert_non_null(strstr(tamis_last_error(), file));
        if (!c.about.pairs) { /* which have no checkpoint but the last */
            assert_true(w.calls == 2 && w.failure && strstr(w.failure, file));
            assert_true(ended->iterations_done < c.options.iterations);
        }
        c.options.checkpoint = file;
        works(tamis_model_continue_with(ended, &c.options));
        assert_int_equal(mkdir(inner, 0700), 0);
        works(tamis_model_fit(ended, &d.view, NULL));
        model_expect_same(c.name, ended, whole);
        unlink(file);
        rmdir(inner);
        tamis_model_free(whole);
        tamis_model_free(ended);
        data_free(&d);
    }
}

/* ------------------------------------------------------------------------------------------ the loss */

/* Methods that learn in mini-batches and yet promise a loss that never rises, or do not rise as these options are. */
static const struct steady {
    tamis_method method;
    int64_t batch_rows;
    double rate;
} steady[] = {{TAMIS_SFA, 1000, 0.02}, {TAMIS_GAP, 25, 0}};

static bool never_rises(model_case *c) {
    if (!c->about.mini_batches) return !c->about.sampled && !c->about.pairs;
    for (size_t i = 0; i < sizeof steady / sizeof *steady; i++)
        if (steady[i].method == c->about.method) {
            c->options.batch_rows = steady[i].batch_rows;
            if (steady[i].rate > 0) c->options.rate = steady[i].rate;
            return true;
        }
    return false;
}

/* Half iterations and updates make an objective smaller or leave it; what remains is the rounding of two sums, of fp32
   over a few thousand terms in blocks. The objective of implicit-als also cancels: terms of some ten times its size. Of
   other methods the loss falls in the end. And a tolerance ends a fit where the loss falls by less. */
static void loss_falls(tamis_method method) {
    EACH_WAY(c, method) {
        if (c.about.pairs || c.options.skip_loss) continue;
        const bool never = never_rises(&c);
        if (c.options.regularization == 0) c.options.regularization = c.about.data == TAMIS_DATA_USES ? 0.01 : 0.1;
        c.options.iterations = 25;
        for (uint64_t seed = 1; seed < 4; seed++) {
            data d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 60 + seed);
            watch w = {0};
            c.options.seed = seed;
            c.options.tolerance = 0;
            tamis_model *model = watched(&c, &w, NULL);
            works(tamis_model_fit(model, &d.view, NULL));
            const double share = c.options.type == TAMIS_F64 ? 1e-11 : 2e-5;
            for (int i = 1; i < 25 && never; i++)
                if (!(w.loss[i] <= w.loss[i - 1] + share * fabs(w.loss[i - 1])))
                    fail_msg("%s: the loss rose from %.12g to %.12g", c.name, w.loss[i - 1], w.loss[i]);
            assert_true(w.iterations == 25 && w.loss[24] < w.loss[0] && w.loss[24] == model->loss);
            tamis_model_free(model);
            w = (watch){0};
            c.options.tolerance = 0.02;
            model = watched(&c, &w, NULL);
            works(tamis_model_fit(model, &d.view, NULL));
            const int n = w.iterations;
            if (!(n > 1 && n < 25)) fail_msg("%s: a tolerance ends it after %d iterations", c.name, n);
            assert_true(w.loss[n - 2] - w.loss[n - 1] < 0.02 * fabs(w.loss[n - 2]));
            for (int i = 1; i < n - 1; i++) assert_true(w.loss[i - 1] - w.loss[i] >= 0.02 * fabs(w.loss[i - 1]));
            tamis_model_free(model);
            data_free(&d);
        }
    }
}

/* ------------------------------------------------------------------------------------------ nothing in the data */

static void expect_numbers(const model_case *c, tamis_model *model, const data *d) {
    const size_t size = (size_t)(d->view.rows * model->width + 1) * sizeof(double);
    double *const memory = malloc(size), *const Y = model_factors(model, false, NULL);
    assert_non_null(memory);
    const tamis_dense W = {.data = memory, .rows = d->view.rows, .cols = model->width, .type = c->options.type};
    works(tamis_model_transform(model, &d->view, &W));
    for (int64_t i = 0; i < d->view.rows * model->width; i++) {
        const double w = number(&W, i / model->width, i % model->width);
        const bool empty = d->offsets[i / model->width] == d->offsets[i / model->width + 1];
        if (!isfinite(w)) fail_msg("%s: a factor of a row is %g", c->name, w);
        if (empty && c->about.data != TAMIS_DATA_COUNTS && w != 0) fail_msg("%s: of nothing comes %g", c->name, w);
    }
    const int64_t kept = model->column_factors.rows * model->column_factors.cols;
    for (int64_t i = 0; i < kept; i++) {
        if (!isfinite(Y[i])) fail_msg("%s: a factor of a column is %g", c->name, Y[i]);
        if ((c->about.data == TAMIS_DATA_COUNTS ||
             (c->options.nonnegative && model_has_option(&c->about, "nonnegative"))) &&
            Y[i] < 0)
            fail_msg("%s: a factor is %g", c->name, Y[i]);
    }
    free(Y);
    free(memory);
}

/* No rows, nothing in any, one of each, fewer than factors: everything is a finite number, and the fit goes on. */
static void nothing_is_fitted(tamis_method method) {
    static const int64_t sizes[][2] = {{1, 1}, {0, 4}, {5, 3}, {1, 9}, {12, 1}, {2, 5}};
    EACH_WAY(c, method) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int full = 0; full < 2; full++) {
                data d = model_data(&c.about, sizes[i][0], sizes[i][1], 5);
                if (!full) {
                    memset(d.offsets, 0, (size_t)(sizes[i][0] + 1) * sizeof *d.offsets);
                    d.view.nnz = 0;
                }
                tamis_model *const model = model_fitted(device, &c.options, &d.view);
                assert_int_equal(model->iterations_done, c.options.iterations);
                expect_numbers(&c, model, &d);
                assert_true(c.about.data != TAMIS_DATA_COUNTS || c.options.skip_loss ||
                            isfinite(model->loss) == (d.view.nnz > 0));
                if (c.about.mini_batches) works(tamis_model_partial_fit(model, &d.view));
                expect_numbers(&c, model, &d);
                tamis_model_free(model);
                data_free(&d);
            }
    }
}

/* ------------------------------------------------------------------------------------------ what is refused */

/* Options that cannot be, of each method that has them; a method's own words come before those for all. */
static const struct wrong {
    const char *option, *of; /* NULL: every method */
    double value;
    const char *words;
} wrong[] = {
    {"type", NULL, TAMIS_F16, "type = fp16, models are fp32 or fp64"},
    {"weights", "implicit-als", 5, "weights = 5, expected 0 to 4"},
    {"weights", "ease", TAMIS_WEIGHTS_BM25, "weights = bm25: ease has linear, log or ones"},
    {"weights", NULL, TAMIS_WEIGHTS_AUTO, "weights = 4, expected 0 to 3"},
    {"regularization", "sfa", -1, "regularization = -1, expected a positive number, or 0 to choose it"},
    {"regularization", "sfa", NAN, "regularization = nan, expected a positive number, or 0 to choose it"},
    {"regularization", "sfa", INFINITY, "regularization = inf, expected a positive number, or 0 to choose it"},
    {"regularization", NULL, -1,
     "regularization = -1, expected a positive number, or 0 to find it by the noise of the data"},
    {"regularization", NULL, NAN,
     "regularization = nan, expected a positive number, or 0 to find it by the noise of the data"},
    {"regularization", NULL, INFINITY,
     "regularization = inf, expected a positive number, or 0 to find it by the noise of the data"},
    {"column_regularization", NULL, -0.5, "column_regularization = -0.5, expected 0 or more"},
    {"cg_steps", NULL, 0, "cg_steps = 0, expected 1 to 1000"},
    {"cg_steps", NULL, -3, "cg_steps = -3, expected 1 to 1000"},
    {"inner_rounds", NULL, 0, "inner_rounds = 0, expected 1 to 1000"},
    {"inner_rounds", NULL, 1001, "inner_rounds = 1001, expected 1 to 1000"},
    {"neighbours", NULL, 0, "neighbours = 0, expected 1 to 4096"},
    {"confidence", NULL, -2, "confidence = -2, expected 0 or more"},
    {"rate", NULL, 0, "rate = 0, expected a positive number"},
    {"rate_decay", NULL, 1.5, "rate_decay = 1.5, expected 0 to 1"},
    {"rate_decay", NULL, NAN, "rate_decay = nan, expected 0 to 1"},
    {"rate_offset", NULL, -1, "rate_offset = -1, expected 0 (which means 1) or more"},
    {"batch_rows", NULL, -1, "batch_rows = -1 is negative"},
    {"row_prior", "lda", -1, "row_prior = -1, expected 0 (1 / factors) or more"},
    {"row_prior", "gap", 0, "row_prior = 0, expected a positive number: it is the shape of a gamma distribution"},
    {"row_prior", "gap", 0.8,
     "row_prior = 0.8, expected 1 or more: with a shape below 1 the loss has no minimum, it falls without end as a "
     "factor nears 0"},
    {"column_prior", "lda", NAN, "column_prior = nan, expected 0 (1 / factors) or more"},
    {"column_prior", "gap", -3, "column_prior = -3, expected 0 (no scale) or more"},
};

static void bad_options_are_named(tamis_method method) {
    const model_case c = model_case_of(method);
    tamis_model_options o;
    tamis_model *model;
    char text[200];
#define SPOILT_OPTION(change, words) SPOILT_MADE_BY(model, o, change, ARGUMENT, words, tamis_model_create(device, &o, &model))
    works(tamis_model_options_init(&o, method));
    const int least = o.factors == 0 ? 0 : 1; /* 0: chosen */
    snprintf(text, sizeof text, "^factors = %d, expected %d to 1024$", least - 1, least);
    SPOILT_OPTION(o.factors = least - 1, text);
    SPOILT_OPTION(o.factors = 1025, "^factors = 1025, expected ");
    SPOILT_OPTION(o.iterations = -1, "^iterations = -1 is negative$");
    SPOILT_OPTION(o.threads = -1, "^threads = -1, expected 0 (the device's) to 1024$");
    SPOILT_OPTION(o.tolerance = NAN, "^tolerance = nan, expected 0 to below 1$");
    SPOILT_OPTION(o.tolerance = 1, "^tolerance = 1, expected 0 to below 1$");
    SPOILT_OPTION(o.checkpoint_seconds = -1, "^checkpoint_seconds = -1, expected 0 or more$");
    SPOILT_OPTION(o.algorithms = "a,b", "^algorithms = \"a,b\", expected one name or three$");
    SPOILT_OPTION(o.reserved_flags[4] = true, "^options.reserved_flags[4] is true: expected false$");
    SPOILT_OPTION(o.method = (tamis_method)99, "^method = 99 is not a valid method$");
    snprintf(text, sizeof text, "^iterations = 0: %s is made in its first iteration: expected 1$", c.about.name);
    if (c.about.pairs) SPOILT_OPTION(o.iterations = 0, text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct wrong *const w = &wrong[i];
        bool own = w->of && strcmp(w->of, c.about.name) == 0;
        for (size_t other = 0; other < i && !w->of; other++) /* a method may have words of its own */
            own = own || (wrong[other].of && strcmp(wrong[other].option, w->option) == 0 &&
                          strcmp(wrong[other].of, c.about.name) == 0);
        if (w->of ? !own : own || !model_takes(&c.about, w->option)) continue;
        snprintf(text, sizeof text, "^%s$", w->words);
        SPOILT_OPTION(model_set_option(&o, w->option, w->value), text);
    }
    if (model_has_option(&c.about, "maximum_a_posteriori")) {
        SPOILT_OPTION(o.maximum_a_posteriori = o.elbo = true,
                      "^elbo with maximum_a_posteriori: documents have no distributions then$");
        SPOILT_OPTION(o.maximum_a_posteriori = o.elbo = o.learn_row_prior = true,
                      "^learn_row_prior with maximum_a_posteriori: documents have no distributions then$");
    }
    if (method == TAMIS_GAP)
        SPOILT_OPTION((o.row_prior = 1.5, o.column_prior = 0), "^row_prior = 1.5 with column_prior = 0: a shape above 1 "
                                                              "needs a scale, without it the loss has no minimum$");
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

/* As many names as there are rows and columns, no fewer and no more. */
static void expect_names_counted(const model_case *c, const data *d) {
    static const int more[][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {0, 0}};
    for (int i = 0; i < 5; i++) {
        tamis_names *const rows = names_of(MODEL_ROWS + more[i][0]), *const cols = names_of(MODEL_COLS + more[i][1]);
        tamis_model *const model = model_made(device, &c->options);
        char text[80];
        works(tamis_model_set_names(model, rows, cols));
        snprintf(text, sizeof text, "^S has %d %s, the model has names for %d$", more[i][0] ? MODEL_ROWS : MODEL_COLS,
                 more[i][0] ? "rows" : "columns", more[i][0] ? MODEL_ROWS + more[i][0] : MODEL_COLS + more[i][1]);
        if (i < 4)
            REFUSED(ARGUMENT, text, tamis_model_fit(model, &d->view, NULL));
        else
            works(tamis_model_fit(model, &d->view, NULL));
        tamis_model_free(model);
        tamis_names_free(rows);
        tamis_names_free(cols);
    }
}

/* Data that cannot be are named, and leave no trace; a fit that has begun goes on with its own data alone. */
static void bad_data_are_named(tamis_method method) {
    const model_case c = model_case_of(method);
    data d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 3), other = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 4);
    tamis_model *const whole = model_fitted(device, &c.options, &d.view);
    watch w = {.stop_at = c.about.pairs ? 0 : 2};
    tamis_model *const model = watched(&c, &w, NULL);
    char text[120];
    snprintf(text, sizeof text, "^S has the value nan at row %d, column %d: expected a finite number$", (int)d.rows[7],
             (int)d.columns[7]);
    SPOILT(d.values[7], NAN, ARGUMENT, text, tamis_model_fit(model, &d.view, NULL));
    REFUSED(ARGUMENT, "^S is NULL$", tamis_model_fit(model, NULL, NULL));
    const tamis_held_out nothing = {0};
    REFUSED(ARGUMENT, "^held_out.entries is NULL$", tamis_model_fit(model, &d.view, &nothing));
    if (c.about.data == TAMIS_DATA_COUNTS)
        SPOILT(d.values[2], -1, ARGUMENT, "counts cannot be negative", tamis_model_fit(model, &d.view, NULL));
    if (!c.about.pairs) {
        assert_int_equal(tamis_model_fit(model, &d.view, NULL), TAMIS_ERROR_CANCELLED);
        REFUSED(ARGUMENT, "^S differs from the data of the first ", tamis_model_fit(model, &other.view, NULL));
    }
    works(tamis_model_fit(model, &d.view, NULL));
    model_expect_same(c.name, model, whole);
    SPOILT(d.view.cols, MODEL_COLS + 1, ARGUMENT, "^S.cols = 46, the model has 45 columns$",
           tamis_model_fit(model, &d.view, NULL));
    model_expect_same(c.name, model, whole);
    expect_names_counted(&c, &d);
    tamis_model_free(whole);
    tamis_model_free(model);
    data_free(&d);
    data_free(&other);
}

/* What the registry says of a method is what its calls do. */
static void registry_is_right(tamis_method method) {
    const model_case c = model_case_of(method);
    const bool batches = c.about.mini_batches, rows = c.about.row_factors;
    data d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 3);
    tamis_model *model = model_fitted(device, &c.options, &d.view), *copy;
    tamis_owned_dense *factors;
    int64_t columns[MODEL_FACTORS], count;
    double scores[MODEL_FACTORS];
    char text[160];
#define ONLY_IF(supported, words, ...)                                                                                 \
    do {                                                                                                               \
        snprintf(text, sizeof text, words, c.about.name);                                                              \
        if (supported)                                                                                                 \
            works(__VA_ARGS__);                                                                                        \
        else                                                                                                           \
            REFUSED(UNSUPPORTED, text, __VA_ARGS__);                                                                   \
    } while (0)
    assert_string_equal(tamis_method_name(method), c.about.name);
    tamis_method named;
    works(tamis_method_from_name(c.about.name, &named));
    assert_int_equal(named, method);
    REFUSED(ARGUMENT, "^method = \"svd\": expected als, ", tamis_method_from_name("svd", &named));
    tamis_model_description description;
    works(tamis_model_describe(model, &description));
    assert_int_equal(description.rows, rows ? MODEL_ROWS : 0);
    free(model_factors(model, false, &count));
    assert_int_equal(count, MODEL_COLS);
    assert_true(!c.about.pairs || model->width == MODEL_COLS);
    ONLY_IF(!c.about.pairs, "%s", tamis_model_topics(model, 1, columns, scores));
    ONLY_IF(rows, "^%s stores no row factors", tamis_model_similar(model, true, NULL, 1, 1, columns, scores));
    ONLY_IF(rows, "^%s stores no row factors", tamis_model_row_factors(model, &factors));
    if (rows) tamis_owned_dense_free(factors);
    ONLY_IF(rows && !batches, "^%s stores no rows that others could be put beside$",
            tamis_model_put_rows(model, &d.view, NULL));
    ONLY_IF(!batches, "^%s goes on with other data by mini-batches: tamis_model_partial_fit$",
            tamis_model_renew(model));
    ONLY_IF(batches, "^%s needs all data at once: ", tamis_model_partial_fit(model, &d.view));
    tamis_model_free(model);
    model = model_made(device, &c.options);
    REFUSED(ARGUMENT, "^the model has not been fitted yet$", tamis_model_topics(model, 1, columns, scores));
    REFUSED_MADE(copy, ARGUMENT, "^the model has not been fitted yet$", tamis_model_copy(model, &copy));
    REFUSED(ARGUMENT, "^copy = NULL: expected an address for the model$", tamis_model_copy(model, NULL));
    tamis_group *group;
    works(tamis_group_open_local(&device, 1, NULL, &group));
    ONLY_IF(c.about.groups, "^rank 0: %s cannot be fitted on a group, only ",
            tamis_model_fit_group(model, group, &d.view, NULL));
    tamis_group_close(group);
    tamis_model_free(model);
    data_free(&d);
}

/* ------------------------------------------------------------------------------------------ memory */

static int64_t allocations_of(tamis_model_options options, int iterations, const data *d) {
    options.iterations = iterations;
    tamis_model *const model = model_made(device, &options);
    const int64_t before = tamis_memory_count();
    works(tamis_model_fit(model, &d->view, NULL));
    const int64_t count = tamis_memory_count() - before;
    tamis_model_free(model);
    return count;
}

/* All memory of a fit is taken before its first iteration. */
static void iterations_allocate_nothing(tamis_method method) {
    EACH_WAY(c, method) {
        if (c.about.pairs) return; /* which are made in one iteration */
        data d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 3);
        allocations_of(c.options, 0, &d); /* the first one on a GPU compiles */
        const int64_t none = allocations_of(c.options, 0, &d), many = allocations_of(c.options, 4, &d);
        if (none != many) fail_msg("%s: 4 iterations make %d allocations, none %d", c.name, (int)many, (int)none);
        data_free(&d);
    }
}

/* Each allocation of a fit fails in turn: that status, nothing left behind, and then it can be fitted as if new. */
static void fits_survive_faults(tamis_method method) {
    if (!on_cpu()) skip_because("of the CPU alone: compiling allocates as it likes");
    EACH_WAY(c, method) {
        data d = model_data(&c.about, 23, 17, 81);
        c.options.iterations = 1;
        c.options.batch_rows = c.options.batch_rows ? 12 : 0;
        tamis_model *const whole = model_fitted(device, &c.options, &d.view);
        EACH_FAULT_OF(w, .step = test_rounds(1, 4)) {
            tamis_model *model = NULL;
            fault_begin(&w);
            tamis_status status = tamis_model_create(device, &c.options, &model);
            if (status == TAMIS_OK) status = tamis_model_fit(model, &d.view, NULL);
            fault_end(&w, status);
            if (model && status != TAMIS_OK) works(tamis_model_fit(model, &d.view, NULL));
            if (model) model_expect_same(c.name, model, whole);
            tamis_model_free(model);
        }
        tamis_model_free(whole);
        data_free(&d);
    }
}

enum { OUTPUT = MODEL_ROWS * MODEL_COLS, BEST = 3 };

/* A call on a model, and where it writes. */
typedef struct use {
    tamis_model *model, *made;
    data *d;
    tamis_dense W; /* of the data's rows */
    double numbers[OUTPUT];
    int64_t columns[OUTPUT];
} use;

static tamis_status use_transform(use *u) {
    tamis_dense W = u->W;
    W.data = u->numbers;
    return tamis_model_transform(u->model, &u->d->view, &W);
}
static tamis_status use_predict(use *u) { return tamis_model_predict(u->model, &u->W, &u->d->view, u->numbers); }
static tamis_status use_predict_own(use *u) { return tamis_model_predict(u->model, NULL, &u->d->view, u->numbers); }
static tamis_status use_recommend(use *u) {
    return tamis_model_recommend(u->model, &u->W, NULL, u->d->view.rows, &u->d->view, BEST, u->columns, u->numbers);
}
/* Seen as COO, whose rows are sorted first. */
static tamis_status use_recommend_own(use *u) {
    tamis_sparse coo = u->d->view;
    coo.format = TAMIS_COO;
    coo.row_indices = u->d->rows;
    coo.offsets = NULL;
    return tamis_model_recommend(u->model, NULL, NULL, coo.rows, &coo, BEST, u->columns, u->numbers);
}
static tamis_status use_similar(use *u) {
    return tamis_model_similar(u->model, false, NULL, u->d->view.cols, BEST, u->columns, u->numbers);
}
static tamis_status use_similar_rows(use *u) {
    return tamis_model_similar(u->model, true, NULL, u->d->view.rows, BEST, u->columns, u->numbers);
}
static tamis_status use_topics(use *u) { return tamis_model_topics(u->model, BEST, u->columns, u->numbers); }
static tamis_status use_score(use *u) {
    tamis_score score;
    return tamis_model_score(u->model, &(tamis_held_out){.entries = &u->d->view, .observed = &u->d->view}, true, BEST,
                             &score);
}
static tamis_status use_copy(use *u) { return tamis_model_copy(u->model, &u->made); }
static tamis_status use_save(use *u) { return tamis_model_save(u->model, path); }
static tamis_status use_load(use *u) { return tamis_model_load(device, path, &u->made); }
static tamis_status use_put_rows(use *u) { return tamis_model_put_rows(u->model, &u->d->view, NULL); }
static tamis_status use_renew(use *u) {
    TRY(tamis_model_renew(u->model));
    return tamis_model_fit(u->model, &u->d->view, NULL);
}
static tamis_status use_partial_fit(use *u) { return tamis_model_partial_fit(u->model, &u->d->view); }

typedef enum use_of { ALL, WITH_ROWS, WITHOUT_PAIRS, AT_ONCE, ROWS_AT_ONCE, IN_BATCHES } use_of;

static const struct {
    tamis_status (*call)(use *u);
    use_of of;
    bool changes; /* the model, also where it fails */
} uses[] = {{use_transform, ALL, false},
            {use_predict, ALL, false},
            {use_predict_own, WITH_ROWS, false},
            {use_recommend, ALL, false},
            {use_recommend_own, WITH_ROWS, false},
            {use_similar, WITHOUT_PAIRS, false},
            {use_similar_rows, WITH_ROWS, false},
            {use_topics, WITHOUT_PAIRS, false},
            {use_score, ALL, false},
            {use_copy, ALL, false},
            {use_save, ALL, false},
            {use_load, ALL, false},
            {use_put_rows, ROWS_AT_ONCE, false},
            {use_renew, AT_ONCE, true},
            {use_partial_fit, IN_BATCHES, true}};

static bool has_use(const tamis_method_description *about, use_of of) {
    switch (of) {
    case ALL: return true;
    case WITH_ROWS: return about->row_factors;
    case WITHOUT_PAIRS: return !about->pairs;
    case AT_ONCE: return !about->mini_batches;
    case ROWS_AT_ONCE: return about->row_factors && !about->mini_batches;
    case IN_BATCHES: return about->mini_batches;
    }
    return false;
}

/* Each allocation of each call fails in turn, with nothing kept from calls before and with all kept: nothing is written
   where results go, the model stays, nothing is left behind. */
static void uses_survive_faults(tamis_method method) {
    if (!on_cpu()) skip_because("of the CPU alone: compiling allocates as it likes");
    model_case c = model_case_of(method);
    data d = model_data(&c.about, 23, 17, 14);
    tamis_model *const whole = model_fitted(device, &c.options, &d.view);
    use *const u = malloc(sizeof *u);
    double *const memory = malloc(OUTPUT * sizeof *memory);
    const tamis_dense W = {.data = memory, .rows = 23, .cols = whole->width, .type = c.options.type};
    assert_true(u && memory);
    works(tamis_model_transform(whole, &d.view, &W));
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        if (!has_use(&c.about, uses[i].of)) continue;
        EACH_FAULT_OF(w, .step = test_rounds(1, 4)) {
            *u = (use){.model = model_reloaded(device, whole), .d = &d, .W = W};
            works(tamis_model_save(whole, path));
            for (int t = 0; t < OUTPUT; t++) u->numbers[t] = 77, u->columns[t] = 77;
            for (int again = 0; again < (uses[i].changes ? 1 : 2); again++) {
                const tamis_status status = FAULTY(w, uses[i].call(u));
                if (status == TAMIS_OK) {
                    tamis_model_free(u->made);
                    u->made = NULL;
                    continue;
                }
                assert_null(u->made);
                for (int t = 0; t < OUTPUT && again == 0 && c.about.data != TAMIS_DATA_USES; t++)
                    assert_true(u->numbers[t] == 77 && u->columns[t] == 77);
                if (!uses[i].changes) model_expect_same(c.name, u->model, whole);
            }
            tamis_model_free(u->model);
        }
        tamis_model *const saved = loaded_from(path, &c.options);
        model_expect_same(c.name, saved, whole);
        tamis_model_free(saved);
    }
    free(u);
    free(memory);
    tamis_model_free(whole);
    data_free(&d);
}

/* ------------------------------------------------------------------------------------------ rows by columns */

static const struct property {
    const char *name;
    void (*holds)(tamis_method method);
} properties[] = {
#define PROPERTY(name)                                                                                                 \
    { #name, name }
    PROPERTY(repeats),
    PROPERTY(threads_change_nothing),
    PROPERTY(saved_is_loaded),
    PROPERTY(resumed_is_whole),
    PROPERTY(errors_are_gone_on_from),
    PROPERTY(loss_falls),
    PROPERTY(nothing_is_fitted),
    PROPERTY(bad_options_are_named),
    PROPERTY(bad_data_are_named),
    PROPERTY(registry_is_right),
    PROPERTY(iterations_allocate_nothing),
    PROPERTY(fits_survive_faults),
    PROPERTY(uses_survive_faults),
};
enum { PROPERTIES = (int)(sizeof properties / sizeof *properties), METHODS_MOST = 32 };

static struct pair {
    const struct property *property;
    tamis_method method;
    char name[64];
    test_row row;
} pairs[PROPERTIES * METHODS_MOST];

static void run_pair(void **state) {
    const struct pair *const p = *state;
    p->property->holds(p->method);
}

/* Each property of each method is a test of its own: "resumed_is_whole of lda". */
__attribute__((constructor)) static void register_pairs(void) {
    for (int m = 0; m < tamis_method_count() && m < METHODS_MOST; m++)
        for (int i = 0; i < PROPERTIES; i++) {
            struct pair *const p = &pairs[m * PROPERTIES + i];
            tamis_method_description about;
            (void)tamis_method_at(m, &about);
            p->property = &properties[i];
            p->method = about.method;
            snprintf(p->name, sizeof p->name, "%s of %s", properties[i].name, about.name);
            p->row = (test_row){.path = TEST_PATH,
                                .line = __LINE__ + m * PROPERTIES + i,
                                .tag = properties[i].holds == threads_change_nothing ? "several" : NULL,
                                .test = {.name = p->name, .test_func = run_pair, .initial_state = p}};
            test_register(&p->row);
        }
}

static int64_t live;

static int set_up(void **state) {
    (void)state;
    live = tamis_memory_live();
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/model", folder);
    return tamis_device_open(device_name, &device) != TAMIS_OK;
}

static int tear_down(void **state) {
    (void)state;
    tamis_device_close(device);
    unlink(path);
    return rmdir(folder) != 0 || (on_cpu() && tamis_memory_live() != live);
}

/* Under ThreadSanitizer only what several threads do. */
#ifdef __SANITIZE_THREAD__
static const char *const tag = "several";
#else
static const char *const tag = NULL;
#endif

TEST_RUN() {
    if (!named_device_is_here(argc, argv, &device_name)) return 77;
    return test_run(device_name, tag, set_up, tear_down);
}
