/* The places that panels of S touch, built on the device by sorting and prefix sums; see papers/index.simt. */
#ifndef TAMIS_GPU_PAPERS_INDEX_H
#define TAMIS_GPU_PAPERS_INDEX_H

#include "gpu/method.h"

/* What to index: panels of x_tile rows and in each the tiles of y_tile columns; the two change roles with
 * columns_first. */
typedef struct tamis_gpu_tiling {
    bool columns_first;
    int64_t x_tile, y_tile;
} tamis_gpu_tiling;

/* Arrays in device memory; the places of panel p are starts[p] .. starts[p + 1]. */
typedef struct tamis_gpu_index {
    int64_t panels, limit, count; /* count: places of all panels together */
    void *row_indices;            /* of the nonzeros in S's order (index type) */
    void *keys;                   /* uint64, sorted: panel * limit + place */
    void *order;                  /* int64: the nonzero of S that is sorted entry t */
    void *places;                 /* int64, nnz + 1: number of the places before sorted entry t */
    void *starts;                 /* int64, panels + 1 */
    void *list;                   /* index type, count: column (or row, or tile) of each place */
    void *entries;                /* int64, count + 1: the first sorted entry of each place */
} tamis_gpu_index;

/* nnz > 0. On failure nothing is kept. */
tamis_status tamis_gpu_index_build(tamis_prepared *p, const tamis_gpu_tiling *tiling, tamis_gpu_index *index);
void tamis_gpu_index_release(tamis_prepared *p, tamis_gpu_index *index);

/* The place of each nonzero of S within its panel (index type). */
tamis_status tamis_gpu_index_within(tamis_prepared *p, const tamis_gpu_index *index, void *within);

/* An array of the index becomes the plan's. */
void *tamis_gpu_index_keep(tamis_prepared *p, void **array, int64_t count, size_t size);

/* A kernel of preparation in `file`, one work-item for each of `count`. */
tamis_status tamis_gpu_index_run(const tamis_prepared *p, const char *file, const char *kernel, int64_t count,
                                 const tamis_gpu_named *arguments);

#endif
