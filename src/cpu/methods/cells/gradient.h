/* The backward call of attention by cells, for the backend's table. */
#ifndef TAMIS_CPU_METHODS_CELLS_GRADIENT_H
#define TAMIS_CPU_METHODS_CELLS_GRADIENT_H

#include "backend/gradient.h"

extern const tamis_backward_functions tamis_cpu_cells_backward;

#endif
