/*
 * The edge operations, a row each: what becomes of a sample x = <A_i, B_j> and S's value s. Kernels of the CPU and of
 * GPUs, gradients, names, and Python's formulas come from these rows; docs/manual/new-edge.md adds one.
 *
 * Formulas are in the subset that C, the dialect of GPU kernels and Python share: numbers, names, + - * /, comparisons,
 * NUMBER(0.5) for a number with a fraction, and SELECT(condition, this, otherwise). Their names are
 *   x, s                    the sample and S's value
 *   scale, slope, epsilon   the constants of a call
 *   y                       scale * x
 *   e                       exp(z), in a row that has EXPONENTIAL(z) for its exponential
 *   f                       the row's own f
 */
#ifndef TAMIS_BASE_EDGE_ROWS_H
#define TAMIS_BASE_EDGE_ROWS_H

/* How s enters the edge's value p. Without values of S, s is 1; a bias is then 0. */
enum {
    TAMIS_S_UNREAD,     /* p = f */
    TAMIS_S_MULTIPLIES, /* p = s * f */
    TAMIS_S_DIVIDED,    /* p = s / f; in the gradient, where f is the reciprocal, s * f */
    TAMIS_S_ADDED,      /* p = s + f */
    TAMIS_S_BIAS        /* p = s + f, with rows normalised afterwards: softmax */
};

/* How f depends on x. */
enum { TAMIS_F_IS_X, TAMIS_F_LINEAR, TAMIS_F_CURVED };

/* clang-format off */
/*
 * ROW(NAME, number, "name", how s enters, how f depends on x,
 *     exponential, f,                  of the value
 *     exponential, f, df/dx)           of the gradient, where they must not overflow
 */
#define TAMIS_EDGES(ROW)                                                                                               \
    ROW(SCALE, 0, "scale", TAMIS_S_MULTIPLIES, TAMIS_F_IS_X,                                                           \
        NONE, x,                                                                                                       \
        NONE, x, 1)                                                                                                    \
    ROW(MASK, 1, "mask", TAMIS_S_UNREAD, TAMIS_F_IS_X,                                                                 \
        NONE, x,                                                                                                       \
        NONE, x, 1)                                                                                                    \
    ROW(RESIDUAL, 2, "residual", TAMIS_S_ADDED, TAMIS_F_LINEAR,                                                        \
        NONE, -x,                                                                                                      \
        NONE, -x, -1)                                                                                                  \
    ROW(QUOTIENT, 3, "quotient", TAMIS_S_DIVIDED, TAMIS_F_CURVED,                                                      \
        NONE, SELECT(x <= epsilon, epsilon, x),                                                                        \
        NONE, 1 / SELECT(x <= epsilon, epsilon, x), SELECT(x <= epsilon, 0, -f * f))                                   \
    ROW(SIGMOID, 4, "sigmoid", TAMIS_S_MULTIPLIES, TAMIS_F_CURVED,                                                     \
        EXPONENTIAL(-y), 1 / (1 + e),                                                                                  \
        EXPONENTIAL(SELECT(y < 0, y, -y)), SELECT(y < 0, e, 1) / (1 + e), scale * (e / ((1 + e) * (1 + e))))           \
    ROW(EXP, 5, "exp", TAMIS_S_MULTIPLIES, TAMIS_F_CURVED,                                                             \
        EXPONENTIAL(y), e,                                                                                             \
        EXPONENTIAL(y), e, scale * e)                                                                                  \
    ROW(LEAKY_RELU, 6, "leaky_relu", TAMIS_S_MULTIPLIES, TAMIS_F_CURVED,                                               \
        NONE, SELECT(y < 0, slope * y, y),                                                                             \
        NONE, SELECT(y < 0, slope * y, y), SELECT(y < 0, slope * scale, scale))                                        \
    ROW(SOFTMAX, 7, "softmax", TAMIS_S_BIAS, TAMIS_F_CURVED,                                                           \
        NONE, y, /* the score; softmax normalises rows afterwards, and has its own gradients */                        \
        NONE, y, scale)
/* clang-format on */

/* The value p of an edge, from s and f. `entry` says how s enters. */
#define TAMIS_EDGE_VALUE(entry, s, f)                                                                                  \
    ((entry) == TAMIS_S_UNREAD       ? (f)                                                                             \
     : (entry) == TAMIS_S_MULTIPLIES ? (s) * (f)                                                                       \
     : (entry) == TAMIS_S_DIVIDED    ? (s) / (f)                                                                       \
                                     : (s) + (f))

/* True if p in the gradient is s * f, with the derivatives s * df/dx and f. */
#define TAMIS_EDGE_S_IS_FACTOR(entry) ((entry) == TAMIS_S_MULTIPLIES || (entry) == TAMIS_S_DIVIDED)

#endif
