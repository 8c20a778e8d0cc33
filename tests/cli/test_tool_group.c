/*
 * Several devices or the first alone: what is decided costs no copies of operands, and only devices that compute get
 * any. So are fits. The devices are those of the fake CUDA driver, which counts.   test_tool_group FAKE      the path
 * of the fake library
 */
#include "support/test.h"

#include <dlfcn.h>

#include "group/choice.h"
#include "model/group.h"

static long (*calls)(const char *function);

static long copies(void) { return calls("cuMemcpyHtoDAsync_v2"); }

enum { ROWS = 300, WIDTH = 8 };
static int32_t offsets[ROWS + 1], columns[ROWS];
static float values[ROWS], b[ROWS * WIDTH], c[ROWS * WIDTH];

static tool_problem problem_make(bool operands) {
    for (int i = 0; i < ROWS; i++) {
        offsets[i + 1] = i + 1;
        columns[i] = (7 * i) % ROWS;
        values[i] = 1;
    }
    tool_problem p = {.operation = TAMIS_OP_SPMM, .inner = WIDTH, .width = WIDTH, .alpha = 1, .edge_scale = 1};
    p.edge_slope = 0.2;
    p.edge_epsilon = 1e-6;
    p.S = csr_of(TAMIS_F32, ROWS, ROWS, ROWS, offsets, columns, values);
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

/* Copies of a group that is opened, and how many devices it has in the end. */
static long copies_of(bool operands, int spread, int *ranks) {
    const tool_problem problem = problem_make(operands);
    const tool_group_kind kind = {.devices = two_devices(), .spread = spread};
    tamis_options planning = tool_problem_options(&problem);
    tool_group group = {0};
    const long before = copies();
    works(tool_group_open_best(&kind, &problem, &planning, &group));
    const long made = copies() - before;
    *ranks = group.ranks;
    tool_group_close(&group);
    return made;
}

/* A tiny problem stays on the first device: B is copied there, once. On all of them each gets its rows. */
TEST(operands_follow) {
    int ranks;
    const long planning = copies_of(false, 0, &ranks);
    assert_int_equal(ranks, 1);
    assert_int_equal(copies_of(true, 0, &ranks) - planning, 1);
    assert_int_equal(ranks, 1);
    const long together = copies_of(false, 1, &ranks);
    assert_int_equal(ranks, 2);
    assert_int_equal(copies_of(true, 1, &ranks) - together, 2);
}

/* `length` ratings of each user, of items with numbers near the user's. */
static tool_group_choice predicted(int64_t rows, int length, int64_t factors, const tool_chosen *devices,
                                   const char *algorithms) {
    int32_t *const begins = malloc((size_t)(rows + 1) * sizeof *begins);
    int32_t *const items = malloc((size_t)rows * (size_t)length * sizeof *items);
    assert_non_null(begins);
    assert_non_null(items);
    for (int64_t i = 0; i <= rows; i++) begins[i] = (int32_t)(i * length);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t first = i + length <= rows ? i : rows - length;
        for (int t = 0; t < length; t++) items[i * length + t] = (int32_t)(first + t);
    }
    const tamis_sparse S = {.rows = rows, .cols = rows, .nnz = rows * length, .offsets = begins, .columns = items};
    const tamis_model_options options = {.method = TAMIS_IMPLICIT_ALS,
                                         .factors = factors,
                                         .type = TAMIS_F32,
                                         .iterations = 5,
                                         .cg_steps = 3,
                                         .algorithms = algorithms};
    const tool_group_fit what = {.devices = devices, .options = &options, .S = &S};
    const tool_group_choice choice = tool_fit_predict(&what);
    free(begins);
    free(items);
    return choice;
}

/* A tiny fit stays on the first device, a large one with few factors to exchange does not; on one device twice nothing
   is gained; where nothing is known, it does not stay. */
TEST(fits_follow) {
    const tool_chosen two = two_devices(), same = {.count = 2, .at = {two.at[0], two.at[0]}},
                      one = {.count = 1, .at = {two.at[0]}};
    const tool_group_choice tiny = predicted(300, 2, 8, &two, NULL), large = predicted(20000, 100, 256, &two, NULL);
    assert_true(tiny.stays && tiny.alone > 0 && tiny.together > tiny.alone);
    assert_true(!large.stays && large.together > 0 && large.together < large.alone);
    const tool_group_choice shared = predicted(20000, 100, 256, &same, NULL);
    assert_true(shared.stays && shared.together > shared.alone);
    assert_true(fabs(shared.alone - large.alone) <= 1e-9 * large.alone);
    const tool_group_choice unknown = predicted(300, 2, 8, &two, "naive"), single = predicted(300, 2, 8, &one, NULL);
    assert_true(!unknown.stays && unknown.alone == 0 && !single.stays);
}

TEST_RUN() {
    if (argc < 2) return 2;
    setenv("TAMIS_CUDA_DRIVER", argv[1], 1);
    setenv("TAMIS_NVRTC", argv[1], 1);
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    setenv("XDG_CACHE_HOME", "", 1);
    unsetenv("HOME");
    void *const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *const function = library ? dlsym(library, "fake_calls") : NULL;
    if (!function) return 2;
    memcpy(&calls, &function, sizeof calls);
    return test_run("tool_group", NULL, NULL, NULL);
}
