/*
 * SpMM by whole rows or pieces of cut rows, shared by rows.simt and spmm_rounded.simt: a team's sums and how they are
 * stored. sum_kernels.h has the constants.
 */
#include "sum_kernels.h"

FUNCTION void body(const int wide, simt_team team, place begin, place end, GLOBAL const index *restrict columns,
                   GLOBAL const value *restrict values, int has_values, GLOBAL const element *restrict b,
                   int64 b_stride, int32 left, real *sum) {
    const int part = team.lane / LANES; /* which of the nonzeros taken side by side */
    index coming = 0;
    real coming_value = 1;
    if (begin < end) {
        const place t = first_of(begin + team.lane, end - 1);
        coming = columns[t];
        if (has_values) coming_value = real_of_value(values[has_values ? t : 0]);
    }
    for (place at = begin; at < end; at += TEAM) {
        const index own = coming;
        const real own_value = coming_value;
        const int count = (int)first_of(TEAM, end - at);
        if (at + TEAM < end) {
            const place t = first_of(at + TEAM + team.lane, end - 1);
            coming = columns[t];
            if (has_values) coming_value = real_of_value(values[has_values ? t : 0]);
        }
        ONE_BY_ONE
        for (int s = 0; s < count; s += STEP) {
            index column[LOADS];
            real weight[LOADS], y[LOADS * LANE_REALS];
            UNROLL
            for (int i = 0; i < LOADS; i++) { /* past the end the last row is repeated, but not added */
                const int j = s + i * SPLIT + part, last = count - 1, held = j < last ? j : last;
                column[i] = block_column(team, own, columns, at, held);
                weight[i] = block_value(team, own_value, values, has_values, at, held);
            }
            UNROLL
            for (int i = 0; i < LOADS; i++)
                load_lane(wide, y + i * LANE_REALS, row_at(b, column[i], b_stride, wide), team.lane % LANES, left);
            if (s + STEP <= count) {
                UNROLL
                for (int i = 0; i < LOADS; i++) {
                    UNROLL
                    for (int k = 0; k < LANE_REALS; k++) sum[k] += weight[i] * y[i * LANE_REALS + k];
                }
            } else {
                UNROLL
                for (int i = 0; i < LOADS; i++)
                    if (s + i * SPLIT + part < count) {
                        UNROLL
                        for (int k = 0; k < LANE_REALS; k++) sum[k] += weight[i] * y[i * LANE_REALS + k];
                    }
            }
        }
    }
    add_split(team, sum);
}

FUNCTION void write_partial(GLOBAL real *to, const real *sum, int lane, int32 left) {
    UNROLL
    for (int u = 0; u < UNITS; u++) UNROLL
    for (int i = 0; i < UNIT; i++)
        if (unit_at(lane, u) + i < left) to[unit_at(lane, u) + i] = sum[u * UNIT + i];
}
