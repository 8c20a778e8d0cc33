/*
 * Parts of rows that were cut. A part is LEAD numbers and then a sum for each of `width` columns. SOFTMAX: the sums are
 * relative to the part's largest score, which comes first, before the sum of its exponentials. Parts are joined in
 * their order, so results do not vary. A part without a score above -infinity adds nothing (SHIFT).
 */
#ifndef LEAD
#define LEAD 2
#endif
#define JOIN_REALS ((SOFTMAX ? 3 : 1) * GROUP) /* shared memory of join_teams */

/* One column of a part. */
typedef struct part {
    real x, most, total;
} part;

FUNCTION part no_part(void) {
    part p;
    p.x = p.total = 0;
    p.most = -INFINITY;
    return p;
}

FUNCTION part joined(part p, part q) {
    if (SOFTMAX) {
        const real most = q.most > p.most ? q.most : p.most;
        const real mine = relative_exp(p.most, most), theirs = relative_exp(q.most, most);
        p.x = p.x * mine + q.x * theirs;
        p.total = p.total * mine + q.total * theirs;
        p.most = most;
    } else {
        p.x += q.x;
    }
    return p;
}

/* Part `number` at a column below `width`: no condition, so that the loads of a loop are in flight together. */
FUNCTION part part_at(GLOBAL const real *partials, int64 number, int64 column, int64 width) {
    GLOBAL const real *const from = partials + number * (width + LEAD);
    part p = no_part();
    p.x = from[LEAD + column];
    if (SOFTMAX) p.most = from[0], p.total = from[1];
    return p;
}

/* Joins the parts that the first `teams` teams of a group have, in their order; the first one gets the result. */
FUNCTION part join_teams(part p, int teams, LOCAL real *parts) {
    parts[LOCAL_ID] = p.x;
    if (SOFTMAX) parts[GROUP + LOCAL_ID] = p.most, parts[2 * GROUP + LOCAL_ID] = p.total;
    group_barrier();
    for (int other = LOCAL_ID + TEAM; LOCAL_ID < TEAM && other < teams * TEAM; other += TEAM) {
        part q = no_part();
        q.x = parts[other];
        if (SOFTMAX) q.most = parts[GROUP + other], q.total = parts[2 * GROUP + other];
        p = joined(p, q);
    }
    return p;
}

#if defined(KEEP_FORMALS) /* after edges.h */
FUNCTION void write_merged(GLOBAL output *out, int64 row, int64 out_stride, int64 column, int64 width, part p,
                           real alpha, real beta KEEP_FORMALS) {
    const real factor = SOFTMAX ? alpha / DIVISOR(p.total) : alpha;
    const int64 at = row * out_stride + column;
    KEEP_ROW(column == 0, row, p.most, p.total);
    if (column < width) out[at] = output_of(beta == 0 ? factor * p.x : factor * p.x + beta * real_of_output(out[at]));
}
#endif
