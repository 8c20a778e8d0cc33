/* Sums of squares that neither overflow nor vanish: norms of numbers as far apart as fp64 holds. */
#ifndef TOOL_SQUARES_H
#define TOOL_SQUARES_H

/* Squares of large, of ordinary and of small numbers, the first and the last kept scaled (after J. L. Blue, 1978). */
typedef struct tool_squares {
    double large, middle, small;
} tool_squares;

/* `value` must not be NaN. */
void tool_squares_add(tool_squares *squares, double value);

/* The square root of the sum. */
double tool_squares_norm(const tool_squares *squares);

/* The quotient of two norms; the first norm itself where the second is 0. */
double tool_squares_ratio(const tool_squares *above, const tool_squares *below);

#endif
