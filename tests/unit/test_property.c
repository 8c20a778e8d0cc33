/*
 * Properties that must hold for any problem, tried on seeded random ones. A failing problem is made smaller, as long as
 * it still fails, before it is printed.
 */
#include <tamis/structure.h>

#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/edges.h"
#include "support/expect.h"

typedef struct trial {
    int64_t rows, cols, nnz, inner;
    uint64_t seed;
} trial;

/* NULL when the property holds, else what was broken. */
typedef const char *property(const trial *t);

static problem make(const trial *t, tamis_format format) {
    tamis_random random = tamis_random_start(t->seed, 9);
    const problem_options o = {.rows = t->rows,
                               .cols = t->cols,
                               .nnz = t->nnz,
                               .inner = t->inner,
                               .width = t->inner,
                               .type = TAMIS_F64,
                               .format = format};
    return problem_make(&o, &random);
}

static tamis_device *device;

static bool near(double x, double y) { return fabs(x - y) <= 1e-11 * (1 + fabs(x) + fabs(y)); }

static tamis_status sampled_with(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B, tamis_edge edge,
                                 double alpha, double *p) {
    const test_call call = call_of(edge, alpha, 0);
    const tamis_dense P = samples_of(S, p, TAMIS_F64);
    return tamis_sddmm(device, S, A, B, &P, &call.options, &call.execution);
}

static tamis_status sampled(const problem *p, tamis_edge edge, double alpha, double *samples) {
    return sampled_with(&p->S, &p->A, &p->B, edge, alpha, samples);
}

static tamis_status sampled_of(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B, double *samples) {
    return sampled_with(S, A, B, TAMIS_EDGE_SCALE, 1, samples);
}

static const char *linear(const trial *t) {
    problem p = make(t, TAMIS_CSR);
    double *const one = test_doubles(t->nnz), *const two = test_doubles(t->nnz);
    const char *broken = NULL;
    if (sampled(&p, TAMIS_EDGE_SCALE, 1, one) != TAMIS_OK) broken = "a call failed";
    for (int64_t i = 0; i < t->rows * t->inner; i++) ((double *)p.A.data)[i] *= 3;
    if (sampled(&p, TAMIS_EDGE_SCALE, 2, two) != TAMIS_OK) broken = "a call failed";
    for (int64_t i = 0; i < t->nnz && !broken; i++)
        if (!near(6 * one[i], two[i])) broken = "SDDMM is not linear in A and alpha";
    free(one);
    free(two);
    problem_free(&p);
    return broken;
}

static const char *transposed(const trial *t) {
    problem p = make(t, TAMIS_CSR);
    double *const there = test_doubles(t->nnz), *const back = test_doubles(t->nnz),
                  *const values = test_doubles(t->nnz);
    int32_t *const offsets = test_room(t->cols, sizeof *offsets);
    int32_t *const columns = test_room(p.S.nnz, sizeof *columns);
    int64_t *const permutation = test_room(p.S.nnz, sizeof *permutation);
    tamis_sparse T = p.S;
    T.rows = p.S.cols;
    T.cols = p.S.rows;
    T.offsets = offsets;
    T.columns = columns;
    T.values = values;
    const char *broken = NULL;
    if (tamis_transpose(&p.S, offsets, columns, values, permutation) != TAMIS_OK ||
        sampled(&p, TAMIS_EDGE_SCALE, 1, there) != TAMIS_OK || sampled_of(&T, &p.B, &p.A, back) != TAMIS_OK)
        broken = "a call failed";
    for (int64_t i = 0; i < p.S.nnz && !broken; i++)
        if (!near(back[i], there[permutation[i]])) broken = "SDDMM of the transpose differs";
    free(there);
    free(back);
    free(values);
    free(offsets);
    free(columns);
    free(permutation);
    problem_free(&p);
    return broken;
}

static const char *fused_is_both(const trial *t) {
    problem p = make(t, TAMIS_CSR);
    const int64_t size = t->rows * t->inner;
    double *const x = test_doubles(t->nnz), *const both = test_doubles(size), *const fused = test_doubles(size);
    const tamis_dense C = {.data = both, .rows = t->rows, .cols = t->inner, .type = TAMIS_F64};
    tamis_dense E = C;
    tamis_sparse X = p.S;
    const char *broken = NULL;
    E.data = fused;
    X.values = x;
    for (int edge = 0; edge < TAMIS_EDGE_COUNT && !broken; edge++) {
        const tamis_options o = with_edge((tamis_edge)edge);
        if (edge == TAMIS_EDGE_QUOTIENT) continue; /* its poles amplify any rounding */
        if (sampled(&p, (tamis_edge)edge, 1, x) != TAMIS_OK ||
            tamis_spmm(device, &X, &p.D, &C, NULL, NULL) != TAMIS_OK ||
            tamis_fused(device, &p.S, &p.A, &p.B, &p.D, &E, &o, NULL) != TAMIS_OK)
            broken = "a call failed";
        for (int64_t i = 0; i < size && !broken; i++)
            if (!near(both[i], fused[i])) broken = "fused is not SDDMM followed by SpMM";
    }
    free(x);
    free(both);
    free(fused);
    problem_free(&p);
    return broken;
}

static const char *softmax_sums(const trial *t) {
    problem p = make(t, TAMIS_CSR);
    double *const x = test_doubles(t->nnz);
    const char *broken = NULL;
    if (sampled(&p, TAMIS_EDGE_SOFTMAX, 1, x) != TAMIS_OK) broken = "a call failed";
    for (int64_t i = 0; i < t->rows && !broken; i++) {
        const int32_t *const offsets = p.S.offsets;
        double sum = 0;
        for (int32_t z = offsets[i]; z < offsets[i + 1]; z++) {
            if (!(x[z] >= 0)) broken = "a weight below 0";
            sum += x[z];
        }
        if (offsets[i + 1] > offsets[i] && !near(sum, 1)) broken = "the weights of a row do not add up to 1";
    }
    free(x);
    problem_free(&p);
    return broken;
}

static const char *formats_agree(const trial *t) {
    problem p = make(t, TAMIS_CSR);
    double *const csr = test_doubles(t->nnz), *const coo = test_doubles(t->nnz);
    int32_t *const rows = test_room(t->nnz, sizeof *rows);
    tamis_sparse C = p.S;
    C.format = TAMIS_COO;
    C.row_indices = rows;
    C.offsets = NULL;
    const char *broken = NULL;
    if (tamis_csr_to_coo(&p.S, rows) != TAMIS_OK || sampled(&p, TAMIS_EDGE_SCALE, 1, csr) != TAMIS_OK ||
        sampled_of(&C, &p.A, &p.B, coo) != TAMIS_OK)
        broken = "a call failed";
    for (int64_t i = 0; i < p.S.nnz && !broken; i++)
        if (csr[i] != coo[i]) broken = "CSR and COO differ";
    free(csr);
    free(coo);
    free(rows);
    problem_free(&p);
    return broken;
}

/* ------------------------------------------------------------------------------------------ shrinking */

static const char *shrink(property *holds, trial *t) {
    const char *broken = holds(t);
    bool smaller = broken != NULL;
    while (smaller) {
        smaller = false;
        for (int field = 0; field < 4 && !smaller; field++)
            for (int step = 2; step >= 1 && !smaller; step--) { /* half first, then one less */
                trial next = *t;
                int64_t *const value = field == 0   ? &next.rows
                                       : field == 1 ? &next.cols
                                       : field == 2 ? &next.nnz
                                                    : &next.inner;
                *value = step == 2 ? *value / 2 : *value - 1;
                if (*value < 1) continue;
                const char *const still = holds(&next);
                if (!still) continue;
                broken = still;
                *t = next;
                smaller = true;
            }
    }
    return broken;
}

static const struct {
    const char *name;
    property *holds;
} properties[] = {
    {"linear", linear},
    {"transposed", transposed},
    {"fused is both", fused_is_both},
    {"softmax sums", softmax_sums},
    {"formats agree", formats_agree},
};

TEST(test_properties) {
    const uint64_t seed = test_seed();
    tamis_random random = tamis_random_start(seed, 0);
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        for (int round = 0; round < 40; round++) {
            trial t = {1 + tamis_random_below(&random, 40), 1 + tamis_random_below(&random, 60),
                       1 + tamis_random_below(&random, 900), 1 + tamis_random_below(&random, 70),
                       tamis_random_next(&random)};
            const char *const broken = shrink(properties[i].holds, &t);
            if (broken)
                fail_msg("%s: %s; smallest: rows %lld, cols %lld, nnz %lld, K %lld, seed %llu", properties[i].name,
                         broken, (long long)t.rows, (long long)t.cols, (long long)t.nnz, (long long)t.inner,
                         (unsigned long long)t.seed);
        }
}

/* A defect that shows from 7 nonzeros and K = 3 on: the shrinker must find just that. */
static const char *planted(const trial *t) { return t->nnz >= 7 && t->inner >= 3 ? "planted" : NULL; }

TEST(test_shrinker) {
    trial t = {33, 44, 500, 60, 1};
    assert_string_equal(shrink(planted, &t), "planted");
    assert_int_equal(t.rows, 1);
    assert_int_equal(t.cols, 1);
    assert_int_equal(t.nnz, 7);
    assert_int_equal(t.inner, 3);
    trial fine = {3, 3, 3, 1, 1};
    assert_null(shrink(planted, &fine));
}

TEST_RUN() {
    if (tamis_device_open("cpu", &device) != TAMIS_OK) return 1;
    const int failed = test_run(NULL, NULL, NULL, NULL);
    tamis_device_close(device);
    return failed;
}
