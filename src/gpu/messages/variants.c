/* Table of the kernels, keyed by variant: frequent calls find theirs without formatting its definitions. */
#include "gpu/messages/variants.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "gpu/compile/jit.h"
#include "gpu/compile/kernel_lists.h"

static const struct {
    const char *file, *name;
} files[] = {[TAMIS_MESSAGE_SUMS] = {"message_sums.simt", "message_sums"},
             [TAMIS_MESSAGE_LARGEST] = {"message_largest.simt", "message_largest"},
             [TAMIS_MESSAGE_VECTORS] = {"message_vectors.simt", "message_vectors"},
             [TAMIS_MESSAGE_NUMBERS] = {"message_numbers.simt", "message_numbers"},
             [TAMIS_ATTENTION_KERNEL] = {"attention.simt", "graph_attention"},
             [TAMIS_ATTENTION_ROWS_KERNEL] = {"attention_rows.simt", "graph_attention_rows"},
             [TAMIS_ATTENTION_COLUMNS_KERNEL] = {"attention_columns.simt", "graph_attention_columns"},
             [TAMIS_SEGMENTS_KERNEL] = {"segments.simt", "segments"},
             [TAMIS_SEGMENTS_FINISH] = {"segments.simt", "segments_finish"},
             [TAMIS_ORDER_MERGE] = {"merge.simt", "merge_order"}};

/* All int32 up to `here`, without padding, so memcmp compares them. */
static bool same(const void *key, const void *other) {
    const tamis_message_text *const x = ((const tamis_gpu_message_variant *)key)->text;
    const tamis_message_text *const y = ((const tamis_gpu_message_variant *)other)->text;
    enum { NUMBERS = offsetof(tamis_gpu_message_variant, here) + sizeof(int32_t) };
    return memcmp(key, other, NUMBERS) == 0 && !x == !y && (x == y || tamis_message_text_same(x, y));
}

static tamis_gpu_shared_kernels variants = TAMIS_GPU_SHARED_KERNELS(tamis_gpu_message_variant, same);

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
    if (v->kernel == TAMIS_ORDER_MERGE) {
        tamis_gpu_define(&d, "ORDER", 1);
        tamis_gpu_define(&d, "KIND", v->kind);
        tamis_gpu_define(&d, "EACH", v->each);
        return d;
    }
    choice(&d, "ORDERED", v->ordered, "ordered");
    choice(&d, "PERMUTED", v->permuted, "permuted");
    if (v->kernel >= TAMIS_SEGMENTS_KERNEL) {
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
    if (v->share > 1) tamis_gpu_define(&d, "SHARE", v->share);
    if (v->by_group) tamis_gpu_define(&d, "BY_GROUP", 1);
    if (v->by_entries) tamis_gpu_define(&d, "BY_ENTRIES", 1);
    choice(&d, "TERM", v->term, "term");
    choice(&d, "NUMBERS", v->numbers, "numbers");
    choice(&d, "TAKEN", v->taken, "taken");
    if (v->kernel >= TAMIS_ATTENTION_KERNEL) {
        choice(&d, "HAS_E", v->has_e, "has_e");
        tamis_gpu_define(&d, "WHOLE", v->whole);
        if (v->stores) tamis_gpu_define(&d, "STORES", v->stores);
        return d;
    }
    if (v->text) {
        tamis_gpu_define(&d, "READS", v->reads);
        tamis_gpu_define(&d, "TURNED", v->turned);
        tamis_gpu_define(&d, "HERE", v->here);
    }
    choice(&d, "WEIGHTED", v->weighted, "weighted");
    choice(&d, "MEAN", v->mean, "mean");
    return d;
}

/* Compiles the kernel of a text, which is kept with it. */
static tamis_status get_text(tamis_gpu_device *device, tamis_gpu_message_variant variant,
                             const tamis_gpu_definitions *definitions, tamis_gpu_shared_kernel **found) {
    tamis_message_text *const kept = malloc(sizeof *kept); /* not counted, as the kernel is not */
    if (!kept) return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for a message that is a text");
    *kept = *variant.text;
    variant.text = kept;
    return tamis_gpu_shared_add_text(&variants, device, &variant, files[variant.kernel].file,
                                     files[variant.kernel].name, definitions, &kept->program, kept->scalars, kept,
                                     found);
}

static tamis_status get(tamis_gpu_device *device, const tamis_gpu_message_variant *variant,
                        tamis_gpu_shared_kernel **found) {
    *found = tamis_gpu_shared_find(&variants, device, variant);
    if (*found) return TAMIS_OK;
    const tamis_gpu_definitions definitions = define(variant);
    if (variant->text) return get_text(device, *variant, &definitions, found);
    return tamis_gpu_shared_add(&variants, device, variant, files[variant->kernel].file, files[variant->kernel].name,
                                definitions.text, 0, found);
}

tamis_status tamis_gpu_message_launch(tamis_gpu_device *device, void *stream, const tamis_gpu_message_variant *variant,
                                      const int64_t groups[2], const tamis_gpu_named *arguments) {
    tamis_gpu_shared_kernel *kernel = NULL;
    const tamis_gpu_launch grid = {.groups = {groups[0], groups[1]}, .group_size = variant->group};
    TRY(get(device, variant, &kernel));
    return tamis_gpu_shared_launch(kernel, stream, &grid, arguments);
}
