/*
 * Softmax attention of few rows with many columns each (online softmax): the work of one group, a piece of the columns
 * of up to ROWS rows that share them.
 *
 * A team keeps ROWS rows of A in registers. Its lanes read the rows of B and D of POSITIONS columns at once, and use
 * each for all ROWS rows: memory is read once, whatever ROWS is. The teams of a group take the columns in turn. The
 * ROWS * POSITIONS dot products are reduced together (BATCH), so that each lane ends with the scores of one of the
 * rows, and keeps that row's largest score and its sum of exponentials. The sums are rescaled when the largest score
 * rises. All loops have the same trip count for the whole group. At the end the teams' sums are added in their order
 * through shared memory.
 *
 * ROWS is at most TEAM. INNER_REALS and WIDTH_REALS: a lane's reals of a row of A and B, and of D; INNER_FULL and
 * WIDTH_FULL: units of these that all lanes have. Registers: (ROWS + POSITIONS) * (INNER_REALS + WIDTH_REALS) reals.
 * Shared memory: GROUP * ROWS * WIDTH_REALS reals, and three for each team and row.
 */
#include "lane_kernels.h"

#if LISTED /* S lists the columns of a row */
typedef struct source {
    GLOBAL const index *columns;
    GLOBAL const element *b, *d;
    int64 b_stride, d_stride;
} source;

/* The address information of a position, loaded before its rows. */
typedef index located;

FUNCTION located locate(source from, int32 position) { return from.columns[position]; }
FUNCTION GLOBAL const element *key_of(const int wide, source from, located at) {
    return row_at(from.b, at, from.b_stride, wide);
}
FUNCTION GLOBAL const element *entry_of(const int wide, source from, located at) {
    return row_at(from.d, at, from.d_stride, wide);
}
#else /* positions are consecutive in pages; PAGED: through a page table */
typedef struct source {
    GLOBAL const index *table;
    GLOBAL const element *b, *d;
    int64 b_page, b_position, d_page, d_position, last_page;
    int32 page, shift; /* the only page; log2 of a page's positions */
} source;

typedef struct located {
    int32 page, place;
} located;

FUNCTION located locate(source from, int32 position) {
    located at;
    at.page = PAGED ? (int32)min64(max64((int64)from.table[PAGED ? position >> from.shift : 0], 0), from.last_page)
                    : from.page;
    at.place = PAGED ? position & ((1 << from.shift) - 1) : position;
    return at;
}
FUNCTION GLOBAL const element *key_of(const int wide, source from, located at) {
    (void)wide;
    return from.b + at.page * from.b_page + at.place * from.b_position;
}
FUNCTION GLOBAL const element *entry_of(const int wide, source from, located at) {
    (void)wide;
    return from.d + at.page * from.d_page + at.place * from.d_position;
}
#endif

/* State of a lane: its reals of the sums of all rows; for the row of its scores, the largest score and the sum of
   exponentials relative to it. */
typedef struct held {
    real sum[ROWS * WIDTH_REALS], most, total;
} held;

/* Turns the lane's scores into weights, in place, and rescales the state to the new largest score (online softmax). */
FUNCTION void weigh(simt_team team, real *score, held *h) {
    real top = -INFINITY, shrink = 1;
    UNROLL
    for (int s = 0; s < SUMS_A_LANE; s++)
        top = score[s] > top ? score[s] : top; /* ignores NaN, which exp brings back */
    UNROLL
    for (int mask = LANES_A_SUM; mask < SHARE; mask *= 2) {
        const real other = team_xor(team, top, mask);
        top = other > top ? other : top;
    }
    if (top > h->most) shrink = raise_most(&h->most, &h->total, top);
    int same = 1;
    real factor[ROWS];
    UNROLL
    for (int r = 0; r < ROWS; r++) {
        factor[r] = ROWS > 1 ? team_get(team, shrink, r * SHARE) : shrink;
        same &= factor[r] == 1;
    }
    if (!same) {
        UNROLL
        for (int r = 0; r < ROWS; r++) UNROLL
        for (int k = 0; k < WIDTH_REALS; k++) h->sum[r * WIDTH_REALS + k] *= factor[r];
    }
    UNROLL
    for (int s = 0; s < SUMS_A_LANE; s++) {
        score[s] = relative_exp(score[s], h->most);
        h->total += score[s];
    }
}

/* Positions of each part but the last, rounded up to whole steps of the group. */
FUNCTION int32 positions_of_part(int32 length, int32 parts) {
    const int32 step = TEAMS * POSITIONS;
    return ((length + parts - 1) / parts + step - 1) / step * step;
}

/* Processes positions begin .. end - 1. This team takes POSITIONS of every TEAMS * POSITIONS. `values`: S's values in
   the row of the lane's scores, or NULL. */
FUNCTION void walk(const int wide, simt_team team, int own, int32 begin, int32 end, source from, const real *x,
                   int32 inner, int32 width, int has_values, GLOBAL const value *restrict values, real scale, held *h) {
    const int32 last = end > begin ? end - 1 : begin,
                steps = (end - begin + TEAMS * POSITIONS - 1) / (TEAMS * POSITIONS);
    int32 at = begin + own * POSITIONS;
    located coming[POSITIONS];
    UNROLL
    for (int k = 0; k < ROWS * WIDTH_REALS; k++) h->sum[k] = 0;
    h->most = -INFINITY;
    h->total = 0;
    if (steps > 0) {
        UNROLL
        for (int i = 0; i < POSITIONS; i++) coming[i] = locate(from, min32(at + i, last));
    }
    ONE_BY_ONE
    for (int32 step = 0; step < steps; step++, at += TEAMS * POSITIONS) {
        real y[POSITIONS * INNER_REALS], z[POSITIONS * WIDTH_REALS], weight[BATCH], mine[SUMS_A_LANE], s[SUMS_A_LANE];
        UNROLL
        for (int i = 0; i < POSITIONS; i++)
            load_row(wide, y + i * INNER_REALS, key_of(wide, from, coming[i]), team.lane, inner, INNER_REALS / UNIT,
                     INNER_FULL);
        UNROLL
        for (int i = 0; i < POSITIONS; i++)
            load_row(wide, z + i * WIDTH_REALS, entry_of(wide, from, coming[i]), team.lane, width, UNITS, WIDTH_FULL);
        UNROLL
        for (int k = 0; k < SUMS_A_LANE; k++)
            s[k] = has_values
                       ? real_of_value(values[has_values ? min32(at + sum_number(team, k) % POSITIONS, last) : 0])
                       : (real)0;
        if (step + 1 < steps) {
            UNROLL
            for (int i = 0; i < POSITIONS; i++) coming[i] = locate(from, min32(at + TEAMS * POSITIONS + i, last));
        }
        UNROLL
        for (int r = 0; r < ROWS; r++) UNROLL
        for (int i = 0; i < POSITIONS; i++) {
            real dot = 0;
            UNROLL
            for (int k = 0; k < INNER_REALS; k++) dot += x[r * INNER_REALS + k] * y[i * INNER_REALS + k];
            weight[r * POSITIONS + i] = dot;
        }
        team_sums(team, weight);
        UNROLL
        for (int k = 0; k < SUMS_A_LANE; k++)
            mine[k] = at + sum_number(team, k) % POSITIONS < end ? scale * weight[k] + s[k] : -INFINITY;
        weigh(team, mine, h);
        UNROLL
        for (int n = 0; n < BATCH; n++)
            weight[n] = team_get(team, mine[n % SUMS_A_LANE], n / SUMS_A_LANE * LANES_A_SUM);
        UNROLL
        for (int i = 0; i < POSITIONS; i++)
            if (at + i < end) { /* rows past the end are read, but not added: they may hold a NaN */
                UNROLL
                for (int r = 0; r < ROWS; r++) UNROLL
                for (int k = 0; k < WIDTH_REALS; k++)
                    h->sum[r * WIDTH_REALS + k] += weight[r * POSITIONS + i] * z[i * WIDTH_REALS + k];
            }
    }
    UNROLL
    for (int mask = LANES_A_SUM; mask < SHARE; mask *= 2) h->total += team_xor(team, h->total, mask);
}

/* Combines the teams' softmax states of a row: the factor of each team's part, the largest score and the sum of
   exponentials. */
FUNCTION void weigh_teams(LOCAL real *numbers, int r) {
    LOCAL real *const of_row = numbers + r * 2, *const factors = numbers + 2 * ROWS * TEAMS + r;
    real most = -INFINITY, total = 0;
    for (int t = 0; t < TEAMS; t++) most = of_row[t * 2 * ROWS] > most ? of_row[t * 2 * ROWS] : most;
    for (int t = 0; t < TEAMS; t++) {
        const real factor = relative_exp(of_row[t * 2 * ROWS], most);
        factors[t * ROWS] = factor;
        total += of_row[t * 2 * ROWS + 1] * factor;
    }
    of_row[0] = most; /* the first team's own numbers are no longer needed */
    of_row[1] = total;
}

/* Stores the teams' sums in `parts` and their softmax states in `numbers`, and weighs them. Then group_sum gives row r
   of the group; numbers[2 r] and numbers[2 r + 1] are its largest score and its sum of exponentials. */
FUNCTION void share_sums(simt_team team, int own, const held *h, LOCAL real *parts, LOCAL real *numbers) {
    UNROLL
    for (int r = 0; r < ROWS; r++) UNROLL
    for (int u = 0; u < UNITS; u++) UNROLL
    for (int i = 0; i < UNIT; i++)
        parts[(own * ROWS + r) * ROW_REALS + unit_at(team.lane, u) + i] = h->sum[r * WIDTH_REALS + u * UNIT + i];
    if (team.lane % SHARE == 0) {
        numbers[(own * ROWS + team.lane / SHARE) * 2] = h->most;
        numbers[(own * ROWS + team.lane / SHARE) * 2 + 1] = h->total;
    }
    group_barrier();
    if (LOCAL_ID < ROWS) weigh_teams(numbers, LOCAL_ID);
    group_barrier();
}

FUNCTION real group_sum(LOCAL const real *parts, LOCAL const real *numbers, int r, int32 column) {
    real sum = 0;
    for (int t = 0; t < TEAMS; t++)
        sum += numbers[2 * ROWS * TEAMS + t * ROWS + r] * parts[(t * ROWS + r) * ROW_REALS + column];
    return sum;
}

/* Stores the partial result of row r for merge_parts: largest score, sum of exponentials, sums. */
FUNCTION void leave_part(GLOBAL real *partial, LOCAL const real *sums, LOCAL const real *numbers, int r, int64 width) {
    if (LOCAL_ID == 0) {
        partial[0] = numbers[2 * r];
        partial[1] = numbers[2 * r + 1];
    }
    for (int32 c = LOCAL_ID; c < width; c += GROUP) partial[2 + c] = group_sum(sums, numbers, r, c);
}
