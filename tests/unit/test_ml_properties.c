/*
 * Properties of every model of the registry: each is a test of each method, walked through the ways that its
 * options allow (model_rows.h). A method that is added is tested without a line here.
 *   test_ml_properties [DEVICE]
 */
#include "ml_properties.h"

#include <sys/stat.h>
#include <unistd.h>

#include "named_device.h"

tamis_device *properties_on;
char properties_path[64];
static const char *device_name = "cpu";
static char folder[] = "/tmp/tamis-properties-XXXXXX";

bool properties_on_cpu(void) { return strcmp(device_name, "cpu") == 0; }

/* ------------------------------------------------------------------------------------------ the same again */

/* The same options, data, properties_on and threads give the same bits; another seed gives others, where there is
 * chance. */
static void repeats(tamis_method method) {
    EACH_WAY(c, method) {
        OWN(data) d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 72);
        OWN(tamis_model) *const first = model_fitted(properties_on, &c.options, &d.view);
        OWN(tamis_model) *const again = model_fitted(properties_on, &c.options, &d.view);
        model_expect_same(c.name, again, first);
        c.options.seed = 2;
        OWN(tamis_model) *const other = model_fitted(properties_on, &c.options, &d.view);
        other->options.seed = 1;
        if ((model_difference(other, first) == NULL) != c.about.pairs) fail_msg("%s: the seed is not used", c.name);
    }
}

/* The numbers of a model: what it makes of the data's rows, and its factors of columns, where these are no places. */
static double *numbers_of(tamis_model *model, const data *d, int64_t *count) {
    const int64_t of_rows = d->view.rows * model->width, of_cols = model->method->about.pairs ? 0 : d->view.cols;
    double *const numbers = malloc((size_t)(of_rows + of_cols * model->width + 1) * sizeof *numbers);
    OWN(double) *const Y = model_factors(model, false, NULL), *const W = model_transformed(model, &d->view);
    memcpy(numbers, W, (size_t)of_rows * sizeof *W);
    memcpy(numbers + of_rows, Y, (size_t)(of_cols * model->width) * sizeof *Y);
    *count = of_rows + of_cols * model->width;
    return numbers;
}

static double apart(const double *x, const double *y, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(x[i] - y[i]));
    return most;
}

/* How far the numbers go when each value of the data is off by about one rounding, up or down. */
static double moved(const model_case *c, const data *d, const double *still) {
    OWN(double) *const new = malloc((size_t)d->view.nnz * sizeof *new);
    double *const old = d->values, most = 0;
    const double unit = c->options.type == TAMIS_F64 ? 0x1p-52 : 0x1p-23;
    data other = *d;
    other.values = new;
    other.view.values = new;
    for (uint64_t seed = 1; seed < 4; seed++) {
        int64_t count;
        for (int64_t t = 0; t < d->view.nnz; t++)
            new[t] = old[t] * (1 + (tamis_random_at(seed, 1, (uint64_t)t) % 2 ? unit : -unit));
        OWN(tamis_model) *const model = model_fitted(properties_on, &c->options, &other.view);
        OWN(double) *const numbers = numbers_of(model, &other, &count);
        most = fmax(most, apart(numbers, still, count));
    }
    return most;
}

/*
 * On the CPU any number of threads gives the same model: to the bit, where samples are drawn; else but for rounding.
 * Another order of sums has rounding errors of the same size in other places, at each step: eight times the most that a
 * rounding of each value was seen to do, and a few of the largest number.
 */
static void threads_change_nothing(tamis_method method) {
    if (!properties_on_cpu()) skip_because("threads are the CPU's");
    EACH_WAY(c, method) {
        OWN(data) d = model_data(&c.about, MODEL_ROWS, 3 * MODEL_COLS, 6);
        for (int64_t t = 0; t < d.view.nnz; t++) d.values[t] += 0.001 * (double)t; /* no two sums tie */
        int64_t count;
        OWN(tamis_model) *const first = model_fitted(properties_on, &c.options, &d.view);
        double *const still = numbers_of(first, &d, &count), largest = 0;
        for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs(still[i]));
        const double few = 32 * (c.options.type == TAMIS_F64 ? 0x1p-53 : 0x1p-24) * largest;
        /* models of documents find the rows that are compared here by products, whose order of sums threads may change
         */
        const bool exact = c.about.sampled, folded = c.about.data == TAMIS_DATA_COUNTS;
        OWN(double) *const columns = model_factors(first, false, NULL);
        const double allowed = exact && !folded ? 0 : 8 * moved(&c, &d, still) + few;
        for (int threads = 2; threads < 8; threads += 3) {
            c.options.threads = threads;
            OWN(tamis_model) *const other = model_fitted(properties_on, &c.options, &d.view);
            OWN(tamis_model) *const again = model_fitted(properties_on, &c.options, &d.view);
            model_expect_same(c.name, again, other);
            OWN(double) *const others = model_factors(other, false, NULL);
            if (exact && apart(others, columns, other->cols * other->width) > 0)
                fail_msg("%s: %d threads make another model", c.name, threads);
            OWN(double) *const numbers = numbers_of(other, &d, &count);
            const double off = apart(numbers, still, count);
            if (!(off <= allowed)) fail_msg("%s: %d threads are off by %g, allowed %g", c.name, threads, off, allowed);
        }
        free(still);
    }
}

/* A file has the whole model: what is loaded is the same, says the same, and gives the same file; a copy does, too. */
static void saved_is_loaded(tamis_method method) {
    EACH_WAY(c, method) {
        OWN(data) d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 77);
        OWN(tamis_model) *const model = model_fitted(properties_on, &c.options, &d.view), *copy;
        OWN(tamis_model) *const loaded = model_reloaded(properties_on, model);
        model_expect_same(c.name, loaded, model);
        model_expect_answers(c.name, loaded, model, &d);
        works(tamis_model_copy(model, &copy));
        model_expect_same(c.name, copy, model);
        OWN(file_content) one = model_bytes(model), two = model_bytes(loaded), three = model_bytes(copy);
        assert_true(one.size == two.size && one.size == three.size);
        assert_memory_equal(one.data, two.data, one.size);
        assert_memory_equal(one.data, three.data, one.size);
    }
}

/* ------------------------------------------------------------------------------------------ stopping and going on */

static bool look(void *context, const tamis_iteration *iteration) {
    watch *const w = context;
    if (iteration->iteration == 0) {
        assert_true(iteration->batch == ++w->steps && iteration->batches == 0);
        return w->steps != w->stop_at_step;
    }
    w->calls++;
    assert_true(iteration->seconds >= 0 && iteration->sddmm_share >= 0 && iteration->fused_share >= 0);
    assert_true(iteration->batches == 0 || (iteration->batch > 0 && iteration->batch <= iteration->batches));
    if (iteration->batch == iteration->batches && w->iterations < 64) w->loss[w->iterations++] = iteration->loss;
    if (iteration->checkpoint_failure) w->failure = iteration->checkpoint_failure;
    if (w->calls == w->save_at) works(tamis_model_save(w->model, properties_path));
    return w->calls != w->stop_at;
}

tamis_model *model_watched(const model_case *c, watch *w, const char *checkpoint) {
    tamis_model_options options = c->options;
    options.callback = look;
    options.callback_context = w;
    options.checkpoint = checkpoint;
    w->model = model_made(properties_on, &options);
    return w->model;
}

tamis_model *model_loaded_from(const char *file, const tamis_model_options *options) {
    tamis_model *model;
    works(tamis_model_load(properties_on, file, &model));
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
        OWN(data) d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 50);
        OWN(tamis_model) *const whole = model_fitted(properties_on, &c.options, &d.view);
        watch counted = {0};
        tamis_model *const seen = model_watched(&c, &counted, NULL);
        works(tamis_model_fit(seen, &d.view, NULL));
        model_expect_same(c.name, seen, whole);
        assert_true(c.about.pairs ? counted.calls >= 1 : counted.iterations == c.options.iterations);
        const int calls = counted.calls;
        works(tamis_model_fit(seen, &d.view, NULL)); /* nothing is left to do */
        assert_int_equal(counted.calls, calls);
        model_expect_same(c.name, seen, whole);
        tamis_model_free(seen);
        for (int stop = 1; stop < counted.calls && !c.about.pairs;
             stop++) { /* of pairs there is nothing before the end */
            watch w = {.stop_at = stop}, saving = {.save_at = stop};
            OWN(tamis_model) *const stopped = model_watched(&c, &w, properties_path);
            assert_int_equal(tamis_model_fit(stopped, &d.view, NULL), TAMIS_ERROR_CANCELLED);
            assert_string_equal(tamis_last_error(), stopped_after(&c, stopped));
            assert_non_null(model_difference(stopped, whole));
            OWN(tamis_model) *const loaded = model_loaded_from(properties_path, &c.options);
            works(tamis_model_fit(stopped, &d.view, NULL));
            unlink(properties_path);
            assert_int_equal(w.calls, counted.calls); /* nothing is done twice */
            model_expect_same(c.name, stopped, whole);
            works(tamis_model_fit(loaded, &d.view, NULL));
            model_expect_same(c.name, loaded, whole);
            OWN(tamis_model) *const saved = model_watched(&c, &saving, NULL);
            works(tamis_model_fit(saved, &d.view, NULL));
            model_expect_same(c.name, saved, whole);
            OWN(tamis_model) *const within = model_loaded_from(properties_path, &c.options);
            works(tamis_model_fit(within, &d.view, NULL));
            model_expect_same(c.name, within, whole);
        }
    }
}

/* A fit that is stopped while it chooses has no model, and chooses anew. */
static void choices_are_stopped(tamis_method method) {
    EACH_WAY(c, method) {
        OWN(data) d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 52);
        OWN(tamis_model) *const whole = model_fitted(properties_on, &c.options, &d.view);
        watch counted = {0};
        OWN(tamis_model) *const seen = model_watched(&c, &counted, NULL);
        works(tamis_model_fit(seen, &d.view, NULL));
        for (int stop = 1; stop <= counted.steps; stop += 1 + counted.steps / 4) {
            watch w = {.stop_at_step = stop};
            OWN(tamis_model) *const model = model_watched(&c, &w, NULL);
            assert_int_equal(tamis_model_fit(model, &d.view, NULL), TAMIS_ERROR_CANCELLED);
            assert_string_equal(tamis_last_error(), "stopped while options were chosen: there is no model yet");
            assert_int_equal(w.calls, 0);
            w = (watch){.model = model};
            works(tamis_model_fit(model, &d.view, NULL));
            assert_int_equal(w.steps, counted.steps);
            model_expect_same(c.name, model, whole);
        }
    }
}

/* A checkpoint without a folder is no end of a fit, unless the fit ends. It goes on once there is a folder, to the
   model of one that never ended. */
static void errors_are_gone_on_from(tamis_method method) {
    char inner[64], file[80];
    snprintf(inner, sizeof inner, "%s/later", folder);
    snprintf(file, sizeof file, "%s/model", inner);
    EACH_WAY(c, method) {
        OWN(data) d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 51);
        OWN(tamis_model) *const whole = model_fitted(properties_on, &c.options, &d.view);
        watch w = {.stop_at = c.about.pairs ? 0 : 2};
        c.options.checkpoint_seconds = 0;
        OWN(tamis_model) *const ended = model_watched(&c, &w, file);
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
            OWN(data) d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 60 + seed);
            watch w = {0};
            c.options.seed = seed;
            c.options.tolerance = 0;
            OWN(tamis_model) *const model = model_watched(&c, &w, NULL);
            works(tamis_model_fit(model, &d.view, NULL));
            const double share = c.options.type == TAMIS_F64 ? 1e-11 : 2e-5;
            for (int i = 1; i < 25 && never; i++)
                if (!(w.loss[i] <= w.loss[i - 1] + share * fabs(w.loss[i - 1])))
                    fail_msg("%s: the loss rose from %.12g to %.12g", c.name, w.loss[i - 1], w.loss[i]);
            assert_true(w.iterations == 25 && w.loss[24] < w.loss[0] && w.loss[24] == model->loss);
            w = (watch){0};
            c.options.tolerance = 0.02;
            OWN(tamis_model) *const tolerant = model_watched(&c, &w, NULL);
            works(tamis_model_fit(tolerant, &d.view, NULL));
            const int n = w.iterations;
            if (!(n > 1 && n < 25)) fail_msg("%s: a tolerance ends it after %d iterations", c.name, n);
            assert_true(w.loss[n - 2] - w.loss[n - 1] < 0.02 * fabs(w.loss[n - 2]));
            for (int i = 1; i < n - 1; i++) assert_true(w.loss[i - 1] - w.loss[i] >= 0.02 * fabs(w.loss[i - 1]));
        }
    }
}

/* ------------------------------------------------------------------------------------------ nothing in the data */

static void expect_numbers(const model_case *c, tamis_model *model, const data *d) {
    OWN(double) *const W = model_transformed(model, &d->view), *const Y = model_factors(model, false, NULL);
    for (int64_t i = 0; i < d->view.rows * model->width; i++) {
        const double w = W[i];
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
}

/* No rows, nothing in any, one of each, fewer than factors: everything is a finite number, and the fit goes on. */
static void nothing_is_fitted(tamis_method method) {
    static const int64_t sizes[][2] = {{1, 1}, {0, 4}, {5, 3}, {1, 9}, {12, 1}, {2, 5}};
    EACH_WAY(c, method) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int full = 0; full < 2; full++) {
                OWN(data) d = model_data(&c.about, sizes[i][0], sizes[i][1], 5);
                if (!full) {
                    memset(d.offsets, 0, (size_t)(sizes[i][0] + 1) * sizeof *d.offsets);
                    d.view.nnz = 0;
                }
                OWN(tamis_model) *const model = model_fitted(properties_on, &c.options, &d.view);
                assert_int_equal(model->iterations_done, c.options.iterations);
                expect_numbers(&c, model, &d);
                assert_true(c.about.data != TAMIS_DATA_COUNTS || c.options.skip_loss ||
                            isfinite(model->loss) == (d.view.nnz > 0));
                if (c.about.mini_batches) works(tamis_model_partial_fit(model, &d.view));
                expect_numbers(&c, model, &d);
            }
    }
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
    PROPERTY(choices_are_stopped),
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
    if (tamis_method_count() > METHODS_MOST) abort(); /* some would not be tested */
    for (int m = 0; m < tamis_method_count(); m++)
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
    live = tamis_memory_live();
    if (!mkdtemp(folder)) return -1;
    snprintf(properties_path, sizeof properties_path, "%s/model", folder);
    return tamis_device_open(device_name, &properties_on) != TAMIS_OK;
}

static int tear_down(void **state) {
    tamis_device_close(properties_on);
    unlink(properties_path);
    return rmdir(folder) != 0 || (properties_on_cpu() && tamis_memory_live() != live);
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
