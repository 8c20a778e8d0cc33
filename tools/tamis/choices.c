/* Names of types, operations, algorithms, devices, ... as options take them. */
#include "choices.h"

#include <string.h>
#include <tamis/matrix.h>

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
static const char *operation_at(int i) { return i <= TAMIS_OP_FUSED ? tamis_operation_name((tamis_operation)i) : NULL; }
static const char *edge_at(int i) { return i <= TAMIS_EDGE_SOFTMAX ? tamis_edge_name((tamis_edge)i) : NULL; }
static const char *format_at(int i) { return i <= TAMIS_COO ? tamis_format_name((tamis_format)i) : NULL; }
static const char *index_at(int i) { return i <= TAMIS_I64 ? tamis_index_type_name((tamis_index_type)i) : NULL; }
static const char *kind_at(int i) { return i <= TAMIS_KIND_WINDOW ? tamis_kind_name((tamis_kind)i) : NULL; }

static const char *layout_at(int i) {
    static const char *const names[] = {"row", "column"};
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
    static const char *const names[] = {"keep", "sum"};
    return pick(names, 2, i);
}

static const char *operand_values_at(int i) {
    static const char *const names[] = {"as-filed", "none", "random"};
    return pick(names, 3, i);
}

static const char *registered(int number) {
    tamis_algorithm_description description;
    if (number < 0 || number >= tamis_algorithm_count()) return NULL;
    return tamis_algorithm_at(number, &description) == TAMIS_OK ? description.name : NULL;
}

static const char *algorithm_at(int i) { return i == 0 ? "auto" : i == 1 ? "all" : registered(i - 2); }
static const char *one_algorithm_at(int i) { return i == 0 ? "auto" : registered(i - 1); }

static const char *device_at(int i) {
    const char *name = NULL;
    if (i == 0) return "best";
    if (i > tamis_device_count()) return NULL;
    return tamis_device_at(i - 1, &name, NULL) == TAMIS_OK ? name : NULL;
}

const tool_choices tool_types = {"a type", type_at, NULL};
const tool_choices tool_operations = {"an operation", operation_at, NULL};
const tool_choices tool_edges = {"an edge operation", edge_at, NULL};
const tool_choices tool_layouts = {"a layout", layout_at, NULL};
const tool_choices tool_formats = {"a format", format_at, NULL};
const tool_choices tool_index_types = {"an index type", index_at, NULL};
const tool_choices tool_kinds = {"a kind of matrix", kind_at, NULL};
const tool_choices tool_file_formats = {"a file format", file_format_at, NULL};
const tool_choices tool_values = {"a way with values", values_at, NULL};
const tool_choices tool_duplicates = {"a way with duplicates", duplicates_at, NULL};
const tool_choices tool_operand_values = {"a way with values", operand_values_at, NULL};
const tool_choices tool_algorithms = {"an algorithm", algorithm_at, "algorithms"};
const tool_choices tool_algorithms_one = {"an algorithm", one_algorithm_at, "algorithms"};
const tool_choices tool_devices = {"a device", device_at, "devices"};
