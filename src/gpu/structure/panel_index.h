/* The places that panels of a CSR touch, and its nonzeros in cells of them; made by panel_index.simt. */
#ifndef TAMIS_GPU_STRUCTURE_PANEL_INDEX_H
#define TAMIS_GPU_STRUCTURE_PANEL_INDEX_H

#include "gpu/method.h"

/* What to index: panels of x_tile rows, in each the tiles of y_tile columns that it touches, its places; the two change
   roles with columns_first. `height`: places of a cell; 0: no cells are wanted, and no order. All three fit 31 bits. */
typedef struct tamis_gpu_tiling {
    bool columns_first;
    int64_t x_tile, y_tile, height;
} tamis_gpu_tiling;

/* Arrays in device memory. The places of panel p are starts[p] .. starts[p + 1]. */
typedef struct tamis_gpu_index {
    int64_t panels, count, cell_count; /* count: places of all panels together */
    void *starts;                      /* int64, panels + 1 */
    void *list;                        /* index, count: column (or row, or tile) of each place, rising within a panel */
    void *within;                      /* index, nnz: the place of each nonzero, counted from its panel's first */
    /* of cells */
    void *first_cell;  /* int64, panels + 1: the first cell of each panel */
    void *cells;       /* int64, two a cell, and an end: its panel, its first place */
    void *order;       /* offset, nnz: the nonzeros by cell, within a cell as S has them */
    void *begins;      /* int64, cell_count + 1: where in `order` each cell begins */
    void *row_indices; /* index, nnz: of the nonzeros as S has them; NULL if nobody needed them */
} tamis_gpu_index;

/* nnz > 0. Takes work in proportion to nnz, rows and columns, whatever the pattern. One copy to the host. On failure
   nothing is kept. */
tamis_status tamis_gpu_index_build(tamis_prepared *p, const tamis_gpu_tiling *tiling, tamis_gpu_index *index);
void tamis_gpu_index_release(tamis_prepared *p, tamis_gpu_index *index);

/* starts, list, within, cells or begins of the index becomes the plan's. */
void *tamis_gpu_index_keep(tamis_prepared *p, void **array, int64_t count, size_t size);

/* Memory for `count` pieces of `size` bytes; an error that says what does not fit. */
tamis_status tamis_gpu_index_allocate(const tamis_prepared *p, void *stream, int64_t count, size_t size,
                                      const char *what, void **memory);

/* A kernel of preparation in `file`, one work-item for each of `count`. */
tamis_status tamis_gpu_index_run(const tamis_prepared *p, const char *file, const char *kernel, int64_t count,
                                 const tamis_gpu_named *arguments);

#endif
