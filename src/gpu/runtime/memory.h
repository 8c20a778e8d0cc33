/* Memory of a device. */
#ifndef TAMIS_GPU_RUNTIME_MEMORY_H
#define TAMIS_GPU_RUNTIME_MEMORY_H

#include "gpu/runtime/runtime.h"

/* Memory of the device, counted and made to fail by tests like the host's; `stream` as in backend/backend.h. What the
   platform refuses to release stays counted, and is released when it no longer refuses. */
tamis_status tamis_gpu_allocate(tamis_gpu_device *device, void *stream, size_t bytes, const char *what, void **memory);
void tamis_gpu_release(tamis_gpu_device *device, void *stream, void *memory);

#endif
