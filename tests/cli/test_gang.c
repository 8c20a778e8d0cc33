/*
 * Several devices or the first alone: what is decided costs no copies of operands, and only devices that compute get
 * any. The devices are those of the fake CUDA driver, which counts.   test_gang FAKE      the path of the fake library
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gang.h"

static long (*calls)(const char *function);

static long copies(void) { return calls("cuMemcpyHtoDAsync_v2"); }

static void works(tamis_status status) {
    if (status != TAMIS_OK) fail_msg("%s: %s", tamis_status_name(status), tamis_last_error());
}

enum { ROWS = 300, WIDTH = 8 };
static int32_t offsets[ROWS + 1], columns[ROWS];
static float values[ROWS], b[ROWS * WIDTH], c[ROWS * WIDTH];

static tool_problem problem_make(bool operands) {
    for (int i = 0; i < ROWS; i++) {
        offsets[i + 1] = i + 1;
        columns[i] = (7 * i) % ROWS;
        values[i] = 1;
    }
    tool_problem p = {.operation = TAMIS_OP_SPMM,
                      .type = TAMIS_F32,
                      .inner = WIDTH,
                      .width = WIDTH,
                      .alpha = 1,
                      .edge_scale = 1,
                      .edge_slope = 0.2,
                      .edge_epsilon = 1e-6};
    p.S = (tamis_sparse){
        .rows = ROWS, .cols = ROWS, .nnz = ROWS, .offsets = offsets, .columns = columns, .values = values};
    p.B = (tamis_dense){.data = operands ? b : NULL, .rows = ROWS, .cols = WIDTH, .stride = WIDTH};
    p.output = (tamis_dense){.data = operands ? c : NULL, .rows = ROWS, .cols = WIDTH, .stride = WIDTH};
    return p;
}

static tool_chosen two_devices(void) {
    tool_chosen devices = {.count = 2};
    for (int i = 0; i < 2; i++)
        assert_int_equal(tool_choice_parse(&tool_devices, "", i == 0 ? "cuda:0" : "cuda:1", &devices.at[i]), 0);
    return devices;
}

/* Copies of a gang that is opened, and how many devices it has in the end. */
static long copies_of(bool operands, int spread, int *ranks) {
    const tool_problem problem = problem_make(operands);
    const tool_gang_kind kind = {.devices = two_devices()};
    tamis_options planning = tool_problem_options(&problem);
    tool_gang gang = {0};
    const long before = copies();
    works(tool_gang_open_best(&kind, &problem, &planning, spread, &gang));
    const long made = copies() - before;
    *ranks = gang.ranks;
    tool_gang_close(&gang);
    return made;
}

/* A tiny problem stays on the first device: B is copied there, once. On all of them each gets its rows. */
static void operands_follow(void **state) {
    (void)state;
    int ranks;
    const long planning = copies_of(false, 0, &ranks);
    assert_int_equal(ranks, 1);
    assert_int_equal(copies_of(true, 0, &ranks) - planning, 1);
    assert_int_equal(ranks, 1);
    const long together = copies_of(false, 1, &ranks);
    assert_int_equal(ranks, 2);
    assert_int_equal(copies_of(true, 1, &ranks) - together, 2);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(operands_follow)};
    if (argc < 2) return 2;
    setenv("TAMIS_CUDA_DRIVER", argv[1], 1);
    setenv("TAMIS_NVRTC", argv[1], 1);
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    setenv("TAMIS_PROBE", "0", 1);
    setenv("XDG_CACHE_HOME", "", 1);
    unsetenv("HOME");
    void *const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *const function = library ? dlsym(library, "fake_calls") : NULL;
    if (!function) return 2;
    memcpy(&calls, &function, sizeof calls);
    return cmocka_run_group_tests_name("gang", tests, NULL, NULL);
}
