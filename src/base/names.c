/* Names and sizes of the public enumerations, in one table each, for messages, the program and JSON. */
#include <stdio.h>
#include <string.h>
#include <tamis/tamis.h>

#include "base/edge_rows.h"
#include "base/half.h"
#include "base/status.h"

typedef struct name_row {
    int value;
    const char *name;
} name_row;

static const name_row status_names[] = {
    {TAMIS_OK, "ok"},
    {TAMIS_ERROR_ARGUMENT, "argument"},
    {TAMIS_ERROR_PATTERN, "pattern"},
    {TAMIS_ERROR_MEMORY, "memory"},
    {TAMIS_ERROR_UNSUPPORTED, "unsupported"},
    {TAMIS_ERROR_OVERFLOW, "overflow"},
    {TAMIS_ERROR_FILE, "file"},
    {TAMIS_ERROR_FORMAT, "format"},
    {TAMIS_ERROR_DEVICE, "device"},
    {TAMIS_ERROR_CANCELLED, "cancelled"},
    {TAMIS_ERROR_INTERNAL, "internal"},
    {0, NULL},
};
static const name_row type_names[] = {
    {TAMIS_F32, "fp32"}, {TAMIS_F64, "fp64"}, {TAMIS_F16, "fp16"}, {TAMIS_BF16, "bf16"}, {0, NULL}};
static const name_row index_names[] = {{TAMIS_I32, "int32"}, {TAMIS_I64, "int64"}, {0, NULL}};
static const name_row format_names[] = {{TAMIS_CSR, "csr"}, {TAMIS_COO, "coo"}, {0, NULL}};
static const name_row layout_names[] = {
    {TAMIS_ROW_MAJOR, "row-major"}, {TAMIS_COLUMN_MAJOR, "column-major"}, {0, NULL}};
static const name_row operation_names[] = {
    {TAMIS_OP_SDDMM, "sddmm"}, {TAMIS_OP_SPMM, "spmm"}, {TAMIS_OP_FUSED, "fused"}, {0, NULL}};
#define ROW(NAME, number, ...)                                                                                         \
    _Static_assert((int)TAMIS_EDGE_##NAME == (number), "the numbers of an edge in types.h and edge_rows.h differ");
TAMIS_EDGES(ROW)
#undef ROW
#define ROW(NAME, number, name, ...) {TAMIS_EDGE_##NAME, name},
static const name_row edge_names[] = {TAMIS_EDGES(ROW){0, NULL}};
#undef ROW

static const name_row chosen_by_names[] = {{TAMIS_CHOSEN_PREDICTED, "predicted"},
                                           {TAMIS_CHOSEN_NAMED, "named"},
                                           {TAMIS_CHOSEN_MEASURED, "measured"},
                                           {TAMIS_CHOSEN_REMEMBERED, "remembered"},
                                           {0, NULL}};

static const char *name_of(const name_row *rows, int value) {
    for (; rows->name; rows++)
        if (rows->value == value) return rows->name;
    return "unknown";
}

static tamis_status value_of(const name_row *rows, const char *what, const char *name, int *value) {
    char list[160] = "";
    for (const name_row *row = rows; row->name; row++) {
        if (name && strcmp(row->name, name) == 0) {
            *value = row->value;
            return TAMIS_OK;
        }
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", row->name);
    }
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "name = \"%s\" is not a valid %s; valid names: %s", name ? name : "(NULL)",
                      what, list);
}

const char *tamis_chosen_by_name(tamis_chosen_by chosen_by) { return name_of(chosen_by_names, (int)chosen_by); }
const char *tamis_status_name(tamis_status status) { return name_of(status_names, (int)status); }
const char *tamis_type_name(tamis_type type) { return name_of(type_names, (int)type); }
const char *tamis_index_type_name(tamis_index_type type) { return name_of(index_names, (int)type); }
const char *tamis_format_name(tamis_format format) { return name_of(format_names, (int)format); }
const char *tamis_layout_name(tamis_layout layout) { return name_of(layout_names, (int)layout); }
const char *tamis_operation_name(tamis_operation operation) { return name_of(operation_names, (int)operation); }
const char *tamis_edge_name(tamis_edge edge) {
    return edge == TAMIS_EDGE_TEXT ? "text" : name_of(edge_names, (int)edge);
}

tamis_status tamis_type_from_name(const char *name, tamis_type *type) {
    int value = 0;
    tamis_clear_error();
    if (!type) return tamis_fail(TAMIS_ERROR_ARGUMENT, "type = NULL: expected an address for the result");
    TRY(value_of(type_names, "type", name, &value));
    *type = (tamis_type)value;
    return TAMIS_OK;
}

tamis_status tamis_operation_from_name(const char *name, tamis_operation *operation) {
    int value = 0;
    tamis_clear_error();
    if (!operation) return tamis_fail(TAMIS_ERROR_ARGUMENT, "operation = NULL: expected an address for the result");
    TRY(value_of(operation_names, "operation", name, &value));
    *operation = (tamis_operation)value;
    return TAMIS_OK;
}

tamis_status tamis_edge_from_name(const char *name, tamis_edge *edge) {
    int value = 0;
    tamis_clear_error();
    if (!edge) return tamis_fail(TAMIS_ERROR_ARGUMENT, "edge = NULL: expected an address for the result");
    TRY(value_of(edge_names, "edge operation", name, &value));
    *edge = (tamis_edge)value;
    return TAMIS_OK;
}

size_t tamis_type_size(tamis_type type) {
    switch (type) {
    case TAMIS_F32: return 4;
    case TAMIS_F64: return 8;
    case TAMIS_F16:
    case TAMIS_BF16: return 2;
    default: return 0;
    }
}

size_t tamis_index_size(tamis_index_type type) { return type == TAMIS_I32 ? 4 : type == TAMIS_I64 ? 8 : 0; }

uint16_t tamis_f16_from_f32(float value) { return tamis_f16_store(value); }
float tamis_f32_from_f16(uint16_t bits) { return tamis_f16_load(bits); }
uint16_t tamis_bf16_from_f32(float value) { return tamis_bf16_store(value); }
float tamis_f32_from_bf16(uint16_t bits) { return tamis_bf16_load(bits); }
