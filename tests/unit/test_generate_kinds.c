/* What each kind of generated matrix looks like: valid, sorted, without duplicates, as many nonzeros as asked for. */
#include <tamis/generate.h>
#include <tamis/structure.h>

#include "test_sparse_support.h"

static tamis_generate_options generator_for(tamis_kind kind, int64_t rows, int64_t cols, int64_t nnz) {
    tamis_generate_options o = TAMIS_GENERATE_OPTIONS_INIT;
    o.kind = kind;
    o.rows = rows;
    o.cols = cols;
    o.nnz = nnz;
    o.seed = 1;
    return o;
}

/* Generates and checks what holds for every kind. */
static tamis_owned_sparse *make(const tamis_generate_options *o, tamis_profile *profile) {
    tamis_owned_sparse *matrix;
    works(tamis_generate(o, &matrix));
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    assert_int_equal(S->format, TAMIS_CSR);
    assert_int_equal(S->rows, o->rows);
    assert_int_equal(S->cols, o->cols ? o->cols : o->rows);
    assert_int_equal(S->index_type, o->index_type);
    assert_int_equal(S->offset_type, o->offset_type);
    assert_int_equal(S->value_type, o->value_type);
    assert_true((S->values == NULL) == (o->pattern || S->nnz == 0));
    works(tamis_validate(S));
    works(tamis_row_profile(S, profile));
    assert_true(profile->sorted);
    assert_int_equal(profile->duplicates, 0);
    for (int64_t z = 0; S->values && z < S->nnz; z++) {
        const double value = tamis_element_load(S->values, S->value_type, z);
        assert_true(value >= -1 && value < 1);
    }
    return matrix;
}

static tamis_profile profile_of(const tamis_generate_options *o) {
    tamis_profile profile;
    tamis_owned_sparse_free(make(o, &profile));
    return profile;
}

static int64_t column(const tamis_sparse *S, int64_t z) { return tamis_index_load(S->columns, S->index_type, z); }

static int64_t offset(const tamis_sparse *S, int64_t row) { return tamis_index_load(S->offsets, S->offset_type, row); }

static bool holds(const tamis_sparse *S, int64_t row, int64_t wanted) {
    for (int64_t z = offset(S, row); z < offset(S, row + 1); z++)
        if (column(S, z) == wanted) return true;
    return false;
}

static const struct {
    int64_t rows, cols, nnz;
} shapes[] = {{0, 0, 0},        {1, 1, 0},       {1, 1, 1},           {5, 5, 25},           {10, 10, 7},
              {9, 30, 270},     {30, 9, 100},    {64, 64, 4096},      {1000, 10, 3000},     {10, 1000, 3000},
              {257, 255, 9000}, {3000, 3000, 0}, {3000, 3000, 60000}, {20000, 100, 200000}, {100, 20000, 200000}};

TEST(exact_kinds) {
    const tamis_kind kinds[] = {TAMIS_KIND_UNIFORM, TAMIS_KIND_RMAT, TAMIS_KIND_BANDED, TAMIS_KIND_SCATTER};
    for (int k = 0; k < 4; k++)
        for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++)
            for (int types = 0; types < 4; types++) {
                if (!test_whole() && shapes[shape].nnz >= 60000 && types != (k + (int)shape) % 4)
                    continue; /* which take long */
                tamis_generate_options o =
                    generator_for(kinds[k], shapes[shape].rows, shapes[shape].cols, shapes[shape].nnz);
                o.index_type = (tamis_index_type)(types & 1);
                o.offset_type = (tamis_index_type)(types >> 1);
                o.value_type = (tamis_type)((types + k) & 3);
                o.pattern = types == 3;
                tamis_profile profile = profile_of(&o);
                assert_int_equal(profile.nnz, o.nnz);
                if (kinds[k] == TAMIS_KIND_UNIFORM) assert_true(profile.max - profile.min <= 1);
            }
}

TEST(nearly_exact_kinds) {
    const int64_t targets[] = {2000, 40000, 250000};
    for (int64_t block = 1; block < 20; block += block < 4 ? 1 : 5)
        for (int target = 0; target < 3; target++) {
            tamis_generate_options o = generator_for(TAMIS_KIND_FEM, 4001, 0, targets[target] + 20 * block * block);
            o.block = block;
            tamis_profile profile = profile_of(&o);
            const double slack = 0.02 * (double)o.nnz + (double)(2 * block * block);
            assert_true(fabs((double)(profile.nnz - o.nnz)) <= slack);
            o.kind = TAMIS_KIND_BLOCK;
            o.cols = 3001;
            profile = profile_of(&o);
            assert_true(fabs((double)(profile.nnz - o.nnz)) <= slack);
        }
    for (int64_t global = 0; global < 60; global += 29) {
        tamis_generate_options o = generator_for(TAMIS_KIND_WINDOW, 2000, 0, 500000);
        o.global = global;
        tamis_profile profile = profile_of(&o);
        assert_true(fabs((double)(profile.nnz - o.nnz)) <= 0.02 * (double)o.nnz);
    }
}

/* Sizes where little is possible: nothing breaks, and a full matrix is full. */
TEST(small_and_full) {
    for (int kind = TAMIS_KIND_UNIFORM; kind <= TAMIS_KIND_WINDOW; kind++)
        for (int64_t side = 0; side < 12; side++)
            for (int64_t nnz = 0; nnz <= side * side; nnz++) {
                tamis_generate_options o = generator_for((tamis_kind)kind, side, 0, nnz);
                o.block = 1 + nnz % 4;
                o.global = nnz % 3;
                o.index_type = TAMIS_I64;
                tamis_profile profile = profile_of(&o);
                if (nnz == side * side && nnz > 0) assert_int_equal(profile.nnz, nnz);
            }
}

TEST(uniform_is_uniform) {
    /* few and many of a row's columns: kept sorted, sorted later, marked, and by their complement */
    const int64_t cases[][2] = {{50, 20}, {100000, 60}, {3000, 200}, {200, 150}};
    for (int c = 0; c < 4; c++) {
        const int64_t cols = cases[c][0], each = cases[c][1], rows = 400000 / each;
        tamis_generate_options o = generator_for(TAMIS_KIND_UNIFORM, rows, cols, rows * each);
        tamis_profile profile;
        OWN(tamis_owned_sparse) *const matrix = make(&o, &profile);
        const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
        assert_int_equal(profile.min, each);
        assert_int_equal(profile.max, each);
        double quarters[4] = {0};
        for (int64_t z = 0; z < S->nnz; z++) quarters[column(S, z) * 4 / cols]++;
        for (int q = 0; q < 4; q++) {
            const double expected =
                (double)((cols * (q + 1) + 3) / 4 - (cols * q + 3) / 4) / (double)cols * (double)S->nnz;
            assert_true(fabs(quarters[q] - expected) < 5 * sqrt(expected));
        }
    }
}

TEST(rmat_is_skewed) {
    tamis_generate_options o = generator_for(TAMIS_KIND_RMAT, 10000, 0, 200000);
    tamis_profile profile;
    tamis_owned_sparse *matrix = make(&o, &profile);
    assert_true(profile.variation > 1.5 && profile.max > 10 * 20);
    /* shuffled: the longest row is not the first one, and both halves have their share */
    const tamis_sparse *S = tamis_owned_sparse_view(matrix);
    assert_in_range(offset(S, 5000), 80000, 120000);
    assert_true(offset(S, 1) < profile.max);
    tamis_owned_sparse_free(matrix);
    o.cols = 500;
    matrix = make(&o, &profile);
    assert_true(profile.variation > 1);
    tamis_owned_sparse_free(matrix);
}

TEST(banded_keeps_its_band) {
    for (int64_t band = 1; band < 200; band += 33)
        for (int shape = 0; shape < 3; shape++) {
            tamis_generate_options o =
                generator_for(TAMIS_KIND_BANDED, shape == 1 ? 900 : 600, shape == 2 ? 900 : 600, 1200);
            o.band = band;
            tamis_profile profile = profile_of(&o);
            assert_int_equal(profile.nnz, 1200);
            assert_true(profile.bandwidth <= band);
        }
    /* full to the last place */
    tamis_generate_options o = generator_for(TAMIS_KIND_BANDED, 50, 70, 0);
    o.band = 3;
    for (int64_t i = 0; i < 50; i++) o.nnz += (i < 3 ? i : 3) + 1 + 3;
    tamis_profile profile = profile_of(&o);
    assert_int_equal(profile.nnz, o.nnz);
    o.nnz++;
    tamis_owned_sparse *matrix;
    REFUSED(ARGUMENT, "a band of 3", tamis_generate(&o, &matrix));
}

TEST(fem_has_symmetric_blocks) {
    for (int64_t block = 1; block < 7; block++) {
        tamis_generate_options o = generator_for(TAMIS_KIND_FEM, 600 * block, 0, 600 * block * 13 * block);
        o.block = block;
        tamis_profile profile;
        OWN(tamis_owned_sparse) *const matrix = make(&o, &profile);
        const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
        assert_int_equal(profile.empty_rows, 0);
        assert_true(profile.variation < 0.3);
        for (int64_t row = 0; row < S->rows; row++) {
            assert_true(holds(S, row, row));
            for (int64_t z = offset(S, row); z < offset(S, row + 1); z++) {
                assert_true(holds(S, column(S, z), row));
                assert_true(holds(S, row / block * block, column(S, z)));
                assert_true(holds(S, row, column(S, z) / block * block));
            }
        }
    }
}

TEST(block_has_blocks) {
    tamis_generate_options o = generator_for(TAMIS_KIND_BLOCK, 640, 320, 0);
    o.density = 0.1;
    tamis_profile profile;
    OWN(tamis_owned_sparse) *const matrix = make(&o, &profile);
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    assert_int_equal(profile.nnz, 20480);
    for (int64_t row = 0; row < S->rows; row++)
        for (int64_t z = offset(S, row); z < offset(S, row + 1); z++)
            for (int64_t k = 0; k < 16; k += 5) {
                assert_true(holds(S, row / 16 * 16 + k, column(S, z)));
                assert_true(holds(S, row, column(S, z) / 16 * 16 + k));
            }
}

TEST(scatter_has_its_diagonal) {
    tamis_generate_options o = generator_for(TAMIS_KIND_SCATTER, 3000, 2500, 12000);
    tamis_profile profile;
    OWN(tamis_owned_sparse) *const matrix = make(&o, &profile);
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    int64_t near = 0;
    for (int64_t row = 0; row < S->rows; row++) {
        assert_true(row >= 2500 || holds(S, row, row));
        for (int64_t z = offset(S, row); z < offset(S, row + 1); z++)
            near += column(S, z) != row && llabs(column(S, z) - row) < 50;
    }
    assert_true(near > 3000 && near < 9000);
}

TEST(window_is_a_window) {
    for (int64_t width = 1; width < 300; width += 37)
        for (int64_t global = 0; global < 10; global += 3)
            for (int64_t cols = 100; cols < 301; cols += 100) {
                tamis_generate_options o = generator_for(TAMIS_KIND_WINDOW, 200, cols, 0);
                o.band = width;
                o.global = global;
                tamis_profile profile;
                OWN(tamis_owned_sparse) *const matrix = make(&o, &profile);
                const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
                int64_t z = 0;
                for (int64_t i = 0; i < 200; i++)
                    for (int64_t j = 0; j < cols; j++) {
                        const int64_t begin = i * cols / 200 - width / 2;
                        if (i >= global && j >= global && (j < begin || j >= begin + width)) continue;
                        assert_true(z < S->nnz && column(S, z) == j);
                        z++;
                    }
                assert_int_equal(z, S->nnz);
            }
    tamis_generate_options o = generator_for(TAMIS_KIND_WINDOW, 4096, 0, 0); /* a default width */
    tamis_profile profile = profile_of(&o);
    assert_in_range(profile.max, 200, 300);
}
