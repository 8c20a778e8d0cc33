/* Element by element: fill, combine, scale, map. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#include "dense_tests.h"

void dense_fill(int64_t m, int64_t n) {
    matrix x = dense_draw(m, n, 0, 1);
    dense_works(tamis_dense_fill(dense_device, NULL, &x.there, 0.375));
    dense_arrives(&x);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) dense_close("fill", matrix_get(&x, i, j), 0.375, 0, i, j);
}

void dense_combine(int64_t m, int64_t n) {
    const double alpha = -1.7, betas[] = {0, 0.6, 1};
    for (int b = 0; b < 4; b++) { /* the last in place */
        const double beta = betas[b % 3];
        matrix x = dense_draw(m, n, -1, 1), y = dense_draw(m, n, -1, 1);
        double *const old = dense_values(b == 3 ? &x : &y);
        if (b == 0) dense_poison(&y);
        dense_works(tamis_dense_axpby(dense_device, NULL, alpha, &x.there, beta, b == 3 ? &x.there : &y.there));
        matrix *const out = b == 3 ? &x : &y;
        double *const xs = b == 3 ? old : dense_values(&x);
        dense_arrives(out);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const double a = alpha * xs[i * n + j], c = beta == 0 ? 0 : beta * old[i * n + j];
                dense_close("combine", matrix_get(out, i, j), a + c, 4 * dense_u() * (fabs(a) + fabs(c)), i, j);
            }
    }
}

void dense_scale(int64_t m, int64_t n) {
    for (int scaling = 0; scaling < 4; scaling++)
        for (int with = 0; with < 2; with++) {
            const double shift = with ? 0.3 : 1.6, beta = tamis_random_below(&dense_dice, 2) ? 0.7 : 0;
            matrix x = dense_draw(m, n, -1, 1), y = dense_draw(m, n, -1, 1);
            matrix w = dense_draw(scaling % 2 ? n : m, 1, 0.5, 2);
            double *const old = dense_values(&y);
            if (beta == 0) dense_poison(&y);
            dense_works(tamis_dense_scale(dense_device, NULL, (tamis_scaling)scaling, with ? &w.there : NULL, shift,
                                          &x.there, beta, &y.there));
            dense_arrives(&y);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    const double f = shift + (with ? matrix_get(&w, scaling % 2 ? j : i, 0) : 0);
                    const double a = scaling < 2 ? f * matrix_get(&x, i, j) : matrix_get(&x, i, j) / f;
                    const double c = beta == 0 ? 0 : beta * old[i * n + j];
                    dense_close("scale", matrix_get(&y, i, j), a + c, 8 * dense_u() * (fabs(a) + fabs(c)), i, j);
                }
        }
}

/* psi and psi' by 60 steps of the recurrence and the asymptotic series in long double */
double dense_digamma(double x, double *slope) {
    long double at = x, sum = 0, slopes = 0;
    for (int i = 0; i < 60; i++, at += 1) {
        sum -= 1 / at;
        slopes += 1 / (at * at);
    }
    const long double s = 1 / (at * at);
    *slope = (double)(slopes + 1 / at + s / 2 + s / at / 6);
    return (double)(sum + logl(at) - 1 / (2 * at) - s * (1.0L / 12 - s * (1.0L / 120 - s * (1.0L / 252 - s / 240))));
}

/* The value and the bound of a map. */
static double map_of(int kind, double c, double d, double x, double y, double z, double *bound) {
    const double product = c * x * y + d, around = 4 * dense_u() * (fabs(c * x * y) + fabs(d));
    double slope, value = product;
    *bound = around;
    switch (kind) {
    case TAMIS_MAP_EXP_DIGAMMA: {
        /* exp(-(s + t)): s + t is at most |psi| + |ln y| + 1, of some 20 roundings; psi' carries the argument's error
         */
        const double psi = dense_digamma(product, &slope);
        value = exp(psi);
        *bound = value * expm1(slope * around + dense_u() * (20 + 20 * (fabs(psi) + 3))) * 2;
        return value;
    }
    case TAMIS_MAP_DIVIDE: value = c * x / fmax(y, d); break;
    case TAMIS_MAP_CLAMP:
        *bound = 0; /* c and d are exact */
        return fmin(fmax(x, c), d);
    case TAMIS_MAP_ADAGRAD:
        value = c * x / (sqrt(y + x * x) + d);
        *bound = 16 * dense_u() * (fabs(z) + fabs(value));
        return z + value;
    default: return value;
    }
    *bound = 8 * dense_u() * fabs(value); /* OpenCL's division may err by 2.5 units in the last place */
    return value;
}

void dense_map(int64_t m, int64_t n) {
    static const struct {
        double c, d, low, high;
    } rows[] = {{0.7, 0.1, -1, 1}, {1.3, 0.05, 0, 3}, {0.9, 0.25, 0, 1}, {0.25, 0.75, -1, 2}, {-0.05, 1e-3, 0.1, 1}};
    for (int kind = 0; kind <= TAMIS_MAP_ADAGRAD; kind++) {
        const double c = rows[kind].c, d = rows[kind].d;
        matrix x = dense_draw(m, n, rows[kind].low, rows[kind].high),
               y = dense_draw(m, n, rows[kind].low, rows[kind].high);
        matrix z = dense_draw(m, n, -1, 1);
        double *const xs = dense_values(&x), *const ys = dense_values(&y), *const zs = dense_values(&z);
        const bool in_place = kind != TAMIS_MAP_ADAGRAD && tamis_random_below(&dense_dice, 2);
        if (kind != TAMIS_MAP_ADAGRAD) dense_poison(&z);
        matrix *const out = in_place ? &x : &z;
        dense_works(tamis_dense_map(dense_device, NULL, (tamis_map)kind, c, d, &x.there,
                                    kind == TAMIS_MAP_CLAMP ? NULL : &y.there, &out->there));
        dense_arrives(out);
        dense_arrives(&y);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const int64_t t = i * n + j;
                double bound;
                const double want = map_of(kind, c, d, xs[t], ys[t], zs[t], &bound);
                dense_close("map", matrix_get(out, i, j), want, bound, i, j);
                const double history = kind == TAMIS_MAP_ADAGRAD ? ys[t] + xs[t] * xs[t] : ys[t];
                dense_close("history", matrix_get(&y, i, j), history,
                            kind == TAMIS_MAP_ADAGRAD ? 3 * dense_u() * history : 0, i, j);
            }
    }
}
