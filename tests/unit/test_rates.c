/*
 * Rates of predictions: a made-up chip's, which the steps of docs/manual/new-chip.md fit from its times and keep; and
 * files that are damaged, cut short, of another version or another machine.
 */
#include "support/test.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tamis/cache.h>
#include <tamis/ceilings.h>
#include <tamis/generate.h>
#include <tamis/version.h>
#include <unistd.h>

#include "cpu/backend.h"
#include "select/device_key.h"
#include "small.h"
#include "support/bytes.h"

static tamis_device *device;
static char folder[] = "/tmp/tamis-rates-XXXXXX", site[64];

enum { MATRICES = 12, WIDTHS = 2, TEXT = 1 << 18 };
static const char *const algorithms[] = {"cpu-nonzeros", "cpu-tiled", "cpu-panels"};
enum { ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };

static tamis_owned_sparse *matrix_of(int number) {
    static const tamis_kind kinds[] = {TAMIS_KIND_UNIFORM, TAMIS_KIND_RMAT, TAMIS_KIND_FEM, TAMIS_KIND_BANDED};
    tamis_owned_sparse *matrix;
    tamis_generate_options o = TAMIS_GENERATE_OPTIONS_INIT;
    o.kind = kinds[number % 4];
    o.rows = 300 * (1 + number);
    o.nnz = o.rows * (5 + 11 * (number % 3));
    o.seed = 5;
    o.value_type = TAMIS_F32;
    works(tamis_generate(&o, &matrix));
    return matrix;
}

static double predicted(const tamis_sparse *S, tamis_operation operation, int64_t width, const char *algorithm,
                        tamis_plan **plan) {
    tamis_plan_report report;
    const bool spmm = operation == TAMIS_OP_SPMM;
    tamis_options o = options_for(operation, spmm ? 0 : width, spmm ? width : 0);
    o.algorithm = algorithm;
    works(tamis_plan_create(device, S, &o, plan));
    works(tamis_plan_describe(*plan, &report));
    return report.predicted_seconds;
}

/* Adds all algorithms' times on all matrices: what this device's rates predict. */
static void add_predictions(tamis_timings *timings) {
    for (int m = 0; m < MATRICES; m++) {
        tamis_owned_sparse *const matrix = matrix_of(m);
        const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
        for (int i = 0; i < 2 * WIDTHS * ALGORITHMS; i++) {
            char label[64];
            tamis_plan *plan;
            const int64_t width = i / 2 % WIDTHS ? 200 : 24;
            const double seconds =
                predicted(S, i % 2 ? TAMIS_OP_SPMM : TAMIS_OP_SDDMM, width, algorithms[i / (2 * WIDTHS)], &plan);
            snprintf(label, sizeof label, "matrix %d, %s, K = %lld", m, i % 2 ? "spmm" : "sddmm", (long long)width);
            assert_int_equal(tamis_timings_has(timings, label), i >= 2 * WIDTHS);
            works(tamis_timings_add(timings, label, plan, seconds));
            assert_true(tamis_timings_has(timings, label));
            tamis_plan_destroy(plan);
        }
        tamis_owned_sparse_free(matrix);
    }
}

/* The usual plan's time, which tells whose rates predict. */
static double usual(void) {
    tamis_plan *plan;
    tamis_owned_sparse *const matrix = matrix_of(1);
    const double seconds = predicted(tamis_owned_sparse_view(matrix), TAMIS_OP_SDDMM, 200, "cpu-nonzeros", &plan);
    tamis_plan_destroy(plan);
    tamis_owned_sparse_free(matrix);
    return seconds;
}

static void assert_rates_are(const char *words) {
    char text[160];
    size_t needed;
    works(tamis_device_rates(device, text, sizeof text, &needed));
    assert_int_equal(needed, strlen(text) + 1);
    if (!strstr(text, words)) fail_msg("no \"%s\" in \"%s\"", words, text);
}

static bool near_to(double x, double y) { return fabs(log(x / y)) < 1e-3; }

static void path_of(const char *in, int threads, char *path, size_t bytes) {
    char key[TAMIS_DEVICE_KEY], name[TAMIS_DEVICE_FILE];
    assert_true(tamis_device_key(&tamis_cpu_backend, 0, threads, key));
    tamis_device_file("rates-", key, name);
    snprintf(path, bytes, "%s/%s", in, name);
}

/* Replaces the first `from` in a text of at most TEXT bytes. */
static void replace(char *text, const char *from, const char *to) {
    static char rest[TEXT];
    char *const at = strstr(text, from);
    assert_non_null(at);
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    snprintf(at, (size_t)(text + TEXT - at), "%s%s", to, rest);
}

/* Makes a rate `times` as large. */
static void multiply(char *text, const char *name, double times) {
    char from[64], to[96];
    char *const at = strstr(text, name);
    assert_non_null(at);
    snprintf(from, sizeof from, "%.*s", (int)strcspn(at, ","), at);
    snprintf(to, sizeof to, "%s%.6g", name, times * strtod(at + strlen(name), NULL));
    replace(text, from, to);
}

/* Makes the file of the made-up chip in the site's folder, from the rates that are kept, and forgets these. */
static void make_site(void) {
    static char text[TEXT];
    char path[512], in[128];
    snprintf(in, sizeof in, "%s/tamis", folder);
    path_of(in, 1, path, sizeof path);
    OWN(file_content) file = read_bytes(path);
    snprintf(text, sizeof text, "%.*s", (int)file.size, (const char *)file.data);
    multiply(text, ".dots.products = ", 4);
    multiply(text, ".sums.row = ", 6);
    multiply(text, ".panels.alone = ", 0.05);
    multiply(text, ".panels.dots = ", 0.2);
    multiply(text, ".panels.run = ", 0.1);
    works(tamis_device_forget_rates(device));
    assert_int_equal(mkdir(site, 0700), 0);
    path_of(site, 1, path, sizeof path);
    write_bytes(path, text, strlen(text));
}

TEST(a_new_chip_is_added_by_its_timings) {
    static char text[TEXT], again[TEXT];
    tamis_timings *timings;
    tamis_fit fit;
    size_t needed;
    const double before = usual();
    assert_rates_are("built in for ");
    works(tamis_timings_create(device, &timings));
    add_predictions(timings);
    works(tamis_timings_fit(timings, &fit)); /* the rates that made the times are the best */
    assert_int_equal(fit.before.cases, 2 * MATRICES * WIDTHS);
    assert_true(fit.rates >= 8 && fit.before.error < 1e-6 && fit.after.error < 0.02 && fit.after.mean < 1.01);
    works(tamis_timings_keep(timings));
    assert_rates_are("fitted to this device");
    tamis_timings_destroy(timings);
    make_site();
    assert_true(near_to(usual(), before));
    setenv("TAMIS_CEILINGS", site, 1);
    works(tamis_device_forget_rates(device)); /* and read the site's */
    assert_rates_are("fitted to this device, from the folder TAMIS_CEILINGS");
    const double there = usual();
    assert_true(there > 1.3 * before);
    works(tamis_timings_create(device, &timings));
    add_predictions(timings); /* the made-up chip's times */
    works(tamis_timings_write(timings, text, sizeof text, &needed));
    tamis_timings_destroy(timings);
    assert_int_equal(needed, strlen(text) + 1);
    unsetenv("TAMIS_CEILINGS");
    works(tamis_device_forget_rates(device));
    assert_true(near_to(usual(), before));

    works(tamis_timings_create(device, &timings));
    works(tamis_timings_read(timings, text, "a text"));
    works(tamis_timings_write(timings, again, sizeof again, NULL));
    assert_string_equal(text, again);
    works(tamis_timings_fit(timings, &fit));
    assert_true(fit.before.error > 0.5 && fit.crossed.error < 0.4 && fit.after.error < 0.15);
    assert_true(fit.before.mean > 1.1 && fit.crossed.mean < 1.02 && fit.after.mean < 1.01);
    assert_true(near_to(usual(), before)); /* until they are kept */
    works(tamis_timings_keep(timings));
    assert_true(fabs(log(usual() / there)) < 0.1);
    works(tamis_timings_export(timings, text, sizeof text, &needed));
    assert_non_null(strstr(text, ".dots.products = "));
    tamis_timings_destroy(timings);
    setenv("TAMIS_PROBE", "0", 1);
    assert_false(fabs(log(usual() / there)) < 0.1); /* the built-in ones */
    assert_rates_are("with TAMIS_PROBE=0");
    unsetenv("TAMIS_PROBE");
    works(tamis_device_forget_rates(device));
    assert_true(near_to(usual(), before));
}

/* ------------------------------------------------------------------------------------------ files */

/* Copies the file of one thread, with a fault, to another number of threads. True if its rates predict there. */
static bool counts_after_copy(int other, const char *from, const char *to, size_t bytes) {
    static char copy[TEXT];
    char key[TAMIS_DEVICE_KEY], other_key[TAMIS_DEVICE_KEY], path[512], in[128];
    snprintf(in, sizeof in, "%s/tamis", folder);
    assert_true(tamis_device_key(&tamis_cpu_backend, 0, 1, key));
    assert_true(tamis_device_key(&tamis_cpu_backend, 0, other, other_key));
    path_of(in, 1, path, sizeof path);
    OWN(file_content) file = read_bytes(path);
    snprintf(copy, sizeof copy, "%.*s", (int)file.size, (const char *)file.data);
    replace(copy, key, other_key);
    if (from) replace(copy, from, to);
    path_of(in, other, path, sizeof path);
    write_bytes(path, copy, bytes > 0 ? bytes : strlen(copy));
    works(tamis_device_set_threads(device, other));
    char rates[160];
    works(tamis_device_rates(device, rates, sizeof rates, NULL));
    return strcmp(rates, "fitted to this device") == 0;
}

TEST(damaged_files_count_as_absent) {
    tamis_timings *timings;
    tamis_fit fit;
    int64_t removed = 0;
    works(tamis_device_set_threads(device, 1));
    works(tamis_timings_create(device, &timings));
    add_predictions(timings);
    works(tamis_timings_fit(timings, &fit));
    works(tamis_timings_keep(timings));
    tamis_timings_destroy(timings);
    setenv("TAMIS_CEILINGS", "/proc/none", 1);
    assert_true(counts_after_copy(3, NULL, NULL, 0));
    const struct {
        const char *from, *to;
        size_t bytes;
    } faults[] = {{TAMIS_VERSION_STRING, "9.9.9", 0},
                  {".call = ", ".hall = ", 0},
                  {".call = ", ".call = -", 0},
                  {".call = ", ".call = nan", 0},
                  {".unhidden = ", ".call = ", 0},
                  {NULL, NULL, 200},
                  {NULL, NULL, 20}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        works(tamis_device_set_threads(device, 1));
        assert_false(counts_after_copy(4 + (int)i, faults[i].from, faults[i].to, faults[i].bytes));
    }
    unsetenv("TAMIS_CEILINGS");
    works(tamis_cache_clear(&removed));
    assert_true(removed >= 8);
    works(tamis_device_set_threads(device, 1));
}

static char *text_of(tamis_timings **timings) {
    static char text[TEXT];
    works(tamis_timings_create(device, timings));
    add_predictions(*timings);
    works(tamis_timings_write(*timings, text, sizeof text, NULL));
    return text;
}

TEST(damaged_texts_are_refused) {
    static char broken[TEXT];
    tamis_timings *timings, *other;
    char *const text = text_of(&timings);
    const struct {
        const char *from, *to, *says;
    } faults[] = {{"tamis timings 2", "tamis timings 0", "the first line is not"},
                  {"library ", "libraries ", "the second line is not"},
                  {"counts 1", "counts 7", "counts otherwise than " TAMIS_VERSION_STRING " (7, not 1): measure again"},
                  {"case matrix 3", "cake matrix 3", "expected a line \"case ...\""},
                  {"case matrix 3, spmm", "case matrix 2, spmm", "is there twice"},
                  {"time cpu-tiled ", "time cpu-tiled -", "missing or impossible"},
                  {"time cpu-tiled ", "time cpu-tiled inf", "missing or impossible"},
                  {"K = 24\n1 ", "K = 24\n7 ", "missing or impossible"},
                  {"K = 24\n1 ", "K = 24\nx ", "missing or impossible"},
                  {"time cpu-tiled ", "time cpu-cells ", "missing or impossible"}, /* which computes fused only */
                  {" 1 0 0 1 1 ", " 1 0 0 9e18 1 ", "missing or impossible"}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char *const at = strstr(text, faults[i].from);
        assert_non_null(at);
        snprintf(broken, sizeof broken, "%.*s%s%s", (int)(at - text), text, faults[i].to, at + strlen(faults[i].from));
        works(tamis_timings_create(device, &other));
        REFUSED(FILE, faults[i].says, tamis_timings_read(other, broken, "a text"));
        tamis_timings_destroy(other);
    }
    for (size_t cut = 0; cut < 400; cut += 7) { /* wherever a process was killed */
        works(tamis_timings_create(device, &other));
        snprintf(broken, strlen(text) - cut, "%s", text);
        works(tamis_timings_read(other, broken, "a text"));
        tamis_timings_destroy(other);
    }
    REFUSED(FILE, "is there twice", tamis_timings_read(timings, text, "a text"));
    char *const line = strchr(strchr(text, '\n') + 1, '\n') + 1;
    snprintf(broken, sizeof broken, "%.*sanother machine%s", (int)(line - text), text, strchr(line, '\n'));
    REFUSED(FILE, "of another machine", tamis_timings_read(timings, broken, "a text"));
    tamis_timings_destroy(timings);
    tamis_fit fit;
    works(tamis_timings_create(device, &other)); /* to look at them is no error, to keep their rates is */
    works(tamis_timings_read(other, broken, "a text"));
    works(tamis_timings_fit(other, &fit));
    REFUSED(ARGUMENT, "another machine's", tamis_timings_keep(other));
    assert_false(tamis_timings_are_own(other));
    works(tamis_timings_export(other, broken, sizeof broken, NULL));
    tamis_plan *plan;
    tamis_owned_sparse *const matrix = matrix_of(0);
    predicted(tamis_owned_sparse_view(matrix), TAMIS_OP_SPMM, 8, "cpu-nonzeros", &plan);
    REFUSED(ARGUMENT, "another machine's", tamis_timings_add(other, "x", plan, 1));
    tamis_plan_destroy(plan);
    tamis_owned_sparse_free(matrix);
    tamis_timings_destroy(other);
}

/* ------------------------------------------------------------------------------------------ the rest */

static void *probe_device(void *unused) {
    tamis_ceilings ceilings;
    return tamis_device_probe(device, &ceilings) == TAMIS_OK ? device : NULL;
}

/* A fork waits for no probe, and a child whose parent was measuring measures. */
TEST(test_fork_beside_a_probe) {
    pthread_t prober;
    void *probed = NULL;
    int ended = -1;
    alarm(200); /* instead of a hang */
    assert_int_equal(pthread_create(&prober, NULL, probe_device, NULL), 0);
    usleep(50000);
    const pid_t child = fork();
    if (child == 0) _exit(usual() > 0 && probe_device(NULL) ? 0 : 1);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_int_equal(pthread_join(prober, &probed), 0);
    assert_ptr_equal(probed, device);
    alarm(0);
}

TEST(test_arguments) {
    tamis_timings *timings;
    tamis_plan *plan;
    tamis_fit fit;
    int64_t count = 7;
    small s;
    char text[8];
    small_make(&s);
    const tamis_options o = small_options(TAMIS_OP_SDDMM);
    works(tamis_plan_create(device, &s.S, &o, &plan));
    assert_int_equal(tamis_timings_create(NULL, &timings), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_timings_create(device, NULL), TAMIS_ERROR_ARGUMENT);
    works(tamis_timings_create(device, &timings));
    assert_true(tamis_timings_are_own(timings));
    REFUSED(ARGUMENT, "text = NULL", tamis_device_rates(device, NULL, 8, NULL));
    assert_int_equal(tamis_device_rates(NULL, text, sizeof text, NULL), TAMIS_ERROR_ARGUMENT);
    REFUSED(ARGUMENT, "there are no timings", tamis_timings_fit(timings, &fit));
    REFUSED(ARGUMENT, "call tamis_timings_fit before", tamis_timings_keep(timings));
    REFUSED(ARGUMENT, "call tamis_timings_fit before", tamis_timings_export(timings, text, sizeof text, NULL));
    REFUSED(ARGUMENT, "plan = NULL", tamis_timings_add(timings, "x", NULL, 1));
    REFUSED(ARGUMENT, "label", tamis_timings_add(timings, "", plan, 1));
    REFUSED(ARGUMENT, "label", tamis_timings_add(timings, "two\nlines", plan, 1));
    char longest[200];
    snprintf(longest, sizeof longest, "%0191d", 1);
    REFUSED(ARGUMENT, "label", tamis_timings_add(timings, " x", plan, 1));
    works(tamis_timings_add(timings, longest, plan, 1e-3));
    assert_true(tamis_timings_has(timings, longest));
    snprintf(longest, sizeof longest, "%0192d", 1);
    REFUSED(ARGUMENT, "label", tamis_timings_add(timings, longest, plan, 1));
    const double bad[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) REFUSED(ARGUMENT, "seconds", tamis_timings_add(timings, "x", plan, bad[i]));
    REFUSED(ARGUMENT, "text", tamis_timings_read(timings, "", NULL));
    REFUSED(ARGUMENT, "fit = NULL", tamis_timings_fit(timings, NULL));
    REFUSED(ARGUMENT, "text = NULL", tamis_timings_write(timings, NULL, 8, NULL));
    works(tamis_timings_add(timings, "one", plan, 1e-3)); /* a case with one algorithm judges nothing */
    works(tamis_timings_fit(timings, &fit));
    assert_int_equal(fit.after.cases, 0);
    assert_true(fit.after.mean == 1);
    tamis_timings_destroy(timings);
    tamis_timings_destroy(NULL);
    tamis_plan_destroy(plan);
    assert_false(tamis_timings_has(NULL, "x"));
    works(tamis_device_correct(device, NULL, 0)); /* version 0.2's */
    REFUSED(UNSUPPORTED, "tune-device", tamis_device_correct(device, &(tamis_correction){.factor = 1}, 1));
    works(tamis_device_corrections(device, NULL, 0, &count));
    assert_int_equal(count, 0);
}

/* A file of version 0.2, which does not say so; and of another GPU of the same model. */
TEST(older_files_are_read) {
    static char old[TEXT];
    tamis_timings *timings, *other;
    char *const text = text_of(&timings);
    snprintf(old, sizeof old, "%s", text);
    replace(old, "timings 2\nlibrary " TAMIS_VERSION_STRING ", counts 1\n", "timings 1\n");
    replace(old, "\ncpu ", "\ncpu:3 ");
    works(tamis_timings_create(device, &other));
    works(tamis_timings_read(other, old, "a text"));
    assert_true(tamis_timings_are_own(other));
    works(tamis_timings_write(other, old, sizeof old, NULL));
    assert_string_equal(old, text);
    tamis_timings_destroy(other);
    tamis_timings_destroy(timings);
}

TEST(gpus_of_a_model_have_one_key) {
    static const char *const keys[][2] = {{"cuda:0 NVIDIA H200 sm_90 0 threads", "cuda NVIDIA H200 sm_90 0 threads"},
                                          {"cuda:17 X:1 sm_90", "cuda X:1 sm_90"},
                                          {"cpu AMD:3 EPYC", "cpu AMD:3 EPYC"},
                                          {"cpu:x y", "cpu:x y"},
                                          {"cpu:1", "cpu:1"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char key[TAMIS_DEVICE_KEY];
        snprintf(key, sizeof key, "%s", keys[i][0]);
        tamis_device_key_of_chip(key);
        assert_string_equal(key, keys[i][1]);
    }
}

TEST(files_have_plain_names) {
    char name[TAMIS_DEVICE_FILE];
    tamis_device_file("rates-", "azAZ09 @[`{/:", name);
    assert_string_equal(name, "rates-azAZ09-------.txt");
}

static int set_up(void **state) {
    unsetenv("TAMIS_PROBE"); /* with 0 no device has rates of its own */
    if (!mkdtemp(folder)) return -1;
    snprintf(site, sizeof site, "%s/site", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    if (tamis_device_open("cpu", &device) != TAMIS_OK) return -1;
    return tamis_device_set_threads(device, 1) == TAMIS_OK ? 0 : -1;
}

static int tear_down(void **state) {
    char command[64];
    tamis_device_close(device);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

TEST_FIXTURE(set_up, tear_down)
