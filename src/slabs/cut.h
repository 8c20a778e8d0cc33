/* Cutting S into slabs. */
#ifndef TAMIS_SLABS_CUT_H
#define TAMIS_SLABS_CUT_H

#include "slabs/slabs.h"

/* Cuts S into slabs and pieces that fit the plan's memory. */
tamis_status tamis_slab_cut(tamis_slab_plan *plan);

#endif
