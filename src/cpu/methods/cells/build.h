/* Makes the index of cpu-cells, and looks at a part of the rows to predict it. */
#ifndef TAMIS_CPU_METHODS_CELLS_BUILD_H
#define TAMIS_CPU_METHODS_CELLS_BUILD_H

#include "backend/backend.h"
#include "cpu/methods/cells/index.h"

/* Makes the index, which tamis_cpu_cells_free frees. */
tamis_status tamis_cpu_cells_build(const tamis_problem *problem, int threads, tamis_cpu_cell_index *index);
void tamis_cpu_cells_free(tamis_cpu_cell_index *index);

/* Columns in the lists of all blocks, estimated from some of them. */
double tamis_cpu_cells_count(const tamis_problem *problem);

#endif
