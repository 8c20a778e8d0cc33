/* What the forward and the backward call by cells share. */
#ifndef TAMIS_CPU_METHODS_CELLS_CELLS_H
#define TAMIS_CPU_METHODS_CELLS_CELLS_H

#include "cpu/method.h"
#include "cpu/methods/cells/index.h"
#include "cpu/predict.h"

enum { TAMIS_CPU_CELLS_MOST = 1 << 16 }; /* nonzeros of a row */

/* Seconds of a member, of so many columns in all blocks; `products`: multiply-adds of a pair. */
double tamis_cpu_cells_seconds(const tamis_problem *problem, double cells, double products);

#endif
