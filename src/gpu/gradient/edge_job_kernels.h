/*
 * Shared by edge_gradient.simt and edge_kept.simt: the arrays of a call, stretches of nonzeros and, for softmax, the
 * rows that a stretch contains or cuts.
 */
#include "simt.h"
#define EDGE       edge_kind /* arguments: one kernel for all edges */
#define HAS_VALUES has_values
#include "edges.h"

#define STRETCH 2048 /* and PARTS: as backend/edge.h has them */
#define PARTS   3
#include "stretch_kernels.h"

FUNCTION void write_array(GLOBAL element *array, int64 begin, int kind, int64 t, int64 scattered, real x, real keep) {
    const int64 at = begin + (kind & SCATTERED ? scattered : t);
    if (kind & REALS)
        ((GLOBAL real *)array)[at] = keep == 0 ? x : x + keep * ((GLOBAL real *)array)[at];
    else
        array[at] = element_of(keep == 0 ? x : x + keep * real_of(array[at]));
}

/* Outputs may alias inputs, so no pointer is restrict. `kinds` has four bits for each array. */
#define JOB_PARAMETERS                                                                                                 \
    int64 nnz, int64 batch, IN(int64, permutation), OUT(element, values), int64 values_batch_stride, OUT(element, x),  \
        int64 x_batch_stride, OUT(element, dp), int64 dp_batch_stride, OUT(element, p), int64 p_batch_stride,          \
        OUT(element, dx), int64 dx_batch_stride, OUT(element, ds), int64 ds_batch_stride, int32 permuted, int32 kinds, \
        int32 edge_kind, real edge_scale, real edge_slope, real edge_epsilon, real dp_factor, real p_factor,           \
        real p_keep, real ds_keep
#define KIND(number) (kinds >> (4 * (number)))
#define VALUES_KIND  KIND(0)
#define X_KIND       KIND(1)
#define DP_KIND      KIND(2)
#define P_KIND       KIND(3)
#define DX_KIND      KIND(4)
#define DS_KIND      KIND(5)
#define READ(name, kind, otherwise)                                                                                    \
    ((kind)&THERE ? read_array(name, member * name##_batch_stride, kind, t, u) : (real)(otherwise))
#define WRITE(name, kind, what, keep)                                                                                  \
    if ((kind)&THERE) write_array(name, member *name##_batch_stride, kind, t, u, what, keep)

/* Loops over the stretches of all members; no memory holds 2^32 of them. */
#define FOR_STRETCHES                                                                                                  \
    const uint32 stretches = (uint32)((nnz + STRETCH - 1) / STRETCH), items = stretches * (uint32)batch;               \
    for (uint32 item = (uint32)GROUP_X; item < items; item += (uint32)GROUPS_X)
#define STRETCH_BOUNDS                                                                                                 \
    const int64 member = item / stretches, first = (int64)(item % stretches) * STRETCH;                                \
    const int64 last = min64(first + STRETCH, nnz)

/* ---------------------------------------------------------------------------------------------- softmax */

FUNCTION void write_sums(GLOBAL real *part, real most, real sum, real weighted) {
    part[0] = most;
    part[1] = sum;
    part[2] = weighted;
}

/* Merges the parts of rows that are cut: one team per stretch. */
#define MERGE_STRETCHES(kept)                                                                                          \
    const uint32 stretches = (uint32)((nnz + STRETCH - 1) / STRETCH), items = stretches * (uint32)batch;               \
    for (uint32 base = (uint32)GROUP_X * TEAMS; base < items; base += (uint32)GROUPS_X * TEAMS) {                      \
        const uint32 item = base + (uint32)(LOCAL_ID / TEAM);                                                          \
        const int64 others = item < items ? last_row_of(offsets, rows, nnz, item % stretches).others : 0;              \
        merge_stretches(team, parts, item, others, kept);                                                              \
    }

#define SCORE (edge_scale * READ(x, X_KIND, 0) + READ(values, VALUES_KIND, 0))
#define FINISH(t, step, most, over, mean)                                                                              \
    for (; t < r.end; t += step) {                                                                                     \
        const int64 u = permuted ? permutation[t] : t;                                                                 \
        const real e = relative_exp(SCORE, most) * (over), d = e * (dp_factor * READ(dp, DP_KIND, 0) - (mean));        \
        WRITE(p, P_KIND, p_factor *e, p_keep);                                                                         \
        WRITE(dx, DX_KIND, edge_scale *d, 0);                                                                          \
        WRITE(ds, DS_KIND, d, ds_keep);                                                                                \
    }
