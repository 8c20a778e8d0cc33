/* Copies between the caller's arrays and packed ones on the host, by the plan's threads. */
#ifndef TAMIS_SLABS_STAGING_H
#define TAMIS_SLABS_STAGING_H

#include "slabs/slabs.h"

/* Packs `count` rows of a member of X: rows first .. first + count - 1, or the rows in `rows`. */
tamis_status tamis_slab_pack_rows(const tamis_slab_plan *plan, const tamis_dense *X, int64_t member,
                                  const int64_t *rows, int64_t first, int64_t count, void *to);
/* Copies rows first .. first + count - 1 of an output of the plan's out_type; out: to the caller's output, else from
   it. */
void tamis_slab_move_output(const tamis_slab_plan *plan, const tamis_dense *X, int64_t member, int64_t first,
                            int64_t count, void *packed, bool out);
/* Gathers a piece's elements from (with `out`: scatters to) an array with one element per entry. */
void tamis_slab_move_entries(const tamis_slab_plan *plan, const tamis_slab_piece *piece, size_t size, void *array,
                             void *packed, bool out);
void tamis_slab_stage_offsets(const tamis_slab_plan *plan, const tamis_slab_piece *piece, int32_t *to);
void tamis_slab_stage_columns(const tamis_slab_plan *plan, const tamis_slab_piece *piece, void *to);

#endif
