/* Host side of cached.simt. */
#ifndef TAMIS_GPU_LONG_ROWS_CACHED_H
#define TAMIS_GPU_LONG_ROWS_CACHED_H

#include "backend/cached_attention.h"

tamis_status tamis_gpu_cached_attend(const tamis_cached_job *job);

#endif
