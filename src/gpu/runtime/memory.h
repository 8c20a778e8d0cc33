/* Memory of a device. */
#ifndef TAMIS_GPU_RUNTIME_MEMORY_H
#define TAMIS_GPU_RUNTIME_MEMORY_H

#include "gpu/runtime/runtime.h"

/* Device memory, counted, with failures injected by tests as for host memory; `stream` as in backend/backend.h. Memory
   whose release the platform refuses stays counted, and is released later. */
tamis_status tamis_gpu_allocate(tamis_gpu_device *device, void *stream, size_t bytes, const char *what, void **memory);
void tamis_gpu_release(tamis_gpu_device *device, void *stream, void *memory);

#endif
