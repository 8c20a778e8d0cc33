/*
 * Shared by rows.simt, teams.simt, fused_teams.simt and one_pass.simt: the lanes of a team, which exchange a block of
 * columns and take the units of a row in turn, and the tasks of rows that may be cut. The kernels define LANES, and
 * UNITS, the units of a lane's sums.
 */
#include "task_kernels.h"

/* Index type of nonzeros: 32 bits if a kernel says that they suffice. */
#if PLACES == 32
typedef int32 place;
#else
typedef int64 place;
#endif
FUNCTION place first_of(place x, place y) { return x < y ? x : y; }

/* Entry j of a block, which lane j holds. Without shuffles it is read again, from cache. */
FUNCTION index block_column(simt_team team, index own, GLOBAL const index *columns, place at, int j) {
#if SIMT_SUBGROUP == 0
    return columns[at + j];
#elif defined(SIMT_OPENCL)
    return SHUFFLE(own, (uint)((int)get_sub_group_local_id() - team.lane + j));
#else
    return __shfl_sync(team.mask, own, j, TEAM);
#endif
}

/* The same for a block of values. */
FUNCTION real block_value(simt_team team, real own, GLOBAL const value *values, int has_values, place at, int j) {
#if SIMT_SUBGROUP == 0
    return has_values ? real_of_value(values[has_values ? at + j : 0]) : (real)1;
#else
    return has_values ? team_get(team, own, j) : (real)1;
#endif
}

/* First column of the lane's unit `u` in the slice: lanes take units in turn. */
FUNCTION int32 unit_at(int lane, int u) { return (u * LANES + lane) * UNIT; }

/* Loads the lane's `units` of a row, zero-padded; `row` is the address of its first unit. All lanes have the first
   `full` units. */
FUNCTION void load_row(const int wide, real *to, GLOBAL const element *row, int lane, int32 across, const int units,
                       const int full) {
    UNROLL
    for (int u = 0; u < units; u++) {
        const int32 at = u * LANES * UNIT;
        if (u < full)
            load_unit(to + u * UNIT, row + at, wide);
        else
            load_unit_left(to + u * UNIT, row + at, across - at - lane * UNIT, wide);
    }
}

FUNCTION void write_lane(GLOBAL output *row, const real *sum, int lane, int32 left, real alpha, real beta,
                         int aligned) {
    UNROLL
    for (int u = 0; u < UNITS; u++) {
        const int32 at = unit_at(lane, u);
        real y[UNIT];
        UNROLL
        for (int i = 0; i < UNIT; i++) y[i] = alpha * sum[u * UNIT + i];
        if (beta != 0) {
            UNROLL
            for (int i = 0; i < UNIT; i++)
                if (at + i < left) y[i] += beta * real_of_output(row[at + i]);
        }
        if (aligned && at + UNIT <= left) {
            store_output_unit(row + at, y);
        } else {
            UNROLL
            for (int i = 0; i < UNIT; i++)
                if (at + i < left) row[at + i] = output_of(y[i]);
        }
    }
}
