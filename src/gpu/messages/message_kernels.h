/*
 * Shared by the kernels of message passing: how the lanes of a team divide a row, and the terms of an entry.
 *
 * Constants in addition to simt.h:
 *   UNITS      units per lane of a row's slice; the lanes take units in turn
 *   FULL       1: all lanes have all UNITS, so the row's end is not tested
 *   LOADS      entries whose rows are loaded at once
 *   NEAR       1: row strides are less than 2^31 bytes
 *   SHARE      (optional) teams of a warp that share each of the first `shared` tasks, long rows and pieces
 *   BY_GROUP   (optional) 1: all teams of a group share each of the first `grouped` of these
 *   STORES     (optional) 1: rows of results are not aligned to units
 *   OTHER      bits of the offsets at the other end
 *   ARGUMENT   bits of the arguments of max and min
 *   READS      of a text: 1: x, 2: y, 4: z, 8: w, the gradient of the reduced messages
 *   TURNED     1: a text's u is z and its v is x, and rows are columns of S
 *   HERE       1: w and arguments are rows at this end
 * TERM, NUMBERS, TAKEN, PERMUTED, ORDERED, WEIGHTED and MEAN come from the job, or are kernel arguments where
 * compilation is slow. All rows begin at multiples of a unit; so do heads, if there is a number per head.
 */
#define LANES TEAM
#include "lane_kernels.h"
#include "taken_kernels.h"
#include "texts.h"

#define TERM_X    0
#define TERM_ADD  1
#define TERM_MUL  2
#define TERM_Y    3
#define TERM_GATE 4
#define TERM_RELU 5
#define TERM_TEXT 6

#if defined(EDGE_TEXT)
#define READS_X (READS & 1)
#define READS_Y (READS & 2)
#define READS_Z (READS & 4)
#define WEIGHED (READS & 8)
#else
#define READS_X (TERM != TERM_Y)
#define READS_Y (TERM != TERM_X)
#define READS_Z (TERM == TERM_GATE)
#define WEIGHED 0
#define TURNED  0
#define HERE    0
#endif

#define REALS (UNITS * UNIT) /* per lane */

#ifndef SHARE
#define SHARE 1
#endif

#ifndef BY_GROUP
#define BY_GROUP 0
#endif
#define TEAMS (GROUP / TEAM)
#define WARPS (TEAMS / SHARE) /* of a group, if they share */

/* A task of a team. Teams that share one take blocks of LOADS entries in turn. Their results are joined by shuffles
   within a warp, and then through shared memory, in order. */
typedef struct team_task {
    int64 number;
    int together; /* the teams that share it: 1, SHARE or TEAMS; the same for a warp, or for a group if TEAMS */
    int part;
} team_task;
FUNCTION team_task task_of_team(int64 slot, int64 grouped, int64 shared) {
    team_task t;
    const int64 first = BY_GROUP ? grouped : 0, rest = slot - first * TEAMS;
    if (BY_GROUP && rest < 0) {
        t.number = slot / TEAMS;
        t.together = TEAMS;
        t.part = (int)(slot % TEAMS);
    } else if (SHARE > 1 && rest < (shared - first) * SHARE) {
        t.number = first + rest / SHARE;
        t.together = SHARE;
        t.part = (int)(rest % SHARE);
    } else {
        t.number = rest - (shared - first) * (SHARE - 1) + first;
        t.together = 1;
        t.part = 0;
    }
    return t;
}
#define TASKS (pieces + rows + (BY_GROUP ? grouped * (TEAMS - SHARE) : 0) + shared * (SHARE - 1))

#if OTHER == 64
typedef int64 other_offset;
#else
typedef int32 other_offset;
#endif

/* Start of a lane's unit in a slice of `left` elements. Past its end it is the last unit again, which is not
   written. */
FUNCTION int32 unit_in(int lane, int u, int32 left) {
    return FULL ? unit_at(lane, u) : min32(unit_at(lane, u), left - UNIT);
}
FUNCTION int has_unit(int lane, int u, int32 left) { return FULL || unit_at(lane, u) < left; }

/* Loads a unit that is not needed again soon: the caches evict it first. */
#ifndef ONCE
#define ONCE 0
#endif
FUNCTION void load_unit_once(real *to, GLOBAL const element *from) {
#if !defined(SIMT_OPENCL) && ONCE && UNIT == PIECE
#if ELEMENT == 64
    const double2 x = __ldcs((const double2 *)from);
    to[0] = x.x, to[1] = x.y;
#elif ELEMENT == 32
    const float4 x = __ldcs((const float4 *)from);
    to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
#else
    const uint4 x = __ldcs((const uint4 *)from);
    unpack_pair(to, x.x), unpack_pair(to + 2, x.y), unpack_pair(to + 4, x.z), unpack_pair(to + 6, x.w);
#endif
#else
    load_unit(to, from, 1);
#endif
}

#ifndef STORES
#define STORES UNIT
#endif

FUNCTION void load_slice(real *to, GLOBAL const element *row, int lane, int32 left) {
    UNROLL
    for (int u = 0; u < UNITS; u++) load_unit(to + u * UNIT, row + unit_in(lane, u, left), 1);
}

FUNCTION void store_slice(GLOBAL element *row, const real *from, int lane, int32 left) {
    UNROLL
    for (int u = 0; u < UNITS; u++)
        if (has_unit(lane, u, left)) {
            GLOBAL element *const to = row + unit_in(lane, u, left);
#if STORES == 1
            UNROLL
            for (int i = 0; i < UNIT; i++) to[i] = element_of(from[u * UNIT + i]);
#else
            store_unit(to, from + u * UNIT);
#endif
        }
}

/* Stores a lane's part of the sums of a piece; `to`: the first number of the slice. */
FUNCTION void store_part(GLOBAL real *to, const real *sum, int lane, int32 left) {
    UNROLL
    for (int u = 0; u < UNITS; u++)
        if (has_unit(lane, u, left)) {
            UNROLL
            for (int i = 0; i < UNIT; i++) to[unit_in(lane, u, left) + i] = sum[u * UNIT + i];
        }
}

/* Arguments are aligned to four of them, or to a unit if that is less. */
FUNCTION void load_arguments(taken_entry *to, GLOBAL const taken_entry *row, int lane, int32 left) {
    UNROLL
    for (int u = 0; u < UNITS; u++) {
        GLOBAL const taken_entry *const from = row + unit_in(lane, u, left);
#if ARGUMENT == 32 && UNIT >= 4
        UNROLL
        for (int i = u * UNIT; i < (u + 1) * UNIT; i += 4) {
            const int4 x = *(GLOBAL const int4 *)(from + i - u * UNIT);
            to[i] = x.x, to[i + 1] = x.y, to[i + 2] = x.z, to[i + 3] = x.w;
        }
#else
        UNROLL
        for (int i = 0; i < UNIT; i++) to[u * UNIT + i] = from[i];
#endif
    }
}

FUNCTION void store_arguments(GLOBAL taken_entry *row, const taken_entry *from, int lane, int32 left) {
    UNROLL
    for (int u = 0; u < UNITS; u++) {
        GLOBAL taken_entry *const to = row + unit_in(lane, u, left);
        if (!has_unit(lane, u, left)) continue;
#if ARGUMENT == 32 && UNIT >= 4
        UNROLL
        for (int i = u * UNIT; i < (u + 1) * UNIT; i += 4) {
            int4 x;
            x.x = from[i], x.y = from[i + 1], x.z = from[i + 2], x.w = from[i + 3];
            *(GLOBAL int4 *)(to + i - u * UNIT) = x;
        }
#else
        UNROLL
        for (int i = 0; i < UNIT; i++) to[i] = from[u * UNIT + i];
#endif
    }
}

/* The heads of the lane's units, if edges have a number per head (`numbers` = 2). */
FUNCTION void find_heads(int32 *heads, const int numbers, int32 first, int lane, int32 left, int32 width) {
    UNROLL
    for (int u = 0; u < UNITS; u++)
        heads[u] = numbers == 2 ? (int32)((uint32)(first + unit_in(lane, u, left)) / (uint32)width) : 0;
}

/* Loads the edge data of a lane's elements. `numbers`: 0: a vector; 1: a number; 2: a number per head. */
FUNCTION void load_edge(real *to, GLOBAL const element *e, const int numbers, const int32 *heads, int32 first, int lane,
                        int32 left) {
    if (numbers) {
        UNROLL
        for (int u = 0; u < UNITS; u++) {
            const real y = real_of(e[heads[u]]);
            UNROLL
            for (int i = 0; i < UNIT; i++) to[u * UNIT + i] = y;
        }
    } else {
        UNROLL
        for (int u = 0; u < UNITS; u++) load_unit_once(to + u * UNIT, e + first + unit_in(lane, u, left));
    }
}

FUNCTION real unless_below(real x, real sum) { return sum <= 0 ? (real)0 : x; }

/* The three numbers of a text that change without another kernel. */
typedef struct text_numbers {
    real p0, p1, p2;
} text_numbers;
FUNCTION text_numbers numbers_of(real p0, real p1, real p2) {
    text_numbers n;
    n.p0 = p0, n.p1 = p1, n.p2 = p2;
    return n;
}

/* The head of a lane's element k of a slice that begins at `first`; `head_width`: elements of a head. */
#define HEAD_OF(lane, k) ((int32)((uint32)(first + unit_in(lane, (k) / UNIT, left) + (k) % UNIT) / (uint32)head_width))

/* A text of the rows at the other end and at this end, of the entry's own data, and of places. */
FUNCTION real text_of(real x, real y, real z, int64 row, int64 column, int32 head, text_numbers n) {
#if defined(EDGE_TEXT)
    return text_results_of(TURNED ? z : x, y, TURNED ? x : z, (real)(TURNED ? column : row),
                           (real)(TURNED ? row : column), (real)head, n.p0, n.p1, n.p2, NO_ARRAYS)
        .p;
#else
    return 0;
#endif
}

/* z: with TERM_GATE, the row at this end. */
FUNCTION real term_of(const int term, real x, real y, real z, real sign) {
    if (term == TERM_GATE) return unless_below(x, z + y);
    if (term == TERM_RELU) return unless_below(x + y, x + y);
    return term == TERM_X ? x : term == TERM_ADD ? x + sign * y : term == TERM_MUL ? x * y : y;
}

/* True if a kernel reads the columns: of the rows of x, or for a text, which may read j and w at the other end. */
#define READS_COLUMN(of_x) ((of_x) || TERM == TERM_TEXT)

/* Loads entries `at` and following of a row that ends at `end`; past the end the last entry is repeated. */
FUNCTION void load_block(index *column, int64 *entry, GLOBAL const index *columns, GLOBAL const int64 *entries,
                         const int has_column, const int permuted, int64 at, int64 end) {
    UNROLL
    for (int i = 0; i < LOADS; i++) {
        const int64 t = min64(at + i, end - 1);
        column[i] = has_column ? columns[t] : 0;
        entry[i] = permuted ? entries[permuted ? t : 0] : t;
    }
}

#define JOB_PARAMETERS                                                                                                 \
    int64 rows, int64 pieces, int64 grouped, int64 shared, int64 limit, IN(int64, piece_rows), IN(int4, order),        \
        int32 ordered, IN(offset, offsets), IN(index, columns), IN(int64, entries), int32 all, int32 slice,            \
        int32 width, real sign, real factor, int32 term, int32 numbers, int32 taken, int32 permuted, int32 mean,       \
        real text_p0, real text_p1, real text_p2, int32 head_width
#define TEXT_NUMBERS numbers_of(text_p0, text_p1, text_p2)
