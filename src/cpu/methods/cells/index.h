/*
 * The index of cpu-cells: blocks of 32 neighbouring rows. A block has the columns that any of its rows has, rising,
 * each with a bit for each row that has it. Its list is filled up to a multiple of eight with columns that no row has.
 */
#ifndef TAMIS_CPU_METHODS_CELLS_INDEX_H
#define TAMIS_CPU_METHODS_CELLS_INDEX_H

#include <stdint.h>

enum { TAMIS_CPU_CELL_ROWS = 32, TAMIS_CPU_CELL_TOGETHER = 8 };

typedef struct tamis_cpu_cell {
    uint32_t column, rows; /* bit r: row r of the block has it */
} tamis_cpu_cell;

typedef struct tamis_cpu_cell_index {
    int64_t blocks;
    int64_t *starts; /* of each block, and the end of the last */
    tamis_cpu_cell *cells;
    int64_t most; /* columns of a block */
} tamis_cpu_cell_index;

#endif
