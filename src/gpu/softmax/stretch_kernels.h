/*
 * Rows of scores that stretches of STRETCH nonzeros cut: shared by softmax.simt and the gradients of softmax
 * (gradient/edge_job_kernels.h). A stretch leaves PARTS numbers of the row that began before it, and of the one that
 * continues after it: the largest score, the sum of exponentials relative to it and, with PARTS 3, that sum weighted.
 * merge_stretches joins the parts of each row, in order.
 */
#define TEAMS            (GROUP / TEAM)
#define PART(item, side) (parts + (2 * (int64)(item) + (side)) * PARTS)

/* The part of row i within a stretch; empty if there is no such row. */
typedef struct piece {
    int64 begin, end;  /* its nonzeros within the stretch */
    int before, after; /* true if it has nonzeros outside */
} piece;

FUNCTION piece piece_of(GLOBAL const offset *offsets, int64 i, int64 rows, int64 first, int64 last) {
    piece r;
    const int64 begin = i < rows ? (int64)offsets[i] : last, end = i < rows ? (int64)offsets[i + 1] : last;
    r.before = i < rows && begin < first;
    r.after = i < rows && end > last;
    r.begin = max64(begin, first);
    r.end = min64(end, last);
    return r;
}

/* The last row of stretch `number`, and how many later stretches it continues into if it begins in this one. */
typedef struct last_row {
    int64 row, others;
} last_row;

FUNCTION last_row last_row_of(GLOBAL const offset *offsets, int64 rows, int64 nnz, int64 number) {
    const int64 first = number * STRETCH, last = min64(first + STRETCH, nnz);
    last_row r;
    r.row = row_of(offsets, 0, rows, last - 1);
    r.others = (int64)offsets[r.row] >= first ? ((int64)offsets[r.row + 1] - 1) / STRETCH - number : 0;
    return r;
}

typedef struct row_part {
    real x[PARTS];
} row_part;

FUNCTION void write_part(GLOBAL real *to, row_part p, const int from) {
    UNROLL
    for (int k = from; k < PARTS; k++) to[k] = p.x[k];
}

/* Merges the parts of a row that begins in stretch `item` and continues into `others` more; all of these get the merged
   part. others = 0: nothing. `kept`: all parts have the row's own largest score and sum, and only the weighted sum is
   merged. All work-items of a team call it, and teams may do so together. */
FUNCTION row_part merge_stretches(simt_team team, GLOBAL real *parts, int64 item, int64 others, const int kept) {
    const int from = kept ? PARTS - 1 : 0;
    row_part own, p;
    UNROLL
    for (int k = from; k < PARTS; k++) { /* read before the first exchange, since lane 0 overwrites them at the end */
        own.x[k] = others > 0 ? PART(others > 0 ? item : 0, 1)[k] : k == 0 ? -INFINITY : (real)0;
        p.x[k] = k == 0 ? own.x[0] : (real)0;
    }
    if (!kept) {
        for (int64 j = 1 + team.lane; j <= others; j += TEAM) {
            const real most = PART(item + j, 0)[0];
            p.x[0] = most > p.x[0] ? most : p.x[0];
        }
        p.x[0] = team_max(team, p.x[0]);
    }
    for (int64 j = 1 + team.lane; j <= others; j += TEAM) {
        const real factor = kept ? (real)1 : relative_exp(PART(item + j, 0)[0], p.x[0]);
        UNROLL
        for (int k = kept ? from : 1; k < PARTS; k++) p.x[k] += PART(item + j, 0)[k] * factor;
    }
    const real factor = kept ? (real)1 : relative_exp(own.x[0], p.x[0]);
    UNROLL
    for (int k = kept ? from : 1; k < PARTS; k++) p.x[k] = team_sum(team, p.x[k]) + own.x[k] * factor;
    for (int64 j = 1 + team.lane; j <= others; j += TEAM) write_part(PART(item + j, 0), p, from);
    if (team.lane == 0 && others > 0) write_part(PART(item, 1), p, from);
    return p;
}
