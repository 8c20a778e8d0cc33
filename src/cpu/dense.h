/* The dense companions on the CPU. */
#ifndef TAMIS_CPU_DENSE_H
#define TAMIS_CPU_DENSE_H

#include "base/dense.h"

extern const tamis_dense_functions tamis_cpu_dense_functions;

#endif
