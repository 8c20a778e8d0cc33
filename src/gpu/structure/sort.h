/* Prefix sums and sorting in device memory. Nothing comes to the host. */
#ifndef TAMIS_GPU_STRUCTURE_SORT_H
#define TAMIS_GPU_STRUCTURE_SORT_H

#include "gpu/runtime/runtime.h"

/* Exclusive prefix sums of `count` int64 in place. `scratch` has tamis_gpu_scan_scratch(count) bytes. */
size_t tamis_gpu_scan_scratch(int64_t count);
tamis_status tamis_gpu_scan(tamis_gpu_device *device, void *stream, void *values, int64_t count, tamis_place scratch);

/*
 * Sorts keys below `limit`, stably; order is carried along. keys and order are replaced by the sorted arrays (the old
 * ones are released). keys is memory of the stream, order of `kept`, which is the stream or TAMIS_ALL_STREAMS.
 */
tamis_status tamis_gpu_sort(tamis_gpu_device *device, void *stream, int64_t count, uint64_t limit, void **keys,
                            void **order, void *kept);

#endif
