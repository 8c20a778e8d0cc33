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

/* Returns the seconds to receive `bytes` bytes in `steps` steps, one after another; 0: not known. */
double tamis_group_seconds(const tamis_group *group, double bytes, int64_t steps);

/* Allocates at least one byte of the device's memory, so that pointers to empty arrays are not NULL; on the CPU of the
   host's. */
tamis_status tamis_group_allocate(const tamis_group *group, int64_t bytes, const char *what, void **memory);

/* Copies a host array to *memory and sets *at to it; on the CPU *at is the array itself. */
tamis_status tamis_group_put(const tamis_group *group, const void *array, int64_t bytes, const char *what,
                             void **memory, const void **at);
void tamis_group_release(const tamis_group *group, void *memory); /* NULL is allowed */

#endif
