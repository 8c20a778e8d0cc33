/* Prefix sums and radix sort in device memory. Nothing is copied to the host. */
#ifndef TAMIS_GPU_STRUCTURE_SORT_H
#define TAMIS_GPU_STRUCTURE_SORT_H

#include "gpu/runtime/runtime.h"

/* Exclusive prefix sums of `count` int64 in place. `scratch` has tamis_gpu_scan_scratch(count) bytes. */
size_t tamis_gpu_scan_scratch(int64_t count);
tamis_status tamis_gpu_scan(tamis_gpu_device *device, void *stream, tamis_place values, int64_t count,
                            tamis_place scratch);

/*
 * Sorts the numbers 0 .. count - 1; item t has key of[t] / by, which is below `limit`. Segmented sort: `offsets` is
 * that of a CSR of `rows` rows whose nonzeros are the items, and every `height` rows are sorted separately; that takes
 * up to 2 KB per segment.
 */
typedef struct tamis_gpu_sorting {
    int64_t count;
    const void *of; /* of index_type */
    int64_t by, limit;
    tamis_index_type index_type, order_type; /* order_type: type of order and offsets */
    const void *offsets;
    int64_t rows, height;
    void *sorted_keys; /* NULL, or memory for the sorted 32-bit keys (limit <= 2^31) */
} tamis_gpu_sorting;

/*
 * Stable. *order: NULL, or the order of an earlier sort, which breaks ties (segmented: it must have kept items within
 * segments); it is replaced and released. `kept`: the stream of the result's memory, the sort's stream or
 * TAMIS_ALL_STREAMS.
 */
tamis_status tamis_gpu_sort(tamis_gpu_device *device, void *stream, const tamis_gpu_sorting *what, void **order,
                            void *kept);

#endif
