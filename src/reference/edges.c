/* The oracle's formulas of the edges, one function each. The bounds are derived in the heading of oracle.c. */
#include "reference/edges.h"

#include <math.h>

#include "base/edges.h"
#include "reference/bounds.h"

typedef struct sample {
    double s, x, y, d; /* y = scale * x; x is known within d */
    double scale, slope, epsilon;
    double v, least, vanished; /* of oracle.c: v, h, and the flush-to-zero loss of exp and of its product with s */
} sample;

static void scale(const sample *a, tamis_edge_point *at) {
    at->p = a->s * a->x;
    at->by_x = a->s;
    at->by_s = a->x;
    at->bound = fabs(a->s) * a->d + a->v * fabs(at->p) + a->least;
}

static void mask(const sample *a, tamis_edge_point *at) {
    at->p = a->x;
    at->by_x = 1;
    at->bound = a->d;
}

static void residual(const sample *a, tamis_edge_point *at) {
    at->p = a->s - a->x;
    at->by_x = -1;
    at->by_s = 1;
    at->bound = a->d + a->v * fabs(at->p);
}

static void quotient(const sample *a, tamis_edge_point *at) {
    const double divisor = a->x <= a->epsilon ? a->epsilon : a->x;
    at->p = a->s / divisor;
    at->by_x = a->x <= a->epsilon ? 0 : -a->s / (a->x * a->x);
    at->by_s = 1 / divisor;
    const double moved = isinf(a->x) ? 0 : fabs(a->s) * (a->d / fmax(a->x - a->d, a->epsilon)) / fmax(a->x, a->epsilon);
    at->bound = moved + TAMIS_EVALUATION * a->v * fabs(at->p) + a->least;
}

/* The bound of an exponential p that never exceeds `most`. */
static double exponential_bound(const sample *a, double p, double most) {
    const double size = fabs(p), evaluation = TAMIS_EVALUATION * a->v * size + a->vanished;
    if (isinf(a->x)) return evaluation; /* exp of it is 0, or 1 / (1 + exp) is 1 */
    const double exponent = fabs(a->scale) * a->d + 2 * a->v * fabs(a->scale) * fabs(a->x);
    const double moved = exponent < 1 ? size * expm1(exponent) : fabs(a->s) * exp(a->y + exponent);
    return fmin(moved, most) + evaluation;
}

static void sigmoid(const sample *a, tamis_edge_point *at) {
    at->by_s = 1 / (1 + exp(-a->y));
    at->p = a->s * at->by_s;
    at->by_x = a->s * a->scale * at->by_s * (1 / (1 + exp(a->y)));
    at->bound = exponential_bound(a, at->p, fabs(a->s));
}

static void exponential(const sample *a, tamis_edge_point *at) {
    at->by_s = exp(a->y);
    at->p = a->s * at->by_s;
    at->by_x = a->s * a->scale * at->by_s;
    at->bound = exponential_bound(a, at->p, HUGE_VAL);
    at->largest = fmax(at->by_s, fabs(at->p));
}

static void leaky_relu(const sample *a, tamis_edge_point *at) {
    at->by_s = a->y < 0 ? a->slope * a->y : a->y;
    at->p = a->s * at->by_s;
    at->by_x = a->s * a->scale * (a->y < 0 ? a->slope : 1);
    at->bound = fabs(a->s) * fabs(a->scale) * fmax(1, fabs(a->slope)) * a->d + 5 * a->v * fabs(at->p) + a->vanished;
    at->largest = fmax(fabs(a->y), fabs(a->slope * a->y));
}

static void softmax(const sample *a, tamis_edge_point *at) {
    at->p = a->y + a->s;
    at->largest = fabs(a->y) + fabs(a->s);
}

static void (*const edges[])(const sample *a, tamis_edge_point *at) = {
    [TAMIS_EDGE_SCALE] = scale,           [TAMIS_EDGE_MASK] = mask,       [TAMIS_EDGE_RESIDUAL] = residual,
    [TAMIS_EDGE_QUOTIENT] = quotient,     [TAMIS_EDGE_SIGMOID] = sigmoid, [TAMIS_EDGE_EXP] = exponential,
    [TAMIS_EDGE_LEAKY_RELU] = leaky_relu, [TAMIS_EDGE_SOFTMAX] = softmax,
};
_Static_assert(sizeof edges / sizeof *edges == TAMIS_EDGE_COUNT, "each edge of base/edge_rows.h needs a formula here");

tamis_edge_point tamis_edge_at(const tamis_options *options, double s, double x, double d) {
    const tamis_arithmetic arithmetic = tamis_arithmetic_of(options->type);
    const sample a = {.s = s,
                      .x = x,
                      .y = options->edge_scale * x,
                      .d = d,
                      .scale = options->edge_scale,
                      .slope = options->edge_slope,
                      .epsilon = options->edge_epsilon,
                      .v = arithmetic.both,
                      .least = arithmetic.least,
                      .vanished = arithmetic.least * (1 + fabs(s))};
    tamis_edge_point at = {.largest = -1};
    edges[options->edge](&a, &at);
    if (at.largest < 0) at.largest = fabs(at.p);
    if (!isfinite(at.p)) at.bound = 0; /* only its class is compared */
    return at;
}
