/* Products, sums, and the step of conjugate gradients. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#include "dense_tests.h"

/* ------------------------------------------------------------------------------------------ products */

void dense_gram(int64_t m, int64_t n) {
    const double alpha = 1.2, diagonal = 0.3;
    matrix x = dense_draw(m, n, -1, 1), g = dense_draw(n, n, 0, 1);
    double *const xs = dense_values(&x);
    dense_poison(&g);
    dense_works(
        tamis_dense_gram(dense_device, NULL, dense_workspaces[dense_type], alpha, &x.there, diagonal, &g.there));
    dense_arrives(&g);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < m; k++) {
                sum += xs[k * n + i] * xs[k * n + j];
                size += fabs(xs[k * n + i] * xs[k * n + j]);
            }
            const double terms = m < 256 ? (double)m : 256, bound = (terms + 8) * dense_u() * (alpha * size + diagonal);
            dense_close("gram", matrix_get(&g, i, j), alpha * sum + (i == j ? diagonal : 0), bound, i, j);
            if (matrix_get(&g, i, j) != matrix_get(&g, j, i)) fail_msg("a Gram product is not symmetric");
        }
}

void dense_multiply(int64_t m, int64_t n) {
    const int64_t k = dense_draw_cols();
    const double alpha = 0.8, beta = tamis_random_below(&dense_dice, 2) ? -0.4 : 0;
    matrix x = dense_draw(m, k, -1, 1), g = dense_draw(k, n, -1, 1), y = dense_draw(m, n, -1, 1);
    double *const xs = dense_values(&x), *const gs = dense_values(&g), *const old = dense_values(&y);
    if (beta == 0) dense_poison(&y);
    dense_works(tamis_dense_multiply(dense_device, NULL, alpha, &x.there, &g.there, beta, &y.there));
    dense_arrives(&y);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double c = beta == 0 ? 0 : beta * old[i * n + j];
            double sum = 0, size = 0;
            for (int64_t t = 0; t < k; t++) {
                sum += xs[i * k + t] * gs[t * n + j];
                size += fabs(xs[i * k + t] * gs[t * n + j]);
            }
            dense_close("multiply", matrix_get(&y, i, j), alpha * sum + c,
                        ((double)k + 8) * dense_u() * (alpha * size + fabs(c)), i, j);
        }
}

/* ------------------------------------------------------------------------------------------ sums */

void dense_sums(int64_t m, int64_t n) {
    matrix x = dense_draw(m, n, -1, 1), y = dense_draw(m, n, -1, 1);
    matrix columns = dense_draw(n, 1, 0, 1), rows = dense_draw(m, 1, 0, 1), dots = dense_draw(m, 1, 0, 1);
    double *const xs = dense_values(&x), *const ys = dense_values(&y);
    dense_poison(&columns);
    dense_poison(&rows);
    dense_poison(&dots);
    dense_works(tamis_dense_column_sums(dense_device, NULL, dense_workspaces[dense_type], &x.there, &columns.there));
    dense_works(tamis_dense_row_sums(dense_device, NULL, &x.there, &rows.there));
    dense_works(tamis_dense_row_dots(dense_device, NULL, &x.there, &y.there, &dots.there));
    dense_arrives(&columns);
    dense_arrives(&rows);
    dense_arrives(&dots);
    for (int64_t j = 0; j < n; j++) {
        double sum = 0, size = 0;
        for (int64_t i = 0; i < m; i++) {
            sum += xs[i * n + j];
            size += fabs(xs[i * n + j]);
        }
        dense_close("column sum", matrix_get(&columns, j, 0), sum,
                    (((double)m + 8) * 0x1p-53 + (dense_type == TAMIS_F32 ? dense_u() : 0)) * size, j, 0);
    }
    for (int64_t i = 0; i < m; i++) {
        double sum = 0, size = 0, dot = 0, dot_size = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += xs[i * n + j];
            size += fabs(xs[i * n + j]);
            dot += xs[i * n + j] * ys[i * n + j];
            dot_size += fabs(xs[i * n + j] * ys[i * n + j]);
        }
        dense_close("row sum", matrix_get(&rows, i, 0), sum, ((double)n + 8) * dense_u() * size, i, 0);
        dense_close("row dot", matrix_get(&dots, i, 0), dot, ((double)n + 8) * dense_u() * dot_size, i, 0);
    }
}

void dense_total(int64_t m, int64_t n) {
    const double epsilon = 0.125;
    matrix x = dense_draw(m, n, -0.5, 2), w = dense_draw(m, n, -1, 3);
    double sum = 0, size = 0, logs = 0, logs_size = 0, ones = 0, ones_size = 0, weights = 0, got = NAN;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double a = matrix_get(&x, i, j), b = matrix_get(&w, i, j), logarithm = log(fmax(a, epsilon));
            sum += a * b;
            size += fabs(a * b);
            ones += logarithm;
            ones_size += fabs(logarithm);
            logs += b * logarithm;
            logs_size += fabs(b * logarithm);
            weights += fabs(b);
        }
    const double e = ((double)(m * n) + 8) * 0x1p-53;
    dense_works(tamis_dense_dot(dense_device, NULL, dense_workspaces[dense_type], &x.there, &w.there, &got));
    dense_close("dot", got, sum, 2 * e * size, m, n);
    dense_works(tamis_dense_dot(dense_device, NULL, dense_workspaces[dense_type], &x.there, &x.there, &got));
    if (!(got >= 0)) fail_msg("a sum of squares is %g", got);
    dense_works(
        tamis_dense_log_dot(dense_device, NULL, dense_workspaces[dense_type], &w.there, &x.there, epsilon, &got));
    dense_close("log dot", got, logs, (2 * e + 8 * dense_u()) * logs_size + dense_u() * weights, m, n);
    dense_works(tamis_dense_log_dot(dense_device, NULL, dense_workspaces[dense_type], NULL, &x.there, epsilon, &got));
    dense_close("log sum", got, ones, (2 * e + 8 * dense_u()) * ones_size + dense_u() * (double)(m * n), m, n);
}

/* ------------------------------------------------------------------------------------------ conjugate gradients */

typedef struct step {
    double *ap, *p, *x, *r;
    matrix *P, *X, *R, *rr;
} step;

static void check_row(const step *s, int64_t i, int64_t n, double shift, double before) {
    const double *const ap = s->ap + i * n, *const p = s->p + i * n, *const x = s->x + i * n, *const r = s->r + i * n;
    const double sums = ((double)n + 16) * dense_u();
    double pap = 0, after = 0, after_error = 0;
    for (int64_t j = 0; j < n; j++) pap += p[j] * (ap[j] + shift * p[j]); /* all terms positive */
    const double a = pap > 0 ? before / pap : 0;
    double error[DENSE_WIDEST], left[DENSE_WIDEST];
    for (int64_t j = 0; j < n; j++) {
        const double q = ap[j] + shift * p[j];
        left[j] = r[j] - a * q;
        error[j] = fabs(a * q) * (sums + 8 * dense_u()) + 2 * dense_u() * fabs(r[j]);
        after += left[j] * left[j];
        after_error += 2 * fabs(left[j]) * error[j] + error[j] * error[j] + sums * left[j] * left[j];
    }
    const double b = before == 0 ? 0 : after / before, b_error = before == 0 ? 0 : after_error / before;
    dense_close("rr", matrix_get(s->rr, i, 0), after, after_error + 4 * dense_u() * after, i, 0);
    for (int64_t j = 0; j < n; j++) {
        const double step_error = fabs(a * p[j]) * (sums + 8 * dense_u());
        dense_close("X", matrix_get(s->X, i, j), x[j] + a * p[j], step_error + 2 * dense_u() * fabs(x[j]), i, j);
        dense_close("R", matrix_get(s->R, i, j), left[j], error[j], i, j);
        dense_close("P", matrix_get(s->P, i, j), left[j] + b * p[j],
                    error[j] + (b_error + 8 * dense_u() * b) * fabs(p[j]) + 4 * dense_u() * fabs(left[j]), i, j);
    }
}

void dense_conjugate(int64_t m, int64_t n) {
    const bool with = tamis_random_below(&dense_dice, 2);
    const double shift = 0.25;
    matrix AP = dense_draw(m, n, 0.5, 2), P = dense_draw(m, n, 0.1, 1), X = dense_draw(m, n, -1, 1),
           R = dense_draw(m, n, -1, 1);
    matrix rr = dense_draw(m, 1, 0, 1), lambda = dense_draw(m, 1, 0, 2);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            if (i % 5 == 4) matrix_set(&R, i, j, 0); /* solved */
            sum += matrix_get(&R, i, j) * matrix_get(&R, i, j);
        }
        matrix_set(&rr, i, 0, sum);
    }
    matrix_send(dense_device, &R);
    matrix_send(dense_device, &rr);
    double *const old = dense_values(&rr);
    step s = {dense_values(&AP), dense_values(&P), dense_values(&X), dense_values(&R), &P, &X, &R, &rr};
    dense_works(tamis_dense_cg_step(dense_device, NULL, with ? &lambda.there : NULL, shift, &AP.there, &P.there,
                                    &X.there, &R.there, &rr.there));
    dense_arrives(&P);
    dense_arrives(&X);
    dense_arrives(&R);
    dense_arrives(&rr);
    for (int64_t i = 0; i < m; i++) check_row(&s, i, n, shift + (with ? matrix_get(&lambda, i, 0) : 0), old[i]);
}

/* X (Y^T Y + I) = B for every row, of any scale, by n + 4 steps: in exact arithmetic n are enough. What is left is the
   condition number, at most 1 + trace(Y^T Y), times the errors of a product. */
void dense_solve(int64_t m, int64_t n) {
    if (n > 16) n = 16;
    matrix Y = dense_draw(40, n, -1, 1), G = dense_draw(n, n, 0, 0), B = dense_draw(m, n, -1, 1);
    matrix X = dense_draw(m, n, 0, 0), R = dense_draw(m, n, 0, 0), P = dense_draw(m, n, 0, 0);
    matrix AP = dense_draw(m, n, 0, 0), rr = dense_draw(m, 1, 0, 0);
    double trace = 0, scale = ldexp(1, (int)tamis_random_below(&dense_dice, 60) - 40);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) matrix_set(&B, i, j, scale * matrix_get(&B, i, j));
    matrix_send(dense_device, &B);
    for (int64_t i = 0; i < 40; i++)
        for (int64_t j = 0; j < n; j++) trace += matrix_get(&Y, i, j) * matrix_get(&Y, i, j);
    dense_works(tamis_dense_gram(dense_device, NULL, dense_workspaces[dense_type], 1, &Y.there, 0, &G.there));
    dense_works(tamis_dense_axpby(dense_device, NULL, 1, &B.there, 0, &R.there));
    dense_works(tamis_dense_axpby(dense_device, NULL, 1, &B.there, 0, &P.there));
    dense_works(tamis_dense_row_dots(dense_device, NULL, &R.there, &R.there, &rr.there));
    for (int64_t k = 0; k < n + 4; k++) {
        dense_works(tamis_dense_multiply(dense_device, NULL, 1, &P.there, &G.there, 0, &AP.there));
        dense_works(
            tamis_dense_cg_step(dense_device, NULL, NULL, 1, &AP.there, &P.there, &X.there, &R.there, &rr.there));
    }
    /* B - X (G + I) */
    dense_works(tamis_dense_multiply(dense_device, NULL, -1, &X.there, &G.there, 1, &B.there));
    dense_works(tamis_dense_axpby(dense_device, NULL, -1, &X.there, 1, &B.there));
    dense_arrives(&B);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            dense_close("residual", matrix_get(&B, i, j), 0, 64 * dense_u() * (1 + trace) * scale, i, j);
}
