/*
 * The cells of gpu-tensor, which cell_entries.cu makes: dense blocks of 128 or 64 rows that
 * the kernels multiply as a whole.
 */
#ifndef TAMIS_GPU_TENSOR_CELLS_H
#define TAMIS_GPU_TENSOR_CELLS_H

#include "gpu/method.h"

enum { TAMIS_GPU_CELL_RECORD = 80 /* bytes */ };

/* The lists that a plan keeps of its cells, in the layouts of cell_entries.cu. */
typedef struct tamis_gpu_tensor_cells {
    int64_t count;
    int64_t rows, columns; /* of a cell: 128 or 64 */
    bool aligned;          /* to neighbouring columns, which no list names */
    bool masked; /* masks take the place of the entries, and of where rows begin in them: these are not kept */
    void *records, *row_offsets, *entries;
    void *lists; /* index: columns of the cells; NULL if aligned */
} tamis_gpu_tensor_cells;

/* Whether panels have nearly all columns anyway: then cells are to be aligned. */
bool tamis_gpu_cells_align(const tamis_problem *problem);

/* How many cells of side x side there will be, by the panels that were profiled: side is 128 or 64. */
double tamis_gpu_cells_about(const tamis_problem *problem, int64_t side);

/* Makes them; the plan keeps their memory. `rows`, `columns`, `aligned` and `masked` are set before. Columns of S must
   rise within rows. Of cells that are masked tamis_gpu_tensor_cells_mask must follow. */
tamis_status tamis_gpu_tensor_cells_build(tamis_prepared *p, tamis_gpu_tensor_cells *cells);

/* Cells of 64 x 64 as bits, and whether their columns are neighbours; the plan keeps the memory. The last two are
   needed where S has values: masks by row, and the place in S of a row's first entry. NULL: not wanted. See
   cell_entries.cu. */
typedef struct tamis_gpu_cell_masks {
    int64_t filled; /* columns of S filled up to cells */
    void **masks, **together, **row_masks, **firsts;
} tamis_gpu_cell_masks;
tamis_status tamis_gpu_tensor_cells_mask(tamis_prepared *p, tamis_gpu_tensor_cells *cells,
                                         const tamis_gpu_cell_masks *to);

#endif
