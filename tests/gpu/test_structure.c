/*
 * Prefix sums, sorting and the profile of panels on a device that computes, against loops on the host: sizes on both
 * sides of a tile, of a tile of tiles, and of a tile of those.
 *   test_structure [DEVICE [profile]]      opencl:0 unless told otherwise; profile: that alone, at small patterns
 */
#include "support/test.h"

#include "gpu/compile/utility.h"
#include "gpu/structure/profile.h"
#include "gpu/structure/sort.h"
#include "opened_device.h"

static bool brief; /* what takes an interpreter seconds is left out */

enum { TILE = TAMIS_GPU_GROUP * 8, CHUNK = TAMIS_GPU_GROUP * 16 }; /* of sort.simt */

static void expect_sums(int64_t count) {
    int64_t *const x = host(count), *const got = host(count), sum = 0;
    void *scratch = NULL;
    for (int64_t i = 0; i < count; i++) x[i] = tamis_random_below(&dice, 1000) - 300;
    void *const values = on_device(x, (size_t)count * 8);
    const size_t room = tamis_gpu_scan_scratch(count);
    int64_t behind = 77;
    works(tamis_device_allocate(device, room + sizeof behind, &scratch));
    works(tamis_device_upload(device, NULL, scratch, room, &behind, sizeof behind));
    works(tamis_gpu_scan(device->handle, NULL, (tamis_place){values, 0}, count, (tamis_place){scratch, 0}) !=
              TAMIS_OK ||
          tamis_device_download(device, NULL, got, values, 0, (size_t)count * 8));
    for (int64_t i = 0; i < count; sum += x[i], i++)
        if (got[i] != sum)
            fail_msg("of %lld, sum %lld is %lld, expected %lld", (long long)count, (long long)i, (long long)got[i],
                     (long long)sum);
    works(tamis_device_download(device, NULL, &behind, scratch, room, sizeof behind));
    assert_int_equal(behind, 77); /* it needs no more scratch than it asks for */
    tamis_device_free(device, scratch);
    tamis_device_free(device, values);
    free(x);
    free(got);
}

TEST(prefix_sums) {
    static const int64_t tiles[] = {1, 5, TILE}, others[] = {1, 2, 100, TILE * TILE + 3 * TILE + 7};
    for (int i = 0; i < 4; i++) expect_sums(others[i]);
    for (int i = 0; i < 3; i++)
        for (int64_t more = -1; more <= 1; more++) expect_sums(tiles[i] * TILE + more);
}

/* Nothing is launched for it. */
TEST(no_sums_of_nothing) {
    works(tamis_gpu_scan(device->handle, NULL, (tamis_place){NULL, 0}, 0, (tamis_place){NULL, 0}));
}

/* What is sorted: keys below `limit` are of[t] / by. In `segments` of random lengths, some of them empty, or as one. */
static void expect_sorted(int64_t count, int64_t limit, int64_t by, bool wide, int64_t segments) {
    OWN(int64_t) *const of = host(count), *const order = host(count), *const ends = host(segments + 1);
    OWN(int32_t) *const narrow = host(count);
    OWN(bool) *const seen = host(count);
    for (int64_t t = 0; t < count; t++) narrow[t] = (int32_t)(of[t] = tamis_random_below(&dice, limit * by));
    for (int64_t s = 1; s < segments; s++) /* most of them short, the last one long */
        ends[s] = ends[s - 1] + tamis_random_below(&dice, (count - ends[s - 1]) / 3 + 1) * tamis_random_below(&dice, 2);
    if (segments > 0) ends[segments] = count;
    void *const keys = on_device(wide ? (const void *)of : narrow, (size_t)count * (wide ? 8 : 4)),
                *order_made = NULL, *const offsets = segments ? on_device(ends, (size_t)(segments + 1) * 8) : NULL;
    const tamis_gpu_sorting what = {.count = count,
                                    .of = keys,
                                    .by = by,
                                    .limit = limit,
                                    .index_type = wide ? TAMIS_I64 : TAMIS_I32,
                                    .order_type = TAMIS_I64,
                                    .offsets = offsets,
                                    .rows = segments,
                                    .height = 1};
    works(tamis_gpu_sort(device->handle, NULL, &what, &order_made, NULL) != TAMIS_OK ||
          tamis_device_download(device, NULL, order, order_made, 0, (size_t)count * 8));
    for (int64_t t = 0, s = 0; t < count; t++) {
        assert_true(order[t] >= 0 && order[t] < count && !seen[order[t]]);
        seen[order[t]] = true;
        bool begins = t == 0;
        for (; segments && ends[s + 1] <= t; s++) begins = true;
        if (segments) assert_true(order[t] >= ends[s] && order[t] < ends[s + 1]);
        if (begins) continue;
        const int64_t before = of[order[t - 1]] / by, here = of[order[t]] / by;
        assert_true(before < here || (before == here && order[t - 1] < order[t]));
    }
    tamis_device_free(device, keys);
    tamis_device_free(device, order_made);
    tamis_device_free(device, offsets);
}

/* Stably, by as many passes as the limit asks for; counts of more than a chunk, and sums of them of more than a tile.
 */
TEST(sorting) {
    static const int64_t sizes[] = {1, 2, 300, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK * (TILE / 256) + 1};
    static const int64_t limits[] = {1, 2, 256, 257, 70000, 1LL << 33, 1LL << 60};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t j = 0; j < sizeof limits / sizeof limits[0]; j++)
            for (int64_t segments = 0; segments <= 40; segments += 20)
                if (sizes[i] < CHUNK * 4 || j == 4)
                    expect_sorted(sizes[i], limits[j], j % 3 ? 1 : 7, j > 4 || j == 1, segments);
}

/* One sort after another: by the last, and where that has equals, by the first. */
TEST(sorting_twice) {
    enum { COUNT = 3 * CHUNK };
    OWN(int32_t) *const x = host(COUNT), *const y = host(COUNT), *const order = host(COUNT);
    for (int64_t t = 0; t < COUNT; t++) {
        x[t] = (int32_t)tamis_random_below(&dice, 300);
        y[t] = (int32_t)tamis_random_below(&dice, 70);
    }
    void *const keys[2] = {on_device(y, COUNT * 4), on_device(x, COUNT * 4)}, *made = NULL;
    for (int i = 0; i < 2; i++) {
        const tamis_gpu_sorting what = {.count = COUNT, .of = keys[i], .by = 1, .limit = i ? 300 : 70};
        works(tamis_gpu_sort(device->handle, NULL, &what, &made, NULL));
    }
    works(tamis_device_download(device, NULL, order, made, 0, COUNT * 4));
    for (int64_t i = 1; i < COUNT; i++) {
        const int32_t a = order[i - 1], b = order[i];
        assert_true(x[a] < x[b] || (x[a] == x[b] && (y[a] < y[b] || (y[a] == y[b] && a < b))));
    }
    tamis_device_free(device, keys[0]);
    tamis_device_free(device, keys[1]);
    tamis_device_free(device, made);
}

/* A pattern in arrays of its own on the device, which is checked. */
static tamis_problem pattern_there(int64_t rows, int64_t cols, const int64_t *offsets, tamis_index_type offset_type,
                                   const int64_t *columns, tamis_index_type index_type) {
    return (tamis_problem){.rows = rows,
                           .cols = cols,
                           .nnz = offsets[rows],
                           .offsets = numbers_on_device(offsets, rows + 1, offset_type),
                           .offset_type = offset_type,
                           .columns = numbers_on_device(columns, offsets[rows], index_type),
                           .index_type = index_type,
                           .device = device->handle,
                           .unchecked = true};
}

static void pattern_gone(const tamis_problem *problem) {
    tamis_device_free(device, (void *)(uintptr_t)problem->offsets);
    tamis_device_free(device, (void *)(uintptr_t)problem->columns);
}

/* What the device finds; the host must find the same, to the last bit, for what is chosen depends on it. */
static void profile_both(const tamis_problem *problem, tamis_evidence *evidence) {
    tamis_evidence other = {0};
    works(tamis_gpu_profile_by(problem, false, evidence) != TAMIS_OK || tamis_gpu_profile_by(problem, true, &other));
    const tamis_profile *const x = &evidence->profile, *const y = &other.profile;
    const struct {
        const char *name;
        double there, here;
    } numbers[] = {
        {"max", (double)x->max, (double)y->max},
        {"min", (double)x->min, (double)y->min},
        {"empty rows", (double)x->empty_rows, (double)y->empty_rows},
        {"bandwidth", (double)x->bandwidth, (double)y->bandwidth},
        {"sorted", x->sorted, y->sorted},
        {"duplicates", (double)x->duplicates, (double)y->duplicates},
        {"variation", x->variation, y->variation},
        {"span", x->mean_span, y->mean_span},
        {"fresh", evidence->fresh_share, other.fresh_share},
        {"fresh of panels", evidence->panel_fresh[0], other.panel_fresh[0]},
        {"fresh of wide panels", evidence->panel_fresh[1], other.panel_fresh[1]},
        {"fresh of rows", evidence->row_fresh, other.row_fresh},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].there <= numbers[i].here && numbers[i].there >= numbers[i].here))
            fail_msg("%lld x %lld, %lld nonzeros: %s %.17g, on the host %.17g", (long long)x->rows, (long long)x->cols,
                     (long long)x->nnz, numbers[i].name, numbers[i].there, numbers[i].here);
}

/* Columns of the panels that are looked at over their nonzeros: exact where each column has a slot and all are read,
   else about. */
static void expect_fresh_of(int64_t rows, int64_t cols, const int64_t *offsets, const int64_t *columns, double within) {
    enum { PANELS = 6 };
    OWN(int32_t) *const last = host(cols);
    double fresh[2];
    for (int64_t wide = 0, mark = 0; wide < 2; wide++) {
        const int64_t height = 128 << wide;
        int64_t distinct = 0, total = 0;
        for (int64_t i = 0; i < PANELS; i++) {
            const int64_t about = (rows > height ? rows - height : 0) / PANELS * i, row = about - about % height;
            const int64_t end = offsets[row + height < rows ? row + height : rows];
            mark++;
            for (int64_t t = offsets[row]; t < end; total++, last[columns[t++]] = (int32_t)mark)
                distinct += last[columns[t]] != mark;
        }
        fresh[wide] = (double)distinct / (double)total;
    }
    tamis_evidence evidence;
    const tamis_problem problem = pattern_there(rows, cols, offsets, TAMIS_I64, columns, TAMIS_I32);
    profile_both(&problem, &evidence);
    for (int wide = 0; wide < 2; wide++)
        if (fabs(evidence.panel_fresh[wide] / fresh[wide] - 1) > within)
            fail_msg("of %lld columns %.6f are fresh, expected %.6f", (long long)cols, evidence.panel_fresh[wide],
                     fresh[wide]);
    pattern_gone(&problem);
}

/* Rows of any length; half of their columns are among few. */
static void expect_fresh(int64_t rows, int64_t cols, int64_t mean, double within) {
    OWN(int64_t) *const offsets = host(rows + 1), *const columns = host(2 * rows * mean);
    for (int64_t i = 0; i < rows; i++) {
        offsets[i + 1] = offsets[i] + tamis_random_below(&dice, 2 * mean);
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
            columns[t] = tamis_random_below(&dice, t % 2 ? cols : cols / 50);
    }
    expect_fresh_of(rows, cols, offsets, columns, within);
}

/* Row i has `band` columns up to column i, and panels more nonzeros than are read. */
static void expect_fresh_window(int64_t rows, int64_t band, double within) {
    OWN(int64_t) *const offsets = host(rows + 1), *const columns = host(rows * band);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t first = i < band ? 0 : i - band + 1;
        offsets[i + 1] = offsets[i] + i + 1 - first;
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) columns[t] = first + t - offsets[i];
    }
    expect_fresh_of(rows, rows, offsets, columns, within);
}

/* Rows whose columns rise, with `repeats` of them twice; the last column of a row is often the first of the next. */
static void expect_order(int64_t rows, int64_t repeats, bool falls) {
    enum { EACH = 8 };
    OWN(int64_t) *const offsets = host(rows + 1), *const columns = host(rows * EACH);
    for (int64_t i = 0; i <= rows; i++) offsets[i] = EACH * i;
    for (int64_t t = 0; t < rows * EACH; t++) columns[t] = t % EACH * 2 + (t / EACH % 2 ? EACH * 2 - 2 : 0);
    for (int64_t i = 0; i < repeats; i++) columns[i * EACH + 3] = columns[i * EACH + 2];
    if (falls) columns[rows / 2 * EACH + 5] = 0;
    tamis_evidence evidence;
    const tamis_problem problem = pattern_there(rows, 4 * EACH, offsets, TAMIS_I32, columns, TAMIS_I32);
    profile_both(&problem, &evidence);
    assert_int_equal(evidence.profile.sorted, !falls);
    assert_int_equal(evidence.profile.duplicates, falls ? -1 : repeats);
    pattern_gone(&problem);
}

/* A pattern of any kind; `broken`: 0, or which of its numbers is none (1: an offset falls, 2: one beyond the end, 3:
   the first is not 0, 4: a column is too large, 5: or negative). */
typedef struct pattern {
    int64_t rows, cols, mean;
    bool sorted, hub; /* hub: one row has more nonzeros than a panel may have for a profile */
    tamis_index_type index, offset;
    int broken;
} pattern;

static int ascending(const void *x, const void *y) {
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void expect_same(const pattern *w) {
    enum { HUB = 300000 };
    OWN(int64_t) *const offsets = host(w->rows + 1), *const columns = host(2 * w->rows * w->mean + HUB);
    for (int64_t i = 0; i < w->rows; i++) {
        int64_t *const row = columns + offsets[i];
        const int64_t length = w->hub && i == w->rows / 2 ? HUB : tamis_random_below(&dice, 2 * w->mean + 1);
        for (int64_t k = 0; k < length; k++) row[k] = tamis_random_below(&dice, k % 2 ? w->cols : w->cols / 10 + 1);
        if (w->sorted) qsort(row, (size_t)length, sizeof *row, ascending);
        offsets[i + 1] = offsets[i] + length;
    }
    const int64_t nnz = offsets[w->rows];
    if (w->broken == 1) offsets[w->rows / 2] = offsets[w->rows / 2 + 1] + 1;
    if (w->broken == 2) offsets[w->rows / 3] = nnz + 1;
    if (w->broken == 3) offsets[0] = 1;
    if (w->broken == 4) columns[nnz / 2] = w->cols;
    if (w->broken == 5) columns[nnz - 1] = -1;
    tamis_evidence evidence;
    tamis_problem problem = pattern_there(w->rows, w->cols, offsets, w->offset, columns, w->index);
    problem.unchecked = false;
    profile_both(&problem, &evidence); /* trusted: whatever it is */
    problem.unchecked = true;
    for (int by_host = 0; by_host < 2; by_host++) {
        const tamis_status status = tamis_gpu_profile_by(&problem, by_host != 0, &evidence);
        assert_int_equal(status, w->broken ? TAMIS_ERROR_PATTERN : TAMIS_OK);
        if (w->broken) assert_non_null(strstr(tamis_last_error(), w->broken > 3 ? "columns" : "offsets"));
    }
    pattern_gone(&problem);
}

TEST_TAG(profiling_by_either, "profile") {
    static const pattern patterns[] = {
        {.rows = 1, .cols = 1, .mean = 1},
        {.rows = 5, .cols = 3, .mean = 0},
        {.rows = 300, .cols = 400, .mean = 6},
        {.rows = 1000, .cols = 700, .mean = 8, .sorted = true},
        {.rows = 1000, .cols = 700, .mean = 8, .index = TAMIS_I64},
        {.rows = 130, .cols = 5000, .mean = 40, .sorted = true, .offset = TAMIS_I64},
        {.rows = 300, .cols = 200000, .mean = 50, .index = TAMIS_I64, .offset = TAMIS_I64},
        {.rows = 600, .cols = 100000, .mean = 50, .sorted = true, .hub = true},
        {.rows = 3000, .cols = 1LL << 40, .mean = 20, .sorted = true, .index = TAMIS_I64},
    };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (!brief || patterns[i].rows * patterns[i].mean < 6000) expect_same(&patterns[i]);
    if (brief) return;
    for (int broken = 1; broken <= 5; broken++) {
        expect_same(&(pattern){.rows = 1000, .cols = 700, .mean = 8, .sorted = true, .broken = broken});
        expect_same(&(pattern){
            .rows = 300, .cols = 200000, .mean = 50, .index = TAMIS_I64, .offset = TAMIS_I64, .broken = broken});
    }
}

TEST(profiling) {
    expect_order(5000, 0, false);
    expect_order(5000, 1, false);
    expect_order(3, 3, false);
    expect_order(5000, 17, true);
    expect_fresh(2000, 5000, 30, 1e-12);
    expect_fresh(100, 1 << 17, 50, 1e-12); /* as many columns as slots */
    expect_fresh(3000, 3000000, 100, 0.01);
    expect_fresh(600, 40000, 4000, 0.1); /* panels of more nonzeros than are read; columns are not alike */
    expect_fresh_window(6000, 6000, 0.01);
    expect_fresh_window(6000, 4096, 0.01);
}

/* Rows of `length` columns, every seventh empty, or of 1, 2, 3, ... where that is 0. The first column is `step` farther
   in each set of `height` rows; `own` columns of each row are no other row's. `fresh`: the share of the nonzeros in
   rows whose columns are not those of the row before. */
typedef struct overlap {
    int64_t rows, length, height, step, own;
    double fresh;
} overlap;

static void expect_row_fresh(const overlap *x) {
    const int64_t rows = x->rows, longest = x->length ? x->length : rows, cols = 2 * (rows + longest + rows * x->step);
    OWN(int64_t) *const offsets = host(rows + 1), *const columns = host(rows * longest);
    for (int64_t i = 0; i < rows; i++) {
        offsets[i + 1] = offsets[i] + (x->length == 0 ? i + 1 : i % 7 == 6 ? 0 : x->length);
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
            columns[t] = 2 * (i / x->height * x->step + t - offsets[i]);
        for (int64_t j = 1; j <= x->own && offsets[i + 1] > offsets[i]; j++)
            columns[offsets[i] + (j * longest / (x->own + 1) + i) % longest]++;
    }
    for (int wide = 0; wide < 2; wide++) {
        const tamis_index_type type = wide ? TAMIS_I64 : TAMIS_I32;
        tamis_evidence evidence;
        const tamis_problem problem = pattern_there(rows, cols, offsets, type, columns, type);
        profile_both(&problem, &evidence);
        if (fabs(evidence.row_fresh - x->fresh) > 1e-12)
            fail_msg("%lld rows of %lld in sets of %lld, %lld apart, %lld their own: %.6f are fresh, expected %.6f",
                     (long long)rows, (long long)x->length, (long long)x->height, (long long)x->step, (long long)x->own,
                     evidence.row_fresh, x->fresh);
        pattern_gone(&problem);
    }
}

/* Rows that have all their columns in common, and others that have most of them. */
TEST(alike_rows) {
    static const overlap overlaps[] = {
        {.rows = 6, .length = 1, .height = 6, .fresh = 1.0 / 6},
        {.rows = 6, .length = 5000, .height = 6, .fresh = 1.0 / 6},        /* one set, as in decoding */
        {.rows = 6, .length = 5000, .height = 2, .step = 9, .fresh = 0.5}, /* three, whose columns overlap */
        {.rows = 6, .length = 5000, .height = 6, .own = 1, .fresh = 1},
        {.rows = 300, .length = 65, .height = 1, .step = 1, .fresh = 1}, /* a window */
        {.rows = 300, .length = 65, .height = 300, .own = 2, .fresh = 1},
        {.rows = 300, .height = 1, .fresh = 1},                                      /* a triangle */
        {.rows = 4096, .length = 3, .height = 4, .step = 1, .fresh = 1317.0 / 3511}, /* and after empty ones */
        {.rows = 4097, .length = 3, .height = 4, .step = 1, .fresh = 1},             /* too many to look at */
    };
    for (size_t i = 0; i < sizeof overlaps / sizeof overlaps[0]; i++) expect_row_fresh(&overlaps[i]);
}

TEST_RUN() {
    dice = tamis_random_start(8, 0);
    brief = argc > 2 && strcmp(argv[2], "profile") == 0;
    if (!named_device_is_here(argc, argv, &name)) return 77;
    return brief ? test_run(name, "profile", set_up, tear_down) : test_run(name, NULL, set_up, tear_down);
}
