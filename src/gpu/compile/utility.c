/* The table of shared kernels. */
#include "gpu/compile/utility.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "gpu/compile/definitions.h"
#include "gpu/compile/jit.h"
#include "gpu/compile/requests.h"

typedef struct entry {
    struct entry *next;
    const tamis_gpu_device *device;
    const char *file, *name; /* string literals of the callers */
    tamis_gpu_kinds kinds;
    tamis_gpu_kernel *kernel;
    pthread_mutex_t launching; /* a kernel is used by one thread at a time */
} entry;

/* For the life of the process, and so not counted; added to at the front, under the lock. A device's are in one list.
 */
enum { LISTS = 64 };
static entry *entries[LISTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool same(const tamis_gpu_kinds *x, const tamis_gpu_kinds *y) {
    return x->type == y->type && x->index == y->index && x->offset == y->offset;
}

static entry **list_of(const tamis_gpu_device *device) { return &entries[device->number % LISTS]; }

static entry *find(const tamis_gpu_device *device, const char *file, const char *name, tamis_gpu_kinds kinds) {
    entry *e = __atomic_load_n(list_of(device), __ATOMIC_ACQUIRE);
    for (; e; e = e->next)
        if (e->device == device && same(&e->kinds, &kinds) && strcmp(e->name, name) == 0 && strcmp(e->file, file) == 0)
            return e;
    return NULL;
}

/* Another thread may have added it meanwhile: then this thread releases its own. */
static entry *add(entry *made) {
    pthread_mutex_lock(&lock);
    entry *const other = find(made->device, made->file, made->name, made->kinds);
    if (!other) {
        made->next = *list_of(made->device);
        __atomic_store_n(list_of(made->device), made, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    if (!other) return made;
    tamis_gpu_kernel_release(made->kernel);
    pthread_mutex_destroy(&made->launching);
    free(made);
    return other;
}

static tamis_gpu_definitions define(const tamis_gpu_device *device, tamis_gpu_kinds kinds) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define(&definitions, "GROUP", TAMIS_GPU_GROUP);
    tamis_gpu_define(&definitions, "TEAM", 32);
    tamis_gpu_define_kinds(&definitions, kinds);
    if (device->limits.has_fp64) tamis_gpu_define(&definitions, "HAS_FP64", 1);
    return definitions;
}

static tamis_status get(tamis_gpu_device *device, const char *file, const char *name, tamis_gpu_kinds kinds,
                        entry **found) {
    tamis_gpu_kernel *kernel = NULL;
    *found = find(device, file, name, kinds);
    if (*found) return TAMIS_OK;
    const tamis_gpu_definitions definitions = define(device, kinds);
    TRY(tamis_gpu_kernel_get(device, file, definitions.text, name, 0, &kernel));
    entry *const made = malloc(sizeof *made);
    if (!made) {
        tamis_gpu_kernel_release(kernel);
        return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for kernel %s", name);
    }
    *made = (entry){.device = device, .file = file, .name = name, .kinds = kinds, .kernel = kernel};
    pthread_mutex_init(&made->launching, NULL);
    *found = add(made);
    return TAMIS_OK;
}

tamis_status tamis_gpu_utility(tamis_gpu_device *device, void *stream, const char *file, const char *name,
                               tamis_gpu_kinds kinds, int64_t groups, const tamis_gpu_named *arguments) {
    entry *e = NULL;
    tamis_gpu_argument values[TAMIS_GPU_PARAMETERS_MOST];
    const tamis_gpu_launch grid = {.groups = {groups, 1}, .group_size = TAMIS_GPU_GROUP};
    TRY(get(device, file, name, kinds, &e));
    TRY(tamis_gpu_bind(e->kernel, NULL, arguments, values));
    pthread_mutex_lock(&e->launching);
    const tamis_status status =
        device->runtime->launch(device, stream, e->kernel, &grid, values, e->kernel->signature->count);
    pthread_mutex_unlock(&e->launching);
    return status;
}

tamis_status tamis_gpu_utility_ready(tamis_gpu_device *device, const char *file, const char *name,
                                     tamis_gpu_kinds kinds) {
    entry *e = NULL;
    return get(device, file, name, kinds, &e);
}

tamis_status tamis_gpu_utility_known(tamis_gpu_device *device, const char *file, tamis_gpu_kinds kinds, bool on_disk,
                                     bool *known) {
    const tamis_gpu_definitions definitions = define(device, kinds);
    *known = tamis_gpu_is_compiled(device, file, definitions.text);
    return *known || !on_disk ? TAMIS_OK : tamis_gpu_is_on_disk(device, file, definitions.text, known);
}

tamis_status tamis_gpu_utility_early(tamis_gpu_device *device, const char *file, const char *name,
                                     tamis_gpu_kinds kinds, tamis_gpu_kernel **early) {
    const tamis_gpu_definitions definitions = define(device, kinds);
    *early = NULL;
    return find(device, file, name, kinds) ? TAMIS_OK
                                           : tamis_gpu_request_kernel(device, file, definitions.text, name, 0, early);
}

int64_t tamis_gpu_groups(int64_t count) {
    const int64_t groups = (count + TAMIS_GPU_GROUP - 1) / TAMIS_GPU_GROUP;
    return groups < 1 ? 1 : groups > 65535 ? 65535 : groups;
}
