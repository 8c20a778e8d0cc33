/* Error bounds of edges; derived in the heading of oracle.c. */
#include "reference/bounds.h"

#include <float.h>
#include <math.h>

tamis_arithmetic tamis_arithmetic_of(tamis_type type) {
    const bool wide = type == TAMIS_F64;
    const double unit = wide ? 0x1p-53 : 0x1p-24;
    return (tamis_arithmetic){.unit = unit,
                              .both = unit + 0x1p-53,
                              .tanh = tamis_type_size(type) == 2 ? 0x1p-15 : 0,
                              .least = wide ? DBL_MIN : (double)FLT_MIN,
                              .most = wide ? DBL_MAX : (double)FLT_MAX};
}

double tamis_sum_tolerance(tamis_type type, double terms) {
    return 1e-6 * 0x1p24 * tamis_arithmetic_of(type).unit * sqrt(terms / 128 + 1);
}

double tamis_rounding_tolerance(tamis_math math, double terms) {
    return math == TAMIS_MATH_TF32 ? 0x1p-10 + (terms + 64) * 0x1p-26 : 0;
}

double tamis_flushed(tamis_type type, double x, double y) { return type == TAMIS_BF16 ? x + y : 0; }

/* ------------------------------------------------------------------------------------------ softmax */

/* An entry of a row: its distance from the largest score, and the error of its exponent. */
typedef struct score {
    double gap, error;
} score;

static score score_of(const tamis_options *options, const tamis_arithmetic *a, double most, double s, double x,
                      double d) {
    const double scale = options->edge_scale, y = scale * x + s;
    score at = {.gap = most - y};
    if (isinf(at.gap)) return at; /* exp of it is exactly 0 in any arithmetic */
    at.error = fabs(scale) * d + a->both * (2 * fabs(scale * x) + (s != 0 ? fabs(y) : 0) + at.gap + TAMIS_EVALUATION);
    return at;
}

/* How much p = exp(logarithm) grows if its exponent grows by `error`. The result is finite. */
static double rise(double p, double logarithm, double error) {
    return error < 1 ? p * expm1(error) : exp(fmin(logarithm + error, 700));
}

double tamis_softmax_bounds(const tamis_options *options, int64_t count, const double *s, const double *x,
                            const double *p, double *d, double *own) {
    const tamis_arithmetic a = tamis_arithmetic_of(options->type);
    const double scale = options->edge_scale, addition = tamis_sum_tolerance(options->type, (double)count);
    double most = -HUGE_VAL, sum = 0, risen = 0;
    bool finite = true;
    for (int64_t t = 0; t < count; t++) {
        most = fmax(most, scale * x[t] + (s ? s[t] : 0));
        finite = finite && isfinite(p[t]);
    }
    if (!finite || !isfinite(most)) { /* the row is all NaN, or all masked, and has no error */
        for (int64_t t = 0; t < count; t++) d[t] = own[t] = 0;
        return 0;
    }
    for (int64_t t = 0; t < count; t++) sum += exp(scale * x[t] + (s ? s[t] : 0) - most);
    const double log_sum = log(sum);
    for (int64_t t = 0; t < count; t++) {
        const score at = score_of(options, &a, most, s ? s[t] : 0, x[t], d[t]);
        if (!isinf(at.gap)) risen += rise(p[t], -at.gap - log_sum, at.error);
    }
    const double shared = log1p(risen) + addition;
    for (int64_t t = 0; t < count; t++) {
        const score at = score_of(options, &a, most, s ? s[t] : 0, x[t], d[t]);
        d[t] = own[t] = 2 * a.least;
        if (isinf(at.gap)) continue;
        own[t] += fmin(rise(p[t], -at.gap - log_sum, at.error), 1 + addition);
        d[t] += fmin(rise(p[t], -at.gap - log_sum, at.error + shared), 1 + addition);
    }
    return expm1(shared);
}
