/* NCCL: NVIDIA's library for messages between GPUs. */
#ifndef TAMIS_GPU_RUNTIME_NCCL_H
#define TAMIS_GPU_RUNTIME_NCCL_H

#include "backend/backend.h"

extern const tamis_messenger tamis_nccl_messenger;

#endif
