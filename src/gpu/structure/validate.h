/* Checks a pattern on the device, for calls that need nothing else. */
#ifndef TAMIS_GPU_STRUCTURE_VALIDATE_H
#define TAMIS_GPU_STRUCTURE_VALIDATE_H

#include "backend/backend.h"

/* Implements validate of tamis_backend (src/backend/backend.h). */
tamis_status tamis_gpu_validate(void *device, void *stream, int threads, const tamis_sparse *S);

#endif
