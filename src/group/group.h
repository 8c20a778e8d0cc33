/* One rank's end of a group, and what it shares with the others. */
#ifndef TAMIS_GROUP_GROUP_H
#define TAMIS_GROUP_GROUP_H

#include <tamis/group.h>

#include "base/status.h"
#include "core/device.h"
#include "group/share.h"

struct tamis_group {
    tamis_device *device;
    tamis_transport transport;
    void (*close)(void *context); /* of the transport; NULL: that is the caller's */
    int sharing;                  /* ranks that share the device's threads */
    bool direct;                  /* the transport moves the memory of these devices; else that of the host */
    char *records;                /* of tamis_group_share */
    bool broken;                  /* a call of the transport has failed */
    tamis_message reason;
};

/* The transport's exchange, in two halves; errors break the group. Where the first succeeds, the second follows in any
   case. */
tamis_status tamis_group_exchange_begin(tamis_group *group, const tamis_transfer *transfer);
tamis_status tamis_group_exchange_end(tamis_group *group);

/* The same for device memory, of a `direct` group. */
tamis_status tamis_group_device_begin(tamis_group *group, void *stream, const tamis_transfer *transfer);
tamis_status tamis_group_device_end(tamis_group *group);

/* Whether the rank's device computes on memory of its own. */
static inline bool tamis_group_on_device(const tamis_group *group) {
    return group->device->backend->location == TAMIS_DEVICE;
}

#endif
