/* The kernels of the fused network on edges: compiled on first use for the exact case, and kept for the process. */
#ifndef TAMIS_GPU_EDGE_NETWORK_VARIANTS_H
#define TAMIS_GPU_EDGE_NETWORK_VARIANTS_H

#include "gpu/runtime/arguments.h"

typedef enum tamis_network_kernel {
    TAMIS_NETWORK_FORWARD,
    TAMIS_NETWORK_RECOMPUTE,
    TAMIS_NETWORK_DESCEND,
    TAMIS_NETWORK_WEIGHTS,
    TAMIS_NETWORK_BACK,
    TAMIS_NETWORK_FIRST_LAYER,
    TAMIS_NETWORK_PACK,
    TAMIS_NETWORK_JOIN,
    TAMIS_NETWORK_ADD
} tamis_network_kernel;

/* The constants of kernels: NAME(definition, field) each; all are numbers. A kernel ignores those it does not know. */
#define TAMIS_NETWORK_CONSTANTS(NAME)                                                                                  \
    NAME(ELEMENT, element)                                                                                             \
    NAME(INDEX, index)                                                                                                 \
    NAME(OFFSET, offset)                                                                                               \
    NAME(PLACE, place)                                                                                                 \
    NAME(GROUP, group)                                                                                                 \
    NAME(GROUPS, groups)                                                                                               \
    NAME(MMA, mma)                                                                                                     \
    NAME(FACTORS_BF16, bf16)                                                                                           \
    NAME(TOGETHER_64, together)                                                                                        \
    NAME(TF32, tf32)                                                                                                   \
    NAME(INNER, inner)                                                                                                 \
    NAME(HIDDEN, hidden)                                                                                               \
    NAME(WIDTH, width)                                                                                                 \
    NAME(LAYERS, layers)                                                                                               \
    NAME(ACTIVATION, activation)                                                                                       \
    NAME(NORMALISE, normalise)                                                                                         \
    NAME(RESIDUAL, residual)                                                                                           \
    NAME(MEAN, mean)                                                                                                   \
    NAME(SUM_UPDATE, update)                                                                                           \
    NAME(PERMUTED, permuted)                                                                                           \
    NAME(STAGED, staged)                                                                                               \
    NAME(HAS_P, has_p)                                                                                                 \
    NAME(HAS_Q, has_q)                                                                                                 \
    NAME(HAS_B1, has_b1)                                                                                               \
    NAME(HAS_EDGES, has_edges)                                                                                         \
    NAME(HAS_OUT, has_out)                                                                                             \
    NAME(HAS_D_EDGES, has_d_edges)                                                                                     \
    NAME(HAS_D_OUT, has_d_out)                                                                                         \
    NAME(HAS_D_GAIN, has_d_gain)                                                                                       \
    NAME(HAS_DE, has_de)                                                                                               \
    NAME(HAS_DW, has_dw)                                                                                               \
    NAME(WIDE_STORES, wide_stores)

#define TAMIS_NETWORK_FIELD(definition, field) int32_t field;
typedef struct tamis_network_variant {
    int32_t kernel; /* tamis_network_kernel */
    TAMIS_NETWORK_CONSTANTS(TAMIS_NETWORK_FIELD)
} tamis_network_variant;

/* Launches the variant; the list of arguments ends with one without a name. */
tamis_status tamis_network_launch(tamis_gpu_device *device, void *stream, const tamis_network_variant *variant,
                                  int64_t groups, int64_t groups_y, int64_t shared_bytes,
                                  const tamis_gpu_named *arguments);

#endif
