/*
 * Bounds of a program by intervals. Each step has a value, computed in double from the values of its operands, and an
 * interval that holds what any right evaluation may have there: the function's values over the operands' intervals,
 * widened by the roundings of the function itself. The bound is the distance from the value to the far end of the last
 * interval. It holds for any x within d, however badly conditioned a step is; a comparison that the interval does not
 * decide is both 0 and 1, and `where` then joins both its operands. An element that an undecided comparison makes jump
 * has no bound: it is not compared. Two operands that depend on each other, as in x -
 * x, are taken as independent, so that the bound may be too wide, never too narrow.
 */
#include "reference/expression.h"

#include <math.h>

#include "reference/bounds.h"

enum { CALLS = 32 }; /* roundings of a function of OpenCL, which may be off by 16 units in the last place */
enum {
    LOST = 256
}; /* smallest numbers that sigmoid and silu may lose where exp(-a) overflows: |a| times 4 / largest */

/* Results of right evaluations: numbers from `low` to `high`, and NaN if `maybe`. NaN alone: both ends are NaN. If
   it `jumps`, some numbers between the ends are not reached: errors are then no roundings, which cancel in sums. */
typedef struct interval {
    double low, high;
    bool maybe, jumps;
} interval;

typedef struct evaluation {
    tamis_arithmetic arithmetic;
    double value[TAMIS_PROGRAM_STEPS];
    interval range[TAMIS_PROGRAM_STEPS];
} evaluation;

static interval anything(void) { return (interval){-INFINITY, INFINITY, true, false}; }

static bool is_nan(interval a) { return isnan(a.low) && isnan(a.high); }

static interval one(double x) { return (interval){x, x, isnan(x), false}; }

/* From ends that may be NaN: both of them are NaN alone, and one is anything. */
static interval between(double low, double high) {
    if (isnan(low) != isnan(high)) return anything();
    return (interval){low, high, isnan(low), false};
}

static interval hull(interval a, interval b) {
    if (is_nan(a) || is_nan(b)) return is_nan(a) && is_nan(b) ? a : anything();
    return (interval){fmin(a.low, b.low), fmax(a.high, b.high), a.maybe || b.maybe, a.jumps || b.jumps};
}

static double size_of(interval a) { return fmax(fabs(a.low), fabs(a.high)); }

/* Widens by some roundings, and by what may be lost under the smallest number. */
static interval widen(interval a, double relative, double absolute) {
    if (isfinite(a.low)) a.low -= relative * fabs(a.low) + absolute;
    if (isfinite(a.high)) a.high += relative * fabs(a.high) + absolute;
    return a;
}

/* A number that kernels round to the arithmetic. */
static interval rounded(const evaluation *e, double x) {
    const bool exact = e->arithmetic.unit < 0x1p-30 || (double)(float)x == x || !isfinite(x);
    return exact ? one(x) : widen(one(x), e->arithmetic.both, e->arithmetic.least);
}

static interval times(interval a, interval b) {
    const double ends[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    interval found = one(ends[0]);
    for (int k = 1; k < 4; k++) found = hull(found, one(ends[k]));
    return found;
}

static interval over(interval a, interval b) {
    return b.low <= 0 && b.high >= 0 ? anything() : times(a, between(1 / b.high, 1 / b.low));
}

/* A power of positive numbers is exp(b log a), which is monotonic in each; of others only a whole exponent is known. */
static interval power(interval a, interval b) {
    const bool whole = b.low == b.high && b.low == floor(b.low);
    if ((is_nan(b) && a.low <= 1 && a.high >= 1) || (is_nan(a) && b.low <= 0 && b.high >= 0)) return anything();
    if (is_nan(a) || is_nan(b)) return one(NAN);
    if (!(a.low > 0) && (!whole || (b.low < 0 && a.high >= 0))) return anything();
    interval found = one(pow(a.low, b.low));
    found = hull(found, one(pow(a.low, b.high)));
    found = hull(found, one(pow(a.high, b.low)));
    found = hull(found, one(pow(a.high, b.high)));
    return a.low <= 0 && a.high >= 0 ? hull(found, one(pow(0, b.low))) : found;
}

/* A function of one operand that rises, falls, or falls and then rises. gelu rounds the argument of erfc. */
static interval curve(const evaluation *e, int kind, interval given) {
    const tamis_function *const f = tamis_function_of(kind);
    const double v = e->arithmetic.both, least = e->arithmetic.least;
    const interval a = kind == TAMIS_STEP_GELU ? widen(given, 4 * v, 0) : given;
    const double low = tamis_function_value(kind, a.low, 0, 0), high = tamis_function_value(kind, a.high, 0, 0);
    interval found = hull(one(low), one(high));
    if (f->shape == TAMIS_SHAPE_VALLEY && a.low < f->turn && a.high > f->turn)
        found.low = tamis_function_value(kind, f->turn, 0, 0);
    const bool exact = kind == TAMIS_STEP_ABS || kind == TAMIS_STEP_RELU || f->shape == TAMIS_SHAPE_STEPS;
    found.jumps = f->shape == TAMIS_SHAPE_STEPS && found.low != found.high;
    const double own = kind == TAMIS_STEP_TANH ? fmax(CALLS * v, e->arithmetic.tanh) : CALLS * v;
    return exact ? found : widen(found, own, LOST * least);
}

/* A comparison: 0, 1 or both. NaN compares as unequal. */
static interval comparison(int kind, interval a, interval b) {
    bool always = false, never = false;
    if (is_nan(a) || is_nan(b)) return one(kind == TAMIS_STEP_NOT_EQUAL);
    const bool apart = a.high < b.low || a.low > b.high, same = a.low == b.high && a.high == b.low;
    switch (kind) {
    case TAMIS_STEP_LESS: always = a.high < b.low, never = a.low >= b.high; break;
    case TAMIS_STEP_LESS_EQUAL: always = a.high <= b.low, never = a.low > b.high; break;
    case TAMIS_STEP_GREATER: always = a.low > b.high, never = a.high <= b.low; break;
    case TAMIS_STEP_GREATER_EQUAL: always = a.low >= b.high, never = a.high < b.low; break;
    case TAMIS_STEP_EQUAL: always = same, never = apart; break;
    default: always = apart, never = same; break;
    }
    const bool maybe = a.maybe || b.maybe;
    const bool decided = !maybe && (always || never);
    return (interval){always && decided ? 1 : 0, never && decided ? 0 : 1, false, !decided};
}

/* min and max are b where a or b is NaN. */
static interval lesser(interval a, interval b, double sign) {
    if (is_nan(a) || is_nan(b)) return b;
    const interval found = sign > 0 ? (interval){fmin(a.low, b.low), fmin(a.high, b.high), b.maybe, a.jumps || b.jumps}
                                    : (interval){fmax(a.low, b.low), fmax(a.high, b.high), b.maybe, a.jumps || b.jumps};
    return a.maybe ? hull(found, b) : found;
}

/* Either operand of `where`, or both: then what jumps is decided by the gap between them. */
static interval choice(interval a, interval b, interval c) {
    if (is_nan(a) || (!a.maybe && (a.low > 0 || a.high < 0))) return b;
    if (!a.maybe && a.low == 0 && a.high == 0) return c;
    interval found = hull(b, c);
    found.jumps |= fmax(b.low - c.high, c.low - b.high) > 1e-2 * fmax(size_of(b), size_of(c));
    return found;
}

/* leaky_relu: the part of a from 0 on, the other part times b. */
static interval leak(interval a, interval b, double v, double least) {
    if (is_nan(a)) return a;
    const interval kept = {fmax(a.low, 0), a.high, a.maybe, a.jumps};
    const interval rest = widen(times((interval){a.low, fmin(a.high, 0), a.maybe, a.jumps}, b), v, least);
    return a.low >= 0 ? kept : a.high < 0 ? rest : hull(kept, rest);
}

static interval range_of(const evaluation *e, const tamis_step *step) {
    const interval a = e->range[step->of[0]], b = e->range[step->of[1]], c = e->range[step->of[2]];
    const double v = e->arithmetic.both, least = e->arithmetic.least;
    interval found;
    if (step->kind >= TAMIS_STEP_LESS && step->kind <= TAMIS_STEP_NOT_EQUAL) return comparison(step->kind, a, b);
    switch (step->kind) {
    case TAMIS_STEP_WHERE: return choice(a, b, c);
    case TAMIS_STEP_MIN: return lesser(a, b, 1);
    case TAMIS_STEP_MAX: return lesser(a, b, -1);
    case TAMIS_STEP_NEGATE: return (interval){-a.high, -a.low, a.maybe, a.jumps};
    case TAMIS_STEP_ADD: found = widen(between(a.low + b.low, a.high + b.high), v, 0); break;
    case TAMIS_STEP_SUBTRACT: found = widen(between(a.low - b.high, a.high - b.low), v, 0); break;
    case TAMIS_STEP_MULTIPLY: found = widen(times(a, b), v, least); break;
    case TAMIS_STEP_DIVIDE: found = widen(over(a, b), 6 * v, least); break;
    case TAMIS_STEP_LEAKY_RELU: found = leak(a, b, v, least); break;
    case TAMIS_STEP_POW: found = widen(power(a, b), CALLS * v, LOST * least); break;
    default: found = curve(e, step->kind, a); break;
    }
    if (is_nan(found)) return found;
    if (found.high > e->arithmetic.most) found.high = INFINITY; /* it may overflow */
    if (found.low < -e->arithmetic.most) found.low = -INFINITY;
    found.maybe |= a.maybe || b.maybe; /* of one operand, both are it */
    found.jumps |= a.jumps || b.jumps;
    return found;
}

/* The value of a step, from its operands in `value`. */
static double step_value(const tamis_step *step, const double *scalars, const double *variables, const double *value) {
    if (step->kind >= TAMIS_STEP_LEAVES)
        return tamis_function_value(step->kind, value[step->of[0]], value[step->of[1]], value[step->of[2]]);
    if (step->kind == TAMIS_STEP_NUMBER) return step->number;
    if (step->kind == TAMIS_STEP_SCALAR) return scalars[step->of[0]];
    return variables[tamis_step_is_array(step->kind) ? TAMIS_STEP_LEAVES + step->of[0] : step->kind];
}

double tamis_program_value(const tamis_program *program, const double *scalars,
                           const double variables[TAMIS_VARIABLES]) {
    double value[TAMIS_PROGRAM_STEPS];
    for (int t = 0; t < program->count; t++) value[t] = step_value(&program->steps[t], scalars, variables, value);
    return value[program->result[0]];
}

/* The interval of a leaf of that value. */
static interval leaf_of(const evaluation *e, const tamis_step *step, double value, double d) {
    return step->kind == TAMIS_STEP_X ? between(value - d, value + d) : rounded(e, value);
}

double tamis_program_results(const tamis_program *program, const double *scalars, tamis_type type,
                             const double variables[TAMIS_VARIABLES], double d,
                             tamis_edge_result results[TAMIS_PROGRAM_RESULTS]) {
    evaluation e = {.arithmetic = tamis_arithmetic_of(type)};
    double largest = 0;
    for (int t = 0; t < program->count; t++) {
        const tamis_step *const step = &program->steps[t];
        interval *const range = &e.range[t];
        e.value[t] = step_value(step, scalars, variables, e.value);
        if (step->kind < TAMIS_STEP_LEAVES) {
            *range = leaf_of(&e, step, e.value[t], d);
            continue;
        }
        *range = range_of(&e, step);
        if (isfinite(size_of(*range))) largest = fmax(largest, size_of(*range));
    }
    for (int r = 0; r < program->results; r++) {
        const interval range = e.range[program->result[r]];
        const double is = e.value[program->result[r]], off = fmax(is - range.low, range.high - is);
        const bool one_class = is_nan(range) || (!range.maybe && (range.low == range.high || isfinite(size_of(range))));
        results[r] = (tamis_edge_result){is, isnan(off) ? INFINITY : fmax(off, 0), one_class, range.jumps && off > 0};
    }
    return largest;
}

double tamis_edge_results(const tamis_program *program, const tamis_edge_text *edge, tamis_type type, double s,
                          double x, double d, tamis_edge_place place,
                          tamis_edge_result results[TAMIS_PROGRAM_RESULTS]) {
    double variables[TAMIS_VARIABLES] = {[TAMIS_STEP_X] = x,
                                         [TAMIS_STEP_S] = s,
                                         [TAMIS_STEP_I] = (double)place.row,
                                         [TAMIS_STEP_J] = (double)place.column,
                                         [TAMIS_STEP_H] = (double)place.member};
    for (int k = 0; k < TAMIS_PROGRAM_ARRAYS; k++) variables[TAMIS_STEP_LEAVES + k] = place.named[k];
    return tamis_program_results(program, edge->scalars, type, variables, d, results);
}

tamis_edge_point tamis_edge_text_at(const tamis_edge_text *edge, tamis_type type, double s, double x, double d,
                                    tamis_edge_place place) {
    tamis_edge_result value[TAMIS_PROGRAM_RESULTS] = {{0}}, all_three[TAMIS_PROGRAM_RESULTS] = {{0}};
    const double largest = tamis_edge_results(&edge->value, edge, type, s, x, d, place, value);
    tamis_edge_results(&edge->all, edge, type, s, x, 0, place, all_three);
    return (tamis_edge_point){.p = value->is,
                              .by_x = all_three[1].is,
                              .by_s = all_three[2].is,
                              .bound = !isfinite(value->is) ? 0 /* only its class is compared */
                                       : value->jumps       ? INFINITY
                                                            : value->off,
                              .largest = value->one_class ? largest : INFINITY};
}
