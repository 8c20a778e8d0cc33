/* Collective operations beside plans: sums, and rows for plans of one device. libtamis_ml uses them, so tamis.map lists
   them too. */
#ifndef TAMIS_GROUP_COLLECTIVE_H
#define TAMIS_GROUP_COLLECTIVE_H

#include "group/share.h"

/* All-reduce: sums each number over all ranks, in the order of ranks, so the result has the same bits on all. Up to 63
   numbers take one shared record, more take two exchanges. */
TAMIS_PRIVATE_API tamis_status tamis_group_sum(tamis_group *group, double *numbers, int64_t count);

/*
 * The rows of B that this rank's rows of S need, in a matrix X for plans of one device: own rows, then ghost rows; the
 * pattern's columns index rows of X. Creating and fetching are collective, as for plans. S and own_rows as in
 * tamis_group_plan_create; B is packed, row-major, of `width` columns.
 */
typedef struct tamis_row_exchange tamis_group_rows;
TAMIS_PRIVATE_API tamis_status tamis_group_rows_create(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                                       int64_t width, tamis_type type, tamis_group_rows **rows);
TAMIS_PRIVATE_API void tamis_group_rows_destroy(tamis_group_rows *rows); /* NULL is allowed; not collective */

/* Returns the pattern, on the host, valid as long as `rows`; its values are S's. */
TAMIS_PRIVATE_API const tamis_sparse *tamis_group_rows_pattern(const tamis_group_rows *rows);

/* Fetches the rows. *X is valid until the next fetch; it is `own` itself if this rank needs no other rows. generation:
   as in tamis_execution. */
TAMIS_PRIVATE_API tamis_status tamis_group_rows_fetch(tamis_group_rows *rows, const tamis_dense *own, void *stream,
                                                      uint64_t generation, tamis_dense *X);

#endif
