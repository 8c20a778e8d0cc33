#include "gpu/compile/utility.h"

#include <string.h>

#include "base/status.h"
#include "gpu/compile/definitions.h"
#include "gpu/compile/jit.h"
#include "gpu/compile/kernel_lists.h"
#include "gpu/compile/requests.h"

typedef struct utility {
    const char *file, *name; /* string literals of the callers */
    tamis_gpu_kinds kinds;
} utility;

static bool same(const void *key, const void *other) {
    const utility *const x = key, *const y = other;
    return x->kinds.type == y->kinds.type && x->kinds.index == y->kinds.index && x->kinds.offset == y->kinds.offset &&
           strcmp(x->name, y->name) == 0 && strcmp(x->file, y->file) == 0;
}

static tamis_gpu_shared_kernels utilities = TAMIS_GPU_SHARED_KERNELS(utility, same);

static tamis_gpu_definitions define(const tamis_gpu_device *device, tamis_gpu_kinds kinds) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define(&definitions, "GROUP", TAMIS_GPU_GROUP);
    tamis_gpu_define(&definitions, "TEAM", 32);
    tamis_gpu_define_kinds(&definitions, kinds);
    if (device->limits.has_fp64) tamis_gpu_define(&definitions, "HAS_FP64", 1);
    return definitions;
}

static tamis_status get(tamis_gpu_device *device, const char *file, const char *name, tamis_gpu_kinds kinds,
                        tamis_gpu_shared_kernel **found) {
    const utility key = {file, name, kinds};
    *found = tamis_gpu_shared_find(&utilities, device, &key);
    if (*found) return TAMIS_OK;
    const tamis_gpu_definitions definitions = define(device, kinds);
    return tamis_gpu_shared_add(&utilities, device, &key, file, name, definitions.text, 0, found);
}

tamis_status tamis_gpu_utility(tamis_gpu_device *device, void *stream, const char *file, const char *name,
                               tamis_gpu_kinds kinds, int64_t groups, const tamis_gpu_named *arguments) {
    tamis_gpu_shared_kernel *kernel = NULL;
    const tamis_gpu_launch grid = {.groups = {groups, 1}, .group_size = TAMIS_GPU_GROUP};
    TRY(get(device, file, name, kinds, &kernel));
    return tamis_gpu_shared_launch(kernel, stream, &grid, arguments);
}

tamis_status tamis_gpu_utility_ready(tamis_gpu_device *device, const char *file, const char *name,
                                     tamis_gpu_kinds kinds) {
    tamis_gpu_shared_kernel *kernel = NULL;
    return get(device, file, name, kinds, &kernel);
}

tamis_status tamis_gpu_utility_known(tamis_gpu_device *device, const char *file, tamis_gpu_kinds kinds, bool on_disk,
                                     bool *known) {
    const tamis_gpu_definitions definitions = define(device, kinds);
    *known = tamis_gpu_is_compiled(device, file, definitions.text);
    return *known || !on_disk ? TAMIS_OK : tamis_gpu_is_on_disk(device, file, definitions.text, known);
}

tamis_status tamis_gpu_utility_early(tamis_gpu_device *device, const char *file, const char *name,
                                     tamis_gpu_kinds kinds, tamis_gpu_kernel **early) {
    const utility key = {file, name, kinds};
    const tamis_gpu_definitions definitions = define(device, kinds);
    *early = NULL;
    if (tamis_gpu_shared_find(&utilities, device, &key)) return TAMIS_OK;
    return tamis_gpu_request_kernel(device, file, definitions.text, name, 0, early);
}

tamis_status tamis_gpu_check_type(const tamis_gpu_device *device, tamis_type type) {
    if (type != TAMIS_F64 || device->limits.has_fp64) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "type = %s: %s has no fp64 arithmetic", tamis_type_name(type),
                      device->limits.name);
}

int64_t tamis_gpu_groups(int64_t count) {
    const int64_t groups = (count + TAMIS_GPU_GROUP - 1) / TAMIS_GPU_GROUP;
    return groups < 1 ? 1 : groups > 65535 ? 65535 : groups;
}
