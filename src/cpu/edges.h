/* Edges and their derivatives over samples that are there already. */
#ifndef TAMIS_CPU_EDGES_H
#define TAMIS_CPU_EDGES_H

#include "base/edge.h"

extern const tamis_edge_functions tamis_cpu_edge_functions;

#endif
