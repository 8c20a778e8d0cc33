/* Random entries, for the kinds that are drawn entry by entry. */
#ifndef TAMIS_GENERATE_DRAWS_H
#define TAMIS_GENERATE_DRAWS_H

#include "generate/edges.h"

tamis_status tamis_plan_rmat(tamis_edge_plan *plan);
tamis_status tamis_plan_scatter(tamis_edge_plan *plan);

#endif
