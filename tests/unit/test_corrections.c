/*
 * Corrections of predictions: what they change, that they are kept, and that a file that is damaged or of another
 * version corrects nothing.
 */
#include "support/test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <tamis/cache.h>
#include <tamis/ceilings.h>
#include <tamis/version.h>
#include <unistd.h>

#include "cpu/backend.h"
#include "select/device_key.h"
#include "small.h"
#include "support/bytes.h"

static tamis_device *device;
static char folder[] = "/tmp/tamis-corrections-XXXXXX";

static tamis_correction row(const char *algorithm, tamis_operation operation, int64_t columns, double factor) {
    tamis_correction r = {.operation = operation, .type = TAMIS_F32, .columns = columns, .cases = 1, .factor = factor};
    snprintf(r.algorithm, sizeof r.algorithm, "%s", algorithm);
    return r;
}

/* The texts of the report live until the next call. */
static tamis_plan_report report_of(tamis_operation operation, const char *algorithm) {
    static char reason[1024];
    small s;
    tamis_plan *plan;
    tamis_plan_report report;
    small_make(&s);
    tamis_options o = small_options(operation);
    o.algorithm = algorithm;
    works(tamis_plan_create(device, &s.S, &o, &plan));
    works(tamis_plan_describe(plan, &report));
    snprintf(reason, sizeof reason, "%s", report.reason);
    report.reason = reason;
    tamis_plan_destroy(plan);
    return report;
}

static double predicted(tamis_operation operation, const char *algorithm) {
    return report_of(operation, algorithm).predicted_seconds;
}

static void assert_ratio(double x, double y, double ratio) { assert_true(fabs(x / y / ratio - 1) < 1e-9); }

static int64_t count_of(void) {
    int64_t count = -1;
    works(tamis_device_corrections(device, NULL, 0, &count));
    return count;
}

TEST(test_predictions) {
    const double before[] = {predicted(TAMIS_OP_SDDMM, "cpu-nonzeros"), predicted(TAMIS_OP_SDDMM, "cpu-tiled"),
                             predicted(TAMIS_OP_SPMM, "cpu-nonzeros")};
    const char *const usual = report_of(TAMIS_OP_SDDMM, NULL).algorithm;
    /* the nearer number of columns counts: small_options has few */
    const tamis_correction rows[] = {row(usual, TAMIS_OP_SDDMM, 4, 1000), row("cpu-nonzeros", TAMIS_OP_SDDMM, 4, 3),
                                     row("cpu-nonzeros", TAMIS_OP_SDDMM, 4096, 7)};
    const bool same = strcmp(usual, "cpu-nonzeros") == 0;
    works(tamis_device_correct(device, rows + same, 3 - same));
    assert_int_equal(count_of(), 3 - same);
    assert_ratio(predicted(TAMIS_OP_SDDMM, "cpu-nonzeros"), before[0], 3);
    if (same) assert_ratio(predicted(TAMIS_OP_SDDMM, "cpu-tiled"), before[1], 3); /* not measured: as the others */
    assert_ratio(predicted(TAMIS_OP_SPMM, "cpu-nonzeros"), before[2], 1);
    if (!same) assert_string_not_equal(report_of(TAMIS_OP_SDDMM, NULL).algorithm, usual);
    const tamis_correction slow = row(usual, TAMIS_OP_SDDMM, 4, 1000), fast = row("cpu-tiled", TAMIS_OP_SDDMM, 4, 1);
    const tamis_correction both[] = {slow, fast};
    works(tamis_device_correct(device, both, 2));
    if (strcmp(usual, "cpu-tiled") != 0) assert_string_not_equal(report_of(TAMIS_OP_SDDMM, NULL).algorithm, usual);
    assert_non_null(strstr(report_of(TAMIS_OP_SDDMM, usual).reason, "times 1000.00, as measured on this device"));
    works(tamis_device_correct(device, NULL, 0));
    assert_ratio(predicted(TAMIS_OP_SDDMM, "cpu-nonzeros"), before[0], 1);
}

static void find_file(const char *key, char *path, size_t bytes) {
    char name[TAMIS_DEVICE_FILE];
    tamis_device_file("corrections-", key, name);
    snprintf(path, bytes, "%s/tamis/%s", folder, name);
}

/* Writes the file of one number of threads as that of another one, its first `bytes` bytes (0: all), or as another
   version would. */
static void copy_file(int threads, int other, size_t bytes, bool of_other_version) {
    char key[TAMIS_DEVICE_KEY], other_key[TAMIS_DEVICE_KEY], path[512], copy[4096], *place;
    assert_true(tamis_device_key(&tamis_cpu_backend, 0, threads, key));
    assert_true(tamis_device_key(&tamis_cpu_backend, 0, other, other_key));
    find_file(key, path, sizeof path);
    OWN(file_content) file = read_bytes(path);
    file.data[file.size] = '\0';
    const char *const text = (const char *)file.data;
    assert_non_null(place = strstr(text, key));
    snprintf(copy, sizeof copy, "%.*s%s%s", (int)(place - text), text, other_key, place + strlen(key));
    if (of_other_version) {
        assert_non_null(place = strstr(copy, TAMIS_VERSION_STRING));
        place[0] = '9';
    }
    find_file(other_key, path, sizeof path);
    write_bytes(path, copy, bytes > 0 ? bytes : strlen(copy));
}

TEST(test_files) {
    const tamis_correction rows[] = {row("cpu-nonzeros", TAMIS_OP_SDDMM, 32, 1.5),
                                     row("cpu-tiled", TAMIS_OP_SPMM, 128, 0.5)};
    tamis_correction back[2];
    int64_t count = 0, removed = 0;
    works(tamis_device_set_threads(device, 2));
    works(tamis_device_correct(device, rows, 2));
    copy_file(2, 3, 0, false);
    copy_file(2, 4, 60, false);
    copy_file(2, 5, 0, true);
    works(tamis_device_set_threads(device, 3));
    works(tamis_device_corrections(device, back, 2, &count));
    assert_int_equal(count, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(back[i].algorithm, rows[i].algorithm);
        assert_true(back[i].operation == rows[i].operation && back[i].columns == rows[i].columns);
        assert_true(back[i].factor == rows[i].factor && back[i].cases == 1);
    }
    for (int threads = 4; threads <= 5; threads++) {
        works(tamis_device_set_threads(device, threads));
        assert_int_equal(count_of(), 0);
    }
    works(tamis_cache_clear(&removed));
    assert_true(removed >= 3);
    works(tamis_device_set_threads(device, 3));
    assert_int_equal(count_of(), 0);
    works(tamis_device_set_threads(device, 1));
}

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
    if (child == 0) _exit(count_of() == 0 && probe_device(NULL) ? 0 : 1);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_int_equal(pthread_join(prober, &probed), 0);
    assert_ptr_equal(probed, device);
    alarm(0);
}

TEST(test_arguments) {
    int64_t count;
    tamis_correction bad[] = {row("cpu-tiled", TAMIS_OP_SDDMM, 32, 0), row("", TAMIS_OP_SDDMM, 32, 1),
                              row("two words", TAMIS_OP_SDDMM, 32, 1), row("cpu-tiled", TAMIS_OP_SDDMM, 0, 1),
                              row("cpu-tiled", TAMIS_OP_SDDMM, 32, NAN)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        REFUSED(ARGUMENT, "rows[0]", tamis_device_correct(device, &bad[i], 1));
    assert_int_equal(tamis_device_correct(NULL, bad, 1), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_device_correct(device, NULL, 1), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_device_correct(device, bad, TAMIS_CORRECTIONS_MOST + 1), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_device_corrections(device, NULL, 0, NULL), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_device_corrections(device, NULL, 1, &count), TAMIS_ERROR_ARGUMENT);
}

TEST(files_have_plain_names) {
    char name[TAMIS_DEVICE_FILE];
    tamis_device_file("corrections-", "azAZ09 @[`{/:", name);
    assert_string_equal(name, "corrections-azAZ09-------.txt");
}

static int set_up(void **state) {
    unsetenv("TAMIS_PROBE"); /* with 0 nothing is corrected */
    if (!mkdtemp(folder)) return -1;
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
