/* The CSR that a plan computes on, in device memory. */
#ifndef TAMIS_GPU_STRUCTURE_ORDER_H
#define TAMIS_GPU_STRUCTURE_ORDER_H

#include "gpu/structure/sort.h"

/* A CSR view with offsets from 0, and the arrays made for it; NULL if the caller's arrays serve. */
typedef struct tamis_gpu_rebased {
    tamis_sparse view;
    void *offsets, *columns;
} tamis_gpu_rebased;

/* Rebases the offsets of a slice of rows to 0; other views are unchanged. Work is enqueued in `stream`; the arrays
   belong to stream `kept`. */
tamis_status tamis_gpu_rebase(tamis_gpu_device *device, void *stream, void *kept, const tamis_sparse *S,
                              tamis_gpu_rebased *rebased);
void tamis_gpu_rebased_release(tamis_gpu_device *device, void *kept, tamis_gpu_rebased *rebased);

/* Implements order_rows of tamis_backend (src/backend/backend.h). */
tamis_status tamis_gpu_order_rows(const tamis_problem *problem, const tamis_sparse *S, bool transpose,
                                  tamis_row_order *order);

/* Writes the row of each nonzero of the problem's CSR, in its index type. */
tamis_status tamis_gpu_expand_rows(tamis_gpu_device *device, void *stream, const tamis_problem *problem, void *rows);
tamis_status tamis_gpu_expand_rows_at(tamis_gpu_device *device, void *stream, const tamis_problem *problem,
                                      tamis_place rows);

/* Compiles the kernel for that. */
tamis_status tamis_gpu_expand_rows_ready(tamis_gpu_device *device, const tamis_problem *problem);

#endif
