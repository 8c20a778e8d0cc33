/* What algorithms on a group need beside its plans: sums, exchanges of the host's memory, rows for plans of one device.
   For libtamis_ml; named in tamis.map too. */
#ifndef TAMIS_GROUP_COLLECTIVE_H
#define TAMIS_GROUP_COLLECTIVE_H

#include <tamis/group.h>

#include "base/private.h"

/* The most that tamis_group_share takes. */
enum { TAMIS_GROUP_SHARED = TAMIS_TRANSPORT_RECORD - sizeof(int64_t) };

/*
 * Tells all ranks how this one fares, and waits for theirs. If all are well, the result is TAMIS_OK, and
 * tamis_group_shared gives each rank's record, until the next call. Otherwise the result and the message are those of
 * the first rank that is not, on all ranks. `mine` comes with its message.
 */
TAMIS_PRIVATE_API tamis_status tamis_group_share(tamis_group *group, tamis_status mine, const void *record,
                                                 size_t bytes);
TAMIS_PRIVATE_API const void *tamis_group_shared(const tamis_group *group, int rank, size_t bytes);

/* This rank has failed where the others do not ask it: their next call fails. Keeps the message, returns the status. */
TAMIS_PRIVATE_API tamis_status tamis_group_abort(tamis_group *group, tamis_status status);

/* Both halves of the transport's exchange of the host's memory; errors break the group. */
TAMIS_PRIVATE_API tamis_status tamis_group_exchange(tamis_group *group, const tamis_transfer *transfer);

/* Adds up the numbers of all ranks, each in the order of ranks: the same bits on all of them. Up to 63 numbers cost one
   record; of more, two exchanges of them. */
TAMIS_PRIVATE_API tamis_status tamis_group_sum(tamis_group *group, double *numbers, int64_t count);

/* The device of this rank, and its share of a device's threads that several ranks have together. */
TAMIS_PRIVATE_API tamis_device *tamis_group_device(const tamis_group *group);
TAMIS_PRIVATE_API int tamis_group_threads(const tamis_group *group);

/*
 * The rows of B that this rank's rows of S need, where plans of one device read them: X has the own rows and the ghost
 * rows behind them, and the pattern has the columns of X. All ranks make it and fetch together, as they make plans. S
 * and own_rows as in tamis_group_plan_create; B is packed, row-major, of `width` columns.
 */
typedef struct tamis_group_plan tamis_group_rows;
TAMIS_PRIVATE_API tamis_status tamis_group_rows_create(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                                       int64_t width, tamis_type type, tamis_group_rows **rows);
TAMIS_PRIVATE_API void tamis_group_rows_destroy(tamis_group_rows *rows); /* NULL is allowed; not collective */

/* On the host, as long as the rows; its values are S's. */
TAMIS_PRIVATE_API const tamis_sparse *tamis_group_rows_pattern(const tamis_group_rows *rows);

/* *X is valid until the next fetch; it is `own` itself where this rank needs no other rows. `generation` as in
   tamis_execution. */
TAMIS_PRIVATE_API tamis_status tamis_group_rows_fetch(tamis_group_rows *rows, const tamis_dense *own, void *stream,
                                                      uint64_t generation, tamis_dense *X);

#endif
