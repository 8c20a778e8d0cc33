/* The GPU backends: one set of algorithms over two runtimes. */
#ifndef TAMIS_GPU_BACKEND_H
#define TAMIS_GPU_BACKEND_H

#include "backend/backend.h"

extern const tamis_backend tamis_cuda_backend, tamis_opencl_backend;

#endif
