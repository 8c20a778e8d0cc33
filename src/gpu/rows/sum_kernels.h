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

/* The sums of nonzeros that are taken side by side; all lanes get them. */
FUNCTION void add_split(simt_team team, real *sum) {
#if SPLIT > 1
    UNROLL
    for (int mask = LANES; mask < TEAM; mask *= 2) {
        UNROLL
        for (int k = 0; k < LANE_REALS; k++) sum[k] += team_xor(team, sum[k], mask);
    }
#endif
}
