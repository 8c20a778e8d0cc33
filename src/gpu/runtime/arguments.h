/*
 * The arguments of a launch. They are bound by name to the kernel's parameters. A parameter without an argument, an
 * argument without a parameter, or a wrong kind is an error of the launch.
 */
#ifndef TAMIS_GPU_RUNTIME_ARGUMENTS_H
#define TAMIS_GPU_RUNTIME_ARGUMENTS_H

#include "gpu/runtime/runtime.h"

/* An argument by name. Integers are converted to the 32 or 64 bits that the kernel takes, reals to its fp32 or fp64. */
typedef struct tamis_gpu_named {
    const char *name; /* NULL: the end of a list */
    enum { TAMIS_GPU_IS_PLACE, TAMIS_GPU_IS_INTEGER, TAMIS_GPU_IS_REAL, TAMIS_GPU_IS_TILES } kind;
    union {
        tamis_place place;
        int64_t integer;
        double real;
        const tamis_gpu_tiles *tiles;
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

static inline tamis_gpu_named tamis_gpu_tiles_of(const char *name, const tamis_gpu_tiles *tiles) {
    return (tamis_gpu_named){.name = name, .kind = TAMIS_GPU_IS_TILES, .value.tiles = tiles};
}

/* A terminated list of arguments. */
#define TAMIS_GPU_ARGUMENTS(...) ((const tamis_gpu_named[]){__VA_ARGS__, {.name = NULL}})

/* The named arrays of a text, as kernels take them: n0, n0_batch_stride, n1, .... */
typedef struct tamis_gpu_arrays {
    tamis_place at[TAMIS_PROGRAM_ARRAYS];
    int64_t batch_stride[TAMIS_PROGRAM_ARRAYS];
    int64_t kinds; /* four bits for each, TAMIS_GPU_KIND_... */
} tamis_gpu_arrays;
enum { TAMIS_GPU_KIND_THERE = 1, TAMIS_GPU_KIND_REALS = 2, TAMIS_GPU_KIND_SCATTERED = 4 }; /* as in dialect/texts.h */

/* The kind of an array in a kernel of that type. */
int32_t tamis_gpu_array_kind(const tamis_edge_array *array, tamis_type type);

/* Describes an execution's arrays; `named` may be NULL if the text has none. */
tamis_gpu_arrays tamis_gpu_arrays_of(const tamis_edge_text *text, const tamis_edge_array *named, tamis_type type);

/* Fills arguments; returns how many they are. */
int tamis_gpu_add_arrays(const tamis_gpu_arrays *arrays, tamis_gpu_named *to);

/*
 * Arguments that kernels of plans take by these very names: the problem, the operands of one execution, the edge. A
 * method changes those that differ in its launch before it passes them on. `wide` is defined with SDDMM_PARAMETERS of
 * the dialect; `pairs`, `pairs_batch_stride` and `keeps` belong to softmax_rows.
 */
typedef struct tamis_gpu_common {
    int64_t rows, cols, nnz, inner, width;
    tamis_place offsets, columns, values, a, b, d, out, pairs;
    int64_t a_stride, b_stride, d_stride, out_stride;
    int64_t values_batch_stride, a_batch_stride, b_batch_stride, d_batch_stride, out_batch_stride, scratch_batch_stride,
        pairs_batch_stride;
    int64_t edge_kind, has_values, wide, keeps;
    double edge_scale, edge_slope, edge_epsilon, alpha, beta;
    int64_t members;      /* members of a batch, one or more: the grid's z */
    int64_t first_member; /* the number of the first one, and arrays: texts read them */
    tamis_gpu_arrays arrays;
} tamis_gpu_common;

/* Finds the signature's parameters that are fields of tamis_gpu_common. */
void tamis_gpu_signature_common(tamis_gpu_signature *signature);

/* Binds the arguments: puts them into the kernel's order. `common` and `own` may be NULL, and must not share a name.
   `values` has room for TAMIS_GPU_PARAMETERS_MOST. */
tamis_status tamis_gpu_bind(const tamis_gpu_kernel *kernel, const tamis_gpu_common *common, const tamis_gpu_named *own,
                            tamis_gpu_argument *values);

#endif
