/* The oracle's bounds where numbers are extreme: what is right passes, what is wrong does not, and no bound is NaN. */
#include "support/test.h"

#include <float.h>

#include "base/edges.h"
#include "cli/problem.h"
#include "reference/bounds.h"
#include "reference/oracle.h"
#include "reference/squares.h"
#include "unit/cpu_device.h"

enum { ROWS = 12, COLS = 10, NNZ = ROWS * COLS, K = 8 };

/* A full matrix whose values a test chooses, computed by the library. */
typedef struct fixture {
    int32_t offsets[ROWS + 1], columns[NNZ];
    void *values;
    tool_problem problem;
    tool_operands operands;
    tamis_oracle *oracle;
} fixture;

static const tamis_type types[] = {TAMIS_F32, TAMIS_F64, TAMIS_F16, TAMIS_BF16};

static void compute(fixture *f) {
    const tool_problem *p = &f->problem;
    tamis_options o = tool_problem_options(p);
    o.threads = 2;
    const bool spmm = p->operation == TAMIS_OP_SPMM;
    works(call_at_once(device, p->operation, &p->S, &p->A, &p->B, spmm ? &p->B : &p->D, &p->output, &o, NULL));
}

static void prepare(fixture *f, tamis_operation operation, tamis_edge edge, tamis_type type, const double *values) {
    memset(f, 0, sizeof *f);
    for (int i = 0; i <= ROWS; i++) f->offsets[i] = i * COLS;
    for (int t = 0; t < NNZ; t++) f->columns[t] = t % COLS;
    f->values = tool_values_convert(values, TAMIS_F64, type, NNZ);
    f->problem = (tool_problem){.operation = operation,
                                .edge = edge,
                                .type = type,
                                .inner = K,
                                .width = K,
                                .edge_scale = 0.4,
                                .edge_slope = 0.1,
                                .edge_epsilon = 1e-10,
                                .alpha = 1,
                                .S = csr_of(type, ROWS, COLS, NNZ, f->offsets, f->columns, f->values)};
    works(tool_operands_random(&f->problem, TAMIS_ROW_MAJOR, 0, 0, 1, &f->operands));
}

static void finish(fixture *f) {
    works(tool_problem_oracle(&f->problem, HUGE_VAL, &f->oracle));
    compute(f);
}

static void make(fixture *f, tamis_operation operation, tamis_edge edge, tamis_type type, const double *values) {
    prepare(f, operation, edge, type, values);
    finish(f);
}

static void drop(fixture *f) {
    tamis_oracle_free(f->oracle);
    tool_operands_free(&f->operands);
    free(f->values);
}

static tamis_comparison compared(const tamis_oracle *oracle, const tamis_dense *output, double alpha, double beta,
                                 const tamis_dense *old) {
    tamis_comparison result;
    works(tamis_oracle_compare(oracle, output, alpha, beta, old, &result));
    return result;
}

static tamis_comparison compare(const fixture *f) { return compared(f->oracle, &f->problem.output, 1, 0, NULL); }

static double found_at(const fixture *f, int64_t at) {
    return tool_element_get(f->problem.output.data, f->problem.type, at);
}

static bool passes_with(const fixture *f, int64_t at, double value) {
    const double right = found_at(f, at);
    tool_element_set(f->problem.output.data, f->problem.type, at, value);
    const bool passed = compare(f).passed;
    tool_element_set(f->problem.output.data, f->problem.type, at, right);
    return passed;
}

/* Right results pass under values of every size; none of the bounds is NaN; and of the finite results the largest, off
   by a per cent or two, is noticed. */
static void check_values(const double *values) {
    static const double wrong[] = {1.001, 1 + 1e-10, 1.01, 1.06};
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 1 : TAMIS_EDGE_COUNT); edge++)
            for (int n = 0; n < 4; n++) {
                fixture f;
                make(&f, (tamis_operation)operation, (tamis_edge)edge, types[n], values);
                for (int64_t i = 0; i < f.oracle->items; i++) assert_true(!isnan(f.oracle->bound[i]));
                const tamis_comparison result = compare(&f);
                if (!result.passed)
                    fail_msg("%s %s %s: %g of %g, at %lld %lld %g where %g is right",
                             tamis_operation_name((tamis_operation)operation), tamis_edge_name((tamis_edge)edge),
                             tamis_type_name(types[n]), result.error, result.tolerance, (long long)result.row,
                             (long long)result.col, result.found, result.expected);
                const int64_t elements = f.oracle->items * f.oracle->width;
                assert_int_equal(result.compared + result.not_finite, elements);
                int64_t at = -1;
                for (int64_t i = 0; i < elements; i++) {
                    const double size = fabs(found_at(&f, i)), bound = f.oracle->bound[i / f.oracle->width];
                    /* the oracle's own sums may pass the largest number, where those of the library do not */
                    const bool finite = isfinite(size) && isfinite(f.oracle->reference[i]);
                    const bool sure = finite && 20 * bound < (wrong[n] - 1) * size;
                    if (sure && (at < 0 || size > fabs(found_at(&f, at)))) at = i;
                }
                const double value = at >= 0 ? found_at(&f, at) * wrong[n] : (double)NAN;
                if (at >= 0 && (types[n] == TAMIS_F64 || fabs(value) < 3e4)) assert_false(passes_with(&f, at, value));
                if (at >= 0 && fabs(value) < 3e4) assert_false(passes_with(&f, at, (double)NAN));
                drop(&f);
            }
}

TEST(values_of_every_size_have_bounds) {
    static const double lists[][6] = {
        {1, -2, 0.5, 3, -0.25, 7},
        {1e6, -3e5, 12, 70000, -1e5, 1},
        {1e12, 1e12 + 3e4, 1e12 - 1e5, -1e12, 2, 1e12 + 1},
        {1e200, -1e-200, 1, 1e100, -1e-100, 3e150},
        {1.7e308, -1.7e308, 1e307, 1, -1e308, 1.2e308},
        {3e38, -3e38, 1e30, 1, -2e38, 1e-38},
        {1e-310, -5e-324, 1e-308, 2e-320, 1e-45, -1e-40},
        {0, -0.0, 0, 0, 0, 0},
    };
    for (size_t n = 0; n < sizeof lists / sizeof *lists; n++) {
        double values[NNZ];
        for (size_t t = 0; t < NNZ; t++) values[t] = lists[n][(t * 7 + t / 11) % 6];
        check_values(values);
    }
}

TEST(infinities_and_nan_are_compared_by_class) {
    const double lists[][2] = {{(double)INFINITY, 1}, {-(double)INFINITY, 1}, {(double)NAN, 2}};
    for (int n = 0; n < 3; n++) {
        double values[NNZ];
        for (int t = 0; t < NNZ; t++) values[t] = t % 37 == 3 ? lists[n][0] : lists[n][1] + 0.125 * (t % 5);
        check_values(values);
    }
    double values[NNZ];
    for (int t = 0; t < NNZ; t++) values[t] = (double)NAN;
    check_values(values);
    fixture f;
    make(&f, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, TAMIS_F32, values);
    const tamis_comparison result = compare(&f);
    assert_true(result.passed);
    assert_int_equal(result.compared, 0);
    assert_int_equal(result.not_finite, ROWS * K);
    assert_false(passes_with(&f, 5, 1));
    drop(&f);
}

/* A score of minus infinity has p = 0, exactly, and nothing hides behind it. */
TEST(a_score_of_minus_infinity_has_no_error) {
    double values[NNZ];
    for (int t = 0; t < NNZ; t++) values[t] = t % 3 == 1 ? -(double)INFINITY : 0.1 * (t % 7);
    for (int n = 0; n < 4; n++) {
        fixture f;
        make(&f, TAMIS_OP_SDDMM, TAMIS_EDGE_SOFTMAX, types[n], values);
        const tamis_comparison result = compare(&f);
        assert_true(result.passed);
        assert_int_equal(result.not_finite, 0);
        assert_true(f.oracle->bound[1] <= 2 * (double)FLT_MIN && f.oracle->bound[1] > 0);
        assert_true(passes_with(&f, 1, 0));
        assert_false(passes_with(&f, 1, 1e-6));
        assert_false(passes_with(&f, 1, (double)NAN));
        drop(&f);
    }
}

/* Far below the largest score of a row, the exponent is as large as its rounding is coarse. */
TEST(small_probabilities_have_the_error_of_their_exponent) {
    double values[NNZ];
    for (int t = 0; t < NNZ; t++) values[t] = -70.0 * (t % COLS) + 0.3 * (t % 7);
    fixture f;
    make(&f, TAMIS_OP_SDDMM, TAMIS_EDGE_SOFTMAX, TAMIS_F64, values);
    assert_true(compare(&f).passed);
    for (int64_t t = 0; t < NNZ; t++) {
        const double p = f.oracle->reference[t], gap = 70.0 * (double)(t % COLS);
        if (p < 1e-300) continue;
        assert_true(f.oracle->bound[t] > p * 0x1p-53 * gap);
        assert_true(f.oracle->bound[t] < p * 0x1p-53 * (20 * gap + 200));
    }
    assert_false(passes_with(&f, 5, found_at(&f, 5) * (1 + 1e-11)));
    drop(&f);
}

TEST(what_is_not_finite_is_the_same) {
    double values[NNZ];
    for (int t = 0; t < NNZ; t++) values[t] = 0.25;
    values[0] = (double)INFINITY;
    values[1] = (double)NAN;
    fixture f;
    make(&f, TAMIS_OP_SDDMM, TAMIS_EDGE_SCALE, TAMIS_F32, values);
    const tamis_comparison result = compare(&f);
    assert_true(result.passed && result.not_finite == 2 && result.undecided == 0 && !result.cannot_tell);
    const double infinite = f.oracle->reference[0];
    assert_true(isinf(infinite) != 0 && isnan(f.oracle->reference[1]) != 0);
    assert_true(passes_with(&f, 0, infinite));
    assert_false(passes_with(&f, 0, -infinite));
    assert_false(passes_with(&f, 0, (double)NAN));
    assert_false(passes_with(&f, 0, 1));
    assert_false(passes_with(&f, 1, infinite));
    assert_false(passes_with(&f, 1, 1));
    drop(&f);
}

/* A bound that could pass anything is no verdict. */
TEST(a_wide_bound_tells_nothing) {
    double values[NNZ];
    for (int t = 0; t < NNZ; t++) values[t] = 0.25;
    fixture f;
    make(&f, TAMIS_OP_SDDMM, TAMIS_EDGE_SCALE, TAMIS_F32, values);
    assert_true(compare(&f).passed && !compare(&f).cannot_tell);
    for (int64_t t = 0; t < NNZ; t++) f.oracle->bound[t] = 0.2 * fabs(f.oracle->reference[t]);
    tamis_comparison result = compare(&f);
    assert_true(result.passed && result.cannot_tell && result.tolerance > 0.1);
    for (int64_t t = 0; t < NNZ; t++) f.oracle->bound[t] = 0;
    result = compare(&f);
    assert_true(!result.passed && !result.cannot_tell);
    drop(&f);
}

/* What fp16 cannot hold may be infinite, of the right sign, and nothing else; what it can hold may not. */
TEST(overflow_is_an_expected_infinity) {
    double values[NNZ];
    for (int t = 0; t < NNZ; t++) values[t] = t % 2 ? 60000 : 0.25;
    fixture f;
    make(&f, TAMIS_OP_SDDMM, TAMIS_EDGE_EXP, TAMIS_F16, values);
    const tamis_comparison result = compare(&f);
    assert_true(result.passed && result.compared >= NNZ / 2 && result.not_finite > 0);
    int64_t beyond = 1;
    while (f.oracle->reference[beyond] < 70000) beyond += 2;
    assert_true(isinf(found_at(&f, beyond)) != 0);
    assert_false(passes_with(&f, beyond, -(double)INFINITY));
    assert_false(passes_with(&f, beyond, (double)NAN));
    assert_false(passes_with(&f, beyond, 60000));
    assert_false(passes_with(&f, 0, (double)INFINITY));
    drop(&f);
}

/* One dot product whose terms cancel: the error is that of the terms, not of the little that is left. */
TEST(products_that_cancel_keep_the_error_of_their_terms) {
    enum { TERMS = 100 };
    int32_t offsets[] = {0, 1}, column = 0;
    double a[TERMS], b[TERMS], p = 0;
    for (int k = 0; k < TERMS; k++) {
        a[k] = 1 + 0.37 * k;
        b[k] = (k % 2 ? -1 : 1) / a[k];
    }
    b[0] += 1e-9;
    tool_problem problem = {.operation = TAMIS_OP_SDDMM,
                            .edge = TAMIS_EDGE_MASK,
                            .type = TAMIS_F64,
                            .inner = TERMS,
                            .width = TERMS,
                            .S = {.rows = 1, .cols = 1, .nnz = 1, .offsets = offsets, .columns = &column},
                            .A = {.data = a, .rows = 1, .cols = TERMS, .stride = TERMS, .type = TAMIS_F64},
                            .B = {.data = b, .rows = 1, .cols = TERMS, .stride = TERMS, .type = TAMIS_F64},
                            .output = {.data = &p, .rows = 1, .cols = 1, .stride = 1, .type = TAMIS_F64}};
    tamis_oracle *oracle = NULL;
    works(tool_problem_oracle(&problem, HUGE_VAL, &oracle));
    for (int k = 0; k < TERMS; k += 2) p += a[k] * b[k]; /* another order: all that is positive first */
    for (int k = 1; k < TERMS; k += 2) p += a[k] * b[k];
    assert_true(fabs(oracle->reference[0]) < 2e-9);
    assert_true(compared(oracle, &problem.output, 1, 0, NULL).passed);
    p += 1e-10;
    assert_false(compared(oracle, &problem.output, 1, 0, NULL).passed);
    tamis_oracle_free(oracle);
}

static float cut(float x, int bits) {
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    word = (word + (1U << (bits - 1))) & ~((1U << bits) - 1); /* to nearest */
    memcpy(&x, &word, sizeof x);
    return x;
}

/* Inputs rounded to TF32 are wrong where the plan is exact and right where it rounds; those with three bits less
   are wrong in any case. */
TEST(inputs_rounded_to_tf32_are_right_where_a_plan_rounds) {
    enum { TF32_LACKS = 13 };
    const double values[NNZ] = {0};
    for (int lacking = TF32_LACKS; lacking <= TF32_LACKS + 3; lacking += 3) {
        fixture f;
        make(&f, TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, TAMIS_F32, values);
        const float *const a = f.problem.A.data, *const b = f.problem.B.data;
        assert_true(compare(&f).passed);
        for (int64_t t = 0; t < NNZ; t++) {
            double sum = 0;
            for (int64_t k = 0; k < K; k++)
                sum += (double)cut(a[t / COLS * f.problem.A.stride + k], lacking) *
                       (double)cut(b[t % COLS * f.problem.B.stride + k], lacking);
            tool_element_set(f.problem.output.data, TAMIS_F32, t, sum);
        }
        assert_false(compare(&f).passed);
        tamis_oracle_free(f.oracle);
        f.problem.math = TAMIS_MATH_TF32;
        works(tool_problem_oracle(&f.problem, HUGE_VAL, &f.oracle));
        const tamis_comparison result = compare(&f);
        assert_true(result.passed == (lacking == TF32_LACKS));
        assert_true(result.tolerance < 2e-3);
        drop(&f);
    }
}

/* One neighbour off is wrong where the exact result is well on this side of the middle, and so is a whole output that
   was cut off: half a unit in the last place is allowed, and the little error of the sums. */
TEST(half_types_are_rounded_to_nearest) {
    double values[NNZ];
    for (int t = 0; t < NNZ; t++) values[t] = 0.3 + 0.17 * (t % 7);
    for (int n = 2; n < 4; n++) {
        fixture f;
        make(&f, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, types[n], values);
        assert_true(compare(&f).passed);
        uint16_t *const bits = f.problem.output.data;
        int tried = 0;
        for (int64_t i = 0; i < f.oracle->items * f.oracle->width; i++) {
            const double right = f.oracle->reference[i], nearest = found_at(&f, i);
            const uint16_t kept = bits[i];
            bits[i] = (uint16_t)(fabs(right) > fabs(nearest) ? kept + 1 : kept - 1);
            const double other = found_at(&f, i), gap = fabs(other - nearest);
            if (fabs(other - right) > 0.6 * gap) {
                assert_false(compare(&f).passed);
                tried++;
            }
            bits[i] = fabs(nearest) > fabs(right) ? (uint16_t)(kept - 1) : kept;
            if (fabs(found_at(&f, i)) > fabs(right)) fail_msg("%g is not %g cut off", found_at(&f, i), right);
        }
        assert_true(tried > ROWS * K / 2);
        assert_false(compare(&f).passed);
        drop(&f);
    }
}

/* alpha scales the bound with the result; an old output adds one more term of its row's sum, and three roundings. */
TEST(the_bound_is_scaled_as_the_result_is) {
    double values[NNZ];
    for (int t = 0; t < NNZ; t++) values[t] = 0.3 + 0.17 * (t % 7);
    fixture f;
    make(&f, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, TAMIS_F64, values);
    const tamis_dense *const output = &f.problem.output;
    const double plain = compare(&f).tolerance, rounding = 3 * tamis_arithmetic_of(TAMIS_F64).both;
    for (int64_t i = 0; i < ROWS * K; i++) tool_element_set(output->data, TAMIS_F64, i, found_at(&f, i) * 0x1p-10);
    const tamis_comparison scaled = compared(f.oracle, output, 0x1p-10, 0, NULL);
    assert_true(scaled.passed && scaled.tolerance <= (plain + rounding) * 1.001);
    const tamis_comparison old = compared(f.oracle, output, 0x1p-60, 1, output);
    assert_true(old.passed && old.tolerance <= (tamis_sum_tolerance(TAMIS_F64, COLS) + rounding) * 1.001);
    drop(&f);
}

/* A processor may take subnormal operands of bf16 for 0, not of other types, and nothing that is larger. */
TEST(subnormal_numbers_of_bf16_may_be_lost) {
    double values[NNZ];
    for (int t = 0; t < NNZ; t++) values[t] = t % COLS == 0 ? 0x1p-127 : 0;
    for (int operation = 0; operation <= TAMIS_OP_SPMM; operation++)
        for (int n = 0; n < 4; n++) {
            const tool_problem *p = NULL;
            fixture f;
            if (types[n] == TAMIS_F16) continue; /* 2^-127 is none of its numbers */
            prepare(&f, (tamis_operation)operation, TAMIS_EDGE_MASK, types[n], values);
            p = &f.problem;
            for (int64_t i = 0; i < COLS * K; i++) tool_element_set(p->B.data, types[n], i, 0x1p100);
            for (int64_t i = 0; operation == TAMIS_OP_SDDMM && i < ROWS * K; i++)
                tool_element_set(p->A.data, types[n], i, i % K == 3 ? 0x1p-127 : 0);
            finish(&f);
            assert_true(compare(&f).passed);
            const bool bf16 = types[n] == TAMIS_BF16;
            for (int64_t i = 0; i < f.oracle->items; i++)
                assert_true(f.oracle->reference[i * f.oracle->width] == 0x1p-27);
            assert_true(passes_with(&f, 5, 0) == bf16);
            assert_false(passes_with(&f, 5, 0x1p-18));
            drop(&f);
        }
}

/* The project's rule, which the other bounds are made of. */
TEST(sums_are_held_to_the_rule) {
    for (int n = 0; n < 4; n++) {
        const double unit = types[n] == TAMIS_F64 ? 0x1p-53 : 0x1p-24;
        assert_true(fabs(tamis_sum_tolerance(types[n], 0) / (1e-6 * 0x1p24 * unit) - 1) < 1e-12);
        assert_true(fabs(tamis_sum_tolerance(types[n], 384) / (2e-6 * 0x1p24 * unit) - 1) < 1e-12);
    }
    assert_true(tamis_rounding_tolerance(TAMIS_MATH_EXACT, 1000) == 0);
    assert_true(tamis_rounding_tolerance(TAMIS_MATH_TF32, 0) == 0x1p-10 + 0x1p-20);
}

TEST(squares_are_summed_over_the_whole_range) {
    static const double sizes[] = {1e-320, 1e-200, 1, 1e200, 1e307};
    for (int n = 0; n < 5; n++) {
        tamis_squares three = {0}, four = {0}, none = {0};
        tamis_squares_add(&three, 3 * sizes[n]);
        tamis_squares_add(&four, -4 * sizes[n]);
        assert_true(fabs(tamis_squares_ratio(&three, &four) - 0.75) < 1e-3);
        assert_true(tamis_squares_norm(&none) == 0);
        assert_true(tamis_squares_ratio(&three, &none) == tamis_squares_norm(&three));
        tamis_squares_add(&three, 4 * sizes[n]);
        assert_true(fabs(tamis_squares_norm(&three) / sizes[n] - 5) < 1e-3);
    }
}

TEST_FIXTURE(set_up, tear_down)
