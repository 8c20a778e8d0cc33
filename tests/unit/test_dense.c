/*
 * The dense companions against plain loops in double, on random matrices of every awkward shape: odd sizes, strides,
 * odd addresses, nothing at all, NaN in outputs that must not be read.
 *   test_dense [DEVICE]     "cpu" by default: with every instruction set that this machine runs, and 1, 2 and 5 threads
 * Inputs are new at each run: TAMIS_TEST_SEED repeats one.
 *
 * Bounds, componentwise, with u the unit roundoff of the matrices' type and e = 2^-53 that of double:
 *   a few operations on terms t       some u sum |t|, as many as there are roundings (a parameter counts: it is
 * rounded) sum of n terms in the type        (n + 8) u sum |t|: any order, fused or not; for sums in blocks n is what
 * one number can go through at most: its block, the blocks, the chunks sum of n terms in double          (n + 8) e sum
 * |t|, and u |sum| where it is stored in the type What depends on a rounded sum (conjugate gradients) gets its error by
 * the derivative.
 */
#include "cmocka_first.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/dense.h>
#include <time.h>

#include "base/memory.h"
#include "cpu/variants.h"
#include "support/dense_case.h"

static const char *name = "cpu";
static tamis_device *device;
static tamis_dense_workspace *workspaces[2];
static tamis_random dice;
static tamis_type type; /* of the round */
static int64_t live;

enum { WIDEST = 300 };

static double u(void) { return type == TAMIS_F64 ? 0x1p-53 : 0x1p-24; }

static dense_case draw(int64_t rows, int64_t cols, double low, double high) {
    const int64_t padding = tamis_random_below(&dice, 3) ? tamis_random_below(&dice, 9) : 0;
    return dense_case_make(device, type, rows, cols, padding, tamis_random_below(&dice, 4), low, high, &dice);
}

static int64_t draw_size(const int64_t *sizes, int count) { return sizes[tamis_random_below(&dice, count)]; }
static int64_t draw_rows(void) {
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 33, 64, 131, 600, 1500};
    return draw_size(sizes, 10);
}
static int64_t draw_cols(void) {
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 8, 13, 16, 31, 33, 64, 67, 128, 130};
    return draw_size(sizes, 14);
}

static void works(tamis_status status) {
    if (status != TAMIS_OK) fail_msg("%s: %s", tamis_status_name(status), tamis_last_error());
}

static void close_to(const char *what, double got, double want, double bound, int64_t i, int64_t j) {
    if (fabs(got - want) <= bound + (type == TAMIS_F64 ? 1e-300 : 1e-37) || (isnan(got) && isnan(want))) return;
    fail_msg("%s of %s on %s: (%lld, %lld) is %.17g, expected %.17g within %.3g", what, tamis_type_name(type), name,
             (long long)i, (long long)j, got, want, bound);
}

static void arrives(dense_case *x) {
    if (!dense_case_fetch(x)) fail_msg("a gap between rows was written to");
}

/* ------------------------------------------------------------------------------------------ element by element */

static void fill(int64_t m, int64_t n) {
    dense_case x = draw(m, n, 0, 1);
    works(tamis_dense_fill(device, NULL, &x.view, 0.375));
    arrives(&x);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) close_to("fill", dense_case_get(&x, i, j), 0.375, 0, i, j);
    dense_case_free(&x);
}

static void combine(int64_t m, int64_t n) {
    const double alpha = -1.7, betas[] = {0, 0.6, 1};
    for (int b = 0; b < 4; b++) { /* the last in place */
        const double beta = betas[b % 3];
        dense_case x = draw(m, n, -1, 1), y = draw(m, n, -1, 1);
        double *const old = dense_case_values(b == 3 ? &x : &y);
        if (b == 0) dense_case_poison(&y);
        works(tamis_dense_combine(device, NULL, alpha, &x.view, beta, b == 3 ? &x.view : &y.view));
        dense_case *const out = b == 3 ? &x : &y;
        double *const xs = b == 3 ? old : dense_case_values(&x);
        arrives(out);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const double a = alpha * xs[i * n + j], c = beta == 0 ? 0 : beta * old[i * n + j];
                close_to("combine", dense_case_get(out, i, j), a + c, 4 * u() * (fabs(a) + fabs(c)), i, j);
            }
        if (xs != old) free(xs);
        free(old);
        dense_case_free(&x);
        dense_case_free(&y);
    }
}

static void scale(int64_t m, int64_t n) {
    for (int scaling = 0; scaling < 4; scaling++)
        for (int with = 0; with < 2; with++) {
            const double shift = with ? 0.3 : 1.6, beta = tamis_random_below(&dice, 2) ? 0.7 : 0;
            dense_case x = draw(m, n, -1, 1), y = draw(m, n, -1, 1);
            dense_case w = draw(scaling % 2 ? n : m, 1, 0.5, 2);
            double *const old = dense_case_values(&y);
            if (beta == 0) dense_case_poison(&y);
            works(tamis_dense_scale(device, NULL, (tamis_scaling)scaling, with ? &w.view : NULL, shift, &x.view, beta,
                                    &y.view));
            arrives(&y);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    const double f = shift + (with ? dense_case_get(&w, scaling % 2 ? j : i, 0) : 0);
                    const double a = scaling < 2 ? f * dense_case_get(&x, i, j) : dense_case_get(&x, i, j) / f;
                    const double c = beta == 0 ? 0 : beta * old[i * n + j];
                    close_to("scale", dense_case_get(&y, i, j), a + c, 8 * u() * (fabs(a) + fabs(c)), i, j);
                }
            free(old);
            dense_case_free(&x);
            dense_case_free(&y);
            dense_case_free(&w);
        }
}

/* psi and psi' by 60 steps of the recurrence and the asymptotic series in long double */
static double digamma(double x, double *slope) {
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
    const double product = c * x * y + d, around = 4 * u() * (fabs(c * x * y) + fabs(d));
    double slope, value = product;
    *bound = around;
    switch (kind) {
    case TAMIS_MAP_EXP_DIGAMMA: {
        /* exp(-(s + t)): s + t is at most |psi| + |ln y| + 1, of some 20 roundings; psi' carries the argument's error
         */
        const double psi = digamma(product, &slope);
        value = exp(psi);
        *bound = value * expm1(slope * around + u() * (20 + 20 * (fabs(psi) + 3))) * 2;
        return value;
    }
    case TAMIS_MAP_DIVIDE: value = c * x / fmax(y, d); break;
    case TAMIS_MAP_CLAMP:
        *bound = 0; /* c and d are exact */
        return fmin(fmax(x, c), d);
    case TAMIS_MAP_ADAGRAD:
        value = c * x / (sqrt(y + x * x) + d);
        *bound = 16 * u() * (fabs(z) + fabs(value));
        return z + value;
    default: return value;
    }
    *bound = 8 * u() * fabs(value); /* OpenCL's division may err by 2.5 units in the last place */
    return value;
}

static void map(int64_t m, int64_t n) {
    static const struct {
        double c, d, low, high;
    } rows[] = {{0.7, 0.1, -1, 1}, {1.3, 0.05, 0, 3}, {0.9, 0.25, 0, 1}, {0.25, 0.75, -1, 2}, {-0.05, 1e-3, 0.1, 1}};
    for (int kind = 0; kind <= TAMIS_MAP_ADAGRAD; kind++) {
        const double c = rows[kind].c, d = rows[kind].d;
        dense_case x = draw(m, n, rows[kind].low, rows[kind].high), y = draw(m, n, rows[kind].low, rows[kind].high);
        dense_case z = draw(m, n, -1, 1);
        double *const xs = dense_case_values(&x), *const ys = dense_case_values(&y), *const zs = dense_case_values(&z);
        const bool in_place = kind != TAMIS_MAP_ADAGRAD && tamis_random_below(&dice, 2);
        if (kind != TAMIS_MAP_ADAGRAD) dense_case_poison(&z);
        dense_case *const out = in_place ? &x : &z;
        works(tamis_dense_map(device, NULL, (tamis_map)kind, c, d, &x.view, kind == TAMIS_MAP_CLAMP ? NULL : &y.view,
                              &out->view));
        arrives(out);
        arrives(&y);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const int64_t t = i * n + j;
                double bound;
                const double want = map_of(kind, c, d, xs[t], ys[t], zs[t], &bound);
                close_to("map", dense_case_get(out, i, j), want, bound, i, j);
                const double history = kind == TAMIS_MAP_ADAGRAD ? ys[t] + xs[t] * xs[t] : ys[t];
                close_to("history", dense_case_get(&y, i, j), history,
                         kind == TAMIS_MAP_ADAGRAD ? 3 * u() * history : 0, i, j);
            }
        free(xs);
        free(ys);
        free(zs);
        dense_case_free(&x);
        dense_case_free(&y);
        dense_case_free(&z);
    }
}

/* ------------------------------------------------------------------------------------------ products */

static void gram(int64_t m, int64_t n) {
    const double alpha = 1.2, diagonal = 0.3;
    dense_case x = draw(m, n, -1, 1), g = draw(n, n, 0, 1);
    double *const xs = dense_case_values(&x);
    dense_case_poison(&g);
    works(tamis_dense_gram(device, NULL, workspaces[type], alpha, &x.view, diagonal, &g.view));
    arrives(&g);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < m; k++) {
                sum += xs[k * n + i] * xs[k * n + j];
                size += fabs(xs[k * n + i] * xs[k * n + j]);
            }
            const double terms = m < 256 ? (double)m : 256, bound = (terms + 8) * u() * (alpha * size + diagonal);
            close_to("gram", dense_case_get(&g, i, j), alpha * sum + (i == j ? diagonal : 0), bound, i, j);
            if (dense_case_get(&g, i, j) != dense_case_get(&g, j, i)) fail_msg("a Gram product is not symmetric");
        }
    free(xs);
    dense_case_free(&x);
    dense_case_free(&g);
}

static void multiply(int64_t m, int64_t n) {
    const int64_t k = draw_cols();
    const double alpha = 0.8, beta = tamis_random_below(&dice, 2) ? -0.4 : 0;
    dense_case x = draw(m, k, -1, 1), g = draw(k, n, -1, 1), y = draw(m, n, -1, 1);
    double *const xs = dense_case_values(&x), *const gs = dense_case_values(&g), *const old = dense_case_values(&y);
    if (beta == 0) dense_case_poison(&y);
    works(tamis_dense_multiply(device, NULL, alpha, &x.view, &g.view, beta, &y.view));
    arrives(&y);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double c = beta == 0 ? 0 : beta * old[i * n + j];
            double sum = 0, size = 0;
            for (int64_t t = 0; t < k; t++) {
                sum += xs[i * k + t] * gs[t * n + j];
                size += fabs(xs[i * k + t] * gs[t * n + j]);
            }
            close_to("multiply", dense_case_get(&y, i, j), alpha * sum + c,
                     ((double)k + 8) * u() * (alpha * size + fabs(c)), i, j);
        }
    free(xs);
    free(gs);
    free(old);
    dense_case_free(&x);
    dense_case_free(&g);
    dense_case_free(&y);
}

/* ------------------------------------------------------------------------------------------ sums */

static void sums(int64_t m, int64_t n) {
    dense_case x = draw(m, n, -1, 1), y = draw(m, n, -1, 1);
    dense_case columns = draw(n, 1, 0, 1), rows = draw(m, 1, 0, 1), dots = draw(m, 1, 0, 1);
    double *const xs = dense_case_values(&x), *const ys = dense_case_values(&y);
    dense_case_poison(&columns);
    dense_case_poison(&rows);
    dense_case_poison(&dots);
    works(tamis_dense_column_sums(device, NULL, workspaces[type], &x.view, &columns.view));
    works(tamis_dense_row_sums(device, NULL, &x.view, &rows.view));
    works(tamis_dense_row_dots(device, NULL, &x.view, &y.view, &dots.view));
    arrives(&columns);
    arrives(&rows);
    arrives(&dots);
    for (int64_t j = 0; j < n; j++) {
        double sum = 0, size = 0;
        for (int64_t i = 0; i < m; i++) {
            sum += xs[i * n + j];
            size += fabs(xs[i * n + j]);
        }
        close_to("column sum", dense_case_get(&columns, j, 0), sum,
                 (((double)m + 8) * 0x1p-53 + (type == TAMIS_F32 ? u() : 0)) * size, j, 0);
    }
    for (int64_t i = 0; i < m; i++) {
        double sum = 0, size = 0, dot = 0, dot_size = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += xs[i * n + j];
            size += fabs(xs[i * n + j]);
            dot += xs[i * n + j] * ys[i * n + j];
            dot_size += fabs(xs[i * n + j] * ys[i * n + j]);
        }
        close_to("row sum", dense_case_get(&rows, i, 0), sum, ((double)n + 8) * u() * size, i, 0);
        close_to("row dot", dense_case_get(&dots, i, 0), dot, ((double)n + 8) * u() * dot_size, i, 0);
    }
    free(xs);
    free(ys);
    dense_case_free(&x);
    dense_case_free(&y);
    dense_case_free(&columns);
    dense_case_free(&rows);
    dense_case_free(&dots);
}

static void total(int64_t m, int64_t n) {
    const double epsilon = 0.125;
    dense_case x = draw(m, n, -0.5, 2), w = draw(m, n, -1, 3);
    double sum = 0, size = 0, logs = 0, logs_size = 0, ones = 0, ones_size = 0, weights = 0, got = NAN;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double a = dense_case_get(&x, i, j), b = dense_case_get(&w, i, j), logarithm = log(fmax(a, epsilon));
            sum += a * b;
            size += fabs(a * b);
            ones += logarithm;
            ones_size += fabs(logarithm);
            logs += b * logarithm;
            logs_size += fabs(b * logarithm);
            weights += fabs(b);
        }
    const double e = ((double)(m * n) + 8) * 0x1p-53;
    works(tamis_dense_dot(device, NULL, workspaces[type], &x.view, &w.view, &got));
    close_to("dot", got, sum, 2 * e * size, m, n);
    works(tamis_dense_dot(device, NULL, workspaces[type], &x.view, &x.view, &got));
    if (!(got >= 0)) fail_msg("a sum of squares is %g", got);
    works(tamis_dense_log_dot(device, NULL, workspaces[type], &w.view, &x.view, epsilon, &got));
    close_to("log dot", got, logs, (2 * e + 8 * u()) * logs_size + u() * weights, m, n);
    works(tamis_dense_log_dot(device, NULL, workspaces[type], NULL, &x.view, epsilon, &got));
    close_to("log sum", got, ones, (2 * e + 8 * u()) * ones_size + u() * (double)(m * n), m, n);
    dense_case_free(&x);
    dense_case_free(&w);
}

/* ------------------------------------------------------------------------------------------ conjugate gradients */

typedef struct step {
    double *ap, *p, *x, *r;
    dense_case *P, *X, *R, *rr;
} step;

static void check_row(const step *s, int64_t i, int64_t n, double shift, double before) {
    const double *const ap = s->ap + i * n, *const p = s->p + i * n, *const x = s->x + i * n, *const r = s->r + i * n;
    const double sums = ((double)n + 16) * u();
    double pap = 0, after = 0, after_error = 0;
    for (int64_t j = 0; j < n; j++) pap += p[j] * (ap[j] + shift * p[j]); /* all terms positive */
    const double a = before == 0 ? 0 : before / (pap + 1e-8);
    double error[WIDEST], left[WIDEST];
    for (int64_t j = 0; j < n; j++) {
        const double q = ap[j] + shift * p[j];
        left[j] = r[j] - a * q;
        error[j] = fabs(a * q) * (sums + 8 * u()) + 2 * u() * fabs(r[j]);
        after += left[j] * left[j];
        after_error += 2 * fabs(left[j]) * error[j] + error[j] * error[j] + sums * left[j] * left[j];
    }
    const double b = before == 0 ? 0 : after / (before + 1e-8), b_error = before == 0 ? 0 : after_error / before;
    close_to("rr", dense_case_get(s->rr, i, 0), after, after_error + 4 * u() * after, i, 0);
    for (int64_t j = 0; j < n; j++) {
        const double step_error = fabs(a * p[j]) * (sums + 8 * u());
        close_to("X", dense_case_get(s->X, i, j), x[j] + a * p[j], step_error + 2 * u() * fabs(x[j]), i, j);
        close_to("R", dense_case_get(s->R, i, j), left[j], error[j], i, j);
        close_to("P", dense_case_get(s->P, i, j), left[j] + b * p[j],
                 error[j] + (b_error + 8 * u() * b) * fabs(p[j]) + 4 * u() * fabs(left[j]), i, j);
    }
}

static void conjugate(int64_t m, int64_t n) {
    const bool with = tamis_random_below(&dice, 2);
    const double shift = 0.25;
    dense_case AP = draw(m, n, 0.5, 2), P = draw(m, n, 0.1, 1), X = draw(m, n, -1, 1), R = draw(m, n, -1, 1);
    dense_case rr = draw(m, 1, 0, 1), lambda = draw(m, 1, 0, 2);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            if (i % 5 == 4) dense_case_set(&R, i, j, 0); /* solved */
            sum += dense_case_get(&R, i, j) * dense_case_get(&R, i, j);
        }
        dense_case_set(&rr, i, 0, sum);
    }
    dense_case_send(&R);
    dense_case_send(&rr);
    double *const old = dense_case_values(&rr);
    step s = {
        dense_case_values(&AP), dense_case_values(&P), dense_case_values(&X), dense_case_values(&R), &P, &X, &R, &rr};
    works(tamis_dense_conjugate_step(device, NULL, with ? &lambda.view : NULL, shift, &AP.view, &P.view, &X.view,
                                     &R.view, &rr.view));
    arrives(&P);
    arrives(&X);
    arrives(&R);
    arrives(&rr);
    for (int64_t i = 0; i < m; i++) check_row(&s, i, n, shift + (with ? dense_case_get(&lambda, i, 0) : 0), old[i]);
    free(old);
    free(s.ap);
    free(s.p);
    free(s.x);
    free(s.r);
    dense_case_free(&AP);
    dense_case_free(&P);
    dense_case_free(&X);
    dense_case_free(&R);
    dense_case_free(&rr);
    dense_case_free(&lambda);
}

/* ------------------------------------------------------------------------------------------ rounds */

static void rounds(void (*operation)(int64_t m, int64_t n)) {
    static const int64_t always[][2] = {{0, 5}, {5, 0}, {0, 0}, {1, 1}, {1500, 1}, {1, WIDEST}, {601, 67}};
    for (type = TAMIS_F32; type <= TAMIS_F64; type++) {
        for (int i = 0; i < 7; i++) operation(always[i][0], always[i][1]);
        for (int i = 0; i < 12; i++) operation(draw_rows(), draw_cols());
    }
    type = TAMIS_F32;
}

static void test_fill(void **state) {
    (void)state;
    rounds(fill);
}
static void test_combine(void **state) {
    (void)state;
    rounds(combine);
}
static void test_scale(void **state) {
    (void)state;
    rounds(scale);
}
static void test_map(void **state) {
    (void)state;
    rounds(map);
}
static void test_gram(void **state) {
    (void)state;
    rounds(gram);
}
static void test_multiply(void **state) {
    (void)state;
    rounds(multiply);
}
static void test_sums(void **state) {
    (void)state;
    rounds(sums);
}
static void test_total(void **state) {
    (void)state;
    rounds(total);
}
static void test_conjugate(void **state) {
    (void)state;
    rounds(conjugate);
}

/* psi(x) and exp(psi(x)), by mpmath with 40 digits; SciPy's digamma agrees to 4e-15. */
static const double published[][3] = {
    {0.0625, -16.478853490060104367, 6.9714779996491505052e-8},
    {0.25, -4.2274535333762654081, 0.014589494947750207096},
    {0.5, -1.9635100260214234794, 0.14036487089172129246},
    {0.75, -1.0858608797864721696, 0.33761101825337358355},
    {1.0, -0.57721566490153286061, 0.56145948356688516982},
    {1.25, -0.22745353337626540809, 0.79655943406506567816},
    {1.5, 0.036489973978576520559, 1.0371639053380865127},
    {2.0, 0.42278433509846713939, 1.5262051115958638805},
    {2.5, 0.70315664064524318723, 2.0201194445802005396},
    {3.0, 0.92278433509846713939, 2.5162868309393635803},
    {4.75, 1.4492040552784628953, 4.2597226617161560008},
    {5.9990234375, 1.7059405795956395415, 5.5065625925913450759},
    {6.0, 1.7061176684318004727, 5.5075378297013681378},
    {7.125, 1.8917959606533552671, 6.6312674884409621132},
    {9.9990234375, 2.2516498822976999316, 9.5034024042028175741},
    {10.0, 2.2517525890667211076, 9.5043785180843547474},
    {31.25, 3.4259340515829541975, 30.751354792754697007},
    {123456.75, 11.723642121279044456, 123456.25000033750148},
    {1000000000.0, 20.723265836446411156, 999999999.50000000004},
};

static void test_digamma(void **state) {
    enum { COUNT = sizeof published / sizeof published[0] };
    (void)state;
    for (type = TAMIS_F32; type <= TAMIS_F64; type++) {
        dense_case x = draw(COUNT + 4, 1, 0, 1), y = draw(COUNT + 4, 1, 1, 1);
        static const double ends[] = {0, -1, NAN, 1e-3};
        for (int i = 0; i < COUNT + 4; i++) dense_case_set(&x, i, 0, i < COUNT ? published[i][0] : ends[i - COUNT]);
        dense_case_send(&x);
        works(tamis_dense_map(device, NULL, TAMIS_MAP_EXP_DIGAMMA, 1, 0, &x.view, &y.view, &x.view));
        arrives(&x);
        for (int i = 0; i < COUNT; i++) { /* every number of the table is exact in fp32 */
            double slope;
            const double psi = published[i][1], want = published[i][2];
            close_to("the tests' digamma", digamma(published[i][0], &slope), psi, 4 * 0x1p-53 * (1 + fabs(psi)) + 1e-37,
                     i, 0);
            close_to("exp(psi)", dense_case_get(&x, i, 0), want, (8 + 8 * fmax(0, -psi)) * u() * want, i, 0);
        }
        if (dense_case_get(&x, COUNT, 0) != 0 || !isnan(dense_case_get(&x, COUNT + 1, 0)) ||
            !isnan(dense_case_get(&x, COUNT + 2, 0)) || dense_case_get(&x, COUNT + 3, 0) != 0)
            fail_msg("exp(psi) at 0, -1, NaN and 0.001 is %g, %g, %g, %g", dense_case_get(&x, COUNT, 0),
                     dense_case_get(&x, COUNT + 1, 0), dense_case_get(&x, COUNT + 2, 0),
                     dense_case_get(&x, COUNT + 3, 0));
        dense_case_free(&x);
        dense_case_free(&y);
    }
    type = TAMIS_F32;
}

/* The same bits from any number of threads, and again. */
static void test_determinism(void **state) {
    static const int threads[] = {1, 2, 5, 5};
    (void)state;
    dense_case x = draw(3000, 67, -1, 1), g[4], s[4];
    double dots[4], logs[4];
    for (int t = 0; t < 4; t++) {
        g[t] = draw(67, 67, 0, 1);
        s[t] = draw(67, 1, 0, 1);
        works(tamis_device_set_threads(device, threads[t]));
        works(tamis_dense_gram(device, NULL, workspaces[0], 1, &x.view, 0, &g[t].view));
        works(tamis_dense_column_sums(device, NULL, workspaces[0], &x.view, &s[t].view));
        works(tamis_dense_dot(device, NULL, workspaces[0], &x.view, &x.view, &dots[t]));
        works(tamis_dense_log_dot(device, NULL, workspaces[0], &x.view, &x.view, 1e-3, &logs[t]));
        arrives(&g[t]);
        arrives(&s[t]);
        assert_memory_equal(&dots[t], &dots[0], sizeof dots[0]);
        assert_memory_equal(&logs[t], &logs[0], sizeof logs[0]);
        for (int64_t i = 0; i < 67; i++) {
            close_to("column sum again", dense_case_get(&s[t], i, 0), dense_case_get(&s[0], i, 0), 0, i, 0);
            for (int64_t j = 0; j < 67; j++)
                close_to("gram again", dense_case_get(&g[t], i, j), dense_case_get(&g[0], i, j), 0, i, j);
        }
    }
    for (int t = 0; t < 4; t++) {
        dense_case_free(&g[t]);
        dense_case_free(&s[t]);
    }
    dense_case_free(&x);
    works(tamis_device_set_threads(device, 0));
}

static int set_up(void **state) {
    (void)state;
    live = tamis_memory_live();
    if (tamis_device_open(name, &device) != TAMIS_OK) return -1;
    for (int t = 0; t < 2; t++)
        if (tamis_dense_workspace_create(device, WIDEST, (tamis_type)t, &workspaces[t]) != TAMIS_OK) {
            printf("%s\n", tamis_last_error());
            return -1;
        }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) tamis_dense_workspace_destroy(workspaces[t]);
    tamis_device_close(device);
    return tamis_memory_live() == live ? 0 : -1;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),    cmocka_unit_test(test_combine),    cmocka_unit_test(test_scale),
        cmocka_unit_test(test_map),     cmocka_unit_test(test_gram),       cmocka_unit_test(test_multiply),
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_total),      cmocka_unit_test(test_conjugate),
        cmocka_unit_test(test_digamma), cmocka_unit_test(test_determinism)};
    const char *const text = getenv("TAMIS_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    int failed = 0;
    if (argc > 1) name = argv[1];
    dice = tamis_random_start(seed, 0);
    printf("seed %llu\n", (unsigned long long)seed);
    if (tamis_device_open(name, &device) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    tamis_device_close(device);
    if (strcmp(name, "cpu") != 0) return cmocka_run_group_tests_name(name, tests, set_up, tear_down);
    for (int v = 0; tamis_cpu_variant_at(v); v++) {
        if (!tamis_cpu_variant_runs(tamis_cpu_variant_at(v))) continue;
        setenv("TAMIS_CPU_ISA", tamis_cpu_variant_at(v)->name, 1);
        failed += cmocka_run_group_tests_name(tamis_cpu_variant_at(v)->name, tests, set_up, tear_down);
    }
    return failed;
}
