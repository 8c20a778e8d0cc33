/* Shared by message_vectors.simt and message_numbers.simt. */

#if defined(EDGE_TEXT)
#define ENTRY_X READS_X
#define ENTRY_Y READS_Y
#define ENTRY_Z READS_Z
#else
#define ENTRY_X (TERM != TERM_X)
#define ENTRY_Y (TERM == TERM_GATE)
#define ENTRY_Z 1
#endif

/* Where an entry is, and its number. */
typedef struct entry_place {
    int64 row, column, entry;
} entry_place;

/* The entry's term of elements z and x, and with TERM_GATE of y, the entry's own; of a text w times it. With `taken` it
   is 0 unless the entry is the element's argument, `from`. */
FUNCTION real entry_element(const int term, const int taken, real z, real x, real y, real w, real sign,
                            taken_entry from, entry_place at, int32 head, text_numbers n) {
    const real of = term == TERM_TEXT   ? w * text_of(x, y, z, at.row, at.column, head, n)
                    : term == TERM_X    ? z
                    : term == TERM_ADD  ? z + sign * x
                    : term == TERM_GATE ? unless_below(z, x + y)
                                        : z * x;
    return !taken || from == (taken_entry)at.entry ? of : (real)0;
}

/*
 * A task: the entries of a row or a piece of one, or, with BY_ENTRIES, a block of LOADS neighbouring entries of
 * whatever rows, which row_indices tells: teams then take as long as one another, however long rows are.
 */
#ifndef BY_ENTRIES
#define BY_ENTRIES 0
#endif
#define ENTRY_PARAMETERS    JOB_PARAMETERS, int64 nnz, IN(index, row_indices)
#define ENTRY_TASKS         (BY_ENTRIES ? (nnz + LOADS - 1) / LOADS : pieces + rows)
#define ENTRY_TASK_OF(task) (BY_ENTRIES ? block_of(task, nnz) : TASK_OF(task))
#define ROWS_AT_ONCE        (BY_ENTRIES ? LOADS : 1)

FUNCTION row_task block_of(int64 task, int64 nnz) {
    row_task r = {0};
    r.begin = task * LOADS;
    r.end = min64(r.begin + LOADS, nnz);
    return r;
}

FUNCTION void load_rows(int64 *row, row_task r, GLOBAL const index *row_indices) {
    UNROLL
    for (int i = 0; i < LOADS; i++) row[i] = BY_ENTRIES ? (int64)row_indices[min64(r.begin + i, r.end - 1)] : r.row;
}

/* Loads slices of the rows at this end: one, or with BY_ENTRIES one for each entry, from L1 if it is that of the entry
   before. Only to load it where it changes was slower: a load then waits for the rows. */
FUNCTION void load_here(real *to, GLOBAL const element *from, int64 stride, const int64 *row, int lane, int32 left) {
    UNROLL
    for (int i = 0; i < ROWS_AT_ONCE; i++) load_slice(to + i * REALS, from + row[i] * stride, lane, left);
}
#define HERE(i, k) ((BY_ENTRIES ? (i)*REALS : 0) + (k))
