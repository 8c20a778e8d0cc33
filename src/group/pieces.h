/* Parts of a shard's pattern where the device reads them, and the local plans over them. */
#ifndef TAMIS_GROUP_PIECES_H
#define TAMIS_GROUP_PIECES_H

#include "core/plan.h"
#include "group/exchange/exchange.h"

/* Entries of this rank's rows that one local plan computes. */
typedef struct tamis_piece {
    tamis_plan *plan; /* NULL: there is the pattern alone */
    tamis_sparse S;
    void *memory[3]; /* offsets, columns and values in the device's memory; none on the CPU */
} tamis_piece;

/* Puts S, the shard's pattern or a part of it, where the device reads it. `entries`: the numbers of the part's entries
   in the whole; NULL: S has values of its own. On the CPU a part reads the values of the whole, which may change. */
tamis_status tamis_piece_put(const tamis_row_exchange *e, const tamis_options *o, const tamis_sparse *S,
                             const int64_t *entries, tamis_piece *piece);

/* The same with a plan over the part, which gets the values, and gives the samples, of the whole. */
tamis_status tamis_piece_plan_part(const tamis_row_exchange *e, const tamis_options *o, const tamis_sparse *S,
                                   const int64_t *entries, tamis_piece *piece);

/* The same with a plan over S, which has values of its own: the whole, or a range of its rows. */
tamis_status tamis_piece_plan(const tamis_row_exchange *e, const tamis_options *o, const tamis_sparse *S,
                              tamis_piece *piece);
void tamis_piece_release(const tamis_row_exchange *e, tamis_piece *piece);

#endif
