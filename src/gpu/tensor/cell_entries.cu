/*
 * What sddmm_wgmma.cu knows of a cell of 128 x 128, from the entries that panels.simt packs, which are in the order of rows:
 * each entry in 16 bits, row of sixteen and column; for each row what leads from an entry's number in the cell to its place
 * in S, whose columns rise within rows; and a record. One group a cell, one work-item an entry.
 */
#include "simt.h"

typedef struct cell_record {
    int64 entries, list, panel, next_panel;
    int32 begins[12];
} cell_record;

KERNEL cell_entries(int64 cell_count, IN(int64, parts), IN(int64, cells), IN(uint32, entry), IN(index, position),
                    OUT(int64, records), OUT(index, row_offsets), OUT(ushort, entries)) {
    const int64 c = GROUP_X, begin = parts[3 * c + 1], end = parts[3 * c + 2];
    cell_record *const record = (cell_record *)records + c;
    if (LOCAL_ID == 0) {
        record->entries = begin;
        record->list = cells[2 * c + 1];
        record->panel = cells[2 * c];
        record->next_panel = cells[2 * c + 2];
    }
    for (int64 j = begin + LOCAL_ID; j < end; j += GROUP) {
        if (position[j] < 0) continue; /* what fills a cell up */
        const int row = (int)(entry[j] >> 16), before = j == begin ? -1 : (int)(entry[j - 1] >> 16);
        entries[j] = (ushort)(row % 16 << 7 | (entry[j] & 127));
        if (row != before) row_offsets[c * 128 + row] = position[j] - (index)(j - begin);
        for (int i = before < 0 ? 0 : before / 16 + 1; i <= row / 16; i++) record->begins[i] = (int32)(j - begin);
        if (j + 1 == end || position[j + 1] < 0)
            for (int i = row / 16 + 1; i <= 8; i++) record->begins[i] = (int32)(j + 1 - begin);
    }
}
