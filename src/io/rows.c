/* CSR lists of nonzeros. */
#include "io/rows.h"

#include "base/memory.h"

tamis_status tamis_rows_create(const tamis_reading *reading, int64_t rows, int64_t capacity, bool wide,
                               bool with_values, tamis_rows *list) {
    tamis_status status = TAMIS_OK;
    *list = (tamis_rows){
        .rows = rows, .index_type = wide ? TAMIS_I64 : TAMIS_I32, .value_type = tamis_parsed_type(reading)};
    void *offsets = NULL;
    TRY_GOTO(failed, tamis_allocate(rows + 1, sizeof(int64_t), "the row offsets", &offsets));
    list->offsets = offsets;
    TRY_GOTO(failed,
             tamis_allocate(capacity, tamis_index_size(list->index_type), "the column indices", &list->columns));
    if (with_values)
        TRY_GOTO(failed, tamis_allocate(capacity, tamis_type_size(list->value_type), "the values", &list->values));
    list->offsets[0] = 0;
    return TAMIS_OK;
failed:
    tamis_rows_free(list);
    return status;
}

void tamis_rows_free(tamis_rows *list) {
    tamis_release(list->offsets);
    tamis_release(list->columns);
    tamis_release(list->values);
    *list = (tamis_rows){0};
}

tamis_status tamis_rows_finish(const tamis_reading *reading, tamis_rows *list, tamis_owned_sparse **matrix) {
    const tamis_sparse view = {.format = TAMIS_CSR,
                               .location = TAMIS_HOST,
                               .rows = list->rows,
                               .cols = list->cols,
                               .nnz = list->count,
                               .index_type = list->index_type,
                               .offset_type = TAMIS_I64,
                               .value_type = list->value_type,
                               .offsets = list->offsets,
                               .columns = list->columns,
                               .values = list->values};
    const tamis_status status = tamis_convert_read(reading, &view, false, matrix);
    tamis_rows_free(list);
    return status;
}
