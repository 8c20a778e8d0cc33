/* Builds the index of cpu-cells, and samples the rows to predict its time. */
#ifndef TAMIS_CPU_METHODS_CELLS_BUILD_H
#define TAMIS_CPU_METHODS_CELLS_BUILD_H

#include "backend/backend.h"
#include "cpu/methods/cells/index.h"

/* Builds the index; tamis_cpu_cells_free frees it. */
tamis_status tamis_cpu_cells_build(const tamis_problem *problem, int threads, tamis_cpu_cell_index *index);
void tamis_cpu_cells_free(tamis_cpu_cell_index *index);

/* Estimated number of columns in the lists of all blocks, from a sample. */
double tamis_cpu_cells_count(const tamis_problem *problem);

#endif
