/* How the entries of the kinds that are drawn entry by entry are drawn. */
#ifndef TAMIS_GENERATE_DRAWS_H
#define TAMIS_GENERATE_DRAWS_H

#include "generate/edges.h"

tamis_status tamis_plan_rmat(tamis_edge_plan *plan);
tamis_status tamis_plan_scatter(tamis_edge_plan *plan);

#endif
