/* Parts of a shard's pattern in memory that the device reads, and local plans over them. */
#ifndef TAMIS_GROUP_PIECES_H
#define TAMIS_GROUP_PIECES_H

#include "core/plan.h"
#include "group/exchange/exchange.h"

/* The entries of this rank's rows that one local plan computes. */
typedef struct tamis_piece {
    tamis_plan *plan; /* NULL: only the pattern */
    tamis_sparse S;
    void *memory[3]; /* offsets, columns and values in the device's memory; none on the CPU */
} tamis_piece;

/* Copies S, the shard's pattern or a part of it, to memory that the device reads. entries: indices of the part's
   entries in the whole; NULL: S has its own values. On the CPU a part reads the values of the whole, which may
   change. */
tamis_status tamis_piece_put(const tamis_row_exchange *e, const tamis_options *o, const tamis_sparse *S,
                             const int64_t *entries, tamis_piece *piece);

/* The same with a plan over the part, which reads values and writes samples of the whole. */
tamis_status tamis_piece_plan_part(const tamis_row_exchange *e, const tamis_options *o, const tamis_sparse *S,
                                   const int64_t *entries, tamis_piece *piece);

/* The same with a plan over S, which has its own values: the whole, or a range of its rows. */
tamis_status tamis_piece_plan(const tamis_row_exchange *e, const tamis_options *o, const tamis_sparse *S,
                              tamis_piece *piece);
void tamis_piece_release(const tamis_row_exchange *e, tamis_piece *piece);

#endif
