/*
 * Copies of cells of SIDE columns for sddmm_wgmma.cu and fused_wgmma.cu: the cell's description, loaded ahead, and
 * tiles of the rows that its columns name. The kernels define SIDE and COPIERS. Included after hopper.h and
 * cell_kernels.h.
 */
#define TILE      (SIDE * 128)       /* bytes: one line for each of SIDE rows */
#define AT_A_TIME (COPIERS / 8)      /* lines at a time, eight copies each */
#define LINES     (SIDE / AT_A_TIME) /* lines of a copier */
#define DESCRIBED (SIDE / COPIERS)   /* columns that a copier describes */

/* A cell's data needed before its copies: loaded one cell ahead; its record two ahead. */
typedef struct cell_ahead {
    int64 panel, list, entries;
    int32 count;                           /* entries */
    uint32 own[DESCRIBED], columns[LINES]; /* of this thread: for the notes, and to copy */
} cell_ahead;

FUNCTION void load_columns(cell_ahead &cell, const next_record &record, const index *lists, int item) {
    cell.panel = record.panel;
    cell.list = record.list;
    cell.entries = record.entries;
    cell.count = record.count;
    if (!lists) return; /* columns are contiguous */
#pragma unroll
    for (int i = 0; i < DESCRIBED; i++) cell.own[i] = (uint32)lists[record.list + min(item + COPIERS * i, record.last)];
#pragma unroll
    for (int i = 0; i < LINES; i++)
        cell.columns[i] = (uint32)lists[record.list + min(item / 8 + AT_A_TIME * i, record.last)];
}

/* Copies a line of each of the cell's rows; row 0's is at `lines`, successive rows are `row_stride` bytes apart. */
FUNCTION void gather_tile(uint32 to, const char *lines, int64 row_stride, const cell_ahead &cell, int item) {
#pragma unroll
    for (int i = 0; i < LINES; i++) {
        const int row = item / 8 + AT_A_TIME * i;
        uint32 column = cell.columns[i];
        asm volatile("" : "+r"(column)); /* prevents hoisting every row's address into registers: copiers have few */
        copy_16(to + row * 128 + ((item % 8 ^ row % 8) << 4),
                lines + column * row_stride + ((item % 8 ^ column & 7) << 4));
    }
}
