/*
 * Shared by the kernels of attention on graphs. A team computes one head of a row, and its lanes take units of the head
 * in turn. Consecutive teams compute the heads of one row, so their reads of its entries' vectors are adjacent. Long
 * rows are cut into pieces of `limit` entries, which are the first tasks (lane_kernels.h). Their results go to
 * `partials`, which merge.simt joins in order: no atomics, so the result is deterministic.
 *
 * Constants in addition to message_kernels.h:
 *   WHOLE      1: one slice has all of a head, and what a score reads is what is summed
 *   HAS_E      1: there are vectors on edges; like PERMUTED, a kernel argument where compilation is slow
 */
#include "message_kernels.h"

#define HEAD_PARAMETERS                                                                                                \
    int64 rows, int64 pieces, int64 limit, IN(int64, piece_rows), IN(int4, order), int32 ordered, int32 heads,         \
        int32 width, int32 slice, real scale, IN(offset, offsets), IN(index, columns), IN(int64, entries),             \
        int32 permuted, OUT(real, partials)

/* The lane's partial dot product <x, y + e> over a slice; `e` is not read unless has_e. */
FUNCTION real slice_dot(const real *x, const real *y, const real *e, const int has_e, int lane, int32 left) {
    real sum = 0;
    UNROLL
    for (int u = 0; u < UNITS; u++)
        if (has_unit(lane, u, left)) {
            UNROLL
            for (int i = u * UNIT; i < (u + 1) * UNIT; i++) sum += x[i] * (has_e ? y[i] + e[i] : y[i]);
        }
    return sum;
}

/* The same over all slices of a head, from memory. */
FUNCTION real head_dot(GLOBAL const element *x, GLOBAL const element *y, GLOBAL const element *e, const int has_e,
                       int lane, int32 width, int32 slice) {
    real sum = 0;
    ONE_BY_ONE
    for (int32 step = 0; step < width; step += slice) {
        const int32 left = min32(slice, width - step);
        real xs[REALS], ys[REALS], es[REALS];
        load_slice(xs, x + step, lane, left);
        load_slice(ys, y + step, lane, left);
        if (has_e) load_slice(es, e + (has_e ? step : 0), lane, left);
        sum += slice_dot(xs, ys, es, has_e, lane, left);
    }
    return sum;
}
