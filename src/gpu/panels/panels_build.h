/* The cells of gpu-panels and gpu-tensor, built on the device. */
#ifndef TAMIS_GPU_PANELS_PANELS_BUILD_H
#define TAMIS_GPU_PANELS_PANELS_BUILD_H

#include "gpu/method.h"

/* The lists that a plan keeps of its cells. A launch has `part_count` groups. */
typedef struct tamis_gpu_cells {
    int64_t panel_rows, part_count;
    void *parts;    /* int64, three a part */
    void *cells;    /* int64, two a cell, and an end */
    void *lists;    /* index: the columns of each cell, one list after another */
    void *entry;    /* uint32 a nonzero: row within the panel, place in the cell's list */
    void *position; /* index a nonzero: where S keeps it */
} tamis_gpu_cells;

/* Whether they can be built for the problem; else the reason. */
bool tamis_gpu_cells_accept(const tamis_problem *problem, char *reason, size_t bytes);

/* Builds them for panels of panel_rows rows, cells of up to columns_most columns (both up to 65536) and parts of up to
   part_most nonzeros. The plan keeps their memory. */
tamis_status tamis_gpu_cells_build(tamis_prepared *p, int64_t panel_rows, int64_t columns_most, int64_t part_most,
                                   tamis_gpu_cells *cells);

/* The arguments of a kernel that walks them. */
#define TAMIS_GPU_CELLS_ARGUMENTS(cells_)                                                                              \
    TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("panel_rows", (cells_)->panel_rows),                                         \
                        tamis_gpu_memory("parts", (cells_)->parts), tamis_gpu_memory("cells", (cells_)->cells),        \
                        tamis_gpu_memory("lists", (cells_)->lists), tamis_gpu_memory("entry", (cells_)->entry),        \
                        tamis_gpu_memory("position", (cells_)->position))

#endif
