/* What a plan says of itself and what it makes of its options. */
#include "cmocka_first.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "small.h"

static tamis_device *device;

static tamis_plan *make(const tamis_sparse *S, const tamis_plan_options *o) {
    tamis_plan *plan = NULL;
    if (tamis_plan_create(device, S, o, &plan) != TAMIS_OK) fail_msg("%s", tamis_last_error());
    return plan;
}

static void test_explain(void **state) {
    (void)state;
    small s;
    small_make(&s);
    tamis_plan_options o = small_options(TAMIS_OP_FUSED);
    o.b_layout = TAMIS_COLUMN_MAJOR;
    tamis_plan *const plan = make(&s.coo, &o);
    size_t needed = 0;
    assert_int_equal(tamis_plan_explain(plan, NULL, 0, &needed), TAMIS_OK);
    assert_true(needed > 200);
    char *const text = malloc(needed), cut[20];
    assert_non_null(text);
    assert_int_equal(tamis_plan_explain(plan, text, needed, NULL), TAMIS_OK);
    assert_int_equal(strlen(text), needed - 1);
    assert_non_null(strstr(text, "fused"));
    assert_non_null(strstr(text, "3 x 4, 5 nonzeros"));
    assert_non_null(strstr(text, "B is column-major"));
    assert_non_null(strstr(text, "COO out of row order"));
    assert_non_null(strstr(text, "naive: a baseline"));
    assert_int_equal(tamis_plan_explain(plan, cut, sizeof cut, NULL), TAMIS_OK);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_memory_equal(cut, text, sizeof cut - 1);
    free(text);

    tamis_plan_report report;
    assert_int_equal(tamis_plan_describe(plan, &report), TAMIS_OK);
    assert_true(report.setup_seconds > 0 && report.predicted_seconds > 0 && report.threads >= 1);
    assert_true(report.declined >= 3);
    for (int i = 0; i < report.declined; i++) {
        const char *name = NULL, *reason = NULL;
        assert_int_equal(tamis_plan_declined(plan, i, &name, &reason), TAMIS_OK);
        assert_true(strlen(name) > 2 && strlen(reason) > 10);
        assert_string_not_equal(name, report.algorithm);
    }
    assert_int_equal(tamis_plan_declined(plan, report.declined, NULL, NULL), TAMIS_ERROR_ARGUMENT);
    tamis_plan_destroy(plan);
}

static void test_option_sizes(void **state) {
    (void)state;
    small s;
    small_make(&s);
    /* an older caller, whose struct ended after `width` */
    tamis_plan_options o = small_options(TAMIS_OP_SDDMM);
    o.size = offsetof(tamis_plan_options, edge_scale);
    o.edge_scale = -1; /* not the caller's: must not be read */
    o.algorithm = "nonsense";
    tamis_plan_destroy(make(&s.S, &o));
    /* a newer caller, whose extra fields are not used */
    struct {
        tamis_plan_options known;
        int64_t extra[2];
    } newer = {small_options(TAMIS_OP_SDDMM), {0, 0}};
    newer.known.size = sizeof newer;
    tamis_plan_destroy(make(&s.S, &newer.known));
    newer.extra[1] = 5; /* and one whose are */
    tamis_plan *plan = NULL;
    assert_int_equal(tamis_plan_create(device, &s.S, &newer.known, &plan), TAMIS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(tamis_last_error(), "options.size"));
}

static void test_workspace(void **state) {
    (void)state;
    small s;
    small_make(&s);
    tamis_plan_options o = small_options(TAMIS_OP_FUSED);
    o.threads = 2;
    o.a_layout = TAMIS_COLUMN_MAJOR;
    size_t bytes = 0;
    assert_int_equal(tamis_workspace_size(device, &s.S, &o, &bytes), TAMIS_OK);
    tamis_plan_report report;
    tamis_plan *plan = make(&s.S, &o);
    assert_int_equal(tamis_plan_describe(plan, &report), TAMIS_OK);
    assert_int_equal(report.workspace_bytes, bytes);
    tamis_plan_destroy(plan);
    assert_true(bytes > 64);

    char *const own = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    assert_non_null(own);
    o.workspace = own;
    o.workspace_bytes = bytes - 1;
    assert_int_equal(tamis_plan_create(device, &s.S, &o, &plan), TAMIS_ERROR_ARGUMENT);
    assert_non_null(strstr(tamis_last_error(), "workspace_bytes"));
    o.workspace = own + 4;
    o.workspace_bytes = bytes;
    assert_int_equal(tamis_plan_create(device, &s.S, &o, &plan), TAMIS_ERROR_ARGUMENT);
    assert_non_null(strstr(tamis_last_error(), "aligned"));
    o.workspace = own;
    const int64_t live = tamis_memory_live();
    plan = make(&s.S, &o);
    const int64_t with_plan = tamis_memory_live();
    float a[SMALL_ROWS * SMALL_K]; /* A in column-major order */
    for (int i = 0; i < SMALL_ROWS; i++)
        for (int k = 0; k < SMALL_K; k++) a[k * SMALL_ROWS + i] = s.a[i * SMALL_K + k];
    const tamis_dense A = {.data = a, .rows = SMALL_ROWS, .cols = SMALL_K, .layout = TAMIS_COLUMN_MAJOR};
    const int64_t allocations = tamis_memory_count();
    assert_int_equal(tamis_plan_fused(plan, NULL, &A, &s.B, &s.D, 1, 0, &s.E), TAMIS_OK);
    assert_int_equal(tamis_memory_count(), allocations); /* executions allocate nothing */
    assert_true(with_plan > live);
    tamis_plan_destroy(plan);
    assert_int_equal(tamis_memory_live(), live);
    double want[SMALL_ROWS * SMALL_L];
    assert_int_equal(tamis_reference_fused(&s.S, &s.A, &s.B, &s.D, NULL, want), TAMIS_OK);
    for (int i = 0; i < SMALL_ROWS * SMALL_L; i++) assert_true((double)s.out[i] == want[i]); /* small integers */
    free(own);
}

static void test_values(void **state) {
    (void)state;
    small s;
    small_make(&s);
    const tamis_plan_options o = small_options(TAMIS_OP_SDDMM);
    tamis_plan *const plan = make(&s.S, &o);
    float first[SMALL_NNZ], other[SMALL_NNZ] = {10, 20, 30, 40, 50};
    assert_int_equal(tamis_plan_sddmm(plan, NULL, &s.A, &s.B, 1, 0, first), TAMIS_OK);
    s.values[1] *= 3; /* changed in place: seen by the next execution */
    assert_int_equal(tamis_plan_sddmm(plan, NULL, &s.A, &s.B, 1, 0, s.p), TAMIS_OK);
    assert_true(s.p[1] == 3 * first[1] && s.p[0] == first[0]);
    assert_int_equal(tamis_plan_set_values(plan, other, 0), TAMIS_OK);
    assert_int_equal(tamis_plan_sddmm(plan, NULL, &s.A, &s.B, 1, 0, s.p), TAMIS_OK);
    assert_true(s.p[0] == 10 * first[0]); /* the first value was 1 */
    assert_int_equal(tamis_plan_set_values(plan, NULL, 0), TAMIS_OK);
    assert_int_equal(tamis_plan_sddmm(plan, NULL, &s.A, &s.B, 1, 0, s.p), TAMIS_OK);
    assert_true(s.p[0] == first[0]);
    tamis_plan_destroy(plan);
}

static void test_names_and_choice(void **state) {
    (void)state;
    small s;
    small_make(&s);
    tamis_plan_options o = small_options(TAMIS_OP_SDDMM);
    tamis_plan_report report;
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        tamis_algorithm_description algorithm;
        assert_int_equal(tamis_algorithm_at(i, &algorithm), TAMIS_OK);
        if (strcmp(algorithm.device, "cpu") != 0) continue;
        o.algorithm = algorithm.name;
        tamis_plan *plan = make(&s.S, &o);
        assert_int_equal(tamis_plan_describe(plan, &report), TAMIS_OK);
        assert_string_equal(report.algorithm, algorithm.name);
        assert_non_null(strstr(report.reason, "by name"));
        tamis_plan_destroy(plan);
    }
    o.algorithm = "auto";
    tamis_plan *plan = make(&s.S, &o);
    assert_int_equal(tamis_plan_describe(plan, &report), TAMIS_OK);
    assert_string_not_equal(report.algorithm, "naive");
    tamis_plan_destroy(plan);
    o.algorithm = "naive";
    o.edge = TAMIS_EDGE_SOFTMAX;
    assert_int_equal(tamis_plan_create(device, &s.S, &o, &plan), TAMIS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(tamis_last_error(), "softmax"));
}

static void test_instruction_sets(void **state) {
    (void)state;
    tamis_device *other = NULL;
    tamis_device_description description;
    setenv("TAMIS_CPU_ISA", "mmx", 1);
    assert_int_equal(tamis_device_open("cpu", &other), TAMIS_ERROR_DEVICE);
    assert_non_null(strstr(tamis_last_error(), "mmx"));
    const char *why = NULL;
    assert_int_equal(tamis_device_at(0, NULL, &why), TAMIS_OK);
    assert_non_null(strstr(why, "mmx"));
    unsetenv("TAMIS_CPU_ISA");
    assert_int_equal(tamis_device_open(NULL, &other), TAMIS_OK);
    assert_int_equal(tamis_device_describe(other, &description), TAMIS_OK);
    assert_string_equal(description.name, "cpu");
    assert_true(description.threads >= 1 && description.cache_l1 > 0 && description.cache_l2 > 0);
    tamis_device_close(other);
}

/* The cache of the ceilings: private, damaged ones made anew, and never in the way. */
static void test_ceilings_cache(void **state) {
    (void)state;
    tamis_ceilings c;
    assert_int_equal(tamis_device_ceilings(device, &c), TAMIS_OK);
    assert_false(c.measured); /* TAMIS_PROBE=0 */
    assert_true(c.l2_gbs[0] > 0 && c.gather_gbs[1][5] > 0);
    unsetenv("TAMIS_PROBE");
    char folder[] = "/tmp/tamis-cache-XXXXXX", path[256];
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
    assert_int_equal(tamis_device_set_threads(device, 1), TAMIS_OK);
    assert_int_equal(tamis_device_ceilings(device, &c), TAMIS_OK);
    assert_true(c.measured && c.threads == 1 && c.memory_gbs[0] > 0);
    struct stat kept;
    snprintf(path, sizeof path, "%s/tamis", folder);
    assert_int_equal(stat(path, &kept), 0);
    assert_int_equal(kept.st_mode & 0777, 0700);
    snprintf(path, sizeof path, "rm -r %s", folder);
    assert_int_equal(system(path), 0);
    setenv("TAMIS_PROBE", "0", 1);
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(tamis_device_set_threads(device, 0), TAMIS_OK);
}

static int set_up(void **state) {
    (void)state;
    return tamis_device_open("cpu", &device) != TAMIS_OK;
}

static int tear_down(void **state) {
    (void)state;
    tamis_device_close(device);
    return tamis_memory_live() != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explain),          cmocka_unit_test(test_option_sizes),
        cmocka_unit_test(test_workspace),        cmocka_unit_test(test_values),
        cmocka_unit_test(test_names_and_choice), cmocka_unit_test(test_instruction_sets),
        cmocka_unit_test(test_ceilings_cache),
    };
    setenv("TAMIS_PROBE", "0", 1);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
