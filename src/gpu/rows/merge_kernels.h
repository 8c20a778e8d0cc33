/*
 * Parts of rows that were cut. A part is LEAD numbers and then a number for each of `width` columns: sums, or with
 * LARGEST maxima, each with the position of its entry. SOFTMAX: the sums are relative to the part's largest score,
 * which comes first, before the sum of its exponentials. Parts are joined in their order, so results do not vary. A
 * part without a score above -infinity adds nothing (SHIFT).
 */
#ifndef LEAD
#define LEAD 2
#endif
#ifndef LARGEST
#define LARGEST 0
#endif
#ifndef EACH
#define EACH 1 /* columns of a work-item, TEAM apart */
#endif
#define JOIN_REALS     ((SOFTMAX ? EACH + 2 : EACH) * GROUP) /* shared memory of join_teams */
#define JOIN_POSITIONS (LARGEST ? EACH * GROUP : 1)

/* EACH columns of a part. */
typedef struct part {
    real x[EACH], most, total;
#if LARGEST
    int64 position[EACH]; /* of the entry; -1: none */
#endif
} part;

FUNCTION part no_part(void) {
    part p;
    UNROLL
    for (int i = 0; i < EACH; i++) {
        p.x[i] = 0;
#if LARGEST
        p.position[i] = -1;
#endif
    }
    p.total = 0;
    p.most = -INFINITY;
    return p;
}

/* p and then q. */
FUNCTION part joined(part p, part q) {
    softmax_factors f;
    f.mine = f.theirs = 1;
    if (SOFTMAX) {
        f = softmax_joined(p.most, q.most);
        p.total = p.total * f.mine + q.total * f.theirs;
        p.most = f.most;
    }
    UNROLL
    for (int i = 0; i < EACH; i++) {
#if LARGEST
        if (q.position[i] >= 0 && (p.position[i] < 0 || takes(q.x[i], p.x[i])))
            p.x[i] = q.x[i], p.position[i] = q.position[i];
#else
        p.x[i] = SOFTMAX ? p.x[i] * f.mine + q.x[i] * f.theirs : p.x[i] + q.x[i];
#endif
    }
    return p;
}

/* Part `number`. A column past the end is the last one: no condition, so that the loads of a loop are in flight
   together. */
FUNCTION part part_at(GLOBAL const real *partials, int64 number, int64 column, int64 width) {
    GLOBAL const real *const from = partials + number * (width + LEAD);
    part p = no_part();
    UNROLL
    for (int i = 0; i < EACH; i++) p.x[i] = from[LEAD + min64(column + i * TEAM, width - 1)];
    if (SOFTMAX) p.most = from[0], p.total = from[1];
    return p;
}

/* Joins the parts that the first `teams` teams of a group have, in their order; the first one gets the result. */
FUNCTION part join_teams(part p, int teams, LOCAL real *parts, LOCAL int64 *positions) {
    UNROLL
    for (int i = 0; i < EACH; i++) {
        parts[i * GROUP + LOCAL_ID] = p.x[i];
#if LARGEST
        positions[i * GROUP + LOCAL_ID] = p.position[i];
#endif
    }
    if (SOFTMAX) parts[EACH * GROUP + LOCAL_ID] = p.most, parts[(EACH + 1) * GROUP + LOCAL_ID] = p.total;
    group_barrier();
    for (int other = LOCAL_ID + TEAM; LOCAL_ID < TEAM && other < teams * TEAM; other += TEAM) {
        part q = no_part();
        UNROLL
        for (int i = 0; i < EACH; i++) {
            q.x[i] = parts[i * GROUP + other];
#if LARGEST
            q.position[i] = positions[i * GROUP + other];
#endif
        }
        if (SOFTMAX) q.most = parts[EACH * GROUP + other], q.total = parts[(EACH + 1) * GROUP + other];
        p = joined(p, q);
    }
    return p;
}

#if defined(KEEP_FORMALS) /* after edges.h, or the kernel's own */
FUNCTION void write_merged(GLOBAL output *out, int64 row, int64 out_stride, int64 column, int64 width, part p,
                           real factor, real beta KEEP_FORMALS) {
    KEEP_ROW(column == 0, row, p.most, p.total);
    UNROLL
    for (int i = 0; i < EACH; i++) {
        const int64 at = row * out_stride + column + i * TEAM;
        if (column + i * TEAM < width)
            out[at] = output_of(beta == 0 ? factor * p.x[i] : factor * p.x[i] + beta * real_of_output(out[at]));
    }
}
#endif
