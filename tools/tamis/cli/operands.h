/* Dense operands in 64-byte aligned memory on huge pages, shared by all algorithms, and element access. */
#ifndef TOOL_OPERANDS_H
#define TOOL_OPERANDS_H

#include <tamis/matrix.h>

typedef struct tool_dense {
    tamis_dense view;
    void *memory;
    size_t bytes;
} tool_dense;

/* Makes a zero matrix, with `padding` elements after each row and `shift` elements before the first, for tests of
   unaligned addresses. */
tool_dense tool_dense_create(int64_t rows, int64_t cols, tamis_type type, tamis_layout layout, int64_t padding,
                             int64_t shift);
void tool_dense_free(tool_dense *dense);

/* Allocates aligned zeroed memory, to be released by free(). */
void *tool_large_allocate(size_t bytes);

double tool_dense_get(const tamis_dense *dense, int64_t row, int64_t col);
void tool_dense_set(const tamis_dense *dense, int64_t row, int64_t col, double value);
/* Copies each element into a matrix of the same size, whose type and layout may differ. */
void tool_dense_copy(const tamis_dense *from, const tamis_dense *to);
double tool_element_get(const void *data, tamis_type type, int64_t at);
void tool_element_set(void *data, tamis_type type, int64_t at, double value);
int64_t tool_index_get(const void *data, tamis_index_type type, int64_t at);

/* Converts `count` values to another type, in new memory that free() releases. */
void *tool_values_convert(const void *values, tamis_type from, tamis_type to, int64_t count);

#endif
