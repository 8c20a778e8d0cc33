/* The row profile against plain loops over the entries. */
#include <tamis/generate.h>
#include <tamis/structure.h>

#include <sys/mman.h>

#include "test_sparse_support.h"

#include "sparse/locality.h"
#include "sparse/structure.h"

static tamis_profile plain_profile(const sample *s, bool entries_ordered) {
    tamis_profile p = {.rows = s->rows, .cols = s->cols, .nnz = s->nnz, .sorted = entries_ordered};
    OWN(int64_t) *const count = room_for(s->rows, sizeof(int64_t)), *const low = room_for(s->rows, sizeof(int64_t)),
                        *const high = room_for(s->rows, sizeof(int64_t));
    for (int64_t t = 0; t < s->nnz; t++) {
        const entry e = s->entries[t];
        if (count[e.row]++ == 0) low[e.row] = high[e.row] = e.column;
        if (e.column < low[e.row]) low[e.row] = e.column;
        if (e.column > high[e.row]) high[e.row] = e.column;
        if (llabs(e.column - e.row) > p.bandwidth) p.bandwidth = llabs(e.column - e.row);
        if (t > 0 && e.row == s->entries[t - 1].row) {
            if (e.column < s->entries[t - 1].column) p.sorted = false;
            if (e.column == s->entries[t - 1].column) p.duplicates++;
        }
    }
    double squares = 0, spans = 0;
    p.mean = s->rows ? (double)s->nnz / (double)s->rows : 0;
    p.min = s->rows ? INT64_MAX : 0;
    for (int64_t row = 0; row < s->rows; row++) {
        squares += pow((double)count[row] - p.mean, 2);
        if (count[row] > p.max) p.max = count[row];
        if (count[row] < p.min) p.min = count[row];
        if (count[row])
            spans += (double)(high[row] - low[row] + 1);
        else
            p.empty_rows++;
    }
    p.variation = s->nnz ? sqrt(squares / (double)s->rows) / p.mean : 0;
    p.mean_span = s->nnz ? spans / (double)(s->rows - p.empty_rows) : 0;
    p.density = s->rows && s->cols ? (double)s->nnz / ((double)s->rows * (double)s->cols) : 0;
    if (!p.sorted) p.duplicates = -1;
    return p;
}

static void expect_close(double actual, double expected) {
    if (fabs(actual - expected) > 1e-12 * fabs(expected)) fail_msg("%.17g instead of %.17g", actual, expected);
}

static void expect_rows_equal(const tamis_profile *actual, const tamis_profile *expected) {
    assert_int_equal(actual->rows, expected->rows);
    assert_int_equal(actual->cols, expected->cols);
    assert_int_equal(actual->nnz, expected->nnz);
    assert_int_equal(actual->max, expected->max);
    assert_int_equal(actual->min, expected->min);
    assert_int_equal(actual->empty_rows, expected->empty_rows);
    expect_close(actual->mean, expected->mean);
    expect_close(actual->variation, expected->variation);
    expect_close(actual->density, expected->density);
}

static void expect_profile(const tamis_profile *actual, const tamis_profile *expected) {
    expect_rows_equal(actual, expected);
    assert_int_equal(actual->bandwidth, expected->bandwidth);
    assert_int_equal(actual->sorted, expected->sorted);
    assert_int_equal(actual->duplicates, expected->duplicates);
    expect_close(actual->mean_span, expected->mean_span);
}

TEST(profiles_samples) {
    for (int shape = 0; shape < SAMPLE_SHAPES; shape++)
        for (int types = 0; types < 4; types += test_rounds(1, 3))
            for (int order = 0; order < 3; order++) { /* any, by row, by row and column */
                OWN(sample) s = sample_of(100, shape);
                if (order) order_entries(&s, order == 1 ? by_row : by_both);
                bool ordered = true;
                for (int64_t t = 1; t < s.nnz; t++) ordered &= s.entries[t].row >= s.entries[t - 1].row;
                const tamis_profile expected = plain_profile(&s, ordered);
                tamis_profile profile;
                sample_build(&s, TAMIS_COO, (tamis_index_type)(types & 1), (tamis_index_type)(types >> 1), TAMIS_F32,
                             false);
                works(tamis_row_profile(&s.view, &profile));
                expect_profile(&profile, &expected);
                if (order) {
                    sample_build(&s, TAMIS_CSR, (tamis_index_type)(types & 1), (tamis_index_type)(types >> 1),
                                 TAMIS_F32, false);
                    works(tamis_row_profile(&s.view, &profile));
                    expect_profile(&profile, &expected);
                    for (int threads = 1; threads < 6; threads += 2) {
                        tamis_profile_rows(&s.view, threads, &profile);
                        expect_rows_equal(&profile, &expected);
                        assert_true(profile.bandwidth <= expected.bandwidth);
                        if (order == 2 && s.rows <= 1024) { /* the sample is everything */
                            assert_int_equal(profile.bandwidth, expected.bandwidth);
                            expect_close(profile.mean_span, expected.mean_span);
                        }
                        tamis_profile_columns(&s.view, threads, &profile);
                        expect_profile(&profile, &expected);
                    }
                }
            }
}

/* One row that falls anywhere in an otherwise sorted matrix is noticed, at block and thread boundaries too. */
TEST(notices_one_fall) {
    OWN(sample) s = sample_draw(8, 3000, 900, 60000);
    order_entries(&s, by_both);
    sample_build(&s, TAMIS_CSR, TAMIS_I32, TAMIS_I32, TAMIS_F32, false);
    tamis_profile profile;
    int tried = 0;
    for (int64_t t = 1; t < s.nnz; t += test_rounds(97, 291)) {
        int32_t *const columns = s.columns;
        if (s.entries[t].row != s.entries[t - 1].row || columns[t] == 0) continue;
        const int32_t old = columns[t - 1];
        columns[t - 1] = columns[t] + 1 < 900 ? columns[t] + 1 : old;
        if (columns[t - 1] != old) {
            works(tamis_row_profile(&s.view, &profile));
            assert_false(profile.sorted);
            assert_int_equal(profile.duplicates, -1);
            tried++;
        }
        columns[t - 1] = old;
    }
    assert_true(tried > 100);
}

static tamis_owned_sparse *generated(tamis_kind kind, int64_t rows, int64_t nnz, int64_t band) {
    tamis_generate_options options = TAMIS_GENERATE_OPTIONS_INIT;
    tamis_owned_sparse *matrix;
    options.kind = kind;
    options.rows = rows;
    options.nnz = nnz;
    options.density = 0;
    options.band = band;
    works(tamis_generate(&options, &matrix));
    return matrix;
}

TEST(estimates_large_matrices) {
    OWN(tamis_owned_sparse) *const matrix = generated(TAMIS_KIND_BANDED, 100000, 800000, 50);
    tamis_profile exact, estimate;
    works(tamis_row_profile(tamis_owned_sparse_view(matrix), &exact));
    tamis_profile_rows(tamis_owned_sparse_view(matrix), 2, &estimate);
    assert_true(fabs(estimate.mean_span - exact.mean_span) < 0.05 * exact.mean_span);
    assert_in_range(estimate.bandwidth, 40, 50);
}

/* More nonzeros than 32 bits can count: zero pages that take no memory, of which the cheap part reads a few. */
TEST(profiles_beyond_32_bits) {
    const int64_t giga = (int64_t)1 << 30, nnz = 5 * giga;
    const size_t bytes = (size_t)nnz * sizeof(int32_t);
    void *const columns = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (columns == MAP_FAILED) skip_because("no mapping of %zu bytes is to be had", bytes);
    const int64_t offsets[] = {0, giga, giga, nnz};
    const tamis_sparse S = {
        .rows = 3, .cols = 10, .nnz = nnz, .offset_type = TAMIS_I64, .offsets = offsets, .columns = columns};
    tamis_profile profile;
    tamis_profile_rows(&S, 2, &profile);
    assert_true(profile.nnz == nnz && profile.max == 4 * giga && profile.min == 0);
    assert_int_equal(profile.empty_rows, 1);
    assert_int_equal(profile.bandwidth, 2);
    expect_close(profile.mean, (double)nnz / 3);
    expect_close(profile.mean_span, 1);
    munmap(columns, bytes);
}

/* A kind of generator, or 0 x 0, and the class that it is. */
TEST(finds_classes) {
    static const struct {
        tamis_kind kind;
        int64_t rows, nnz, band;
        const char *name;
    } cases[] = {{TAMIS_KIND_UNIFORM, 900, 90000, 0, "uniform"},
                 {TAMIS_KIND_UNIFORM, 60, 2000, 0, "dense"},
                 {TAMIS_KIND_UNIFORM, 60, 0, 0, "empty"},
                 {TAMIS_KIND_RMAT, 2048, 20000, 0, "power law"},
                 {TAMIS_KIND_SCATTER, 900, 2700, 0, "diagonal and scatter"},
                 {TAMIS_KIND_BANDED, 900, 4000, 20, "banded"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN(tamis_owned_sparse) *const matrix = generated(cases[i].kind, cases[i].rows, cases[i].nnz, cases[i].band);
        tamis_structure structure;
        works(tamis_structure_find(tamis_owned_sparse_view(matrix), NULL, &structure));
        if (strcmp(structure.name, cases[i].name) != 0) fail_msg("%s is %s", cases[i].name, structure.name);
        assert_non_null(strstr(tamis_structure_rules(), cases[i].name));
        int64_t rows = 0;
        for (int64_t bin = 0; bin < structure.histogram_bins; bin++) rows += structure.histogram[bin];
        assert_int_equal(rows, cases[i].rows);
    }
}

/* The numbers behind a class, of a matrix and of its lower rows, which begin within its arrays. */
TEST(finds_the_numbers_of_a_class) {
    const int32_t offsets[] = {0, 1, 4, 4, 6}, columns[] = {7, 0, 1, 2, 3, 9};
    tamis_sparse S = {.rows = 4, .cols = 10, .nnz = 6, .offsets = offsets, .columns = columns}, lower;
    tamis_structure structure;
    works(tamis_structure_find(&S, NULL, &structure));
    expect_close(structure.run, 6.0 / 4); /* 7; 0 1 2; 3; 9 */
    expect_close(structure.near_share, 4.0 / 6);
    expect_close(structure.diagonal, 2.0 / 4);
    assert_int_equal(structure.histogram_bins, 3);
    assert_true(structure.histogram[0] == 1 && structure.histogram[1] == 1 && structure.histogram[2] == 2);
    assert_string_equal(structure.name, "irregular");
    works(tamis_slice(&S, 1, 3, 0, 0, &lower));
    works(tamis_structure_find(&lower, NULL, &structure));
    expect_close(structure.run, 5.0 / 3);
    expect_close(structure.diagonal, 1.0 / 3);
    S.format = TAMIS_COO;
    S.row_indices = columns;
    REFUSED(ARGUMENT, "S.format = coo", tamis_structure_find(&S, NULL, &structure));
    S.format = TAMIS_CSR;
    REFUSED(ARGUMENT, "structure = NULL", tamis_structure_find(&S, NULL, NULL));
}

/* The share of fresh columns, with a table of those that a window has seen. */
TEST(counts_fresh_columns) {
    enum { MOST = 30000, COLS = 300 };
    static const int64_t counts[] = {1, 5, 64, 65, 1000, MOST}, windows[] = {1, 100, 5000};
    static int32_t narrow[MOST];
    static int64_t wide[MOST];
    tamis_random random = tamis_random_start(7, 0);
    for (int t = 0; t < MOST; t++) wide[t] = narrow[t] = (int32_t)tamis_random_below(&random, COLS);
    assert_true(tamis_fresh_share(narrow, TAMIS_I32, 0, 100) == 1);
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++)
        for (size_t w = 0; w < sizeof windows / sizeof windows[0]; w++) {
            int64_t begin, end, last = 0, fresh = 0, seen = 0;
            for (int i = 0; tamis_fresh_window(counts[n], windows[w], i, &begin, &end); i++) {
                bool before[COLS] = {false};
                assert_true(begin >= last && end > begin && end <= counts[n]);
                for (int64_t t = begin; t < end; t++) {
                    fresh += !before[narrow[t]];
                    before[narrow[t]] = true;
                }
                seen += end - begin;
                last = begin;
            }
            const double share = (double)fresh / (double)seen;
            assert_true(tamis_fresh_share(narrow, TAMIS_I32, counts[n], windows[w]) == share);
            assert_true(tamis_fresh_share(wide, TAMIS_I64, counts[n], windows[w]) == share);
        }
}

TEST(refuses_arguments) {
    int32_t offsets[] = {0, 1}, columns[] = {3};
    tamis_sparse S = {.rows = 1, .cols = 2, .nnz = 1, .offsets = offsets, .columns = columns};
    tamis_profile profile = {.rows = 77};
    REFUSED(ARGUMENT, "S = NULL", tamis_row_profile(NULL, &profile));
    REFUSED(PATTERN, "columns[0] = 3", tamis_row_profile(&S, &profile));
    assert_int_equal(profile.rows, 77);
    columns[0] = 1;
    REFUSED(ARGUMENT, "profile = NULL", tamis_row_profile(&S, NULL));
    works(tamis_row_profile(&S, &profile));
    assert_int_equal(profile.rows, 1);
}
