/* Extracts some rows of a matrix as a matrix. */
#include "sparse/submatrix.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "sparse/index.h"

static int rising(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t row_length(const tamis_sparse *S, int64_t row) {
    return S->nnz ? tamis_row_start(S, row + 1) - tamis_row_start(S, row) : 0;
}

static int64_t longest_row(const tamis_sparse *S) {
    int64_t longest = 0;
    for (int64_t i = 1; i < S->rows; i++) {
        if (row_length(S, i) > row_length(S, longest)) longest = i;
    }
    return longest;
}

static void take_row(const tamis_sparse *S, int64_t row, unsigned char *taken, tamis_submatrix *part) {
    taken[row] = 1;
    part->row[part->rows++] = row;
    part->nnz += row_length(S, row);
}

/* Visits rows in steps of the golden ratio (a low-discrepancy sequence): every prefix is spread evenly. */
static tamis_status choose_rows(const tamis_sparse *S, double cost, double budget, bool longest,
                                tamis_submatrix *part) {
    unsigned char *taken = NULL;
    TRY(tamis_allocate(S->rows, sizeof *part->row, "the rows of a part", (void **)&part->row));
    TRY(tamis_allocate_zeroed(S->rows, 1, "the rows of a part", (void **)&taken));
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
    if (part->rows > 0) qsort(part->row, (size_t)part->rows, sizeof *part->row, rising);
    tamis_release(taken);
    return TAMIS_OK;
}

static void copy_entries(const tamis_sparse *S, tamis_submatrix *part) {
    const size_t size = tamis_type_size(S->value_type);
    int64_t to = 0;
    for (int64_t i = 0; i < part->rows && part->nnz > 0; i++) {
        for (int64_t t = tamis_row_start(S, part->row[i]); t < tamis_row_start(S, part->row[i] + 1); t++, to++) {
            part->columns[to] = tamis_index_load(S->columns, S->index_type, t);
            part->entry[to] = t;
            if (S->values)
                memcpy((char *)part->values + (size_t)to * size, (const char *)S->values + (size_t)t * size, size);
        }
        part->offsets[i + 1] = to;
    }
}

tamis_status tamis_submatrix_take(const tamis_sparse *S, double cost, double budget, bool longest,
                                  tamis_submatrix *part) {
    static const char what[] = "the entries of a part";
    *part = (tamis_submatrix){.cols = S->cols};
    TRY(choose_rows(S, cost, budget, longest, part));
    TRY(tamis_allocate_zeroed(part->rows + 1, sizeof *part->offsets, what, (void **)&part->offsets));
    TRY(tamis_allocate(part->nnz, sizeof *part->columns, what, (void **)&part->columns));
    TRY(tamis_allocate(part->nnz, sizeof *part->entry, what, (void **)&part->entry));
    if (S->values) TRY(tamis_allocate(part->nnz, tamis_type_size(S->value_type), what, &part->values));
    copy_entries(S, part);
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
    return TAMIS_OK;
}

tamis_status tamis_submatrix_compact(tamis_submatrix *part) {
    int64_t *number = NULL, used = 0;
    TRY(tamis_allocate_zeroed(part->cols, sizeof *number, "the columns of a part", (void **)&number));
    for (int64_t t = 0; t < part->nnz; t++) number[part->columns[t]] = 1;
    for (int64_t j = 0; j < part->cols; j++) {
        if (number[j]) number[j] = used++;
    }
    for (int64_t t = 0; t < part->nnz; t++) part->columns[t] = number[part->columns[t]];
    tamis_release(number);
    part->cols = part->view.cols = used;
    return TAMIS_OK;
}

void tamis_submatrix_free(tamis_submatrix *part) {
    tamis_release(part->row);
    tamis_release(part->entry);
    tamis_release(part->offsets);
    tamis_release(part->columns);
    tamis_release(part->values);
    *part = (tamis_submatrix){0};
}
