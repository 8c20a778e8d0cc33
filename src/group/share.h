/* What every call on a group rests on: the ranks share errors and records, and exchange memory. libtamis_ml calls some
   of these, which tamis.map names too. */
#ifndef TAMIS_GROUP_SHARE_H
#define TAMIS_GROUP_SHARE_H

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

/* The transport's exchange of host memory; errors break the group. Where `begin` succeeds, `end` follows in any case.
 */
tamis_status tamis_group_exchange_begin(tamis_group *group, const tamis_transfer *transfer);
tamis_status tamis_group_exchange_end(tamis_group *group);

/* Both halves. */
TAMIS_PRIVATE_API tamis_status tamis_group_exchange(tamis_group *group, const tamis_transfer *transfer);

/* The same two halves for device memory, of a `direct` group. */
tamis_status tamis_group_device_begin(tamis_group *group, void *stream, const tamis_transfer *transfer);
tamis_status tamis_group_device_end(tamis_group *group);

/* The device of this rank, and its share of a device's threads that several ranks have together. */
TAMIS_PRIVATE_API tamis_device *tamis_group_device(const tamis_group *group);
TAMIS_PRIVATE_API int tamis_group_threads(const tamis_group *group);

#endif
