/* Names of types, operations, algorithms, devices, ... as options take them. */
#include "choices.h"

#include <string.h>
#include <tamis/algorithms.h>
#include <tamis/generate.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>

int tool_choices_find(const tool_choices *choices, const char *name, size_t length) {
    for (int i = 0; choices->name(i); i++) {
        const char *candidate = choices->name(i);
        if (strlen(candidate) == length && memcmp(candidate, name, length) == 0) return i;
    }
    return -1;
}

static const char *pick(const char *const *names, int count, int index) {
    return index >= 0 && index < count ? names[index] : NULL;
}

static const char *type_at(int i) { return i <= TAMIS_BF16 ? tamis_type_name((tamis_type)i) : NULL; }
static const char *model_type_at(int i) { return i <= TAMIS_F64 ? tamis_type_name((tamis_type)i) : NULL; }
static const char *operation_at(int i) { return i <= TAMIS_OP_FUSED ? tamis_operation_name((tamis_operation)i) : NULL; }
static const char *edge_at(int i) { return i <= TAMIS_EDGE_SOFTMAX ? tamis_edge_name((tamis_edge)i) : NULL; }
static const char *format_at(int i) { return i <= TAMIS_COO ? tamis_format_name((tamis_format)i) : NULL; }
static const char *index_at(int i) { return i <= TAMIS_I64 ? tamis_index_type_name((tamis_index_type)i) : NULL; }
static const char *kind_at(int i) { return i <= TAMIS_KIND_WINDOW ? tamis_kind_name((tamis_kind)i) : NULL; }

static const char *layout_at(int i) {
    static const char *const names[] = {"row", "column"};
    return pick(names, 2, i);
}

static const char *math_at(int i) {
    static const char *const names[] = {"exact", "tf32"};
    return pick(names, 2, i);
}

static const char *effort_at(int i) {
    static const char *const names[] = {"estimate", "measure"};
    return pick(names, 2, i);
}

static const char *file_format_at(int i) {
    return i <= TAMIS_FILE_NPZ ? tamis_file_format_name((tamis_file_format)i) : NULL;
}

static const char *values_at(int i) {
    static const char *const names[] = {"as-filed", "none", "ones"};
    return pick(names, 3, i);
}

static const char *duplicates_at(int i) {
    static const char *const names[] = {"keep", "sum", "last"};
    return pick(names, 3, i);
}

static const char *repeat_at(int i) {
    static const char *const names[] = {"last", "sum"};
    return pick(names, 2, i);
}

static const char *overlap_at(int i) {
    static const char *const names[] = {"auto", "never", "always"};
    return pick(names, 3, i);
}

static const char *exchange_at(int i) {
    static const char *const names[] = {"auto", "1d-fetch", "static-split"};
    return pick(names, 3, i);
}

static const char *link_at(int i) {
    static const char *const names[] = {"copies", "nccl"};
    return pick(names, 2, i);
}

static const char *operand_values_at(int i) {
    static const char *const names[] = {"as-filed", "none", "random"};
    return pick(names, 3, i);
}

/* Whether an earlier algorithm has that name: families of devices may use the same one. */
static bool named_before(int number, const char *name) {
    tamis_algorithm_description description;
    for (int i = 0; i < number; i++) {
        if (tamis_algorithm_at(i, &description) == TAMIS_OK && strcmp(description.name, name) == 0) return true;
    }
    return false;
}

/* The names of the registry, each once. */
static const char *registered(int number) {
    tamis_algorithm_description description;
    for (int i = 0; number >= 0 && i < tamis_algorithm_count(); i++) {
        if (tamis_algorithm_at(i, &description) != TAMIS_OK || named_before(i, description.name)) continue;
        if (number-- == 0) return description.name;
    }
    return NULL;
}

static const char *algorithm_at(int i) { return i == 0 ? "auto" : i == 1 ? "all" : registered(i - 2); }
static const char *one_algorithm_at(int i) { return i == 0 ? "auto" : registered(i - 1); }

/* A family without a device is listed by its bare name, which stands for the first one that is missing. */
static const char *device_at(int i) {
    const char *name = NULL;
    if (i == 0) return "best";
    if (i > tamis_device_count()) return NULL;
    if (tamis_device_at(i - 1, &name, NULL) != TAMIS_OK) return NULL;
    return strcmp(name, "cuda") == 0 ? "cuda:0" : strcmp(name, "opencl") == 0 ? "opencl:0" : name;
}

bool tool_device_is_present(int i) {
    const char *why = "";
    return i == 0 || (tamis_device_at(i - 1, NULL, &why) == TAMIS_OK && !*why);
}

static const char *arrangement_at(int i) {
    static const char *const names[] = {"packed", "strided", "column", "coo"};
    return pick(names, 4, i);
}

static const char *cache_action_at(int i) {
    static const char *const names[] = {"info", "clear"};
    return pick(names, 2, i);
}

static const char *tier_at(int i) {
    static const char *const names[] = {"small", "full"};
    return pick(names, 2, i);
}

static const char *peer_at(int i) {
    static const char *const names[] = {"cusparse",        "cublas", "torch",     "torch-scatter",
                                        "torch-attention", "scipy",  "graphblas", "openblas"};
    return pick(names, 8, i);
}

const tool_choices tool_types = {"a type", type_at, NULL};
const tool_choices tool_model_types = {"a type for models", model_type_at, NULL};
const tool_choices tool_operations = {"an operation", operation_at, NULL};
const tool_choices tool_edges = {"an edge operation", edge_at, NULL};
const tool_choices tool_layouts = {"a layout", layout_at, NULL};
const tool_choices tool_maths = {"a precision", math_at, NULL};
const tool_choices tool_efforts = {"an effort", effort_at, NULL};
const tool_choices tool_overlaps = {"an answer", overlap_at, NULL};
const tool_choices tool_exchanges = {"an exchange", exchange_at, NULL};
const tool_choices tool_links = {"a link", link_at, NULL};
const tool_choices tool_formats = {"a format", format_at, NULL};
const tool_choices tool_index_types = {"an index type", index_at, NULL};
const tool_choices tool_kinds = {"a kind of matrix", kind_at, NULL};
const tool_choices tool_file_formats = {"a file format", file_format_at, NULL};
const tool_choices tool_values = {"a treatment of values", values_at, NULL};
const tool_choices tool_duplicates = {"a treatment of duplicates", duplicates_at, NULL};
const tool_choices tool_repeats = {"a treatment of repeated entries", repeat_at, NULL};
const tool_choices tool_operand_values = {"a treatment of values", operand_values_at, NULL};
const tool_choices tool_algorithms = {"an algorithm", algorithm_at, "algorithms"};
const tool_choices tool_algorithms_one = {"an algorithm", one_algorithm_at, "algorithms"};
const tool_choices tool_devices = {"a device", device_at, "devices"};
const tool_choices tool_arrangements = {"an arrangement", arrangement_at, NULL};
const tool_choices tool_peer_names = {"a peer", peer_at, NULL};
const tool_choices tool_cache_actions = {"what to do with the cache", cache_action_at, NULL};
const tool_choices tool_tiers = {"a tier", tier_at, NULL};
