/* Builds the patterns of masks (tamis/mask.h) in device memory: see mask_offsets and mask_columns in
   backend/backend.h. */
#ifndef TAMIS_GPU_MASK_MASK_H
#define TAMIS_GPU_MASK_MASK_H

#include <tamis/mask.h>

tamis_status tamis_gpu_mask_offsets(void *device, void *stream, int threads, const tamis_mask *mask,
                                    tamis_index_type offset_type, void *offsets, int64_t *nnz);
tamis_status tamis_gpu_mask_columns(void *device, void *stream, int threads, const tamis_mask *mask,
                                    tamis_index_type offset_type, const void *offsets, tamis_index_type index_type,
                                    void *columns);

#endif
