/* The arguments of a launch, put together in the kernel's order, and how many members of a batch it is for. */
#ifndef TAMIS_GPU_LAUNCH_CALL_H
#define TAMIS_GPU_LAUNCH_CALL_H

#include "gpu/runtime/runtime.h"

typedef struct tamis_gpu_call {
    tamis_gpu_argument arguments[48];
    int count;
    int64_t members; /* 0: one */
    bool narrow;     /* rows cannot be read in units: the kernel for that, where there is one */
} tamis_gpu_call;

static inline void tamis_gpu_add_place(tamis_gpu_call *call, tamis_place place) {
    call->arguments[call->count++] = (tamis_gpu_argument){.kind = TAMIS_GPU_PLACE, .value.place = place};
}

static inline void tamis_gpu_add_memory(tamis_gpu_call *call, const void *memory) {
    tamis_gpu_add_place(call, (tamis_place){(void *)(uintptr_t)memory, 0});
}

static inline void tamis_gpu_add_int64(tamis_gpu_call *call, int64_t value) {
    call->arguments[call->count++] = (tamis_gpu_argument){.kind = TAMIS_GPU_INT64, .value.int64 = value};
}

static inline void tamis_gpu_add_int32(tamis_gpu_call *call, int32_t value) {
    call->arguments[call->count++] = (tamis_gpu_argument){.kind = TAMIS_GPU_INT32, .value.int32 = value};
}

/* A kernel's `real`: fp64 for fp64, else fp32. */
static inline void tamis_gpu_add_real(tamis_gpu_call *call, tamis_type type, double value) {
    if (type == TAMIS_F64)
        call->arguments[call->count++] = (tamis_gpu_argument){.kind = TAMIS_GPU_FLOAT64, .value.float64 = value};
    else
        call->arguments[call->count++] = (tamis_gpu_argument){.kind = TAMIS_GPU_FLOAT32, .value.float32 = (float)value};
}

#endif
