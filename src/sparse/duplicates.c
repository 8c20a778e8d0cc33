/* Merging repeated columns. */
#include <stdbool.h>

#include "base/memory.h"
#include "sparse/element.h"
#include "sparse/order.h"

/* Merges each run of equal columns in begin .. end into one entry, their sum or the last of them, written from `to` on.
   Returns the position after the last entry written. */
TAMIS_INLINE int64_t merge_row(const tamis_owned_sparse *matrix, tamis_index_type type, int64_t begin, int64_t end,
                               int64_t to, bool last) {
    const tamis_type value_type = matrix->view.value_type;
    for (int64_t z = begin; z < end;) {
        const int64_t column = tamis_index_load(matrix->columns, type, z);
        int64_t next = z + 1;
        while (next < end && tamis_index_load(matrix->columns, type, next) == column) next++;
        if (matrix->values) {
            double sum = tamis_element_load(matrix->values, value_type, last ? next - 1 : z);
            for (int64_t t = last ? next : z + 1; t < next; t++)
                sum += tamis_element_load(matrix->values, value_type, t);
            tamis_element_store(matrix->values, value_type, to, sum);
        }
        tamis_index_store(matrix->columns, type, to++, column);
        z = next;
    }
    return to;
}

void tamis_merge_in_place(tamis_owned_sparse *matrix, bool last) {
    tamis_sparse *const view = &matrix->view;
    int64_t begin = 0, to = 0;
    for (int64_t row = 0; row < view->rows; row++) {
        const int64_t end = tamis_index_load(matrix->offsets, view->offset_type, row + 1);
        to = view->index_type == TAMIS_I32 ? merge_row(matrix, TAMIS_I32, begin, end, to, last)
                                           : merge_row(matrix, TAMIS_I64, begin, end, to, last);
        tamis_index_store(matrix->offsets, view->offset_type, row + 1, to);
        begin = end;
    }
    view->nnz = to;
}

tamis_status tamis_merge_duplicates(tamis_owned_sparse *matrix, bool last) {
    tamis_sparse *const view = &matrix->view;
    const int64_t before = view->nnz;
    tamis_merge_in_place(matrix, last);
    const int64_t to = view->nnz;
    if (to == before) return TAMIS_OK;
    const tamis_status status =
        tamis_reallocate(before, to, tamis_index_size(view->index_type), "column indices", &matrix->columns);
    view->columns = matrix->columns;
    if (status != TAMIS_OK || !matrix->values) return status;
    const tamis_status shrunk =
        tamis_reallocate(before, to, tamis_type_size(view->value_type), "values", &matrix->values);
    view->values = matrix->values;
    return shrunk;
}
