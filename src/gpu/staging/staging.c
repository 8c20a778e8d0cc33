/* Host side of staging.simt. */
#include "gpu/staging/staging.h"

#include "base/status.h"
#include "gpu/compile/utility.h"

static const char *const file = "staging.simt";

static tamis_gpu_kinds kinds_of(tamis_type type) { return (tamis_gpu_kinds){type, TAMIS_I32, TAMIS_I32}; }

tamis_status tamis_gpu_ready(void *device, tamis_type type, bool transposes, bool permutes) {
    if (transposes) TRY(tamis_gpu_utility_ready(device, file, "transpose", kinds_of(type)));
    if (permutes) TRY(tamis_gpu_utility_ready(device, file, "permute", kinds_of(type)));
    return TAMIS_OK;
}

tamis_status tamis_gpu_transpose(void *device, void *stream, const tamis_transposition *x) {
    const int64_t tiles = (x->rows + 15) / 16 * ((x->cols + 15) / 16);
    if (tiles == 0) return TAMIS_OK;
    return tamis_gpu_utility(device, stream, file, "transpose", kinds_of(x->type), tiles,
                             TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", x->rows), tamis_gpu_integer("cols", x->cols),
                                                 tamis_gpu_place("from", x->out ? x->packed : x->strided),
                                                 tamis_gpu_place("to", x->out ? x->strided : x->packed),
                                                 tamis_gpu_integer("stride", x->stride),
                                                 tamis_gpu_integer("out", x->out)));
}

tamis_status tamis_gpu_permute(void *device, void *stream, const tamis_permutation *x) {
    if (x->nnz == 0) return TAMIS_OK;
    return tamis_gpu_utility(device, stream, file, "permute", kinds_of(x->type), tamis_gpu_groups(x->nnz),
                             TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", x->nnz),
                                                 tamis_gpu_memory("permutation", x->permutation),
                                                 tamis_gpu_place("from", x->out ? x->packed : x->scattered),
                                                 tamis_gpu_place("to", x->out ? x->scattered : x->packed),
                                                 tamis_gpu_integer("out", x->out)));
}
