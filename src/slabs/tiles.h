/* Cuts S into slabs whose rows of B are moved in tiles. */
#ifndef TAMIS_SLABS_TILES_H
#define TAMIS_SLABS_TILES_H

#include "slabs/slabs.h"

/* Cuts S with B in tiles: a slab's rows take at most slab_most bytes, a piece at most piece_most. */
tamis_status tamis_slab_cut_tiles(tamis_slab_plan *plan, int64_t slab_most, int64_t piece_most);

#endif
