/* The names of types, operations, algorithms, devices and so on that options take. */
#include "cli/choices.h"

#include <string.h>
#include <tamis/algorithms.h>
#include <tamis/generate.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>

#include "cli/edges.h"
#include "io/formats/formats.h"

const char *tool_choice_name(const tool_choices *choices, int index) {
    if (choices->name_at) return choices->name_at(index);
    int count = 0;
    while (choices->names[count]) count++;
    return index >= 0 && index < count ? choices->names[index] : NULL;
}

int tool_choices_find(const tool_choices *choices, const char *name, size_t length) {
    for (int i = 0; tool_choice_name(choices, i); i++) {
        const char *candidate = tool_choice_name(choices, i);
        if (strlen(candidate) == length && memcmp(candidate, name, length) == 0) return i;
    }
    return choices->other ? choices->other(name, length) : -1;
}

static const char *type_at(int i) { return i <= TAMIS_BF16 ? tamis_type_name((tamis_type)i) : NULL; }
static const char *model_type_at(int i) { return i <= TAMIS_F64 ? tamis_type_name((tamis_type)i) : NULL; }
static const char *operation_at(int i) { return i <= TAMIS_OP_FUSED ? tamis_operation_name((tamis_operation)i) : NULL; }
static const char *format_at(int i) { return i <= TAMIS_COO ? tamis_format_name((tamis_format)i) : NULL; }
static const char *index_at(int i) { return i <= TAMIS_I64 ? tamis_index_type_name((tamis_index_type)i) : NULL; }
static const char *kind_at(int i) { return i <= TAMIS_KIND_WINDOW ? tamis_kind_name((tamis_kind)i) : NULL; }

static const char *file_format_at(int i) {
    const tamis_file_row *const row = tamis_file_row_of((tamis_file_format)i);
    return row ? row->name : NULL;
}

/* Returns true if an earlier algorithm has the same name: families of devices may share names. */
static bool named_before(int number, const char *name) {
    tamis_algorithm_description description;
    for (int i = 0; i < number; i++)
        if (tamis_algorithm_at(i, &description) == TAMIS_OK && strcmp(description.name, name) == 0) return true;
    return false;
}

/* Lists the names of the registry, each once. */
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

/* A family without devices is listed by its bare name, which means its first, missing device. */
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

#define NAMES(...)                                                                                                     \
    .names = (const char *const[]) { __VA_ARGS__, NULL }

/* The types in their order, then `auto`, the narrowest one that keeps every number. */
const tool_choices tool_kept_types = {"a type", NAMES("fp32", "fp64", "fp16", "bf16", "auto")};
const tool_choices tool_types = {"a type", .name_at = type_at};
const tool_choices tool_use_weights = {"a weighting",
                                       NAMES("linear", "log", "bm25", "ones", "auto", "rp3beta", "tfidf")};
const tool_choices tool_model_types = {"a type for models", .name_at = model_type_at};
const tool_choices tool_operations = {"an operation", .name_at = operation_at};
const tool_choices tool_edges = {"an edge operation", .name_at = tool_edge_name, .other = tool_edge_add};
const tool_choices tool_maths = {"a precision", NAMES("exact", "tf32")};
const tool_choices tool_efforts = {"an effort", NAMES("estimate", "measure")};
const tool_choices tool_overlaps = {"a choice", NAMES("auto", "never", "always")};
const tool_choices tool_exchanges = {"an exchange", NAMES("auto", "1d-fetch", "static-split", "joint-cover")};
const tool_choices tool_transports = {"a transport", NAMES("threads", "mpi")};
const tool_choices tool_partitions = {"a partition", NAMES("rows", "metis")};
const tool_choices tool_spreads = {"a choice", NAMES("auto", "always")};
const tool_choices tool_links = {"a link", NAMES("copies", "nccl")};
const tool_choices tool_formats = {"a format", .name_at = format_at};
const tool_choices tool_index_types = {"an index type", .name_at = index_at};
const tool_choices tool_kinds = {"a kind of matrix", .name_at = kind_at};
const tool_choices tool_file_formats = {"a file format", .name_at = file_format_at};
const tool_choices tool_written_formats = {"an output format", NAMES("auto", "matrix-market", "npz", "npy")};
const tool_choices tool_values = {"a treatment of values", NAMES("as-filed", "none", "ones")};
const tool_choices tool_value_columns = {"a column", NAMES("auto", "3", "4")};
const tool_choices tool_duplicates = {"a treatment of duplicates", NAMES("keep", "sum", "last")};
const tool_choices tool_repeats = {"a treatment of repeated entries", NAMES("last", "sum")};
const tool_choices tool_operand_values = {"a treatment of values", NAMES("as-filed", "none", "random")};
const tool_choices tool_algorithms = {"an algorithm", .name_at = algorithm_at, .many = true};
const tool_choices tool_algorithms_one = {"an algorithm", .name_at = one_algorithm_at, .many = true};
const tool_choices tool_devices = {"a device", .name_at = device_at, .many = true};
const tool_choices tool_arrangements = {"an arrangement", NAMES("packed", "strided", "column", "coo")};
const tool_choices tool_cache_actions = {"an action", NAMES("info", "clear")};
const tool_choices tool_tiers = {"a tier", NAMES("small", "full")};
