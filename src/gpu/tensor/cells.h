/*
 * The cells of gpu-tensor, built by cell_entries.cu: dense blocks of 128 or 64 rows that the kernels multiply as a
 * whole.
 */
#ifndef TAMIS_GPU_TENSOR_CELLS_H
#define TAMIS_GPU_TENSOR_CELLS_H

#include "gpu/method.h"

enum { TAMIS_GPU_CELL_RECORD = 80 /* bytes */ };

/* The cell lists of a plan, in the layouts of cell_entries.cu. */
typedef struct tamis_gpu_tensor_cells {
    int64_t count;
    int64_t rows, columns; /* of a cell: 128 or 64 */
    bool aligned;          /* cells of contiguous columns, without a list */
    bool masked;           /* masks replace the entries and the rows' offsets, which are then not kept */
    void *records, *row_offsets, *entries;
    void *lists;       /* index: columns of the cells; NULL if aligned */
    void *panel_lists; /* of a mask without a list of columns, until it has masks: columns of the panels */
} tamis_gpu_tensor_cells;

/* True if panels use nearly all columns anyway: then cells should be aligned. */
bool tamis_gpu_cells_align(const tamis_problem *problem);

/* Estimated number of cells of side x side (128 or 64), from the panels that were profiled. */
double tamis_gpu_cells_about(const tamis_problem *problem, int64_t side);

/* Builds the cells; the plan owns their memory. `rows`, `columns`, `aligned` and `masked` must be set. Columns of S
   must be sorted within rows. Masked cells must then be passed to tamis_gpu_tensor_cells_mask. Those of a mask without
   a list of columns must be masked, and have masks by thread alone. */
tamis_status tamis_gpu_tensor_cells_build(tamis_prepared *p, tamis_gpu_tensor_cells *cells);

/* Number of members to compute at once, so that the rows which come with their cells, of `row_bytes` each, are in L2
   when they are read again. `resident`: groups of the device, which the members share. `worth`: how many times L2 the
   groups' rows must exceed before that pays. */
int64_t tamis_gpu_tensor_members_near(const tamis_prepared *p, const tamis_gpu_tensor_cells *cells, int64_t resident,
                                      int64_t row_bytes, double worth);

/* Masks of cells, and which cells have contiguous columns; the plan owns the memory. The last two arrays are needed if
   S has values: masks by row, and the place in S of a row's first entry. NULL: not wanted. See cell_entries.cu. */
typedef struct tamis_gpu_cell_masks {
    int64_t filled; /* contiguous columns must be below it */
    int64_t apart;  /* and begin at a multiple of it */
    bool numbered;  /* kernels find a cell's masks by the number in its record; else cell c has masks c */
    void **masks, **together, **row_masks, **firsts;
} tamis_gpu_cell_masks;
tamis_status tamis_gpu_tensor_cells_mask(tamis_prepared *p, tamis_gpu_tensor_cells *cells,
                                         const tamis_gpu_cell_masks *to);

#endif
