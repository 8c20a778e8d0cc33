/*
 * Shared by the kernels of attention and of its gradients whose threads copy cells: tiles of SIDE rows, and the lines
 * that a thread copies. The kernels define THREADS. Included after tensor_cores.h and cell_kernels.h.
 */
#ifndef SIDE
#define SIDE 64 /* columns of a cell, and rows that are copied at a time */
#endif
#define LINE                 64                 /* numbers of a line, of 128 bytes */
#define TILE                 (SIDE * 128)       /* bytes: one line for each of SIDE rows */
#define AT_A_TIME            (THREADS / 8)      /* lines at a time, eight copies each */
#define LINES                (SIDE / AT_A_TIME) /* lines of a tile in which a thread copies a piece */
#define tile_of(first, tile) operand_after(first, (tile)*TILE)

/* Column of a thread's number i; its row is row + i / 2 % 2 * 8. */
FUNCTION int column_of(int i, int lane) { return i / 4 * 8 + lane % 4 * 2 + i % 2; }

/* Waits here for a loaded number. Otherwise the wait would be in the loop that uses it, and would also cover each
   round's newer loads, which the hardware does not distinguish. */
FUNCTION float landed(float x) { return x + 0.0f; }

NOINLINE float plain_dot(const element *x, const element *y, int64 count) {
    float sum = 0;
#pragma unroll 1
    for (int64 i = 0; i < count; i++) sum = fmaf(real_of(x[i]), real_of(y[i]), sum);
    return sum;
}

/* Loads the row numbers of a thread's lines of a cell, of `count` rows. Padding has no nonzeros: it repeats the last
   gathered row, or has the rows that follow contiguous ones. */
FUNCTION void load_rows(uint32 *rows, const next_record &record, const index *lists, int64 count, int item) {
    if (record.start >= 0) {
#pragma unroll
        for (int i = 0; i < LINES; i++)
            rows[i] = min((uint32)record.start + item / 8 + AT_A_TIME * i, (uint32)count - 1);
    } else {
#pragma unroll
        for (int i = 0; i < LINES; i++)
            rows[i] = (uint32)lists[record.list + min(item / 8 + AT_A_TIME * i, record.last)];
    }
}

/* The same for own rows, from row `first` on. */
FUNCTION void own_rows(uint32 *rows, int64 first, int64 count, int item) {
#pragma unroll
    for (int i = 0; i < LINES; i++) rows[i] = min((uint32)first + item / 8 + AT_A_TIME * i, (uint32)count - 1);
}

/* Starts to copy the first STAGES - 1 cells, by `copy_to`, to their places of the ring; loads the rows of the next. */
template <typename copies>
FUNCTION void fill_ring(next_record &record, uint32 *coming, const int64 *records, const int32 *together,
                        const index *lists, int64 count, int begin, int end, int item, const copies &copy_to) {
#pragma unroll
    for (int i = 0; i < STAGES; i++) {
        if (begin + i < end) {
            load_mixed_record(record, records, together, begin + i);
            load_rows(coming, record, lists, count, item);
            if (i < STAGES - 1) copy_to(i);
        }
        if (i < STAGES - 1) copies_commit();
    }
}
