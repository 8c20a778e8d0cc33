/* The memory of a rank's device, and the cost model of moving bytes between ranks. */
#include "group/rank.h"

#include <string.h>
#include <tamis/ceilings.h>

tamis_status tamis_group_allocate(const tamis_group *group, int64_t bytes, const char *what, void **memory) {
    return group->device->backend->allocate(group->device->handle, TAMIS_ALL_STREAMS, bytes > 0 ? (size_t)bytes : 1,
                                            what, memory);
}

tamis_status tamis_group_put(const tamis_group *group, const void *array, int64_t bytes, const char *what,
                             void **memory, const void **at) {
    *at = array;
    if (!tamis_group_on_device(group) || !array) return TAMIS_OK;
    TRY(tamis_group_allocate(group, bytes, what, memory));
    *at = *memory;
    if (bytes == 0) return TAMIS_OK;
    return group->device->backend->copy_in(group->device->handle, NULL, (tamis_place){*memory, 0}, array,
                                           (size_t)bytes);
}

void tamis_group_release(const tamis_group *group, void *memory) {
    group->device->backend->release_memory(group->device->handle, TAMIS_ALL_STREAMS, memory);
}

/* Measured between two H200 of one host, over NVLink: a copy takes 30 us and then 390 GB/s each way; pinned host memory
   moves at 55 GB/s, and rows that pass through it move twice. */
static const double COPY_SECONDS = 30e-6, LINK_BYTES = 390e9, STAGED_BYTES = 27e9;

/* Seconds of a barrier of threads on one CPU. Threads copy from each other's memory: each byte is read and written. */
static const double MEET_SECONDS = 10e-6;

double tamis_group_seconds(const tamis_group *group, double bytes, int64_t steps) {
    tamis_ceilings ceilings;
    if (steps == 0) return 0;
    if (group->direct) return (double)steps * COPY_SECONDS + bytes / LINK_BYTES;
    if (strcmp(group->transport.name, "threads") != 0) return 0;
    if (tamis_group_on_device(group)) return (double)steps * COPY_SECONDS + bytes / STAGED_BYTES;
    if (tamis_device_ceilings(group->device, &ceilings) != TAMIS_OK || !(ceilings.memory_gbs[1] > 0)) return 0;
    return (double)steps * MEET_SECONDS + 2 * bytes / (1e9 * ceilings.memory_gbs[1]);
}
