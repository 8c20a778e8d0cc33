/* Dense operands and element access. */
#include "cli/operands.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/exit.h"

void *tool_large_allocate(size_t bytes) {
    const size_t huge = (size_t)2 << 20;
    const size_t alignment = bytes >= 2 * huge ? huge : 64;
    const size_t rounded = (bytes + alignment) / alignment * alignment;
    void *memory = rounded > bytes ? aligned_alloc(alignment, rounded) : NULL;
    if (!memory) {
        tool_error("out of memory: %zu bytes needed for an operand", bytes);
        exit(TOOL_MEMORY);
    }
#ifdef MADV_HUGEPAGE
    if (alignment == huge) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
    memset(memory, 0, rounded);
    return memory;
}

tool_dense tool_dense_create(int64_t rows, int64_t cols, tamis_type type, tamis_layout layout, int64_t padding,
                             int64_t shift) {
    tool_dense dense = {.view = {.rows = rows, .cols = cols, .type = type, .layout = layout}};
    const size_t size = tamis_type_size(type);
    const int64_t lines = layout == TAMIS_ROW_MAJOR ? rows : cols;
    dense.view.stride = (layout == TAMIS_ROW_MAJOR ? cols : rows) + padding;
    if (dense.view.stride < 1) dense.view.stride = 1;
    int64_t elements = 0;
    if (__builtin_mul_overflow(lines, dense.view.stride, &elements) || elements > INT64_MAX / 16 - shift) {
        tool_error("out of memory: a dense matrix of %lld x %lld is too large", (long long)rows, (long long)cols);
        exit(TOOL_MEMORY);
    }
    dense.bytes = (size_t)(elements + shift) * size;
    dense.memory = tool_large_allocate(dense.bytes);
    dense.view.data = (char *)dense.memory + (size_t)shift * size;
    return dense;
}

void tool_dense_free(tool_dense *dense) {
    free(dense->memory);
    *dense = (tool_dense){0};
}

double tool_element_get(const void *data, tamis_type type, int64_t at) {
    switch (type) {
    case TAMIS_F32: return (double)((const float *)data)[at];
    case TAMIS_F64: return ((const double *)data)[at];
    case TAMIS_F16: return (double)tamis_f32_from_f16(((const uint16_t *)data)[at]);
    case TAMIS_BF16: return (double)tamis_f32_from_bf16(((const uint16_t *)data)[at]);
    }
    return 0;
}

void tool_element_set(void *data, tamis_type type, int64_t at, double value) {
    switch (type) {
    case TAMIS_F32: ((float *)data)[at] = (float)value; break;
    case TAMIS_F64: ((double *)data)[at] = value; break;
    case TAMIS_F16: ((uint16_t *)data)[at] = tamis_f16_from_f32((float)value); break;
    case TAMIS_BF16: ((uint16_t *)data)[at] = tamis_bf16_from_f32((float)value); break;
    }
}

static int64_t place_of(const tamis_dense *dense, int64_t row, int64_t col) {
    return dense->layout == TAMIS_ROW_MAJOR ? row * dense->stride + col : col * dense->stride + row;
}

double tool_dense_get(const tamis_dense *dense, int64_t row, int64_t col) {
    return tool_element_get(dense->data, dense->type, place_of(dense, row, col));
}

void tool_dense_set(const tamis_dense *dense, int64_t row, int64_t col, double value) {
    tool_element_set(dense->data, dense->type, place_of(dense, row, col), value);
}

void tool_dense_copy(const tamis_dense *from, const tamis_dense *to) {
    for (int64_t i = 0; i < to->rows; i++) {
        for (int64_t j = 0; j < to->cols; j++) tool_dense_set(to, i, j, tool_dense_get(from, i, j));
    }
}

int64_t tool_index_get(const void *data, tamis_index_type type, int64_t at) {
    return type == TAMIS_I32 ? (int64_t)((const int32_t *)data)[at] : ((const int64_t *)data)[at];
}

void *tool_values_convert(const void *values, tamis_type from, tamis_type to, int64_t count) {
    void *converted = tool_allocate((size_t)count, tamis_type_size(to));
    if (from == to) {
        memcpy(converted, values, (size_t)count * tamis_type_size(to));
        return converted;
    }
    for (int64_t i = 0; i < count; i++) tool_element_set(converted, to, i, tool_element_get(values, from, i));
    return converted;
}
