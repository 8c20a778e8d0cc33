/* Owned matrices: making, viewing and freeing them. */
#include "sparse/matrix.h"

#include "base/memory.h"
#include "base/status.h"
#include "sparse/check.h"

const tamis_sparse *tamis_owned_sparse_view(const tamis_owned_sparse *matrix) { return matrix ? &matrix->view : NULL; }

const tamis_dense *tamis_owned_dense_view(const tamis_owned_dense *array) { return array ? &array->view : NULL; }

void tamis_owned_sparse_free(tamis_owned_sparse *matrix) {
    if (!matrix) return;
    void *const arrays[] = {matrix->offsets, matrix->row_indices, matrix->columns, matrix->values};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (matrix->release)
            matrix->release(matrix, arrays[i]);
        else
            tamis_release(arrays[i]);
    }
    tamis_release(matrix);
}

void tamis_owned_dense_free(tamis_owned_dense *array) {
    if (!array) return;
    tamis_release(array->data);
    tamis_release(array);
}

tamis_status tamis_owned_sparse_adopt(const tamis_sparse *shape, void *offsets, void *row_indices, void *columns,
                                      void *values, tamis_owned_sparse **matrix) {
    *matrix = NULL;
    void *memory;
    const tamis_status status = tamis_allocate(1, sizeof(tamis_owned_sparse), "a matrix", &memory);
    if (status != TAMIS_OK) {
        tamis_release(offsets);
        tamis_release(row_indices);
        tamis_release(columns);
        tamis_release(values);
        return status;
    }
    tamis_owned_sparse *const made = memory;
    *made = (tamis_owned_sparse){
        .view = *shape, .offsets = offsets, .row_indices = row_indices, .columns = columns, .values = values};
    made->view.location = TAMIS_HOST;
    made->view.offsets = offsets;
    made->view.row_indices = row_indices;
    made->view.columns = columns;
    made->view.values = values;
    made->view.batch_stride = 0;
    *matrix = made;
    return TAMIS_OK;
}

tamis_status tamis_owned_sparse_create(const tamis_sparse *shape, bool with_values, tamis_owned_sparse **matrix) {
    tamis_status status = TAMIS_OK;
    void *offsets = NULL, *row_indices = NULL, *columns = NULL, *values = NULL;
    const size_t index_size = tamis_index_size(shape->index_type);
    *matrix = NULL;
    if (shape->format == TAMIS_CSR)
        TRY_GOTO(failed,
                 tamis_allocate(shape->rows + 1, tamis_index_size(shape->offset_type), "row offsets", &offsets));
    else
        TRY_GOTO(failed, tamis_allocate(shape->nnz, index_size, "row indices", &row_indices));
    TRY_GOTO(failed, tamis_allocate(shape->nnz, index_size, "column indices", &columns));
    if (with_values)
        TRY_GOTO(failed, tamis_allocate(shape->nnz, tamis_type_size(shape->value_type), "values", &values));
    return tamis_owned_sparse_adopt(shape, offsets, row_indices, columns, values, matrix);
failed:
    tamis_release(offsets);
    tamis_release(row_indices);
    tamis_release(columns);
    tamis_release(values);
    return status;
}

tamis_status tamis_owned_dense_create(int64_t rows, int64_t cols, tamis_type type, tamis_layout layout,
                                      tamis_owned_dense **array) {
    int64_t elements;
    void *data, *memory;
    tamis_clear_error();
    if (!array) return tamis_fail(TAMIS_ERROR_ARGUMENT, "array = NULL: expected an address for the result");
    *array = NULL;
    TRY(tamis_size_check("", "rows", rows));
    TRY(tamis_size_check("", "cols", cols));
    if ((unsigned)type > TAMIS_BF16)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "type = %lld: expected 0 .. %d", (long long)type, (int)TAMIS_BF16);
    if ((unsigned)layout > TAMIS_COLUMN_MAJOR)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "layout = %lld: expected 0 .. %d", (long long)layout,
                          (int)TAMIS_COLUMN_MAJOR);
    if (__builtin_mul_overflow(rows, cols, &elements))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "rows = %lld, cols = %lld: their product overflows 64 bits",
                          (long long)rows, (long long)cols);
    TRY(tamis_allocate_zeroed(elements, tamis_type_size(type), "a dense matrix", &data));
    const tamis_status status = tamis_allocate(1, sizeof(tamis_owned_dense), "a dense matrix", &memory);
    if (status != TAMIS_OK) {
        tamis_release(data);
        return status;
    }
    *array = memory;
    **array = (tamis_owned_dense){.view = {.data = data,
                                           .rows = rows,
                                           .cols = cols,
                                           .stride = layout == TAMIS_ROW_MAJOR ? cols : rows,
                                           .type = type,
                                           .layout = layout,
                                           .location = TAMIS_HOST},
                                  .data = data};
    return TAMIS_OK;
}
