/*
 * SpMM by teams of lanes, shared by rows.simt and teams.simt: a team adds S_ij B_j over consecutive nonzeros of a row.
 *
 * The lanes of a team read a block of TEAM columns and values side by side and exchange them; LOADS rows of B are in
 * flight at once; the sums stay in registers. SPLIT nonzeros are taken side by side, each by TEAM / SPLIT lanes, whose
 * sums are added at the end. WIDTH_PIECES: pieces of 16 bytes per lane of a row of C. UNITS_FULL: the units that all
 * lanes have in every slice. Registers: (1 + LOADS) * WIDTH_PIECES * PIECE reals, 2 LOADS for the exchange, one for
 * each unit that is not full.
 */
#define LANES      (TEAM / SPLIT) /* for a row of B */
#define LANE_REALS (WIDTH_PIECES * PIECE)
#define UNITS      (LANE_REALS / UNIT)
#define STEP       (SPLIT * LOADS) /* nonzeros in flight */

#include "lane_kernels.h"

/*
 * Loads the lane's units of a row of B; `row`: the address of its first unit. Past the slice's end the last unit is
 * loaded again and not written, so no lane branches. `left`: columns of the slice.
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

/* Adds the sums of the nonzeros taken side by side; all lanes get the result. */
FUNCTION void add_split(simt_team team, real *sum) {
#if SPLIT > 1
    UNROLL
    for (int mask = LANES; mask < TEAM; mask *= 2) {
        UNROLL
        for (int k = 0; k < LANE_REALS; k++) sum[k] += team_xor(team, sum[k], mask);
    }
#endif
}
