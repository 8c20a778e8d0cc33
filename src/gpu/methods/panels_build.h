/* The cells of sddmm_panels.simt, built on the device. */
#ifndef TAMIS_GPU_METHODS_PANELS_BUILD_H
#define TAMIS_GPU_METHODS_PANELS_BUILD_H

#include "gpu/plan.h"

typedef struct tamis_gpu_panels {
    void *parts;    /* int64, three a part */
    void *cells;    /* int64, two a cell, and an end */
    void *lists;    /* index: the columns of each cell, one list after another */
    void *entry;    /* uint32 a nonzero: row within the panel, place in the cell's list */
    void *position; /* index a nonzero: where S keeps it */
    int64_t part_count, cell_count, distinct;
    size_t bytes;
} tamis_gpu_panels;

/* Whether gpu-panels, gpu-tensor can serve the problem; else the reason. */
bool tamis_gpu_panels_accept(const tamis_problem *problem, char *reason, size_t bytes);
bool tamis_gpu_tensor_accept(const tamis_problem *problem, char *reason, size_t bytes);

/* Nonzeros that a part should have: few enough for two or three rounds of parts on every multiprocessor, and enough to
   be worth gathering their rows of B. */
int64_t tamis_gpu_panel_part(int64_t nnz, int multiprocessors);

/* panel_rows and columns_most of at most 65536, part_most nonzeros a part. On failure nothing is left. */
tamis_status tamis_gpu_panels_build(tamis_gpu_device *device, const tamis_problem *problem, int64_t panel_rows,
                                    int64_t columns_most, int64_t part_most, tamis_gpu_panels *panels);

#endif
