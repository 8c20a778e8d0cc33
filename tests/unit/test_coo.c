/*
 * Entries of COO in every order: a plan keeps entries that are in row order where they lie and brings all others into
 * it, so that the place of a single entry decides. Rows of 32 and of 64 bits.
 */
#include "cmocka_first.h"

#include <stdlib.h>
#include <string.h>
#include <tamis/reference.h>
#include <tamis/tamis.h>

#include "cpu_device.h"
#include "support/call.h"

enum { ROWS = 3, COLS = 4, NNZ = 5, K = 2, L = 2, ORDERS = 243 }; /* ROWS to the power of NNZ */

typedef struct coo {
    int32_t narrow_rows[NNZ], narrow_columns[NNZ];
    int64_t wide_rows[NNZ], wide_columns[NNZ];
    float values[NNZ], a[ROWS * K], b[COLS * K], d[COLS * L], p[NNZ], out[ROWS * L];
    bool in_order;
    tamis_sparse S;
    tamis_dense A, B, D, P, E;
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
    x->S = (tamis_sparse){.format = TAMIS_COO,
                          .rows = ROWS,
                          .cols = COLS,
                          .nnz = NNZ,
                          .index_type = index_type,
                          .row_indices = wide ? (const void *)x->wide_rows : x->narrow_rows,
                          .columns = wide ? (const void *)x->wide_columns : x->narrow_columns,
                          .values = x->values};
    x->A = (tamis_dense){.data = x->a, .rows = ROWS, .cols = K};
    x->B = (tamis_dense){.data = x->b, .rows = COLS, .cols = K};
    x->D = (tamis_dense){.data = x->d, .rows = COLS, .cols = L};
    x->P = samples_of(&x->S, x->p, TAMIS_F32);
    x->E = (tamis_dense){.data = x->out, .rows = ROWS, .cols = L};
}

static void expect(const coo *x, const float *got, const double *want, int count, const char *what, int number) {
    for (int i = 0; i < count; i++)
        if ((double)got[i] != want[i])
            fail_msg("%s, order %d, %s: element %d is %g, expected %g", what, number,
                     tamis_index_type_name(x->S.index_type), i, (double)got[i], want[i]);
}

static tamis_plan *plan_of(const coo *x, tamis_operation operation) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_plan *plan = NULL;
    o.operation = operation;
    o.inner = K;
    o.width = L;
    if (tamis_plan_create(device, &x->S, &o, &plan) != TAMIS_OK) fail_msg("%s", tamis_last_error());
    return plan;
}

static void run(coo *x, int number) {
    double samples[NNZ], products[ROWS * L], fused[ROWS * L];
    assert_int_equal(tamis_reference_sddmm(&x->S, &x->A, &x->B, NULL, NULL, samples), TAMIS_OK);
    assert_int_equal(tamis_reference_spmm(&x->S, &x->D, NULL, NULL, products), TAMIS_OK);
    assert_int_equal(tamis_reference_fused(&x->S, &x->A, &x->B, &x->D, NULL, NULL, fused), TAMIS_OK);

    tamis_plan *plan = plan_of(x, TAMIS_OP_SDDMM);
    char text[2048];
    assert_int_equal(tamis_plan_explain(plan, text, sizeof text, NULL), TAMIS_OK);
    assert_true((strstr(text, "COO and not in row order") == NULL) == x->in_order);
    assert_int_equal(tamis_plan_sddmm(plan, &x->A, &x->B, &x->P, NULL), TAMIS_OK);
    expect(x, x->p, samples, NNZ, "a plan of sddmm", number);
    tamis_plan_destroy(plan);
    plan = plan_of(x, TAMIS_OP_SPMM);
    assert_int_equal(tamis_plan_spmm(plan, &x->D, &x->E, NULL), TAMIS_OK);
    expect(x, x->out, products, ROWS * L, "a plan of spmm", number);
    tamis_plan_destroy(plan);
    plan = plan_of(x, TAMIS_OP_FUSED);
    assert_int_equal(tamis_plan_fused(plan, &x->A, &x->B, &x->D, &x->E, NULL), TAMIS_OK);
    expect(x, x->out, fused, ROWS * L, "a plan of fused", number);
    tamis_plan_destroy(plan);
    assert_int_equal(tamis_spmm(device, &x->S, &x->D, &x->E, NULL, NULL), TAMIS_OK);
    expect(x, x->out, products, ROWS * L, "a single call of spmm", number);
}

static void every_order_is_right(void **state) {
    (void)state;
    coo x;
    for (int number = 0; number < ORDERS; number++)
        for (int type = TAMIS_I32; type <= TAMIS_I64; type++) {
            coo_make(&x, number, (tamis_index_type)type);
            run(&x, number);
        }
}

/* The oracle itself takes entries wherever they are: it needs somebody who counts by hand. */
static void the_oracle_is_right(void **state) {
    (void)state;
    coo x;
    for (int number = 0; number < ORDERS; number += 7)
        for (int type = TAMIS_I32; type <= TAMIS_I64; type++) {
            double got[ROWS * L], want[ROWS * L] = {0};
            coo_make(&x, number, (tamis_index_type)type);
            assert_int_equal(tamis_reference_spmm(&x.S, &x.D, NULL, NULL, got), TAMIS_OK);
            for (int t = 0; t < NNZ; t++)
                for (int l = 0; l < L; l++)
                    want[x.wide_rows[t] * L + l] += (double)(x.values[t] * x.d[x.wide_columns[t] * L + l]);
            for (int i = 0; i < ROWS * L; i++) assert_true(got[i] == want[i]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_oracle_is_right), cmocka_unit_test(every_order_is_right)};
    setenv("TAMIS_PROBE", "0", 1);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
