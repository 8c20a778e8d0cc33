/*
 * Shared by the kernels of attention and of its gradients whose threads all copy the cells that come: tiles of SIDE
 * rows, and the lines of these that a thread copies. The kernels define THREADS. Included after tensor_cores.h and
 * cell_kernels.h.
 */
#define SIDE                 64                 /* rows and columns of a cell */
#define TILE                 (SIDE * 128)       /* bytes: a line of each of SIDE rows */
#define AT_A_TIME            (THREADS / 8)      /* lines, of eight copies each */
#define LINES                (SIDE / AT_A_TIME) /* of a tile that a thread copies a piece of */
#define tile_of(first, tile) operand_after(first, (tile)*TILE)

/* Number i of a thread is in row + i / 2 % 2 * 8 and this column. */
FUNCTION int column_of(int i, int lane) { return i / 4 * 8 + lane % 4 * 2 + i % 2; }

/* A number that has been loaded, by an instruction that waits for it here. Where it is used, in a loop, the wait would
   be for what each round has begun to load since: the hardware does not tell them apart. */
FUNCTION float landed(float x) { return x + 0.0f; }

NOINLINE float plain_dot(const element *x, const element *y, int64 count) {
    float sum = 0;
#pragma unroll 1
    for (int64 i = 0; i < count; i++) sum = fmaf(real_of(x[i]), real_of(y[i]), sum);
    return sum;
}

/* The rows of a thread's lines of a cell, of `count`: what fills a cell up has the last one, and no nonzeros. */
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

/* And of the own rows of a panel. */
FUNCTION void rows_of_panel(uint32 *rows, int64 panel, int64 count, int item) {
#pragma unroll
    for (int i = 0; i < LINES; i++) rows[i] = min((uint32)(panel * SIDE) + item / 8 + AT_A_TIME * i, (uint32)count - 1);
}
