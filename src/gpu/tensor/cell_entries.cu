/*
 * Builds the description of cells of `side` rows (128 or 64) and 128 or 64 columns (1 << `shift`) for the kernels of
 * cells: a record; the entries row by row, 16 bits each; and for each row the offset from an entry's number
 * in the cell to its place in S, whose columns are sorted within rows.
 *
 * There are two kinds of cells. Gathered cells have columns that occur in a panel; they are made from the index of
 * panels. Aligned cells have neighbouring columns, for panels that use nearly all columns; they are made from S itself,
 * in two passes and a prefix sum, without a sort (tile_begins, tile_records, tile_entries).
 */
#include "simt.h"
#include "cell_kernels.h"
#include "runs_kernels.h"

#define SIDE_MOST 128

/* Packs an entry: row and column. For cells of 64 columns it is the byte offset in a swizzled tile of halves, as
   products read it (operand_of in hopper.h). */
FUNCTION ushort entry_of(int row, int column, int shift) {
    return (ushort)(shift == 6 ? row << 7 | (column ^ (row & 7) << 3) << 1 : row << 7 | column);
}

/* Inclusive prefix sum over the rows. All of the group call it, after a barrier. */
FUNCTION void sum_up(LOCAL int32 *sums, int row, int side) {
    for (int step = 1; step < side; step *= 2) {
        const int32 other = row < side && row >= step ? sums[row - step] : 0;
        group_barrier();
        if (row < side) sums[row] += other;
        group_barrier();
    }
}

/* Binary search: the row of a panel that has nonzero t. */
FUNCTION int row_of(int64 t, const offset *offsets, int64 first_row, int64 rows, int side) {
    int low = 0, high = (int)min64(side, rows - first_row);
    while (low + 1 < high) {
        const int middle = (low + high) / 2;
        if (offsets[first_row + middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Describes gathered cell c, but for its entries. */
FUNCTION void gather_record(cell_record *record, int64 c, int32 shift, const int64 *cells, const int64 *starts) {
    const int64 panel = cells[2 * c];
    record->list = cells[2 * c + 1];
    record->panel = panel;
    record->next_panel = cells[2 * c + 2];
    record->last = (int32)(cells[2 * c + 3] - cells[2 * c + 1]) - 1;
    record->first_cell = (int32)(c - (cells[2 * c + 1] - starts[panel] >> shift));
    record->end_cell = record->first_cell + (int32)(starts[panel + 1] - starts[panel] + (1 << shift) - 1 >> shift);
}

/* The same for aligned cell c. */
FUNCTION void align_record(cell_record *record, int64 c, int64 cols, int64 tiles, int32 shift) {
    const int64 panel = c / tiles, tile = c % tiles;
    record->list = tile << shift;
    record->panel = panel;
    record->next_panel = (c + 1) / tiles;
    record->last = (int32)min64((int64)1 << shift, cols - (tile << shift)) - 1;
    record->first_cell = (int32)(panel * tiles);
    record->end_cell = (int32)((panel + 1) * tiles);
}

/* Builds gathered cells from the index of panels (structure/panel_index.h): one group per cell, one work-item per
   entry. */
KERNEL gathered_records(IN(int64, cells), IN(int64, begins), IN(offset, order), IN(index, within), IN(int64, starts),
                        IN(offset, offsets), int64 rows, int32 side, int32 shift, OUT(int64, records), OUT(index, row_offsets),
                        OUT(ushort, entries)) {
    const int64 c = GROUP_X, panel = cells[2 * c], begin = begins[c], end = begins[c + 1];
    const int64 first_place = cells[2 * c + 1] - starts[panel];
    cell_record *const record = (cell_record *)records + c;
    if (LOCAL_ID == 0) {
        record->entries = begin;
        gather_record(record, c, shift, cells, starts);
    }
    for (int64 j = begin + LOCAL_ID; j < end; j += GROUP) {
        const int row = row_of(order[j], offsets, panel * side, rows, side);
        const int before = j == begin ? -1 : row_of(order[j - 1], offsets, panel * side, rows, side);
        entries[j] = entry_of(row, (int)(within[order[j]] - first_place), shift);
        if (row != before) row_offsets[c * side + row] = (index)(order[j] - (j - begin));
        for (int i = before < 0 ? 0 : before / 16 + 1; i <= row / 16; i++) record->begins[i] = (int32)(j - begin);
        if (j + 1 == end)
            for (int i = row / 16 + 1; i <= 8; i++) record->begins[i] = (int32)(end - begin);
    }
}

/* begins[(panel * (tiles + 1) + tile) * side + row]: nonzeros of the row before the tile. One warp per row, including
   the rows that pad the last panel. */
KERNEL tile_begins(int64 rows, int64 panels, int64 tiles, int32 side, int32 shift, IN(offset, offsets), IN(index, columns), OUT(int32, begins)) {
    for (int64 r = (GROUP_X * GROUP + LOCAL_ID) / 32; r < panels * side; r += GROUPS_X * GROUP / 32) {
        int32 *const to = begins + r / side * (tiles + 1) * side + r % side;
        const int64 begin = r < rows ? offsets[r] : 0, end = r < rows ? offsets[r + 1] : 0;
        if (begin == end)
            for (int64 t = LOCAL_ID % 32; t <= tiles; t += 32) to[t * side] = 0;
        for (int64 j = begin + LOCAL_ID % 32; j < end; j += 32) {
            const int64 tile = columns[j] >> shift, before = j == begin ? -1 : columns[j - 1] >> shift;
            for (int64 t = before + 1; t <= tile; t++) to[t * side] = (int32)(j - begin);
            if (j + 1 == end)
                for (int64 t = tile + 1; t <= tiles; t++) to[t * side] = (int32)(end - begin);
        }
    }
}

/* Builds aligned cells: one group per cell, one work-item per row. counts[cell]: entries; one more for the prefix sum's
   end. */
KERNEL tile_records(int64 rows, int64 cols, int64 panels, int64 tiles, int32 side, int32 shift, IN(offset, offsets), IN(int32, begins),
                    OUT(int64, records), OUT(index, row_offsets), OUT(int64, counts)) {
    SHARED(int32, sums, SIDE_MOST);
    const int64 c = GROUP_X, panel = c / tiles, tile = c % tiles;
    const int row = LOCAL_ID;
    cell_record *const record = (cell_record *)records + c;
    int32 first = 0, count = 0;
    if (row < side) {
        const int32 *const from = begins + (panel * (tiles + 1) + tile) * side + row;
        first = from[0];
        count = from[side] - first;
        sums[row] = count;
    }
    group_barrier();
    sum_up(sums, row, side);
    if (row < side) {
        const int64 r = panel * side + row;
        const int32 within = sums[row] - count;
        row_offsets[c * side + row] = (index)((r < rows ? (int64)offsets[r] : 0) + first - within);
        if (row % 16 == 0) record->begins[row / 16] = within;
        if (row >= side / 16 && row <= 8) record->begins[row] = sums[side - 1];
    }
    if (row == 0) {
        align_record(record, c, cols, tiles, shift);
        counts[c] = sums[side - 1];
        if (c == panels * tiles - 1) counts[c + 1] = 0;
    }
}

/* Fills the entries: one group per cell, whose warps take rows in turn. counts: prefix sums. */
KERNEL tile_entries(int64 rows, int64 tiles, int32 side, int32 shift, IN(offset, offsets), IN(index, columns), IN(int32, begins),
                    IN(index, row_offsets), IN(int64, counts), OUT(int64, records), OUT(ushort, entries)) {
    const int64 c = GROUP_X, panel = c / tiles, tile = c % tiles;
    if (LOCAL_ID == 0) ((cell_record *)records)[c].entries = counts[c];
    for (int row = LOCAL_ID / 32; row < side && panel * side + row < rows; row += GROUP / 32) {
        const int32 *const from = begins + (panel * (tiles + 1) + tile) * side + row;
        const int64 start = (int64)offsets[panel * side + row], end = start + from[side];
        for (int64 j = start + from[0] + LOCAL_ID % 32; j < end; j += 32)
            entries[counts[c] + j - (int64)row_offsets[c * side + row]] =
                entry_of(row, (int)(columns[j] - (tile << shift)), shift);
    }
}

/* Describes the cells of a mask without a list of columns: gathered ones from the index of its panels, or aligned ones.
 */
KERNEL records_of_runs(int64 count, int64 cols, int64 tiles, int32 shift, int32 aligned, IN(int64, cells),
                       IN(int64, starts), OUT(int64, records)) {
    FOR_EACH(c, count) {
        cell_record *const record = (cell_record *)records + c;
        record->entries = 0;
        for (int i = 0; i <= 8; i++) record->begins[i] = 0;
        if (aligned)
            align_record(record, c, cols, tiles, shift);
        else
            gather_record(record, c, shift, cells, starts);
    }
}

/* Writes the masks of a cell's threads, at that number of masks, from the words of its rows. */
FUNCTION void write_masks(const uint32 *words, uint32 *masks, int64 number, int side, int shift) {
    const int of_row = 1 << shift - 5, of_thread = of_row / 2, all = side * of_row;
    for (int at = LOCAL_ID; at < all; at += GROUP) {
        const int thread = at / of_thread, first_row = thread / 32 * 16 + thread % 32 / 4;
        uint32 mask = 0;
        for (int i = 0; i < 32; i++) {
            const int column = at % of_thread * 64 + i / 4 * 8 + thread % 4 * 2 + i % 2;
            mask |= (words[(first_row + i / 2 % 2 * 8) * of_row + column / 32] >> column % 32 & 1) << i;
        }
        masks[number * all + at] = mask;
    }
}

/* True for the whole group if the cell's columns are not contiguous from `start` on, which must be a multiple of
 * `apart`, within `filled`. */
FUNCTION void find_scattered(int32 *scattered, const cell_record *record, const index *lists, int64 start, int shift,
                             int aligned, int apart, int64 filled) {
    if (LOCAL_ID == 0) scattered[0] = start % apart != 0 || start + (1 << shift) > min64(filled, 0x7fffffff);
    group_barrier();
    if (!aligned && LOCAL_ID <= record->last && (int64)lists[record->list + LOCAL_ID] != start + LOCAL_ID)
        scattered[0] = 1;
}

/* The words of a cell's rows, from the runs of the mask's rows. All of the group call it; ends with a barrier. */
FUNCTION void words_of_runs(uint32 *words, row_runs *runs, int64 *columns, const mask_runs &mask, const cell_record *record, int64 rows,
                            const index *lists, int side, int shift, int aligned) {
    const int item = LOCAL_ID, of_row = 1 << shift - 5;
    const int64 row = record->panel * side + item;
    const row_runs none = {{0, 0}, {0, 0}};
    if (item < side) runs[item] = row < rows ? runs_of(mask, row) : none;
    if (item < 1 << shift) columns[item] = item > record->last ? -1 : aligned ? record->list + item : (int64)lists[record->list + item];
    group_barrier();
    for (int i = item; i < side * of_row; i += GROUP) {
        const row_runs of = runs[i / of_row];
        uint32 word = 0;
        for (int k = 0; k < 32; k++) {
            const int64 column = columns[i % of_row * 32 + k];
            const int kept = (column >= of.begin[0] && column < of.end[0]) || (column >= of.begin[1] && column < of.end[1]);
            word |= (uint32)kept << k;
        }
        words[i] = word;
    }
    group_barrier();
}

/* Finds together[cell], as cell_masks does, and what a cell of a mask without a list of columns is to store: counts[cell] is 1 if it has masks
   of its own, since it is not full, and places[cell] the number of its columns if they are not contiguous. One group per cell. */
KERNEL shapes_of_runs(IN(int64, records), int64 rows, RUNS_PARAMETERS, IN(index, lists), int32 side, int32 shift, int32 aligned, int32 apart,
                      int64 filled, OUT(int32, together), OUT(int64, counts), OUT(int64, places)) {
    SHARED(int32, scattered, 1);
    SHARED(int32, lacking, 1);
    SHARED(uint32, words, SIDE_MOST * SIDE_MOST / 32);
    SHARED(row_runs, runs, SIDE_MOST);
    SHARED(int64, columns, SIDE_MOST);
    const mask_runs mask = MASK_RUNS;
    const cell_record *const record = (const cell_record *)records + GROUP_X;
    const int64 start = aligned ? record->list : (int64)lists[record->list];
    if (LOCAL_ID == 0) lacking[0] = 0;
    find_scattered(scattered, record, lists, start, shift, aligned, apart, filled);
    words_of_runs(words, runs, columns, mask, record, rows, lists, side, shift, aligned);
    for (int i = LOCAL_ID; i < side << shift - 5; i += GROUP)
        if (words[i] != 0xffffffffu) lacking[0] = 1;
    group_barrier();
    if (LOCAL_ID > 0) return;
    together[GROUP_X] = scattered[0] ? -1 : (int32)start;
    counts[GROUP_X] = lacking[0];
    places[GROUP_X] = scattered[0] && !aligned ? record->last + 1 : 0;
    if (GROUP_X == GROUPS_X - 1) counts[GROUPS_X] = places[GROUPS_X] = 0;
}

/* Stores it, from the prefix sums of these. Masks 0 are all ones, for full cells. lists: columns of panels; kept: of cells that are not contiguous. */
KERNEL masks_of_runs(OUT(int64, records), int64 rows, RUNS_PARAMETERS, IN(index, lists), int32 side, int32 shift, int32 aligned,
                     IN(int64, counts), IN(int64, places), OUT(uint32, masks), OUT(index, kept)) {
    SHARED(uint32, words, SIDE_MOST * SIDE_MOST / 32);
    SHARED(row_runs, runs, SIDE_MOST);
    SHARED(int64, columns, SIDE_MOST);
    const mask_runs mask = MASK_RUNS;
    cell_record *const record = (cell_record *)records + GROUP_X;
    const int64 number = counts[GROUP_X + 1] > counts[GROUP_X] ? counts[GROUP_X + 1] : 0, first = places[GROUP_X], end = places[GROUP_X + 1];
    words_of_runs(words, runs, columns, mask, record, rows, lists, side, shift, aligned);
    if (number > 0) write_masks(words, masks, number, side, shift);
    if (first + LOCAL_ID < end) kept[first + LOCAL_ID] = (index)columns[LOCAL_ID];
    if (LOCAL_ID == 0) {
        record->entries = number;
        if (!aligned) record->list = first;
    }
}

/* Cell c has masks c. */
KERNEL number_masks(int64 count, OUT(int64, records)) {
    FOR_EACH(c, count) ((cell_record *)records)[c].entries = c;
}

/* Bit masks of cells. For each thread of the four warps that hold the products of 64 rows (hopper.h) a word for 64
   columns, or two for 128: bit i: product i is wanted. If `by_rows`, also for each row its words (column 0 is the
   lowest bit), and the place in S of its first entry. together[cell]: its first column, a multiple of `apart`, if its
   columns are contiguous within `filled`; else -1. One group per cell. */
KERNEL cell_masks(IN(int64, records), IN(ushort, entries), IN(index, row_offsets), IN(index, lists), int32 side, int32 shift, int32 aligned,
                  int32 apart, int64 filled, OUT(uint32, masks), int32 by_rows, OUT(uint32, row_masks), OUT(index, firsts),
                  OUT(int32, together)) {
    SHARED(int32, scattered, 1);
    SHARED(uint32, words, SIDE_MOST * SIDE_MOST / 32);
    SHARED(int32, sums, SIDE_MOST);
    const cell_record *const record = (const cell_record *)records + GROUP_X;
    const int item = LOCAL_ID, of_row = 1 << shift - 5, all = side * of_row; /* words */
    const int64 start = aligned ? record->list : (int64)lists[record->list];
    int32 count = 0;
    for (int i = item; i < all; i += GROUP) words[i] = 0;
    find_scattered(scattered, record, lists, start, shift, aligned, apart, filled);
    for (int i = item; i < record->begins[8]; i += GROUP) {
        const ushort entry = entries[record->entries + i]; /* row << 7, and a column as packed by entry_of */
        const int row = entry >> 7, column = shift == 7 ? entry & 127 : (entry >> 1 & 63) ^ (row & 7) << 3;
        atomic_or_shared(words + row * of_row + column / 32, (uint32)1 << column % 32);
    }
    group_barrier();
    for (int i = item; by_rows && i < all; i += GROUP) row_masks[GROUP_X * all + i] = words[i];
    write_masks(words, masks, GROUP_X, side, shift);
    if (item == 0) together[GROUP_X] = scattered[0] ? -1 : (int32)start;
    if (!by_rows) return;
    for (int i = 0; item < side && i < of_row; i++) count += bits_set(words[item * of_row + i]);
    if (item < side) sums[item] = count;
    group_barrier();
    sum_up(sums, item, side);
    if (item < side && count > 0)
        firsts[GROUP_X * side + item] = (index)((int64)row_offsets[GROUP_X * side + item] + sums[item] - count);
}
