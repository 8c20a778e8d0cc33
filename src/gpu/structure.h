/* Work on the pattern in device memory. Nothing but a flag or a few sums comes to the host. */
#ifndef TAMIS_GPU_STRUCTURE_H
#define TAMIS_GPU_STRUCTURE_H

#include "gpu/runtime.h"

tamis_status tamis_gpu_validate(tamis_gpu_device *device, const tamis_sparse *S);
tamis_status tamis_gpu_order_rows(tamis_gpu_device *device, const tamis_sparse *S, tamis_row_order *order);
tamis_status tamis_gpu_look(tamis_gpu_device *device, tamis_problem *problem, tamis_profile *profile);

/* The row of each nonzero: CSR -> COO. `rows` has nnz entries of the problem's index type. */
tamis_status tamis_gpu_expand_rows(tamis_gpu_device *device, void *stream, const tamis_problem *problem, void *rows);

/* Exclusive prefix sums of `count` int64 in place. `scratch` has tamis_gpu_scan_scratch(count) bytes. */
size_t tamis_gpu_scan_scratch(int64_t count);
tamis_status tamis_gpu_scan(tamis_gpu_device *device, void *stream, void *values, int64_t count, tamis_place scratch);

/*
 * Sorts keys below `limit`, stably; order is carried along. keys and order are replaced by the sorted arrays (the old
 * ones are released).
 */
tamis_status tamis_gpu_sort(tamis_gpu_device *device, int64_t count, uint64_t limit, void **keys, void **order);

#endif
