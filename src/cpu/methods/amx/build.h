/* Builds the index of cpu-amx, and samples the rows to predict its time. */
#ifndef TAMIS_CPU_METHODS_AMX_BUILD_H
#define TAMIS_CPU_METHODS_AMX_BUILD_H

#include "cpu/method.h"
#include "cpu/methods/amx/index.h"

/* Fills the index with the cells of panels that have at least `least` nonzeros per cell, in memory that the plan owns,
   and *most with the most nonzeros of index->together panels. */
tamis_status tamis_cpu_amx_build(tamis_prepared *p, int64_t least, tamis_cpu_amx_index *index, int64_t *most);

/* Nonzeros of a cell from which products of tiles pay. */
enum { TAMIS_CPU_AMX_LEAST = 64 };

/* Nonzeros in panels that have `least` nonzeros per cell, and their cells, estimated from some panels. */
typedef struct tamis_cpu_amx_shares {
    double nonzeros, cells;
} tamis_cpu_amx_shares;
tamis_cpu_amx_shares tamis_cpu_amx_profile(const tamis_problem *problem, int64_t least);

#endif
