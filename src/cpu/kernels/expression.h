/*
 * Edges and messages that are texts: a program runs over a block of elements, step by step. Each step is a loop over
 * the vectors of the block, whose values stay in L1, so what decides which step it is costs nothing beside it.
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
#define EXP(x)         vector_exp(x)
#define LOG(x)         vector_log(x)
#define TANH(x)        vector_tanh(x)
#define ERF(x)         vector_erf(x)
#define ERFC(x)        vector_erfc(x)
#define SQRT(x)        vector_sqrt(x)
#define FLOOR(x)       vector_floor(x)
#define POW(x, y)      vector_pow(x, y)
#define QUOTIENT(x, y) ((x) / (y))

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
#undef QUOTIENT

/* ------------------------------------------------------------------------------------------ blocks */

static inline void program_copy(real *to, const char *from, tamis_type type, int64_t n) {
    EACH_VECTOR(n, vector_store((char *)(to + t), REAL, part_load(from + t * element_bytes(type), type, tail)));
}

/* Where the values of a variable or a named array are for n elements from `first` on: in their place, of whole vectors,
   or in `to`, which gets them. */
typedef const real *program_leaf(const void *context, const tamis_step *step, real *to, int64_t first, int64_t n);

/* A program over the blocks of one call. */
typedef struct program_state {
    const tamis_program *program;
    program_leaf *leaf;
    const void *context;
    int last; /* the last step that is a result */
    program_operand at[TAMIS_PROGRAM_STEPS];
    real constants[TAMIS_PROGRAM_CONSTANTS + 1][LANES] __attribute__((aligned(64)));
    real slots[TAMIS_PROGRAM_SLOTS][PROGRAM_BLOCK] __attribute__((aligned(64)));
} program_state;

/* ones: S has no values, so that each is 1. */
static void program_begin(program_state *s, const tamis_program *p, const double *scalars, int64_t member, bool ones) {
    s->program = p;
    s->last = 0;
    for (int r = 0; r < p->results; r++) s->last = p->result[r] > s->last ? p->result[r] : s->last;
    for (int k = 0, constant = 0; k < p->count; k++) {
        const tamis_step *const step = &p->steps[k];
        const bool is_constant = tamis_step_is_constant(step->kind) || (ones && step->kind == TAMIS_STEP_S);
        s->at[k] = (program_operand){s->constants[constant], !is_constant};
        if (!is_constant) continue;
        const real is = step->kind == TAMIS_STEP_SCALAR ? (real)scalars[step->of[0]]
                        : step->kind == TAMIS_STEP_H    ? (real)member
                        : step->kind == TAMIS_STEP_S    ? 1
                                                        : (real)step->number;
        vector_store((char *)s->constants[constant++], REAL, vector_of(is));
    }
}

/* The steps of one block. The last one's value gets into `to`, unless that is NULL or the step is a leaf: true if it
   did. A step may write where its operand is. */
static bool program_steps(program_state *s, real *to, int64_t first, int64_t n) {
    const tamis_step *const steps = s->program->steps;
    bool stored = false;
    for (int k = 0; k <= s->last; k++) {
        const tamis_step *const step = &steps[k];
        real *const slot = s->slots[step->slot];
        if (s->at[k].step == 0) continue;
        if (step->kind < TAMIS_STEP_LEAVES) {
            s->at[k].at = s->leaf(s->context, step, slot, first, n);
            continue;
        }
        stored = to && k == s->last;
        s->at[k].at = stored ? to : slot;
        program_call(step->kind, stored ? to : slot,
                     (program_operand[]){s->at[step->of[0]], s->at[step->of[1]], s->at[step->of[2]]}, n);
    }
    return stored;
}

/* One block of a program with one result, which gets into `to`: what is whole vectors is written there at once. */
static inline void program_block(program_state *s, real *to, int64_t first, int64_t n) {
    if (program_steps(s, n % LANES == 0 ? to : NULL, first, n)) return;
    const program_operand result = s->at[s->last];
    EACH_VECTOR(n, part_store((char *)(to + t), REAL, tail, program_load(&result, t)));
}

static const real *program_double(const void *context, const tamis_step *step, real *to, int64_t first, int64_t n) {
    const tamis_variables *const v = context;
    const double *const from = step->kind == TAMIS_STEP_X   ? v->x
                               : step->kind == TAMIS_STEP_S ? v->s
                               : step->kind == TAMIS_STEP_I ? v->i
                               : step->kind == TAMIS_STEP_J ? v->j
                                                            : v->arrays[step->of[0]];
    for (int64_t t = 0; t < n; t++) to[t] = (real)from[first + t];
    return to;
}

/* All results of a program, for variables and results in double. */
static inline void program_results(const tamis_program *program, const tamis_variables *variables, int n,
                                   double *const *results) {
    program_state s;
    s.leaf = program_double;
    s.context = variables;
    program_begin(&s, program, variables->scalars, (int64_t)variables->h, false);
    for (int64_t first = 0; first < n; first += PROGRAM_BLOCK) {
        const int64_t count = n - first < PROGRAM_BLOCK ? n - first : PROGRAM_BLOCK;
        program_steps(&s, NULL, first, count);
        for (int r = 0; r < program->results; r++) {
            const program_operand from = s.at[program->result[r]];
            for (int64_t t = 0; t < count && results[r]; t++)
                results[r][first + t] = (double)from.at[from.step ? t : 0];
        }
    }
}

#endif
