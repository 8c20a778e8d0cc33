/*
 * The arguments of a launch. They have the names of the kernel's parameters in its text. A parameter without an
 * argument, an argument without a parameter, or a wrong kind is an error of the launch.
 */
#ifndef TAMIS_GPU_RUNTIME_ARGUMENTS_H
#define TAMIS_GPU_RUNTIME_ARGUMENTS_H

#include "gpu/runtime/runtime.h"

/* One argument by name. Integers become the 32 or 64 bits that the kernel takes, reals its fp32 or fp64. */
typedef struct tamis_gpu_named {
    const char *name; /* NULL: the end of a list */
    enum { TAMIS_GPU_IS_PLACE, TAMIS_GPU_IS_INTEGER, TAMIS_GPU_IS_REAL } kind;
    union {
        tamis_place place;
        int64_t integer;
        double real;
    } value;
} tamis_gpu_named;

static inline tamis_gpu_named tamis_gpu_place(const char *name, tamis_place place) {
    return (tamis_gpu_named){.name = name, .kind = TAMIS_GPU_IS_PLACE, .value.place = place};
}

static inline tamis_gpu_named tamis_gpu_memory(const char *name, const void *memory) {
    return tamis_gpu_place(name, (tamis_place){(void *)(uintptr_t)memory, 0});
}

static inline tamis_gpu_named tamis_gpu_integer(const char *name, int64_t value) {
    return (tamis_gpu_named){.name = name, .kind = TAMIS_GPU_IS_INTEGER, .value.integer = value};
}

static inline tamis_gpu_named tamis_gpu_real(const char *name, double value) {
    return (tamis_gpu_named){.name = name, .kind = TAMIS_GPU_IS_REAL, .value.real = value};
}

/* A list of them, ended. */
#define TAMIS_GPU_ARGUMENTS(...) ((const tamis_gpu_named[]){__VA_ARGS__, {.name = NULL}})

/*
 * What kernels of plans may take by these very names: the problem, the operands of one execution, the edge. A method
 * changes what its launch has otherwise before it hands it on. `wide` is as SDDMM_PARAMETERS of the dialect has it;
 * `pairs`, `pairs_batch_stride` and `keeps` are of softmax_rows.
 */
typedef struct tamis_gpu_common {
    int64_t rows, cols, nnz, inner, width;
    tamis_place offsets, columns, values, a, b, d, out, pairs;
    int64_t a_stride, b_stride, d_stride, out_stride;
    int64_t values_batch_stride, a_batch_stride, b_batch_stride, d_batch_stride, out_batch_stride, scratch_batch_stride,
        pairs_batch_stride;
    int64_t edge_kind, has_values, wide, keeps;
    double edge_scale, edge_slope, edge_epsilon, alpha, beta;
    int64_t members; /* of a batch, one or more: the grid's z */
} tamis_gpu_common;

/* Looks up what of a signature those are. */
void tamis_gpu_signature_common(tamis_gpu_signature *signature);

/* Puts the arguments into the kernel's order. `common` and `own` may be NULL; a name is in one of them. `values` has
   room for TAMIS_GPU_PARAMETERS_MOST. */
tamis_status tamis_gpu_bind(const tamis_gpu_kernel *kernel, const tamis_gpu_common *common, const tamis_gpu_named *own,
                            tamis_gpu_argument *values);

#endif
