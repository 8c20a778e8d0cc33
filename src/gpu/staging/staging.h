/* Converts operands to the kernels' layout and back, in device memory. */
#ifndef TAMIS_GPU_STAGING_STAGING_H
#define TAMIS_GPU_STAGING_STAGING_H

#include "backend/backend.h"

tamis_status tamis_gpu_ready(void *device, tamis_type type, bool transposes, bool permutes);
tamis_status tamis_gpu_transpose(void *device, void *stream, const tamis_transposition *transposition);
tamis_status tamis_gpu_permute(void *device, void *stream, const tamis_permutation *permutation);
tamis_status tamis_gpu_gather(void *device, void *stream, const tamis_gathering *gathering);
tamis_status tamis_gpu_add_rows(void *device, void *stream, const tamis_row_sum *sum);
tamis_status tamis_gpu_add_rows_ready(void *device, tamis_type type); /* compiles its kernel */

#endif
