/* Index of panels: the columns (places) that each panel of a CSR touches, and the nonzeros sorted into cells of these;
   built by panel_index.simt. */
#ifndef TAMIS_GPU_STRUCTURE_PANEL_INDEX_H
#define TAMIS_GPU_STRUCTURE_PANEL_INDEX_H

#include "gpu/method.h"

/* Parameters: panels of x_tile rows; the places of a panel are the tiles of y_tile columns that it touches.
   columns_first exchanges rows and columns. `height`: places of a cell; 0: neither cells nor order. All three fit 31
   bits. */
typedef struct tamis_gpu_tiling {
    bool columns_first;
    int64_t x_tile, y_tile, height;
} tamis_gpu_tiling;

/* Arrays in device memory. The places of panel p are starts[p] .. starts[p + 1] - 1. */
typedef struct tamis_gpu_index {
    int64_t panels, count, cell_count; /* count: places of all panels together */
    void *starts;                      /* int64, panels + 1 */
    void *list;                        /* index, count: column (or row, or tile) of each place, sorted within a panel */
    void *within;                      /* index, nnz: the place of each nonzero, relative to its panel's first */
    /* arrays of cells */
    void *first_cell;  /* int64, panels + 1: the first cell of each panel */
    void *cells;       /* int64, two per cell, and an end: its panel, its first place */
    void *order;       /* offset, nnz: the nonzeros sorted by cell; within a cell in the order of S */
    void *begins;      /* int64, cell_count + 1: where in `order` each cell begins */
    void *row_indices; /* index, nnz: of the nonzeros in the order of S; NULL if not needed */
} tamis_gpu_index;

/* Builds the index; nnz > 0. The work is proportional to nnz, rows and columns for any pattern. One copy to the host.
   On failure nothing is kept. A mask without a list of columns has panels of up to 128 rows, places that are columns,
   and neither `within`, `order`, `begins` nor row_indices; the work is proportional to rows and places. */
tamis_status tamis_gpu_index_build(tamis_prepared *p, const tamis_gpu_tiling *tiling, tamis_gpu_index *index);
void tamis_gpu_index_release(tamis_prepared *p, tamis_gpu_index *index);

/* Moves an array (starts, list, within, cells or begins) from the index to the plan. */
void *tamis_gpu_index_keep(tamis_prepared *p, void **array, int64_t count, size_t size);

/* Allocates `count` elements of `size` bytes; the error says what does not fit. */
tamis_status tamis_gpu_index_allocate(const tamis_prepared *p, void *stream, int64_t count, size_t size,
                                      const char *what, void **memory);

/* Runs a preparation kernel of `file`, one work-item for each of `count`. */
tamis_status tamis_gpu_index_run(const tamis_prepared *p, const char *file, const char *kernel, int64_t count,
                                 const tamis_gpu_named *arguments);

#endif
