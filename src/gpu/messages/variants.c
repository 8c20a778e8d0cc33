/* The table of these kernels: calls come often, and find theirs without making a text of its definitions. */
#include "gpu/messages/variants.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "gpu/compile/jit.h"

static const struct {
    const char *file, *name;
} files[] = {[TAMIS_MESSAGE_SUMS] = {"message_sums.simt", "message_sums"},
             [TAMIS_MESSAGE_LARGEST] = {"message_largest.simt", "message_largest"},
             [TAMIS_MESSAGE_MERGE] = {"message_merge.simt", "message_merge"},
             [TAMIS_MESSAGE_VECTORS] = {"message_vectors.simt", "message_vectors"},
             [TAMIS_MESSAGE_NUMBERS] = {"message_numbers.simt", "message_numbers"},
             [TAMIS_ATTENTION_KERNEL] = {"attention.simt", "graph_attention"},
             [TAMIS_ATTENTION_ROWS_KERNEL] = {"attention_rows.simt", "graph_attention_rows"},
             [TAMIS_ATTENTION_COLUMNS_KERNEL] = {"attention_columns.simt", "graph_attention_columns"},
             [TAMIS_SEGMENTS_KERNEL] = {"segments.simt", "segments"}};

typedef struct entry {
    struct entry *next;
    const tamis_gpu_device *device;
    tamis_gpu_message_variant variant; /* nothing but int32: compared as bytes */
    tamis_gpu_kernel *kernel;
    pthread_mutex_t launching; /* a kernel is used by one thread at a time */
} entry;

/* For the life of the process, and so not counted; added to at the front, under the lock. */
static entry *entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static entry *find(const tamis_gpu_device *device, const tamis_gpu_message_variant *variant) {
    entry *e = __atomic_load_n(&entries, __ATOMIC_ACQUIRE);
    while (e && (e->device != device || memcmp(&e->variant, variant, sizeof *variant) != 0)) e = e->next;
    return e;
}

/* Another thread may have added it meanwhile: then this thread releases its own. */
static entry *add(entry *made) {
    pthread_mutex_lock(&lock);
    entry *const other = find(made->device, &made->variant);
    if (!other) {
        made->next = entries;
        __atomic_store_n(&entries, made, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    if (!other) return made;
    tamis_gpu_kernel_release(made->kernel);
    pthread_mutex_destroy(&made->launching);
    free(made);
    return other;
}

static void choice(tamis_gpu_definitions *definitions, const char *name, int32_t value, const char *argument) {
    if (value < 0)
        tamis_gpu_define_text(definitions, name, argument);
    else
        tamis_gpu_define(definitions, name, value);
}

static tamis_gpu_definitions define(const tamis_gpu_message_variant *v) {
    tamis_gpu_definitions d = {.used = 0};
    tamis_gpu_define(&d, "GROUP", v->group);
    tamis_gpu_define(&d, "TEAM", v->team);
    tamis_gpu_define(&d, "ELEMENT", v->element);
    tamis_gpu_define(&d, "INDEX", v->index);
    tamis_gpu_define(&d, "OFFSET", v->offset);
    tamis_gpu_define(&d, "ARGUMENT", v->argument);
    if (v->kernel == TAMIS_MESSAGE_MERGE) return d;
    if (v->kernel == TAMIS_SEGMENTS_KERNEL) {
        tamis_gpu_define(&d, "OP", v->op);
        tamis_gpu_define(&d, "BACK", v->back);
        return d;
    }
    tamis_gpu_define(&d, "OTHER", v->other);
    tamis_gpu_define(&d, "UNIT", v->unit);
    tamis_gpu_define(&d, "UNITS", v->units);
    tamis_gpu_define(&d, "FULL", v->full);
    tamis_gpu_define(&d, "LOADS", v->loads);
    tamis_gpu_define(&d, "NEAR", v->near);
    choice(&d, "TERM", v->term, "term");
    choice(&d, "NUMBERS", v->numbers, "numbers");
    choice(&d, "TAKEN", v->taken, "taken");
    choice(&d, "PERMUTED", v->permuted, "permuted");
    if (v->kernel >= TAMIS_ATTENTION_KERNEL) {
        choice(&d, "HAS_E", v->has_e, "has_e");
        tamis_gpu_define(&d, "WHOLE", v->whole);
        return d;
    }
    choice(&d, "WEIGHTED", v->weighted, "weighted");
    choice(&d, "MEAN", v->mean, "mean");
    return d;
}

static tamis_status get(tamis_gpu_device *device, const tamis_gpu_message_variant *variant, entry **found) {
    tamis_gpu_kernel *kernel = NULL;
    *found = find(device, variant);
    if (*found) return TAMIS_OK;
    const tamis_gpu_definitions definitions = define(variant);
    const char *const name = files[variant->kernel].name;
    TRY(tamis_gpu_kernel_get(device, files[variant->kernel].file, definitions.text, name, 0, &kernel));
    entry *const made = malloc(sizeof *made);
    if (!made) {
        tamis_gpu_kernel_release(kernel);
        return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for kernel %s", name);
    }
    *made = (entry){.device = device, .variant = *variant, .kernel = kernel};
    pthread_mutex_init(&made->launching, NULL);
    *found = add(made);
    return TAMIS_OK;
}

tamis_status tamis_gpu_message_launch(tamis_gpu_device *device, void *stream, const tamis_gpu_message_variant *variant,
                                      const int64_t groups[2], const tamis_gpu_named *arguments) {
    entry *e = NULL;
    tamis_gpu_argument values[TAMIS_GPU_PARAMETERS_MOST];
    const tamis_gpu_launch grid = {.groups = {groups[0], groups[1]}, .group_size = variant->group};
    TRY(get(device, variant, &e));
    TRY(tamis_gpu_bind(e->kernel, NULL, arguments, values));
    pthread_mutex_lock(&e->launching);
    const tamis_status status =
        device->runtime->launch(device, stream, e->kernel, &grid, values, e->kernel->signature->count);
    pthread_mutex_unlock(&e->launching);
    return status;
}
