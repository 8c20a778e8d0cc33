/* Base of all calls on a group: ranks share errors and records, and exchange memory. libtamis_ml calls some of these
   functions, so tamis.map lists them too. */
#ifndef TAMIS_GROUP_SHARE_H
#define TAMIS_GROUP_SHARE_H

#include <tamis/group.h>

#include "base/private.h"

/* The most bytes of a record of tamis_group_share. */
enum { TAMIS_GROUP_SHARED = TAMIS_TRANSPORT_RECORD - sizeof(int64_t) };

/*
 * All-gather of statuses and records; waits for all ranks. mine: this rank's status, with its message. If all are
 * TAMIS_OK, the result is TAMIS_OK, and tamis_group_shared returns each rank's record until the next call. Otherwise
 * all ranks return the status and the message of the first rank with an error.
 */
TAMIS_PRIVATE_API tamis_status tamis_group_share(tamis_group *group, tamis_status mine, const void *record,
                                                 size_t bytes);
TAMIS_PRIVATE_API const void *tamis_group_shared(const tamis_group *group, int rank, size_t bytes);

/* Reports an error outside a collective call: the other ranks' next call fails. Keeps the message, returns the
   status. */
TAMIS_PRIVATE_API tamis_status tamis_group_abort(tamis_group *group, tamis_status status);

/* The transport's exchange of host memory; errors break the group. After a successful `begin`, `end` must follow in any
   case. */
tamis_status tamis_group_exchange_begin(tamis_group *group, const tamis_transfer *transfer);
tamis_status tamis_group_exchange_end(tamis_group *group);

/* Both halves. */
TAMIS_PRIVATE_API tamis_status tamis_group_exchange(tamis_group *group, const tamis_transfer *transfer);

/* The same two halves for device memory, of a `direct` group. */
tamis_status tamis_group_device_begin(tamis_group *group, void *stream, const tamis_transfer *transfer);
tamis_status tamis_group_device_end(tamis_group *group);

/* Return this rank's device, and its share of the threads of a device that several ranks share. */
TAMIS_PRIVATE_API tamis_device *tamis_group_device(const tamis_group *group);
TAMIS_PRIVATE_API int tamis_group_threads(const tamis_group *group);

#endif
