/* The lists of slabs and pieces. */
#ifndef TAMIS_SLABS_LISTS_H
#define TAMIS_SLABS_LISTS_H

#include "slabs/slabs.h"

/* Sets plan->bytes, by the options and out_type. */
tamis_status tamis_slab_count_bytes(tamis_slab_plan *plan);

/* Adds one more slab or piece. */
tamis_status tamis_slab_add(tamis_slab_plan *plan, const tamis_slab *slab);
tamis_status tamis_slab_add_piece(tamis_slab_plan *plan, const tamis_slab_piece *piece);

#endif
