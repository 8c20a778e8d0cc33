/* Tasks of kernels whose rows are cut (cuts.h). */

/* A row, or a piece of a cut row, of at most `limit` nonzeros. `passed`: a cut row among the whole ones; its team
   continues without work, since all must reach the collectives. */
typedef struct row_task {
    int64 row, begin, end;
    int passed;
} row_task;

/* Finds a task: first the pieces of cut rows, then all rows. piece_rows: two per piece, its row and the row's first
   piece. */
FUNCTION row_task find_task(int64 task, int64 pieces, int64 limit, GLOBAL const int64 *piece_rows, int ordered,
                            GLOBAL const int4 *order, GLOBAL const offset *offsets) {
    row_task r;
    if (task < pieces) {
        r.row = piece_rows[2 * task];
        r.begin = (int64)offsets[r.row] + (task - piece_rows[2 * task + 1]) * limit;
        r.end = min64(r.begin + limit, (int64)offsets[r.row + 1]);
    } else if (ordered) {
        const int4 t = order[task - pieces];
        r.row = t.x;
        r.begin = t.y;
        r.end = t.z;
    } else {
        r.row = task - pieces;
        r.begin = offsets[r.row];
        r.end = offsets[r.row + 1];
    }
    r.passed = r.end - r.begin > limit;
    if (r.passed) r.end = r.begin;
    return r;
}

/* Teams take tasks in turn. TASK_OF: a row or piece, by the names that kernels give these arguments. ORDERED: rows come
   by `order`; 0, 1 or the argument `ordered`. */
#define FOR_EACH_TASK(task, count)                                                                                     \
    for (int64 task = GROUP_X * (GROUP / TEAM) + LOCAL_ID / TEAM; task < (count); task += GROUPS_X * (GROUP / TEAM))
#define TASK_OF(task) find_task(task, pieces, limit, piece_rows, ORDERED, order, offsets)

/* A task of several heads of a row: its row. */
FUNCTION int64 without_head(int64 task, int32 heads) {
    return task <= 0x7fffffff ? (int64)((uint32)task / (uint32)heads) : task / heads;
}
