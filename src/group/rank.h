/* One rank's end of a group. */
#ifndef TAMIS_GROUP_RANK_H
#define TAMIS_GROUP_RANK_H

#include <tamis/group.h>

#include "base/status.h"
#include "core/device.h"

struct tamis_group {
    tamis_device *device;
    tamis_transport transport;
    void (*close)(void *context); /* closes the transport; NULL: the caller does */
    int sharing;                  /* ranks that share the device's threads */
    bool direct;                  /* the transport moves these devices' memory; else only host memory */
    char *records;                /* records gathered by tamis_group_share */
    bool broken;                  /* a call of the transport has failed */
    tamis_message reason;
};

/* Returns true if the rank's device has memory of its own. */
static inline bool tamis_group_on_device(const tamis_group *group) {
    return group->device->backend->location == TAMIS_DEVICE;
}

#endif
