/* The CSR that a plan computes on, in device memory. */
#ifndef TAMIS_GPU_STRUCTURE_ORDER_H
#define TAMIS_GPU_STRUCTURE_ORDER_H

#include "gpu/structure/sort.h"

/* A CSR view with offsets from 0, and what was made for it; NULL where the caller's arrays serve. */
typedef struct tamis_gpu_rebased {
    tamis_sparse view;
    void *offsets, *columns;
} tamis_gpu_rebased;

/* Moves the offsets of a slice of rows to 0; any other view stays as it is. Work goes into `stream`; the arrays are of
 * stream `kept`. */
tamis_status tamis_gpu_rebase(tamis_gpu_device *device, void *stream, void *kept, const tamis_sparse *S,
                              tamis_gpu_rebased *rebased);
void tamis_gpu_rebased_release(tamis_gpu_device *device, void *kept, tamis_gpu_rebased *rebased);

/* An entry of tamis_backend (src/backend/backend.h). */
tamis_status tamis_gpu_order_rows(const tamis_problem *problem, const tamis_sparse *S, bool transpose,
                                  tamis_row_order *order);

/* The row of each nonzero of the problem's CSR, of its index type. */
tamis_status tamis_gpu_expand_rows(tamis_gpu_device *device, void *stream, const tamis_problem *problem, void *rows);
tamis_status tamis_gpu_expand_rows_at(tamis_gpu_device *device, void *stream, const tamis_problem *problem,
                                      tamis_place rows);

/* Compiles what that takes. */
tamis_status tamis_gpu_expand_rows_ready(tamis_gpu_device *device, const tamis_problem *problem);

#endif
