/* Sums of squares over the whole range of fp64. */
#include "squares.h"

#include <math.h>

enum {
    SHIFT = 600
}; /* 2^-600 times a number above 2^400 has a square within the range, and so has 2^600 times one below */

void tool_squares_add(tool_squares *squares, double value) {
    const double size = fabs(value);
    if (size > 0x1p400) {
        squares->large += (size * 0x1p-600) * (size * 0x1p-600);
    } else if (size >= 0x1p-400) {
        squares->middle += size * size;
    } else {
        squares->small += (size * 0x1p600) * (size * 0x1p600);
    }
}

/* The sum times 2^(2 * shift). */
static double total(const tool_squares *squares, int shift) {
    return ldexp(squares->large, 2 * (shift + SHIFT)) + ldexp(squares->middle, 2 * shift) +
           ldexp(squares->small, 2 * (shift - SHIFT));
}

/* The shift with which a sum is within the range. */
static int shift_for(const tool_squares *squares) {
    return squares->large > 0 ? -SHIFT : squares->middle > 0 ? 0 : SHIFT;
}

double tool_squares_norm(const tool_squares *squares) {
    const int shift = shift_for(squares);
    return ldexp(sqrt(total(squares, shift)), -shift);
}

double tool_squares_ratio(const tool_squares *above, const tool_squares *below) {
    const int shift = shift_for(below);
    const double divisor = total(below, shift);
    return divisor > 0 ? sqrt(total(above, shift) / divisor) : tool_squares_norm(above);
}
