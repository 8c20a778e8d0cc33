/*
 * The dense companions against plain loops in double: one function an operation, which takes the size of a matrix and
 * draws everything else. dense_type is the round's. A result that is wrong ends the test.
 *
 * Bounds, componentwise, with u the unit roundoff of the matrices' type and e = 2^-53 that of double:
 *   a few operations on terms t       some u sum |t|, as many as there are roundings (a parameter counts: it is
 * rounded) sum of n terms in the type        (n + 8) u sum |t|: any order, fused or not; for sums in blocks n is what
 * one number can go through at most: its block, the blocks, the chunks sum of n terms in double          (n + 8) e sum
 * |t|, and u |sum| where it is stored in the type What depends on a rounded sum (conjugate gradients) gets its error by
 * the derivative.
 */
#ifndef TAMIS_TESTS_DENSE_TESTS_H
#define TAMIS_TESTS_DENSE_TESTS_H

#include <tamis/dense.h>

#include "support/matrix.h"

enum { DENSE_WIDEST = 300 };

extern tamis_device *dense_device;
extern tamis_dense_workspace *dense_workspaces[2]; /* by type */
extern tamis_random dense_dice;
extern tamis_type dense_type;

double dense_u(void);
matrix dense_draw(int64_t rows, int64_t cols, double low, double high); /* any stride and alignment */
int64_t dense_draw_rows(void);
int64_t dense_draw_cols(void);
void dense_works(tamis_status status);
void dense_close(const char *what, double got, double want, double bound, int64_t i, int64_t j);
double *dense_values(const matrix *x); /* read by row, as dense_draw()'s until the operation ends */
void dense_poison(matrix *x);
void dense_arrives(matrix *x); /* back on the host, with its gaps untouched */

/* psi(x), and psi'(x) in *slope, in long double */
double dense_digamma(double x, double *slope);

void dense_fill(int64_t m, int64_t n);
void dense_combine(int64_t m, int64_t n);
void dense_scale(int64_t m, int64_t n);
void dense_map(int64_t m, int64_t n);
void dense_gram(int64_t m, int64_t n);
void dense_multiply(int64_t m, int64_t n);
void dense_sums(int64_t m, int64_t n);
void dense_total(int64_t m, int64_t n);
void dense_conjugate(int64_t m, int64_t n);
void dense_solve(int64_t m, int64_t n); /* gram, multiply, combine, row dots and steps together */

#endif
