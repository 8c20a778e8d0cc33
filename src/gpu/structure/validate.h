/* Checks a pattern on the device, for calls that want nothing else. */
#ifndef TAMIS_GPU_STRUCTURE_VALIDATE_H
#define TAMIS_GPU_STRUCTURE_VALIDATE_H

#include "backend/backend.h"

/* As src/backend/backend.h asks for it. */
tamis_status tamis_gpu_validate(void *device, void *stream, int threads, const tamis_sparse *S);

#endif
