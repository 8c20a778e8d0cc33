/*
 * What sddmm_wgmma.cu and spmm_wgmma.cu know of cells of 128 rows and 128 or 64 columns (1 << `shift`): a record; the
 * entries, row by row, in 16 bits; and for each row what leads from an entry's number in the cell to its place in S, whose
 * columns rise within rows.
 *
 * Two kinds of cells. Gathered: of the columns that a panel has, made of the index of panels. Aligned: neighbouring
 * columns, where nearly all columns of a panel are taken anyway: of S itself, in two passes and a prefix
 * sum, without a sort (tile_begins, tile_records, tile_entries).
 */
#include "simt.h"
#include "cell_kernels.h"

#define SIDE 128

/* An entry: row and column; of cells of 64 columns the byte in a tile of halves whose 16-byte pieces are exchanged as
   products want them (operand_of in hopper.h). */
FUNCTION ushort entry_of(int row, int column, int shift) {
    return (ushort)(shift == 6 ? row << 7 | (column ^ (row & 7) << 3) << 1 : row << 7 | column);
}

/* Sums of what rows have, each with those before it. All of the group come here, after a barrier. */
FUNCTION void sum_up(LOCAL int32 *sums, int row) {
    for (int step = 1; step < SIDE; step *= 2) {
        const int32 other = row < SIDE && row >= step ? sums[row - step] : 0;
        group_barrier();
        if (row < SIDE) sums[row] += other;
        group_barrier();
    }
}

/* The row of a panel that has nonzero t. */
FUNCTION int row_of(int64 t, const offset *offsets, int64 first_row, int64 rows) {
    int low = 0, high = (int)min64(SIDE, rows - first_row);
    while (low + 1 < high) {
        const int middle = (low + high) / 2;
        if (offsets[first_row + middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A group a cell of the index of panels (structure/panel_index.h), a work-item an entry. */
KERNEL gathered_records(IN(int64, cells), IN(int64, begins), IN(offset, order), IN(index, within), IN(int64, starts),
                        IN(offset, offsets), int64 rows, int32 shift, OUT(int64, records), OUT(index, row_offsets),
                        OUT(ushort, entries)) {
    const int64 c = GROUP_X, panel = cells[2 * c], begin = begins[c], end = begins[c + 1];
    const int64 first_place = cells[2 * c + 1] - starts[panel];
    cell_record *const record = (cell_record *)records + c;
    if (LOCAL_ID == 0) {
        record->entries = begin;
        record->list = cells[2 * c + 1];
        record->panel = panel;
        record->next_panel = cells[2 * c + 2];
        record->last = (int32)(cells[2 * c + 3] - cells[2 * c + 1]) - 1;
    }
    for (int64 j = begin + LOCAL_ID; j < end; j += GROUP) {
        const int row = row_of(order[j], offsets, panel * SIDE, rows);
        const int before = j == begin ? -1 : row_of(order[j - 1], offsets, panel * SIDE, rows);
        entries[j] = entry_of(row, (int)(within[order[j]] - first_place), shift);
        if (row != before) row_offsets[c * SIDE + row] = (index)(order[j] - (j - begin));
        for (int i = before < 0 ? 0 : before / 16 + 1; i <= row / 16; i++) record->begins[i] = (int32)(j - begin);
        if (j + 1 == end)
            for (int i = row / 16 + 1; i <= 8; i++) record->begins[i] = (int32)(end - begin);
    }
}

/* begins[(panel * (tiles + 1) + tile) * 128 + row]: nonzeros of the row before the tile. A warp a row, those that fill
   the last panel up included. */
KERNEL tile_begins(int64 rows, int64 panels, int64 tiles, int32 shift, IN(offset, offsets), IN(index, columns), OUT(int32, begins)) {
    for (int64 r = (GROUP_X * GROUP + LOCAL_ID) / 32; r < panels * SIDE; r += GROUPS_X * GROUP / 32) {
        int32 *const to = begins + r / SIDE * (tiles + 1) * SIDE + r % SIDE;
        const int64 begin = r < rows ? offsets[r] : 0, end = r < rows ? offsets[r + 1] : 0;
        if (begin == end)
            for (int64 t = LOCAL_ID % 32; t <= tiles; t += 32) to[t * SIDE] = 0;
        for (int64 j = begin + LOCAL_ID % 32; j < end; j += 32) {
            const int64 tile = columns[j] >> shift, before = j == begin ? -1 : columns[j - 1] >> shift;
            for (int64 t = before + 1; t <= tile; t++) to[t * SIDE] = (int32)(j - begin);
            if (j + 1 == end)
                for (int64 t = tile + 1; t <= tiles; t++) to[t * SIDE] = (int32)(end - begin);
        }
    }
}

/* A group a cell, with 128 work-items that have a row. counts[cell]: entries; one more for the end of their sums. */
KERNEL tile_records(int64 rows, int64 cols, int64 panels, int64 tiles, int32 shift, IN(offset, offsets), IN(int32, begins),
                    OUT(int64, records), OUT(index, row_offsets), OUT(int64, counts)) {
    SHARED(int32, sums, SIDE);
    const int64 c = GROUP_X, panel = c / tiles, tile = c % tiles;
    const int row = LOCAL_ID;
    cell_record *const record = (cell_record *)records + c;
    int32 first = 0, count = 0;
    if (row < SIDE) {
        const int32 *const from = begins + (panel * (tiles + 1) + tile) * SIDE + row;
        first = from[0];
        count = from[SIDE] - first;
        sums[row] = count;
    }
    group_barrier();
    sum_up(sums, row);
    if (row < SIDE) {
        const int64 r = panel * SIDE + row;
        const int32 within = sums[row] - count;
        row_offsets[c * SIDE + row] = (index)((r < rows ? (int64)offsets[r] : 0) + first - within);
        if (row % 16 == 0) record->begins[row / 16] = within;
    }
    if (row == 0) {
        record->list = tile << shift;
        record->panel = panel;
        record->next_panel = (c + 1) / tiles;
        record->last = (int32)min64((int64)1 << shift, cols - (tile << shift)) - 1;
        record->begins[8] = sums[SIDE - 1];
        counts[c] = sums[SIDE - 1];
        if (c == panels * tiles - 1) counts[c + 1] = 0;
    }
}

/* A group a cell, its warps rows in turn. counts: summed up. */
KERNEL tile_entries(int64 rows, int64 tiles, int32 shift, IN(offset, offsets), IN(index, columns), IN(int32, begins),
                    IN(index, row_offsets), IN(int64, counts), OUT(int64, records), OUT(ushort, entries)) {
    const int64 c = GROUP_X, panel = c / tiles, tile = c % tiles;
    if (LOCAL_ID == 0) ((cell_record *)records)[c].entries = counts[c];
    for (int row = LOCAL_ID / 32; row < SIDE && panel * SIDE + row < rows; row += GROUP / 32) {
        const int32 *const from = begins + (panel * (tiles + 1) + tile) * SIDE + row;
        const int64 start = (int64)offsets[panel * SIDE + row], end = start + from[SIDE];
        for (int64 j = start + from[0] + LOCAL_ID % 32; j < end; j += 32)
            entries[counts[c] + j - (int64)row_offsets[c * SIDE + row]] =
                entry_of(row, (int)(columns[j] - (tile << shift)), shift);
    }
}

/* Cells of 128 columns as bits: four words a row, that of column 0 the lowest of the first; and where in S the row's first
   one is. A group a cell. */
KERNEL cell_masks(IN(int64, records), IN(ushort, entries), IN(index, row_offsets), OUT(uint32, masks), OUT(index, firsts)) {
    SHARED(uint32, words, SIDE * 4);
    SHARED(int32, sums, SIDE);
    const cell_record *const record = (const cell_record *)records + GROUP_X;
    const int row = LOCAL_ID;
    int32 count = 0;
    for (int i = LOCAL_ID; i < SIDE * 4; i += GROUP) words[i] = 0;
    group_barrier();
    for (int i = LOCAL_ID; i < record->begins[8]; i += GROUP) {
        const ushort entry = entries[record->entries + i];
        atomic_or_shared(words + (entry >> 5), (uint32)1 << (entry & 31));
    }
    group_barrier();
    for (int i = LOCAL_ID; i < SIDE * 4; i += GROUP) masks[GROUP_X * (SIDE * 4) + i] = words[i];
    for (int i = 0; row < SIDE && i < 4; i++) count += bits_set(words[row * 4 + i]);
    if (row < SIDE) sums[row] = count;
    group_barrier();
    sum_up(sums, row);
    if (row < SIDE && count > 0)
        firsts[GROUP_X * SIDE + row] = (index)((int64)row_offsets[GROUP_X * SIDE + row] + sums[row] - count);
}
