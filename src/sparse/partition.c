/* Equal shares of nonzeros. */
#include "base/status.h"
#include "sparse/index.h"
#include "sparse/structure.h"

int64_t tamis_partition_even(int64_t total, int parts, int part) {
    return total / parts * part + total % parts * part / parts;
}

int64_t tamis_partition_rows_from(const void *offsets, tamis_index_type offset_type, int64_t rows, int64_t base,
                                  int64_t nnz, int parts, int part) {
    if (part >= parts) return rows;
    return tamis_index_first(offsets, offset_type, 0, rows, base + tamis_partition_even(nnz, parts, part));
}

int64_t tamis_partition_rows(const void *offsets, tamis_index_type offset_type, int64_t rows, int64_t nnz, int parts,
                             int part) {
    return tamis_partition_rows_from(offsets, offset_type, rows, 0, nnz, parts, part);
}

void tamis_partition_nonzeros(const void *offsets, tamis_index_type offset_type, int64_t rows, int64_t nnz, int parts,
                              int part, int64_t *nonzero_begin, int64_t *row_begin) {
    const int64_t position = part >= parts ? nnz : tamis_partition_even(nnz, parts, part);
    int64_t row = tamis_partition_rows(offsets, offset_type, rows, nnz, parts, part);
    if (part < parts && tamis_index_load(offsets, offset_type, row) > position) row--;
    *nonzero_begin = position;
    *row_begin = row;
}
