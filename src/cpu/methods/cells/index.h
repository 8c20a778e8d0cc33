/*
 * The index of cpu-cells: blocks of 32 neighbouring rows. A block lists, sorted, the columns that any of its rows has,
 * each with a bit mask of those rows. Its list is padded to a multiple of eight with columns without rows.
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
    int64_t *starts; /* begin of each block, and the end of the last */
    tamis_cpu_cell *cells;
    int64_t most; /* the most columns of a block */
} tamis_cpu_cell_index;

#endif
