/*
 * The dense companions against plain loops in double, on random matrices of every awkward shape: odd sizes, strides,
 * odd addresses, nothing at all, NaN in outputs that must not be read.
 *   test_dense [DEVICE [MOST]]
 * DEVICE is "cpu" by default: with every instruction set that this machine runs, and 1, 2 and 5 threads. MOST limits
 * rows and columns, for tools under which a device is slow. Inputs are new at each run: TAMIS_TEST_SEED repeats one.
 */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dense_tests.h"
#include "support/brief.h"
#include "support/seed.h"
#include "support/variants.h"

static const char *name = "cpu";
tamis_device *dense_device;
tamis_dense_workspace *dense_workspaces[2];
tamis_random dense_dice;
tamis_type dense_type; /* of the round */
static int64_t live;
static int64_t most = INT64_MAX; /* rows and columns */

double dense_u(void) { return dense_type == TAMIS_F64 ? 0x1p-53 : 0x1p-24; }

/* What an operation has drawn and read, until dense_forget(). */
enum { DRAWN_MOST = 256 };
static matrix drawn[DRAWN_MOST];
static double *read[DRAWN_MOST];
static int drawn_count, read_count;

static void dense_forget(void) {
    while (drawn_count > 0) matrix_free(&drawn[--drawn_count]);
    while (read_count > 0) free(read[--read_count]);
}

double *dense_values(const matrix *x) {
    if (read_count == DRAWN_MOST) fail_msg("more than %d copies", DRAWN_MOST);
    return read[read_count++] = test_values(&x->here, 0);
}

matrix dense_draw(int64_t rows, int64_t cols, double low, double high) {
    const int64_t padding = tamis_random_below(&dense_dice, 3) ? tamis_random_below(&dense_dice, 9) : 0;
    matrix x = matrix_room(dense_type, rows, cols,
                           (matrix_place){.padding = padding, .front = tamis_random_below(&dense_dice, 4)});
    matrix_draw(&x, low, high, &dense_dice);
    matrix_send(dense_device, &x);
    if (drawn_count == DRAWN_MOST) fail_msg("more than %d matrices", DRAWN_MOST);
    drawn[drawn_count++] = x;
    return x;
}

static int64_t at_most(int64_t size) { return size < most ? size : most; }
static int64_t draw_size(const int64_t *sizes, int count) {
    return at_most(sizes[tamis_random_below(&dense_dice, count)]);
}
int64_t dense_draw_rows(void) {
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 33, 64, 131, 600, 1500};
    return draw_size(sizes, 10);
}
int64_t dense_draw_cols(void) {
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 8, 13, 16, 31, 33, 64, 67, 128, 130};
    return draw_size(sizes, 14);
}

void dense_works(tamis_status status) {
    if (status != TAMIS_OK) fail_msg("%s: %s", tamis_status_name(status), tamis_last_error());
}

void dense_close(const char *what, double got, double want, double bound, int64_t i, int64_t j) {
    if (fabs(got - want) <= bound + (dense_type == TAMIS_F64 ? 1e-300 : 1e-37) || (isnan(got) && isnan(want))) return;
    fail_msg("%s of %s on %s: (%lld, %lld) is %.17g, expected %.17g within %.3g", what, tamis_type_name(dense_type),
             name, (long long)i, (long long)j, got, want, bound);
}

void dense_arrives(matrix *x) {
    matrix_fetch(x);
    if (matrix_touched(x) >= 0) fail_msg("a gap between rows was written to");
}

void dense_poison(matrix *x) {
    matrix_poison(x);
    matrix_send(dense_device, x);
}

/* ------------------------------------------------------------------------------------------ rounds */

static void rounds(void (*operation)(int64_t m, int64_t n)) {
    static const int64_t always[][2] = {{0, 5}, {5, 0}, {0, 0}, {1, 1}, {1500, 1}, {1, DENSE_WIDEST}, {601, 67}};
    for (dense_type = TAMIS_F32; dense_type <= TAMIS_F64; dense_type++) {
        const int fixed = most < 100 ? 5 : 7, more = most < 100 ? 2 : test_rounds(12, 3);
        for (int i = 0; i < fixed + more; i++, dense_forget())
            if (i < fixed)
                operation(at_most(always[i][0]), at_most(always[i][1]));
            else
                operation(dense_draw_rows(), dense_draw_cols());
    }
    dense_type = TAMIS_F32;
}

TEST(test_fill) { rounds(dense_fill); }
TEST(test_combine) { rounds(dense_combine); }
TEST(test_scale) { rounds(dense_scale); }
TEST(test_map) { rounds(dense_map); }
TEST(test_gram) { rounds(dense_gram); }
TEST(test_multiply) { rounds(dense_multiply); }
TEST(test_sums) { rounds(dense_sums); }
TEST(test_total) { rounds(dense_total); }
TEST(test_conjugate) {
    rounds(dense_conjugate);
    if (most >= 100) rounds(dense_solve);
}

/* psi(x) and exp(psi(x)), by mpmath with 40 digits; SciPy's digamma agrees to 4e-15. */
static const double published[][3] = {
    {0.0625, -16.478853490060104367, 6.9714779996491505052e-8},
    {0.25, -4.2274535333762654081, 0.014589494947750207096},
    {0.5, -1.9635100260214234794, 0.14036487089172129246},
    {0.75, -1.0858608797864721696, 0.33761101825337358355},
    {1.0, -0.57721566490153286061, 0.56145948356688516982},
    {1.25, -0.22745353337626540809, 0.79655943406506567816},
    {1.5, 0.036489973978576520559, 1.0371639053380865127},
    {2.0, 0.42278433509846713939, 1.5262051115958638805},
    {2.5, 0.70315664064524318723, 2.0201194445802005396},
    {3.0, 0.92278433509846713939, 2.5162868309393635803},
    {4.75, 1.4492040552784628953, 4.2597226617161560008},
    {5.9990234375, 1.7059405795956395415, 5.5065625925913450759},
    {6.0, 1.7061176684318004727, 5.5075378297013681378},
    {7.125, 1.8917959606533552671, 6.6312674884409621132},
    {9.9990234375, 2.2516498822976999316, 9.5034024042028175741},
    {10.0, 2.2517525890667211076, 9.5043785180843547474},
    {31.25, 3.4259340515829541975, 30.751354792754697007},
    {123456.75, 11.723642121279044456, 123456.25000033750148},
    {1000000000.0, 20.723265836446411156, 999999999.50000000004},
};

TEST(test_digamma) {
    enum { COUNT = sizeof published / sizeof published[0] };
    for (dense_type = TAMIS_F32; dense_type <= TAMIS_F64; dense_type++) {
        matrix x = dense_draw(COUNT + 4, 1, 0, 1), y = dense_draw(COUNT + 4, 1, 1, 1);
        static const double ends[] = {0, -1, NAN, 1e-3};
        for (int i = 0; i < COUNT + 4; i++) matrix_set(&x, i, 0, i < COUNT ? published[i][0] : ends[i - COUNT]);
        matrix_send(dense_device, &x);
        dense_works(tamis_dense_map(dense_device, NULL, TAMIS_MAP_EXP_DIGAMMA, 1, 0, &x.there, &y.there, &x.there));
        dense_arrives(&x);
        for (int i = 0; i < COUNT; i++) { /* every number of the table is exact in fp32 */
            double slope;
            const double psi = published[i][1], want = published[i][2];
            dense_close("the tests' digamma", dense_digamma(published[i][0], &slope), psi,
                        4 * 0x1p-53 * (1 + fabs(psi)) + 1e-37, i, 0);
            dense_close("exp(psi)", matrix_get(&x, i, 0), want, (8 + 8 * fmax(0, -psi)) * dense_u() * want, i, 0);
        }
        if (matrix_get(&x, COUNT, 0) != 0 || !isnan(matrix_get(&x, COUNT + 1, 0)) ||
            !isnan(matrix_get(&x, COUNT + 2, 0)) || matrix_get(&x, COUNT + 3, 0) != 0)
            fail_msg("exp(psi) at 0, -1, NaN and 0.001 is %g, %g, %g, %g", matrix_get(&x, COUNT, 0),
                     matrix_get(&x, COUNT + 1, 0), matrix_get(&x, COUNT + 2, 0), matrix_get(&x, COUNT + 3, 0));
        dense_forget();
    }
    dense_type = TAMIS_F32;
}

/* The same bits from any number of threads, and again. */
TEST(test_determinism) {
    static const int threads[] = {1, 2, 5, 5};
    const int64_t n = at_most(67);
    matrix x = dense_draw(at_most(3000), n, -1, 1), g[4], s[4];
    double dots[4], logs[4];
    for (int t = 0; t < 4; t++) {
        g[t] = dense_draw(n, n, 0, 1);
        s[t] = dense_draw(n, 1, 0, 1);
        dense_works(tamis_device_set_threads(dense_device, threads[t]));
        dense_works(tamis_dense_gram(dense_device, NULL, dense_workspaces[0], 1, &x.there, 0, &g[t].there));
        dense_works(tamis_dense_column_sums(dense_device, NULL, dense_workspaces[0], &x.there, &s[t].there));
        dense_works(tamis_dense_dot(dense_device, NULL, dense_workspaces[0], &x.there, &x.there, &dots[t]));
        dense_works(tamis_dense_log_dot(dense_device, NULL, dense_workspaces[0], &x.there, &x.there, 1e-3, &logs[t]));
        dense_arrives(&g[t]);
        dense_arrives(&s[t]);
        assert_memory_equal(&dots[t], &dots[0], sizeof dots[0]);
        assert_memory_equal(&logs[t], &logs[0], sizeof logs[0]);
        for (int64_t i = 0; i < n; i++) {
            dense_close("column sum again", matrix_get(&s[t], i, 0), matrix_get(&s[0], i, 0), 0, i, 0);
            for (int64_t j = 0; j < n; j++)
                dense_close("gram again", matrix_get(&g[t], i, j), matrix_get(&g[0], i, j), 0, i, j);
        }
    }
    dense_works(tamis_device_set_threads(dense_device, 0));
    dense_forget();
}

static int set_up(void **state) {
    (void)state;
    live = tamis_memory_live();
    if (tamis_device_open(name, &dense_device) != TAMIS_OK) return -1;
    for (int t = 0; t < 2; t++)
        if (tamis_dense_workspace_create(dense_device, DENSE_WIDEST, (tamis_type)t, &dense_workspaces[t]) != TAMIS_OK) {
            printf("%s\n", tamis_last_error());
            return -1;
        }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) tamis_dense_workspace_destroy(dense_workspaces[t]);
    tamis_device_close(dense_device);
    return tamis_memory_live() == live ? 0 : -1;
}

TEST_RUN() {
    int failed = 0;
    if (argc > 1) name = argv[1];
    if (argc > 2) most = atoi(argv[2]);
    dense_dice = tamis_random_start(test_seed(), 0);
    if (tamis_device_open(name, &dense_device) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    tamis_device_close(dense_device);
    if (strcmp(name, "cpu") != 0) return test_run(name, NULL, set_up, tear_down);
    unsigned types;
    int next = 0;
    for (const char *v; (v = test_variant_next(&next, TEST_DENSE, &types));)
        failed += test_run(v, NULL, set_up, tear_down);
    return failed;
}
