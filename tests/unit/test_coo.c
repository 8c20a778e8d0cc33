/*
 * Entries of COO in every order: a plan keeps entries that are in row order where they lie and brings all others into
 * it, so that the place of a single entry decides; the rows of tests/operations draw larger ones. Few entries in many
 * rows cost by the entries.
 */
#include "support/test.h"

#include <tamis/matrix.h>
#include <tamis/structure.h>

#include "cpu_device.h"

enum { ROWS = 3, COLS = 4, NNZ = 5, K = 2, L = 2, ORDERS = 243 }; /* ROWS to the power of NNZ */

typedef struct coo {
    int32_t narrow_rows[NNZ], narrow_columns[NNZ];
    int64_t wide_rows[NNZ], wide_columns[NNZ];
    float values[NNZ], a[ROWS * K], b[COLS * K], d[COLS * L], p[NNZ];
    bool in_order;
    tamis_sparse S;
    tamis_dense A, B, D, P;
} coo;

/* The rows are `number` in base ROWS, its last digit first. All numbers are small integers: sums are exact. */
static void coo_make(coo *x, int number, tamis_index_type index_type) {
    memset(x, 0, sizeof *x);
    x->in_order = true;
    for (int t = 0; t < NNZ; t++, number /= ROWS) {
        x->wide_rows[t] = number % ROWS;
        x->wide_columns[t] = (3 * t + 1) % COLS;
        x->narrow_rows[t] = (int32_t)x->wide_rows[t];
        x->narrow_columns[t] = (int32_t)x->wide_columns[t];
        x->values[t] = (float)(t + 1);
        if (t > 0 && x->wide_rows[t] < x->wide_rows[t - 1]) x->in_order = false;
    }
    for (int i = 0; i < ROWS * K; i++) x->a[i] = (float)(i % 4) + 1;
    for (int i = 0; i < COLS * K; i++) x->b[i] = (float)(i % 5) - 1;
    for (int i = 0; i < COLS * L; i++) x->d[i] = (float)(i % 3) + 2;
    const bool wide = index_type == TAMIS_I64;
    const void *const rows = wide ? (const void *)x->wide_rows : x->narrow_rows;
    const void *const columns = wide ? (const void *)x->wide_columns : x->narrow_columns;
    x->S = coo_of(TAMIS_F32, ROWS, COLS, NNZ, rows, columns, x->values);
    x->S.index_type = index_type;
    x->A = (tamis_dense){.data = x->a, .rows = ROWS, .cols = K};
    x->B = (tamis_dense){.data = x->b, .rows = COLS, .cols = K};
    x->D = (tamis_dense){.data = x->d, .rows = COLS, .cols = L};
    x->P = samples_of(&x->S, x->p, TAMIS_F32);
}

/* What a plan says of the order, and the samples. */
TEST(every_order_is_right) {
    coo x;
    for (int number = 0; number < ORDERS; number++)
        for (int type = TAMIS_I32; type <= TAMIS_I64; type++) {
            const tamis_options o = options_for(TAMIS_OP_SDDMM, K, 0);
            tamis_plan *plan;
            double want[NNZ];
            char text[2048];
            coo_make(&x, number, (tamis_index_type)type);
            works(tamis_plan_create(device, &x.S, &o, &plan));
            works(tamis_plan_explain(plan, text, sizeof text, NULL));
            assert_true((strstr(text, "COO and not in row order") == NULL) == x.in_order);
            works(tamis_plan_sddmm(plan, &x.A, &x.B, &x.P, NULL));
            works(tamis_reference_sddmm(&x.S, &x.A, &x.B, NULL, NULL, want));
            for (int t = 0; t < NNZ; t++) assert_true((double)x.p[t] == want[t]);
            tamis_plan_destroy(plan);
        }
}

/* The oracle itself takes entries wherever they are: it needs somebody who counts by hand. */
TEST(the_oracle_is_right) {
    coo x;
    for (int number = 0; number < ORDERS; number += 7)
        for (int type = TAMIS_I32; type <= TAMIS_I64; type++) {
            double got[ROWS * L], want[ROWS * L] = {0};
            coo_make(&x, number, (tamis_index_type)type);
            works(tamis_reference_spmm(&x.S, &x.D, NULL, NULL, got));
            for (int t = 0; t < NNZ; t++)
                for (int l = 0; l < L; l++)
                    want[x.wide_rows[t] * L + l] += (double)(x.values[t] * x.d[x.wide_columns[t] * L + l]);
            for (int i = 0; i < ROWS * L; i++) assert_true(got[i] == want[i]);
        }
}

/* ------------------------------------------------------------------------------------------ few entries, many rows */

enum { MANY = 1 << 20, FEW = 7, INNER = 3, BATCH = 2, SMALL_BYTES = 64 << 10 };

typedef struct rare {
    int32_t rows[FEW], columns[FEW];
    float values[FEW];
    float *many, *few; /* BATCH matrices of MANY x INNER, and of COLS x INNER */
    tamis_sparse S;
} rare;

/* Unordered, with a row of four entries, of which two are the same. */
static void rare_make(rare *x, bool ordered) {
    static const int32_t places[2][FEW] = {{MANY - 1, 5, 70000, 5, 0, 5, 5}, {0, 5, 5, 5, 5, 70000, MANY - 1}};
    static const int32_t others[FEW] = {3, 1, 0, 3, 2, 1, 0};
    memcpy(x->rows, places[ordered], sizeof places[0]);
    memcpy(x->columns, others, sizeof others);
    for (int t = 0; t < FEW; t++) x->values[t] = (float)(t + 1);
    x->many = calloc((size_t)BATCH * MANY * INNER, sizeof(float));
    x->few = calloc((size_t)BATCH * COLS * INNER, sizeof(float));
    assert_true(x->many && x->few);
    for (int64_t i = 0; i < (int64_t)BATCH * MANY * INNER; i++) x->many[i] = (float)(i % 11) - 4;
    for (int i = 0; i < BATCH * COLS * INNER; i++) x->few[i] = (float)(i % 7) - 2;
    x->S = coo_of(TAMIS_F32, MANY, COLS, FEW, x->rows, x->columns, x->values);
}

static void rare_free(rare *x) {
    free(x->many);
    free(x->few);
}

/* Samples of a batch, by a plan that allocates by the entries. */
static void few_samples(tamis_edge edge, bool ordered, tamis_layout layout) {
    rare x;
    float samples[BATCH * FEW];
    double want[FEW];
    char text[2048];
    tamis_options o = options_for(TAMIS_OP_SDDMM, INNER, 0);
    tamis_plan *plan;
    rare_make(&x, ordered);
    o.edge = edge;
    o.batch = BATCH;
    o.a_layout = layout;
    const int64_t sizes[] = {(int64_t)MANY * INNER, (int64_t)COLS * INNER};
    tamis_dense A = {.data = x.many, .rows = MANY, .cols = INNER, .layout = layout, .batch_stride = sizes[0]};
    tamis_dense B = {.data = x.few, .rows = COLS, .cols = INNER, .batch_stride = sizes[1]};
    const tamis_dense P = {.data = samples, .rows = FEW, .cols = 1, .batch_stride = FEW};
    const int64_t before = tamis_memory_bytes();
    works(tamis_plan_create(device, &x.S, &o, &plan));
    works(tamis_plan_sddmm(plan, &A, &B, &P, NULL));
    assert_true(tamis_memory_bytes() - before < SMALL_BYTES);
    works(tamis_plan_explain(plan, text, sizeof text, NULL));
    assert_non_null(strstr(text, "1048576 x 4, 7 nonzeros"));
    assert_non_null(strstr(text, "longest 4,"));
    assert_non_null(strstr(text, "1048572 empty"));
    assert_non_null(strstr(text, "gathers A's other rows (4)"));
    tamis_plan_destroy(plan);
    o.batch = 1;
    for (int member = 0; member < BATCH; member++) {
        works(tamis_reference_sddmm(&x.S, &A, &B, &o, NULL, want));
        for (int t = 0; t < FEW; t++) assert_true(fabs((double)samples[member * FEW + t] - want[t]) < 1e-5);
        A.data = x.many + sizes[0];
        B.data = x.few + sizes[1];
    }
    rare_free(&x);
}

TEST(few_entries_in_many_rows_are_sampled_by_entries) {
    static const tamis_edge edges[] = {TAMIS_EDGE_SCALE, TAMIS_EDGE_MASK, TAMIS_EDGE_SOFTMAX};
    for (int i = 0; i < 12; i++) few_samples(edges[i % 3], i / 3 % 2, i / 6 ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR);
}

/* One number for each row, as the output has, and not three. */
TEST(few_entries_in_many_rows_are_multiplied) {
    for (int ordered = 0; ordered < 2; ordered++) {
        rare x;
        rare_make(&x, ordered);
        const tamis_dense B = {.data = x.few, .rows = COLS, .cols = INNER};
        const tamis_dense C = {.data = x.many, .rows = MANY, .cols = INNER};
        double *const want = calloc((size_t)MANY * INNER, sizeof *want);
        assert_non_null(want);
        const int64_t before = tamis_memory_bytes();
        works(tamis_spmm(device, &x.S, &B, &C, NULL, NULL));
        assert_true(tamis_memory_bytes() - before < (int64_t)MANY * 4 + SMALL_BYTES);
        works(tamis_reference_spmm(&x.S, &B, NULL, NULL, want));
        for (int64_t i = 0; i < (int64_t)MANY * INNER; i++) assert_true((double)x.many[i] == want[i]);
        free(want);
        rare_free(&x);
    }
}

/* The profile is that of the CSR; sorting and merging give the CSR's entries. */
TEST(few_entries_in_many_rows_are_converted) {
    for (int ordered = 0; ordered < 2; ordered++) {
        rare x;
        tamis_profile profile, csr_profile;
        tamis_owned_sparse *csr, *merged, *back;
        tamis_convert_options o = TAMIS_CONVERT_OPTIONS_INIT;
        rare_make(&x, ordered);
        works(tamis_convert(&x.S, &o, &csr));
        works(tamis_row_profile(tamis_owned_sparse_view(csr), &csr_profile));
        tamis_owned_sparse_free(csr);
        o.duplicates = TAMIS_DUPLICATES_SUM;
        works(tamis_convert(&x.S, &o, &csr));
        o.format = TAMIS_COO;
        const int64_t before = tamis_memory_bytes();
        works(tamis_row_profile(&x.S, &profile));
        works(tamis_convert(&x.S, &o, &merged));
        assert_true(tamis_memory_bytes() - before < SMALL_BYTES);
        assert_int_equal(profile.rows, MANY);
        assert_int_equal(profile.max, 4);
        assert_int_equal(profile.min, 0);
        assert_int_equal(profile.empty_rows, MANY - 4);
        assert_int_equal(profile.bandwidth, csr_profile.bandwidth);
        assert_true(fabs(profile.mean_span - csr_profile.mean_span) < 1e-9);
        assert_true(fabs(profile.mean - csr_profile.mean) < 1e-12);
        assert_true(fabs(profile.variation / csr_profile.variation - 1) < 1e-6);
        assert_true(fabs(profile.density - csr_profile.density) < 1e-12);
        o.format = TAMIS_CSR;
        works(tamis_convert(tamis_owned_sparse_view(merged), &o, &back));
        const tamis_sparse *const a = tamis_owned_sparse_view(csr), *const b = tamis_owned_sparse_view(back);
        assert_int_equal(b->rows, MANY);
        assert_int_equal(a->nnz, b->nnz);
        assert_memory_equal(a->offsets, b->offsets, (MANY + 1) * tamis_index_size(a->offset_type));
        assert_memory_equal(a->columns, b->columns, (size_t)a->nnz * sizeof(int32_t));
        assert_memory_equal(a->values, b->values, (size_t)a->nnz * sizeof(float));
        tamis_owned_sparse_free(back);
        tamis_owned_sparse_free(merged);
        tamis_owned_sparse_free(csr);
        rare_free(&x);
    }
}

TEST_FIXTURE(set_up, tear_down)
