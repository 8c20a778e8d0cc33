/*
 * Edges that are texts: a program runs over a block of samples, step by step. Each step is a loop over the vectors of
 * the block, whose values stay in L1, so what decides which step it is costs nothing beside it.
 */
#ifndef TAMIS_CPU_KERNELS_EXPRESSION_H
#define TAMIS_CPU_KERNELS_EXPRESSION_H

#include <math.h>

#include "cpu/kernels/exp.h"
#include "cpu/kernels/segment.h"

/* ------------------------------------------------------------------------------------------ functions of a vector */

#if defined(TAMIS_KERNEL_F64)
#define REAL_FUNCTION(name) name
#else
#define REAL_FUNCTION(name) name##f
#endif

/* Those that are called for each lane. */
#define EACH_LANE(name, function)                                                                                      \
    INLINE vector vector_##name(vector x) {                                                                            \
        for (int i = 0; i < LANES; i++) x[i] = REAL_FUNCTION(function)(x[i]);                                          \
        return x;                                                                                                      \
    }
EACH_LANE(erf, erf)
EACH_LANE(erfc, erfc)
EACH_LANE(sqrt, __builtin_sqrt)
EACH_LANE(floor, __builtin_floor)
#undef EACH_LANE

INLINE vector vector_pow(vector x, vector y) {
    for (int i = 0; i < LANES; i++) x[i] = REAL_FUNCTION(pow)(x[i], y[i]);
    return x;
}

/*
 * log(x) to about 2 units in the last place. x = 2^n m with m in sqrt(1/2) .. sqrt(2), and log m = 2 atanh(f) = 2 (f +
 * f^3 / 3 + f^5 / 5 + ...) with f = (m - 1) / (m + 1), |f| < 0.172. A subnormal x is multiplied first.
 */
INLINE vector vector_log(vector x) {
#if defined(TAMIS_KERNEL_F64)
    enum { MANTISSA = 52, TERMS = 11, RAISED = 54 };
    const real least = 0x1p-1022, raise = 0x1p54, ln2_high = 0x1.62e42fefap-1, ln2_low = 0x1.cf79abc9e3b3ap-40;
    const real_bits half = 0x3fe6a09e667f3bcd; /* the bits of sqrt(1/2) */
#else
    enum { MANTISSA = 23, TERMS = 5, RAISED = 25 };
    const real least = 0x1p-126f, raise = 0x1p25f, ln2_high = 0x1.62ep-1f, ln2_low = 0x1.0bfbe80000000p-15f;
    const real_bits half = 0x3f3504f3;
#endif
    const vector_bits small = (vector_bits)(x < least);
    const vector y = vector_select((vector_bits)(x > vector_zero()), vector_select(small, x * raise, x), vector_of(1));
    const vector_bits above = (vector_bits)y - half, exponent = above >> MANTISSA;
    const vector m = (vector)((above & (((real_bits)1 << MANTISSA) - 1)) + half);
    const vector n = __builtin_convertvector(exponent + (small & -RAISED), vector);
    const vector f = (m - 1) / (m + 1), z = f * f;
    vector sum = vector_of((real)1 / (2 * TERMS - 1));
#pragma GCC unroll 16
    for (int k = TERMS - 1; k > 0; k--) sum = sum * z + (real)1 / (real)(2 * k - 1);
    const vector infinity = vector_of((real)__builtin_inff());
    vector result = n * ln2_high + (2 * f * sum + n * ln2_low);
    result = vector_select((vector_bits)(x == vector_zero()), -infinity, result);
    result = vector_select((vector_bits)(x == infinity), infinity, result);
    return vector_select((vector_bits)(x >= vector_zero()), result, vector_of((real)__builtin_nanf("")));
}

/*
 * tanh(x) = (1 - t) / (1 + t) with t = exp(-2 |x|). Where that cancels, |x| < 0.6, its continued fraction x / (1 + x^2
 * / (3 + x^2 / (5 + ...))), which is evaluated as one quotient.
 */
INLINE vector vector_tanh(vector x) {
    enum { LEVELS = sizeof(real) == 8 ? 8 : 5 };
    const vector size = vector_select((vector_bits)(x < vector_zero()), -x, x), z = x * x;
    const vector t = vector_exp(-2 * size), far = (1 - t) / (1 + t);
    vector p = vector_of(2 * LEVELS - 1), q = vector_of(1);
#pragma GCC unroll 8
    for (int k = LEVELS - 1; k > 0; k--) {
        const vector next = p * (real)(2 * k - 1) + q * z;
        q = p;
        p = next;
    }
    const vector signed_far = vector_select((vector_bits)(x < vector_zero()), -far, far);
    return vector_select((vector_bits)(size < (real)0.6), x * q / p, signed_far);
}

/* ------------------------------------------------------------------------------------------ steps */

enum { PROGRAM_BLOCK = 256 };

/* Where the values of an operand are: a vector for each of the block, or one for all, which has step 0. */
typedef struct program_operand {
    const real *at;
    int64_t step;
} program_operand;

INLINE vector program_load(const program_operand *x, int64_t t) {
    return vector_load((const char *)(x->at + t * x->step), REAL);
}

#define NUMBER(x) ((real)(x))
#define SELECT(condition, this, otherwise)                                                                             \
    vector_select((vector_bits)(condition), (this) * vector_of(1), (otherwise)*vector_of(1))
#define EXP(x)    vector_exp(x)
#define LOG(x)    vector_log(x)
#define TANH(x)   vector_tanh(x)
#define ERF(x)    vector_erf(x)
#define ERFC(x)   vector_erfc(x)
#define SQRT(x)   vector_sqrt(x)
#define FLOOR(x)  vector_floor(x)
#define POW(x, y) vector_pow(x, y)

/* One step for `n` elements, rounded up to whole vectors. `to` may be an operand. */
static void program_call(int kind, real *to, const program_operand *of, int64_t n) {
    const program_operand at = of[0], bt = of[1], ct = of[2];
    switch (kind) {
#define ROW(NAME, name, arity, shape, turn, value, derivative)                                                         \
    case TAMIS_STEP_##NAME:                                                                                            \
        for (int64_t t = 0; t < n; t += LANES) {                                                                       \
            const vector a = program_load(&at, t);                                                                     \
            const vector b = (arity) > 1 ? program_load(&bt, t) : a, c = (arity) > 2 ? program_load(&ct, t) : a;       \
            (void)b;                                                                                                   \
            (void)c;                                                                                                   \
            vector_store((char *)(to + t), REAL, value);                                                               \
        }                                                                                                              \
        return;
        TAMIS_FUNCTIONS(ROW)
#undef ROW
    default: return;
    }
}
#undef NUMBER
#undef SELECT
#undef EXP
#undef LOG
#undef TANH
#undef ERF
#undef ERFC
#undef SQRT
#undef FLOOR
#undef POW

/* ------------------------------------------------------------------------------------------ variables */

static void program_copy(real *to, const char *from, tamis_type type, int64_t n) {
    EACH_VECTOR(n, vector_store((char *)(to + t), REAL, part_load(from + t * element_bytes(type), type, tail)));
}

/* The last row that begins at nonzero t or before. */
static int64_t program_row(const tamis_cpu_job *job, int64_t t) {
    int64_t low = 1, high = job->rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (offset_at(job, middle) < t + 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* The rows of nonzeros first .. first + n - 1, or their columns. */
static void program_places(const tamis_cpu_job *job, int kind, real *to, int64_t first, int64_t n) {
    if (kind == TAMIS_STEP_I) {
        int64_t row = program_row(job, first);
        for (int64_t t = 0; t < n; t++) {
            while (offset_at(job, row + 1) <= first + t) row++;
            to[t] = (real)row;
        }
    } else {
        for (int64_t t = 0; t < n; t++) to[t] = (real)column_at(job->columns, first + t, job->wide_columns);
    }
}

INLINE real program_constant(const tamis_cpu_job *job, const tamis_step *step) {
    switch (step->kind) {
    case TAMIS_STEP_SCALAR: return (real)job->edge_constants.text->scalars[step->of[0]];
    case TAMIS_STEP_H: return (real)job->member;
    case TAMIS_STEP_S: return 1;
    default: return (real)step->number;
    }
}

/* A program over the blocks of one call. */
typedef struct program_state {
    const tamis_cpu_job *job;
    const tamis_program *program;
    int last; /* the step that is the result */
    program_operand at[TAMIS_PROGRAM_STEPS];
    real constants[TAMIS_PROGRAM_CONSTANTS + 1][LANES] __attribute__((aligned(64)));
    real slots[TAMIS_PROGRAM_SLOTS][PROGRAM_BLOCK] __attribute__((aligned(64)));
} program_state;

/* One block. What is whole vectors is read and written in its place; a step may write where its operand is. */
static void program_block(program_state *s, tamis_type type, real *x, int64_t first, int64_t n) {
    const tamis_step *const steps = s->program->steps;
    const bool whole = n % LANES == 0;
    bool stored = false;
    for (int k = 0; k <= s->last; k++) {
        const tamis_step *const step = &steps[k];
        real *to = s->slots[step->slot];
        if (s->at[k].step == 0) continue;
        s->at[k].at = to;
        if (step->kind >= TAMIS_STEP_LEAVES) {
            if (whole && k == s->last) {
                to = x;
                stored = true;
            }
            program_call(step->kind, to,
                         (program_operand[]){s->at[step->of[0]], s->at[step->of[1]], s->at[step->of[2]]}, n);
        } else if (step->kind == TAMIS_STEP_X && whole) {
            s->at[k].at = x;
        } else if (step->kind == TAMIS_STEP_X) {
            program_copy(to, (const char *)x, REAL, n);
        } else if (step->kind == TAMIS_STEP_S) {
            program_copy(to, s->job->values + first * element_bytes(type), type, n);
        } else {
            program_places(s->job, step->kind, to, first, n);
        }
    }
    const program_operand result = s->at[s->last];
    if (!stored) EACH_VECTOR(n, part_store((char *)(x + t), REAL, tail, program_load(&result, t)));
}

/* Replaces the samples x[0 .. n), of nonzero `first` and the next ones, with the edge's values. */
static void program_run(const tamis_cpu_job *job, tamis_type type, real *x, int64_t first, int64_t n) {
    const tamis_program *const p = &job->edge_constants.text->value;
    program_state s;
    const bool ones = job->values == NULL;
    s.job = job;
    s.program = p;
    s.last = p->result[0];
    for (int k = 0, constant = 0; k < p->count; k++) {
        const tamis_step *const step = &p->steps[k];
        const bool is_constant = tamis_step_is_constant(step->kind) || (ones && step->kind == TAMIS_STEP_S);
        s.at[k] = (program_operand){s.constants[constant], !is_constant};
        if (is_constant) vector_store((char *)s.constants[constant++], REAL, vector_of(program_constant(job, step)));
    }
    for (int64_t begin = 0, count; begin < n; begin += count) {
        count = n - begin < PROGRAM_BLOCK ? n - begin : PROGRAM_BLOCK;
        program_block(&s, type, x + begin, first + begin, count);
    }
}

#endif
