/* The cells of gpu-panels and gpu-tensor, built on the device. */
#ifndef TAMIS_GPU_PANELS_PANELS_BUILD_H
#define TAMIS_GPU_PANELS_PANELS_BUILD_H

#include "gpu/method.h"

/* The cell lists of a plan. A launch has `part_count` groups. */
typedef struct tamis_gpu_cells {
    int64_t panel_rows, part_count;
    void *parts;    /* int64, three per part */
    void *cells;    /* int64, two per cell, and an end */
    void *lists;    /* index: the columns of each cell, one list after another */
    void *entry;    /* uint32 per nonzero: row within the panel, place in the cell's list */
    void *position; /* index per nonzero: its position in S */
} tamis_gpu_cells;

/* True if cells can be built for the problem; else gives the reason. */
bool tamis_gpu_cells_accept(const tamis_problem *problem, char *reason, size_t bytes);

/* Builds the cells for panels of panel_rows rows, with up to columns_most columns (both up to 65536), in parts of up to
   part_most nonzeros. The plan owns their memory. */
tamis_status tamis_gpu_cells_build(tamis_prepared *p, int64_t panel_rows, int64_t columns_most, int64_t part_most,
                                   tamis_gpu_cells *cells);

/* The arguments of a kernel that processes the cells. */
#define TAMIS_GPU_CELLS_ARGUMENTS(cells_)                                                                              \
    TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("panel_rows", (cells_)->panel_rows),                                         \
                        tamis_gpu_memory("parts", (cells_)->parts), tamis_gpu_memory("cells", (cells_)->cells),        \
                        tamis_gpu_memory("lists", (cells_)->lists), tamis_gpu_memory("entry", (cells_)->entry),        \
                        tamis_gpu_memory("position", (cells_)->position))

#endif
