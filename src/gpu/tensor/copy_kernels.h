/* How sddmm_wgmma.cu and fused_wgmma.cu copy by cells of 128 columns: what is known of a cell ahead, and tiles of B.
   ALIGNED is theirs. Included after hopper.h and cell_kernels.h. */
#define SIDE 128          /* rows and columns of a cell */
#define TILE (SIDE * 128) /* bytes: 32 of K of that many rows */

/* What a cell's copies begin with, read one cell ahead; its record two ahead. */
typedef struct cell_ahead {
    int64 panel, list;
    uint32 own, columns[8]; /* of this thread: to describe, and to copy */
} cell_ahead;
typedef struct record_ahead {
    int64 panel, list;
    int32 last;
} record_ahead;

FUNCTION void look_for_record(record_ahead &ahead, int64 c, const int64 *records) {
    const cell_record *const record = (const cell_record *)records + c;
    ahead.panel = record->panel;
    ahead.list = record->list;
    ahead.last = record->last;
}

FUNCTION void look_ahead(cell_ahead &cell, const record_ahead &record, const index *lists, int item) {
    cell.panel = record.panel;
    cell.list = record.list;
    if (ALIGNED) return;
    cell.own = (uint32)lists[record.list + min(item, record.last)];
#pragma unroll
    for (int i = 0; i < 8; i++) cell.columns[i] = (uint32)lists[record.list + min(item / 8 + 16 * i, record.last)];
}

/* 32 of K of 128 columns, which lie together or are gathered: rows item / 8, item / 8 + 16, .. of the tile. */
FUNCTION void copy_columns(uint32 to, const char *split, const cell_ahead &cell, int slice, int slices,
                           int64 slice_bytes, uint32 gate, int item) {
    if (ALIGNED) {
        if (item == 0) copy_bulk(to, split + slice * slice_bytes + cell.list * 128, TILE, gate);
        return;
    }
    to += item / 8 * 128 + ((item % 8 ^ item / 8 % 8) << 4);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        uint32 column = cell.columns[i];
        asm volatile("" : "+r"(column)); /* or every row's address is kept in registers, of which copiers have few */
        copy_16(to + i * 16 * 128, split + ((int64)column * slices + slice) * 128 + ((item % 8 ^ column & 7) << 4));
    }
}
