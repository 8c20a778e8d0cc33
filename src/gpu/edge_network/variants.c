#include "gpu/edge_network/variants.h"

#include <string.h>

#include "base/status.h"
#include "gpu/compile/jit.h"
#include "gpu/compile/kernel_lists.h"

static const struct {
    const char *file, *name;
} files[] = {[TAMIS_NETWORK_FORWARD] = {"network_forward.cu", "network_forward"},
             [TAMIS_NETWORK_RECOMPUTE] = {"network_recompute.cu", "network_recompute"},
             [TAMIS_NETWORK_DESCEND] = {"network_descend.cu", "network_descend"},
             [TAMIS_NETWORK_WEIGHTS] = {"network_weights.cu", "network_weights"},
             [TAMIS_NETWORK_BACK] = {"network_back.cu", "network_back"},
             [TAMIS_NETWORK_FIRST_LAYER] = {"network_first_layer.cu", "network_first_layer"},
             [TAMIS_NETWORK_PACK] = {"network_pack.cu", "network_pack"},
             [TAMIS_NETWORK_JOIN] = {"network_join.cu", "network_join"},
             [TAMIS_NETWORK_ADD] = {"network_add.cu", "network_add"}};

/* All int32, without padding. */
static bool same(const void *key, const void *other) { return memcmp(key, other, sizeof(tamis_network_variant)) == 0; }

static tamis_gpu_shared_kernels kernels = TAMIS_GPU_SHARED_KERNELS(tamis_network_variant, same);

#define DEFINE(definition, field) tamis_gpu_define(&definitions, #definition, v->field);

static tamis_status get(tamis_gpu_device *device, const tamis_network_variant *v, int64_t shared_bytes,
                        tamis_gpu_shared_kernel **found) {
    tamis_gpu_definitions definitions = {.used = 0};
    *found = tamis_gpu_shared_find(&kernels, device, v);
    if (*found) return TAMIS_OK;
    TAMIS_NETWORK_CONSTANTS(DEFINE)
    tamis_gpu_define(&definitions, "TEAM", 32);
    return tamis_gpu_shared_add(&kernels, device, v, files[v->kernel].file, files[v->kernel].name, definitions.text,
                                shared_bytes, found);
}

tamis_status tamis_network_launch(tamis_gpu_device *device, void *stream, const tamis_network_variant *variant,
                                  int64_t groups, int64_t groups_y, int64_t shared_bytes,
                                  const tamis_gpu_named *arguments) {
    tamis_gpu_shared_kernel *kernel = NULL;
    const tamis_gpu_launch grid = {
        .groups = {groups, groups_y}, .group_size = variant->group, .shared_bytes = shared_bytes};
    TRY(get(device, variant, shared_bytes, &kernel));
    return tamis_gpu_shared_launch(kernel, stream, &grid, arguments);
}
