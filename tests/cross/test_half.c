/*
 * fp16 and bf16 against bit patterns that others published (the examples of IEEE 754 binary16, bfloat16 as the upper
 * half of binary32), against their definition for every pattern, and on every instruction set that runs here through
 * kernels: what they load, and how they round what they store.
 */
#include "support/test.h"

#include <float.h>

#include "cross.h"
#include "support/algorithms.h"

enum { PATTERNS = 65536, SIGN = 0x8000 };

typedef struct layout {
    tamis_type type;
    int digits, bias; /* of the fraction, as stored */
    unsigned infinity;
} layout;

static const layout layouts[] = {{TAMIS_F16, 10, 15, 0x7c00}, {TAMIS_BF16, 7, 127, 0x7f80}};

static float load(const layout *of, unsigned bits) {
    return of->type == TAMIS_F16 ? tamis_f32_from_f16((uint16_t)bits) : tamis_f32_from_bf16((uint16_t)bits);
}

static unsigned store(const layout *of, float x) {
    return of->type == TAMIS_F16 ? tamis_f16_from_f32(x) : tamis_bf16_from_f32(x);
}

static bool is_nan(const layout *of, unsigned bits) { return (bits & ~(unsigned)SIGN) > of->infinity; }

/* Of a finite pattern: the distance to the next one away from zero, with its sign. */
static double gap_of(const layout *of, unsigned bits) {
    const int field = (int)((bits & ~(unsigned)SIGN) >> of->digits);
    const double gap = ldexp(1, (field > 0 ? field : 1) - of->bias - of->digits);
    return bits & SIGN ? -gap : gap;
}

/* By the definition of the formats; not of NaN. */
static double value_of(const layout *of, unsigned bits) {
    const unsigned magnitude = bits & ~(unsigned)SIGN, fraction = magnitude & ((1U << of->digits) - 1);
    if (magnitude == of->infinity) return bits & SIGN ? -(double)INFINITY : (double)INFINITY;
    const unsigned leading = magnitude >> of->digits ? 1U << of->digits : 0;
    return gap_of(of, bits) * (leading + fraction);
}

/* ------------------------------------------------------------------------------------------ one number at a time */

typedef struct published {
    double value;
    unsigned bits;
} published;

static void loads_and_stores(const layout *of, const published *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_true((double)load(of, list[i].bits) == list[i].value);
        assert_int_equal(store(of, (float)list[i].value), list[i].bits);
    }
}

TEST(patterns_that_were_published_are_these_numbers) {
    static const published f16[] = {{0, 0x0000},
                                    {0x1p-24, 0x0001},
                                    {0x3ffp-24, 0x03ff},
                                    {0x1p-14, 0x0400},
                                    {0.333251953125, 0x3555},
                                    {1 - 0x1p-11, 0x3bff},
                                    {1, 0x3c00},
                                    {1 + 0x1p-10, 0x3c01},
                                    {65504, 0x7bff},
                                    {(double)INFINITY, 0x7c00},
                                    {-0x1p-24, 0x8001},
                                    {-2, 0xc000},
                                    {-65504, 0xfbff},
                                    {-(double)INFINITY, 0xfc00}};
    static const published bf16[] = {{0, 0x0000},           {0x1p-133, 0x0001},    {0x1p-126, 0x0080},
                                     {0.333984375, 0x3eab}, {1, 0x3f80},           {1 + 0x1p-7, 0x3f81},
                                     {3.140625, 0x4049},    {0x1.fep127, 0x7f7f},  {(double)INFINITY, 0x7f80},
                                     {-2, 0xc000},          {-0x1.fep127, 0xff7f}, {-(double)INFINITY, 0xff80}};
    loads_and_stores(&layouts[0], f16, sizeof f16 / sizeof *f16);
    loads_and_stores(&layouts[1], bf16, sizeof bf16 / sizeof *bf16);
    assert_true(signbit(load(&layouts[0], 0x8000)) && signbit(load(&layouts[1], 0x8000)));
    assert_int_equal(store(&layouts[0], -0.0F), 0x8000);
    assert_int_equal(store(&layouts[1], -0.0F), 0x8000);
}

static void stores(const layout *of, const published *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(store(of, (float)list[i].value), list[i].bits);
        assert_int_equal(store(of, -(float)list[i].value), list[i].bits | SIGN);
    }
}

TEST(numbers_in_between_go_to_the_nearest_and_ties_to_even) {
    static const published f16[] = {{1.0 / 3, 0x3555},
                                    {1 + 0x1p-11, 0x3c00},
                                    {1 + 0x1p-11 + 0x1p-23, 0x3c01},
                                    {1 + 0x3p-11, 0x3c02},
                                    {0x1p-25, 0x0000},
                                    {0x1.000002p-25, 0x0001},
                                    {0x3p-25, 0x0002},
                                    {0x1p-14 - 0x1p-25, 0x0400},
                                    {65519.99609375, 0x7bff},
                                    {65520, 0x7c00},
                                    {1e30, 0x7c00},
                                    {1e-30, 0x0000}};
    static const published bf16[] = {
        {1.0 / 3, 0x3eab},    {3.14159265358979, 0x4049}, {1 + 0x1p-8, 0x3f80}, {1 + 0x1p-8 + 0x1p-23, 0x3f81},
        {1 + 0x3p-8, 0x3f82}, {0x1p-134, 0x0000},         {0x3p-134, 0x0002},   {0x1.fefffep127, 0x7f7f},
        {0x1.ffp127, 0x7f80}, {(double)FLT_MAX, 0x7f80}};
    stores(&layouts[0], f16, sizeof f16 / sizeof *f16);
    stores(&layouts[1], bf16, sizeof bf16 / sizeof *bf16);
}

TEST(every_pattern_has_its_value_and_comes_back) {
    for (int n = 0; n < 2; n++) {
        const layout *const of = &layouts[n];
        for (unsigned bits = 0; bits < PATTERNS; bits++) {
            const float x = load(of, bits);
            if (is_nan(of, bits)) {
                assert_true(isnan(x) && is_nan(of, store(of, x)));
                continue;
            }
            assert_true((double)x == value_of(of, bits) && !signbit(x) == !(bits & SIGN));
            assert_int_equal(store(of, x), bits);
            assert_true(expect_stored(of->type, (double)x) == (double)x);
        }
    }
}

/* The neighbour away from zero; of the largest, infinity. */
TEST(every_middle_of_neighbours_rounds_to_even) {
    for (int n = 0; n < 2; n++) {
        const layout *const of = &layouts[n];
        for (unsigned bits = 0; bits < PATTERNS; bits++) {
            if ((bits & ~(unsigned)SIGN) >= of->infinity) continue;
            const float middle = (float)(value_of(of, bits) + gap_of(of, bits) / 2);
            const float more = nextafterf(middle, bits & SIGN ? -INFINITY : INFINITY), less = nextafterf(middle, 0);
            assert_int_equal(store(of, middle), bits + bits % 2);
            assert_int_equal(store(of, more), bits + 1);
            assert_int_equal(store(of, less), bits);
            assert_true(expect_stored(of->type, (double)middle) == value_of(of, bits + bits % 2));
        }
    }
}

TEST(payloads_of_nan_do_not_become_infinity) {
    static const uint32_t payloads[] = {0x7f800001, 0x7f80ffff, 0x7fffffff, 0xff800001, 0xffbfffff, 0x7fc00000};
    for (int i = 0; i < 6; i++) {
        float x;
        memcpy(&x, &payloads[i], sizeof x);
        for (int n = 0; n < 2; n++) assert_true(is_nan(&layouts[n], store(&layouts[n], x)));
    }
}

/* ------------------------------------------------------------------------------------------ in kernels */

/* `parts` of a whole gap beyond a pattern, exactly; all patterns for 0, else those that have a neighbour. */
typedef struct beyond {
    const char *name;
    double parts;
} beyond;

static const beyond steps[] = {
    {"itself", 0}, {"less than half a gap", 0.5 - 0x1p-7}, {"half a gap", 0.5}, {"more than half a gap", 0.5 + 0x1p-7}};

static unsigned expected(const layout *of, unsigned bits, double parts) {
    if ((bits & ~(unsigned)SIGN) >= of->infinity || parts < 0.5) return bits;
    return parts > 0.5 ? bits + 1 : bits + bits % 2;
}

/* Where pairs of bf16 are multiplied, subnormal operands and sums may be taken for 0: the pattern, the gap after it, or
   half of the gap. */
static unsigned without_subnormals(const layout *of, unsigned bits, double parts) {
    if ((bits & ~(unsigned)SIGN) >> of->digits == 0) return 0;
    return parts * fabs(gap_of(of, bits)) < 0x1p-126 ? bits : expected(of, bits, parts);
}

/* What was stored for each pattern; zero may have lost its sign, since sums begin with 0. */
static void check_stored(const layout *of, const uint16_t *stored, const beyond *step, const char *where) {
    const bool in_pairs =
        of->type == TAMIS_BF16 && (strcmp(getenv("TAMIS_CPU_ISA"), "v4-bf16") == 0 || cpu_isa_has_amx());
    for (unsigned bits = 0; bits < PATTERNS; bits++) {
        const unsigned want = expected(of, bits, step->parts), got = stored[bits];
        if (is_nan(of, want) ? is_nan(of, got) : got == want || ((got | want) & ~(unsigned)SIGN) == 0) continue;
        if (in_pairs && !is_nan(of, want) && got == without_subnormals(of, bits, step->parts)) continue;
        fail_msg("%s on %s, %s of %04x, %s: %04x stored, %04x is right", where, getenv("TAMIS_CPU_ISA"),
                 tamis_type_name(of->type), bits, step->name, got, want);
    }
}

/* The patterns and the gaps after them, 0 after those without a neighbour; each `stride` elements from the last. */
static void fill(const layout *of, uint16_t *patterns, uint16_t *gaps, int stride) {
    for (unsigned bits = 0; bits < PATTERNS; bits++) {
        const bool finite = (bits & ~(unsigned)SIGN) < of->infinity;
        patterns[(size_t)bits * (size_t)stride] = (uint16_t)bits;
        test_store(gaps, of->type, (int64_t)bits * stride, finite ? gap_of(of, bits) : 0);
    }
}

static tamis_plan *plan_of(tamis_device *device, const tamis_sparse *S, const char *algorithm, tamis_options o) {
    tamis_plan *plan = NULL;
    o.algorithm = algorithm;
    o.threads = 2;
    works(tamis_plan_create(device, S, &o, &plan));
    return plan;
}

/* What each algorithm stores in `out`, which has `kept` elements. */
static void store_all(tamis_device *device, const layout *of, const beyond *step, const tamis_sparse *S,
                      tamis_options o, const tamis_dense *A, const tamis_dense *B, const tamis_dense *out, int kept) {
    const char *algorithms[CPU_ALGORITHMS_MOST + 1];
    o.type = of->type;
    const int count = cpu_algorithms_of_halves(o.operation, of->type, algorithms);
    for (int n = 0; n < count; n++) {
        OWN(tamis_plan) *const plan = plan_of(device, S, algorithms[n], o);
        memset(out->data, 0xff, (size_t)kept * sizeof(uint16_t));
        works(call_plan(plan, o.operation, A, B, B, out, NULL));
        check_stored(of, out->data, step, algorithms[n]);
    }
}

/* SpMM: row i of C is row i of B, which holds patterns, and a part of row R + i, which holds their gaps. */
static void add_in_rows(tamis_device *device, const layout *of, const beyond *step, int width) {
    const int rows = (PATTERNS + width - 1) / width, kept = rows * width;
    uint16_t *const b = test_room(kept * 2, sizeof *b), *const c = test_room(kept, sizeof *c);
    uint16_t *const values = test_room(rows * 2, sizeof *values);
    OWN(int32_t) *const offsets = test_room(rows + 1, sizeof *offsets);
    OWN(int32_t) *const columns = test_room(rows * 2, sizeof *columns);
    fill(of, b, b + kept, 1);
    for (int i = 0; i < rows; i++) {
        offsets[i + 1] = 2 * (i + 1);
        columns[2 * i] = i;
        columns[2 * i + 1] = rows + i;
        test_store(values, of->type, 2 * i, 1);
        test_store(values, of->type, 2 * i + 1, step->parts);
    }
    const tamis_sparse S = csr_of(of->type, rows, 2 * rows, 2 * rows, offsets, columns, values);
    const tamis_dense B = {.data = b, .rows = 2 * rows, .cols = width, .type = of->type};
    const tamis_dense C = {.data = c, .rows = rows, .cols = width, .type = of->type};
    store_all(device, of, step, &S, options_for(TAMIS_OP_SPMM, width, width), NULL, &B, &C, kept);
    free(b);
    free(c);
    free(values);
}

/* SDDMM: sample j is 1 times a pattern and a part of its gap. */
static void add_in_samples(tamis_device *device, const layout *of, const beyond *step) {
    uint16_t a[2], *const b = test_room(PATTERNS * 2, sizeof *b), *const p = test_room(PATTERNS, sizeof *p);
    int32_t offsets[] = {0, PATTERNS}, *const columns = test_room(PATTERNS, sizeof *columns);
    fill(of, b, b + 1, 2);
    for (int j = 0; j < PATTERNS; j++) columns[j] = j;
    test_store(a, of->type, 0, 1);
    test_store(a, of->type, 1, step->parts);
    const tamis_sparse S = {.rows = 1, .cols = PATTERNS, .nnz = PATTERNS, .offsets = offsets, .columns = columns};
    const tamis_dense A = {.data = a, .rows = 1, .cols = 2, .type = of->type};
    const tamis_dense B = {.data = b, .rows = PATTERNS, .cols = 2, .type = of->type};
    const tamis_dense P = samples_of(&S, p, of->type);
    tamis_options o = options_for(TAMIS_OP_SDDMM, 2, 2);
    o.edge = TAMIS_EDGE_MASK;
    store_all(device, of, step, &S, o, &A, &B, &P, PATTERNS);
    free(b);
    free(p);
    free(columns);
}

TEST(kernels_of_every_instruction_set_load_and_round_right) {
    static const int widths[] = {3, 69}; /* tails alone; whole vectors and a tail */
    int runnable = 0;
    for (int i = 0; i < CROSS_ISAS; i++) {
        tamis_device *device = NULL;
        const unsigned own = cross_isa_types(cross_isas[i]);
        if (own == 0) continue;
        works(tamis_device_open("cpu", &device));
        for (int n = 0; n < 2; n++)
            for (size_t s = 0; s < sizeof steps / sizeof *steps && own >> layouts[n].type & 1; s++) {
                for (int w = 0; w < 2; w++) add_in_rows(device, &layouts[n], &steps[s], widths[w]);
                add_in_samples(device, &layouts[n], &steps[s]);
            }
        tamis_device_close(device);
        printf("on %s\n", cross_isas[i]);
        runnable++;
    }
    assert_true(runnable > 0);
}
