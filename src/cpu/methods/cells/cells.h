/* Shared by the forward and the backward call by cells. */
#ifndef TAMIS_CPU_METHODS_CELLS_CELLS_H
#define TAMIS_CPU_METHODS_CELLS_CELLS_H

#include "cpu/method.h"
#include "cpu/methods/cells/index.h"
#include "cpu/predict.h"

enum { TAMIS_CPU_CELLS_MOST = 1 << 16 }; /* most nonzeros of a row */

/* Seconds of a member; `products`: multiply-adds per pair. */
double tamis_cpu_cells_seconds(const tamis_problem *problem, double products);

#endif
