/*
 * Bounds of a program by intervals. Each step has a value, computed in double from the values of its operands, and an
 * interval that holds what any right evaluation may have there: the function's values over the operands' intervals,
 * widened by the roundings of the function itself. The bound is the distance from the value to the far end of the last
 * interval. It holds for any x within d, however badly conditioned a step is; a comparison that the interval does not
 * decide is both 0 and 1, and `where` then joins both its operands. Two operands that depend on each other, as in x -
 * x, are taken as independent, so that the bound may be too wide, never too narrow.
 */
#include "reference/expression.h"

#include <math.h>

#include "reference/bounds.h"

enum { CALLS = 32 }; /* roundings of a function of OpenCL, which may be off by 16 units in the last place */

typedef struct interval {
    double low, high; /* NaN: nothing is known */
} interval;

typedef struct evaluation {
    tamis_arithmetic arithmetic;
    double value[TAMIS_PROGRAM_STEPS];
    interval range[TAMIS_PROGRAM_STEPS];
} evaluation;

static interval all(void) { return (interval){-INFINITY, INFINITY}; }

static interval hull(interval a, interval b) { return (interval){fmin(a.low, b.low), fmax(a.high, b.high)}; }

static double size_of(interval a) { return fmax(fabs(a.low), fabs(a.high)); }

/* Widens by some roundings, and by what may be lost under the smallest number. */
static interval widen(interval a, double relative, double absolute) {
    if (isnan(a.low) || isnan(a.high)) return all();
    if (isfinite(a.low)) a.low -= relative * fabs(a.low) + absolute;
    if (isfinite(a.high)) a.high += relative * fabs(a.high) + absolute;
    return a;
}

/* A number that kernels round to the arithmetic. */
static interval rounded(const evaluation *e, double x) {
    const bool exact = e->arithmetic.unit < 0x1p-30 || (double)(float)x == x || isinf(x);
    return exact ? (interval){x, x} : widen((interval){x, x}, e->arithmetic.both, e->arithmetic.least);
}

static interval times(interval a, interval b) {
    const double ends[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    interval found = {ends[0], ends[0]};
    for (int k = 0; k < 4; k++) {
        if (isnan(ends[k])) return all();
        found = hull(found, (interval){ends[k], ends[k]});
    }
    return found;
}

static interval over(interval a, interval b) {
    if (b.low == 0 && b.high == 0) return all();
    if (b.low <= 0 && b.high >= 0) return all();
    return times(a, (interval){1 / b.high, 1 / b.low});
}

/* A comparison: 0, 1 or both. */
static interval truth(bool always, bool never) { return (interval){always ? 1 : 0, never ? 0 : 1}; }

/* A power of positive numbers is exp(b log a), which is monotonic in each; of others only a whole exponent is known. */
static interval power(interval a, interval b) {
    if (a.low > 0) {
        const double ends[] = {pow(a.low, b.low), pow(a.low, b.high), pow(a.high, b.low), pow(a.high, b.high)};
        interval found = {ends[0], ends[0]};
        for (int k = 0; k < 4; k++) found = hull(found, (interval){ends[k], ends[k]});
        if (a.low < 1 && a.high > 1) found = hull(found, (interval){1, 1});
        return found;
    }
    if (b.low != b.high || b.low != floor(b.low))
        return a.low == 0 && b.low > 0 ? (interval){0, pow(a.high, a.high < 1 ? b.low : b.high)} : all();
    if (b.low < 0 && a.high >= 0) return all();
    interval found =
        hull((interval){pow(a.low, b.low), pow(a.low, b.low)}, (interval){pow(a.high, b.low), pow(a.high, b.low)});
    return a.high >= 0 ? hull(found, (interval){0, 0}) : found;
}

/* A function of one operand that rises, falls, or falls and then rises. */
static interval curve(const evaluation *e, int kind, interval a) {
    const tamis_function *const f = tamis_function_of(kind);
    const double v = e->arithmetic.both, least = e->arithmetic.least;
    if (f->shape == TAMIS_SHAPE_STEPS)
        return (interval){tamis_function_value(kind, a.low, 0, 0), tamis_function_value(kind, a.high, 0, 0)};
    const bool exact = kind == TAMIS_STEP_ABS || kind == TAMIS_STEP_RELU;
    const interval moved = kind == TAMIS_STEP_GELU ? widen(a, 4 * v, 0) : a; /* it rounds the argument of erfc */
    const double low = tamis_function_value(kind, moved.low, 0, 0), high = tamis_function_value(kind, moved.high, 0, 0);
    interval found = {fmin(low, high), fmax(low, high)};
    if (isnan(low) || isnan(high)) return all();
    if (f->shape == TAMIS_SHAPE_VALLEY && moved.low < f->turn && moved.high > f->turn)
        found.low = tamis_function_value(kind, f->turn, 0, 0);
    return exact ? found : widen(found, CALLS * v, 4 * least);
}

static interval range_of(const evaluation *e, const tamis_step *step) {
    const interval a = e->range[step->of[0]], b = e->range[step->of[1]], c = e->range[step->of[2]];
    const double v = e->arithmetic.both, least = e->arithmetic.least;
    switch (step->kind) {
    case TAMIS_STEP_ADD: return widen((interval){a.low + b.low, a.high + b.high}, v, 0);
    case TAMIS_STEP_SUBTRACT: return widen((interval){a.low - b.high, a.high - b.low}, v, 0);
    case TAMIS_STEP_MULTIPLY: return widen(times(a, b), v, least);
    case TAMIS_STEP_DIVIDE: return widen(over(a, b), 6 * v, least);
    case TAMIS_STEP_NEGATE: return (interval){-a.high, -a.low};
    case TAMIS_STEP_LESS: return truth(a.high < b.low, a.low >= b.high);
    case TAMIS_STEP_LESS_EQUAL: return truth(a.high <= b.low, a.low > b.high);
    case TAMIS_STEP_GREATER: return truth(a.low > b.high, a.high <= b.low);
    case TAMIS_STEP_GREATER_EQUAL: return truth(a.low >= b.high, a.high < b.low);
    case TAMIS_STEP_EQUAL:
    case TAMIS_STEP_NOT_EQUAL: {
        const bool apart = a.high < b.low || a.low > b.high, same = a.low == b.high && a.high == b.low;
        return step->kind == TAMIS_STEP_EQUAL ? truth(same, apart) : truth(apart, same);
    }
    case TAMIS_STEP_WHERE:
        if (a.low > 0 || a.high < 0) return b;
        return a.low == 0 && a.high == 0 ? c : hull(b, c);
    case TAMIS_STEP_MIN: return (interval){fmin(a.low, b.low), fmin(a.high, b.high)};
    case TAMIS_STEP_MAX: return (interval){fmax(a.low, b.low), fmax(a.high, b.high)};
    case TAMIS_STEP_POW: return widen(power(a, b), CALLS * v, 4 * least);
    default: return curve(e, step->kind, a);
    }
}

/* The interval of a leaf, and its value. */
static interval leaf_of(const evaluation *e, const tamis_edge_text *edge, const tamis_step *step,
                        const double *variables, double d, double *value) {
    if (step->kind == TAMIS_STEP_NUMBER)
        *value = step->number;
    else
        *value = step->kind == TAMIS_STEP_SCALAR ? edge->scalars[step->of[0]] : variables[step->kind];
    return step->kind == TAMIS_STEP_X ? (interval){*value - d, *value + d} : rounded(e, *value);
}

double tamis_edge_results(const tamis_program *program, const tamis_edge_text *edge, tamis_type type, double s,
                          double x, double d, tamis_edge_place place,
                          tamis_edge_result results[TAMIS_PROGRAM_RESULTS]) {
    const double variables[] = {[TAMIS_STEP_X] = x,
                                [TAMIS_STEP_S] = s,
                                [TAMIS_STEP_I] = (double)place.row,
                                [TAMIS_STEP_J] = (double)place.column,
                                [TAMIS_STEP_H] = (double)place.member};
    evaluation e = {.arithmetic = tamis_arithmetic_of(type)};
    double largest = 0;
    for (int t = 0; t < program->count; t++) {
        const tamis_step *const step = &program->steps[t];
        interval *const range = &e.range[t];
        if (step->kind < TAMIS_STEP_LEAVES) {
            *range = leaf_of(&e, edge, step, variables, d, &e.value[t]);
            continue;
        }
        e.value[t] = tamis_function_value(step->kind, e.value[step->of[0]], e.value[step->of[1]], e.value[step->of[2]]);
        *range = range_of(&e, step);
        if (isnan(range->low) || isnan(range->high)) *range = all();
        if (isfinite(size_of(*range))) largest = fmax(largest, size_of(*range));
    }
    for (int r = 0; r < program->results; r++) {
        const interval range = e.range[program->result[r]];
        const double is = e.value[program->result[r]], off = fmax(is - range.low, range.high - is);
        results[r] = (tamis_edge_result){is, isnan(off) ? INFINITY : fmax(off, 0)};
    }
    return largest;
}

tamis_edge_point tamis_edge_text_at(const tamis_edge_text *edge, tamis_type type, double s, double x, double d,
                                    tamis_edge_place place) {
    tamis_edge_result value[TAMIS_PROGRAM_RESULTS] = {{0}}, all_three[TAMIS_PROGRAM_RESULTS] = {{0}};
    const double largest = tamis_edge_results(&edge->value, edge, type, s, x, d, place, value);
    tamis_edge_results(&edge->all, edge, type, s, x, 0, place, all_three);
    return (tamis_edge_point){.p = value->is,
                              .by_x = all_three[1].is,
                              .by_s = all_three[2].is,
                              .bound = isfinite(value->is) ? value->off : 0, /* else only its class is compared */
                              .largest = largest};
}
