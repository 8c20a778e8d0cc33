/*
 * SpMM by teams of lanes, which rows.simt and teams.simt share: a team adds S_ij B_j over consecutive nonzeros of a
 * row.
 *
 * The lanes of a team read a block of TEAM columns and values side by side and exchange them; LOADS rows of B are in
 * flight at once; the sums stay in registers. SPLIT nonzeros are taken side by side, each by TEAM / SPLIT lanes, whose
 * sums are added at the end. WIDTH_PIECES: pieces of 16 bytes that a lane has of a row of C. UNITS_FULL: of their
 * units, those that all lanes have in every slice. Registers: (1 + LOADS) * WIDTH_PIECES * PIECE reals, 2 LOADS for the
 * exchange, one for each unit that is not full.
 */
#define LANES      (TEAM / SPLIT) /* of a row of B */
#define LANE_REALS (WIDTH_PIECES * PIECE)
#define UNITS      (LANE_REALS / UNIT)
#define STEP       (SPLIT * LOADS) /* nonzeros under way */

#include "lane_kernels.h"

FUNCTION real block_value(simt_team team, real own, GLOBAL const value *values, int has_values, place at, int j) {
#if SIMT_SUBGROUP == 0
    return has_values ? real_of_value(values[has_values ? at + j : 0]) : (real)1;
#else
    return has_values ? team_get(team, own, j) : (real)1;
#endif
}

/*
 * `row`: its address for the lane's first unit. Past the end of the row the last unit again, which nobody writes: no
 * lane has a branch. `left`: columns of the slice.
 */
FUNCTION void load_lane(const int wide, real *to, GLOBAL const element *row, int lane, int32 left) {
    UNROLL
    for (int u = 0; u < UNITS; u++) {
        const int32 at = unit_at(lane, u), own = unit_at(lane, 0);
        if (WHOLE_UNITS || wide) {
            load_unit(to + u * UNIT, row + ((u < UNITS_FULL ? at : min32(at, left - UNIT)) - own), wide);
        } else {
            UNROLL
            for (int i = 0; i < UNIT; i++) to[u * UNIT + i] = real_of(row[min32(at + i, left - 1) - own]);
        }
    }
}

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
            for (int i = 0; i < LOADS; i++) { /* past the end the last one again, which is not added */
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
#if SPLIT > 1
    UNROLL
    for (int mask = LANES; mask < TEAM; mask *= 2) {
        UNROLL
        for (int k = 0; k < LANE_REALS; k++) sum[k] += team_xor(team, sum[k], mask);
    }
#endif
}
