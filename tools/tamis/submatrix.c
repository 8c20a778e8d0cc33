/* Rows of a matrix as a matrix. */
#include "submatrix.h"

#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "operands.h"

static int64_t row_begin(const tamis_sparse *S, int64_t row) { return tool_index_get(S->offsets, S->offset_type, row); }

static int rising(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t row_length(const tamis_sparse *S, int64_t row) {
    return S->nnz ? row_begin(S, row + 1) - row_begin(S, row) : 0;
}

static int64_t longest_row(const tamis_sparse *S) {
    int64_t longest = 0;
    for (int64_t i = 1; i < S->rows; i++) {
        if (row_length(S, i) > row_length(S, longest)) longest = i;
    }
    return longest;
}

static void take_row(const tamis_sparse *S, int64_t row, unsigned char *taken, tool_submatrix *part) {
    taken[row] = 1;
    part->row[part->rows++] = row;
    part->nnz += row_length(S, row);
}

/* Rows in steps of the golden ratio: any beginning of the sequence is spread evenly. */
static void choose_rows(const tamis_sparse *S, double cost, double budget, bool longest, tool_submatrix *part) {
    unsigned char *taken = tool_allocate((size_t)S->rows, 1);
    part->row = tool_allocate((size_t)S->rows, sizeof *part->row);
    double spent = 0;
    uint64_t position = 0;
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
    const bool everything = (double)S->nnz * cost + (double)S->rows <= budget;
    if (longest && S->rows > 0) take_row(S, longest_row(S), taken, part);
    for (int64_t tried = 0; tried < S->rows; tried++, position += step) {
        const int64_t row = everything ? tried : (int64_t)((double)(position >> 11) * 0x1p-53 * (double)S->rows);
        if (taken[row]) continue;
        const double price = (double)row_length(S, row) * cost + 1;
        if (!everything && spent + price > budget) {
            if (budget - spent < budget / 64) break;
            continue;
        }
        spent += price;
        take_row(S, row, taken, part);
    }
    qsort(part->row, (size_t)part->rows, sizeof *part->row, rising);
    free(taken);
}

void tool_submatrix_take(const tamis_sparse *S, double cost, double budget, bool longest, tool_submatrix *part) {
    *part = (tool_submatrix){.cols = S->cols};
    choose_rows(S, cost, budget, longest, part);
    const size_t size = tamis_type_size(S->value_type);
    part->offsets = tool_allocate((size_t)part->rows + 1, sizeof *part->offsets);
    part->columns = tool_allocate((size_t)part->nnz, sizeof *part->columns);
    part->entry = tool_allocate((size_t)part->nnz, sizeof *part->entry);
    if (S->values) part->values = tool_allocate((size_t)part->nnz, size);
    int64_t to = 0;
    for (int64_t i = 0; i < part->rows && part->nnz > 0; i++) {
        for (int64_t t = row_begin(S, part->row[i]); t < row_begin(S, part->row[i] + 1); t++, to++) {
            part->columns[to] = tool_index_get(S->columns, S->index_type, t);
            part->entry[to] = t;
            if (S->values) {
                memcpy((char *)part->values + (size_t)to * size, (const char *)S->values + (size_t)t * size, size);
            }
        }
        part->offsets[i + 1] = to;
    }
    part->view = (tamis_sparse){.format = TAMIS_CSR,
                                .rows = part->rows,
                                .cols = part->cols,
                                .nnz = part->nnz,
                                .index_type = TAMIS_I64,
                                .offset_type = TAMIS_I64,
                                .value_type = S->value_type,
                                .offsets = part->offsets,
                                .columns = part->columns,
                                .values = part->values};
}

void tool_submatrix_compact(tool_submatrix *part) {
    int64_t *number = tool_allocate((size_t)part->cols, sizeof *number);
    for (int64_t t = 0; t < part->nnz; t++) number[part->columns[t]] = 1;
    int64_t used = 0;
    for (int64_t j = 0; j < part->cols; j++) {
        if (number[j]) number[j] = used++;
    }
    for (int64_t t = 0; t < part->nnz; t++) part->columns[t] = number[part->columns[t]];
    free(number);
    part->cols = part->view.cols = used;
}

void tool_submatrix_free(tool_submatrix *part) {
    free(part->row);
    free(part->entry);
    free(part->offsets);
    free(part->columns);
    free(part->values);
    *part = (tool_submatrix){0};
}
