/*
 * What fitting takes from memory: all of it before the first iteration, for every method, so that a fit of many
 * iterations makes as many allocations as one of none; and a model saved within a pass, which is that of a fit that was
 * stopped there, whatever of it was still on the device; and a pass that an error ended.
 *   test_ml_memory [DEVICE]
 */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tamis/ml.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "named_device.h"
#include "support/brief.h"
#include "support/works.h"

enum { ROWS = 70, COLS = 45, NNZ_MOST = ROWS * COLS };

static const char *device_name = "cpu";
static tamis_device *device;
static int64_t offsets[ROWS + 1];
static int32_t columns[NNZ_MOST];
static float values[NNZ_MOST];
static tamis_sparse S;

/* Whole numbers from 1 to 5, which are ratings, uses and counts alike. */
static void draw(void) {
    int64_t nnz = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < COLS && i % 11 != 4; j++) {
            const uint64_t place = (uint64_t)(i * COLS + j);
            if (tamis_random_uniform_at(3, 1, place) >= 0.3) continue;
            columns[nnz] = (int32_t)j;
            values[nnz++] = (float)(1 + (int)(5 * tamis_random_uniform_at(3, 2, place)));
        }
        offsets[i + 1] = nnz;
    }
    S = (tamis_sparse){.rows = ROWS,
                       .cols = COLS,
                       .nnz = nnz,
                       .offset_type = TAMIS_I64,
                       .offsets = offsets,
                       .columns = columns,
                       .values = values};
}

static tamis_model *model_of(const tamis_model_options *options) {
    tamis_model *model;
    works(tamis_model_create(device, options, &model));
    return model;
}

/* ------------------------------------------------------------------------------------------ allocations */

static int64_t allocations_of(tamis_model_options options, int iterations) {
    options.iterations = iterations;
    tamis_model *const model = model_of(&options);
    const int64_t before = tamis_memory_count();
    works(tamis_model_fit(model, &S, NULL));
    const int64_t count = tamis_memory_count() - before;
    tamis_model_free(model);
    return count;
}

/* Each method in its ways: bit 0 of `way` more of what it may do, bit 1 mini-batches, bit 2 no loss, bit 3 fp64. */
TEST(iterations_allocate_nothing) {
    for (int method = TAMIS_ALS; method <= TAMIS_GAP; method++)
        for (int way = 0; way < 16; way += test_rounds(1, 5)) {
            tamis_model_options options;
            works(tamis_model_options_init(&options, (tamis_method)method));
            options.factors = 6;
            options.biases = options.nonnegative = options.maximum_a_posteriori = way & 1;
            if (method == TAMIS_GAP && way & 1) {
                options.row_prior = 1.5;
                options.column_prior = 2;
            }
            options.batch_rows = way & 2 ? 17 : 0;
            options.skip_loss = way & 4;
            options.type = way & 8 ? TAMIS_F64 : TAMIS_F32;
            if (way & 1 && method <= TAMIS_CCD) options.regularization = 0; /* by the noise */
            allocations_of(options, 0);                                     /* the first one on a GPU compiles */
            const int64_t none = allocations_of(options, 0), many = allocations_of(options, 4);
            if (none != many)
                fail_msg("%s, way %d: 4 iterations make %lld allocations, none %lld",
                         tamis_method_name((tamis_method)method), way, (long long)many, (long long)none);
        }
}

/* ------------------------------------------------------------------------------------------ saved within a pass */

typedef struct watch {
    tamis_model *model;
    const char *path; /* the model is saved there after `calls` calls */
    int calls, stop_after;
} watch;

static bool look(void *context, const tamis_iteration *iteration) {
    watch *const w = context;
    (void)iteration;
    w->calls++;
    if (w->path && w->calls == 6) works(tamis_model_save(w->model, w->path));
    return w->calls != w->stop_after;
}

static char *content_of(const char *path, size_t *bytes) {
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    char *const content = malloc(1 << 20);
    assert_non_null(content);
    *bytes = fread(content, 1, 1 << 20, file);
    fclose(file);
    return content;
}

static void same_files(const char *a, const char *b) {
    size_t sizes[2];
    char *const contents[] = {content_of(a, &sizes[0]), content_of(b, &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(contents[0], contents[1], sizes[0]);
    for (int i = 0; i < 2; i++) free(contents[i]);
}

/* Five mini-batches a pass: the sixth call comes after the first of the second pass. */
TEST(saving_within_a_pass) {
    static const tamis_method methods[] = {TAMIS_LDA, TAMIS_SFA, TAMIS_GAP};
    char folder[] = "/tmp/tamis-test-XXXXXX", paths[3][64];
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 3; i++) snprintf(paths[i], sizeof paths[i], "%s/%d.model", folder, i);
    for (int m = 0; m < 3; m++) {
        watch w = {.path = paths[0]};
        tamis_model_options options;
        works(tamis_model_options_init(&options, methods[m]));
        options.factors = 5;
        options.iterations = 2; /* the pass that is gone on with is the last: its loss is the model's */
        options.batch_rows = 15;
        options.callback = look;
        options.callback_context = &w;
        tamis_model *const whole = w.model = model_of(&options);
        works(tamis_model_fit(whole, &S, NULL));
        assert_true(w.calls > 6);
        w = (watch){.stop_after = 6};
        tamis_model *const stopped = model_of(&options);
        assert_int_equal(tamis_model_fit(stopped, &S, NULL), TAMIS_ERROR_CANCELLED);
        works(tamis_model_save(stopped, paths[1]));
        tamis_model *loaded[2];
        tamis_model_description ends[3];
        works(tamis_model_describe(whole, &ends[2]));
        for (int i = 0; i < 2; i++) {
            works(tamis_model_load(device, paths[i], &loaded[i]));
            works(tamis_model_fit(loaded[i], &S, NULL));
            works(tamis_model_describe(loaded[i], &ends[i]));
            assert_true(ends[i].loss == ends[2].loss); /* to the bit */
            works(tamis_model_save(loaded[i], paths[i]));
        }
        works(tamis_model_save(whole, paths[2]));
        same_files(paths[0], paths[1]);
        same_files(paths[0], paths[2]);
        for (int i = 0; i < 2; i++) tamis_model_free(loaded[i]);
        tamis_model_free(whole);
        tamis_model_free(stopped);
    }
    for (int i = 0; i < 3; i++) unlink(paths[i]);
    rmdir(folder);
}

static bool goes_on(void *context, const tamis_iteration *iteration) {
    const char **const failure = context;
    if (iteration->checkpoint_failure) *failure = iteration->checkpoint_failure;
    return iteration->batch < 2;
}

/* A checkpoint without a folder is no end of a pass, unless the callback is. It goes on once there is a folder, to the
   loss of one that never ended. */
TEST(going_on_after_an_error) {
    static const tamis_method methods[] = {TAMIS_LDA, TAMIS_SFA, TAMIS_GAP};
    char folder[] = "/tmp/tamis-test-XXXXXX", inner[64], path[96];
    assert_non_null(mkdtemp(folder));
    snprintf(inner, sizeof inner, "%s/later", folder);
    snprintf(path, sizeof path, "%s/model", inner);
    for (int m = 0; m < 3; m++) {
        tamis_model_options options;
        works(tamis_model_options_init(&options, methods[m]));
        options.factors = 5;
        options.iterations = 1;
        options.batch_rows = 15;
        tamis_model *const whole = model_of(&options);
        works(tamis_model_fit(whole, &S, NULL));
        options.checkpoint = path;
        options.checkpoint_seconds = 0;
        const char *failure = NULL;
        options.callback = goes_on;
        options.callback_context = &failure;
        tamis_model *const ended = model_of(&options);
        assert_int_equal(tamis_model_fit(ended, &S, NULL), TAMIS_ERROR_FILE);
        assert_non_null(strstr(tamis_last_error(), path));
        assert_non_null(failure); /* it went on after the first mini-batch, */
        assert_non_null(strstr(failure, path));
        tamis_model_description stopped;
        works(tamis_model_describe(ended, &stopped));
        assert_int_equal(stopped.iterations_done, 0); /* and not after the second */
        options.callback = NULL;
        works(tamis_model_continue_with(ended, &options));
        assert_int_equal(mkdir(inner, 0700), 0);
        works(tamis_model_fit(ended, &S, NULL));
        tamis_model_description ends[2];
        works(tamis_model_describe(whole, &ends[0]));
        works(tamis_model_describe(ended, &ends[1]));
        if (!(ends[0].loss == ends[1].loss))
            fail_msg("%s: %.9g, undisturbed %.9g", tamis_method_name(methods[m]), ends[1].loss, ends[0].loss);
        tamis_model_free(whole);
        tamis_model_free(ended);
        unlink(path);
        rmdir(inner);
    }
    rmdir(folder);
}

static int64_t live;

static int set_up(void **state) {
    (void)state;
    draw();
    live = tamis_memory_live();
    return tamis_device_open(device_name, &device) != TAMIS_OK;
}

static int tear_down(void **state) {
    (void)state;
    tamis_device_close(device);
    return strcmp(device_name, "cpu") == 0 && tamis_memory_live() != live;
}

TEST_RUN() {
    if (!named_device_is_here(argc, argv, &device_name)) return 77;
    return test_run(device_name, NULL, set_up, tear_down);
}
