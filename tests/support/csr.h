/* Arrays of the host as a matrix: CSR of the types that they have. values: NULL for a pattern. */
#ifndef TAMIS_TESTS_CSR_H
#define TAMIS_TESTS_CSR_H

#include <tamis/tamis.h>

#define CSR_INDEX(x) _Generic((x), int64_t * : TAMIS_I64, const int64_t * : TAMIS_I64, default : TAMIS_I32)
#define CSR_VALUE(x) _Generic((x), double * : TAMIS_F64, const double * : TAMIS_F64, default : TAMIS_F32)
#define CSR(row_count, col_count, row_offsets, column_indices, entries)                                                \
    ((tamis_sparse){.format = TAMIS_CSR,                                                                               \
                    .rows = (row_count),                                                                               \
                    .cols = (col_count),                                                                               \
                    .nnz = (row_offsets)[row_count],                                                                   \
                    .index_type = CSR_INDEX(column_indices),                                                           \
                    .offset_type = CSR_INDEX(row_offsets),                                                             \
                    .value_type = CSR_VALUE(entries),                                                                  \
                    .offsets = (row_offsets),                                                                          \
                    .columns = (column_indices),                                                                       \
                    .values = (entries)})

#endif
