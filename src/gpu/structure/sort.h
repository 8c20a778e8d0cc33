/* Prefix sums and sorting in device memory. Nothing is copied to the host. */
#ifndef TAMIS_GPU_STRUCTURE_SORT_H
#define TAMIS_GPU_STRUCTURE_SORT_H

#include "gpu/runtime/runtime.h"

/* Exclusive prefix sums of `count` int64 in place. `scratch` has tamis_gpu_scan_scratch(count) bytes. */
size_t tamis_gpu_scan_scratch(int64_t count);
tamis_status tamis_gpu_scan(tamis_gpu_device *device, void *stream, void *values, int64_t count, tamis_place scratch);

/*
 * What to sort: the numbers 0 .. count - 1, item t by the key of[t] / by, which is below `limit`. With `offsets`, those
 * of a CSR of `rows` rows whose nonzeros the items are, every `height` rows are sorted by themselves and stay where
 * they are; that takes up to 2 KB for each of them.
 */
typedef struct tamis_gpu_sorting {
    int64_t count;
    const void *of; /* of index_type */
    int64_t by, limit;
    tamis_index_type index_type, order_type; /* order_type: of order and of offsets */
    const void *offsets;
    int64_t rows, height;
    void *sorted_keys; /* NULL, or memory for the keys as they are sorted, of 32 bits (limit <= 2^31) */
} tamis_gpu_sorting;

/*
 * Stable. *order: NULL, or an order that comes from an earlier sort, whose keys then count where these are equal
 * (segments: one that has not left them); it is replaced and released. Memory of `kept`, which is the stream or
 * TAMIS_ALL_STREAMS.
 */
tamis_status tamis_gpu_sort(tamis_gpu_device *device, void *stream, const tamis_gpu_sorting *what, void **order,
                            void *kept);

#endif
