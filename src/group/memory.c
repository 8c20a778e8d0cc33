/* Memory of a rank's device; on the CPU host memory. */
#include "group/rank.h"

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
