/* CSR lists of nonzeros. */
#include "io/rows.h"

#include "base/memory.h"
#include "sparse/order.h"

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

static tamis_sparse view_of(const tamis_rows *list) {
    return (tamis_sparse){.format = TAMIS_CSR,
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
}

/* The rows as they are, where they are what is asked for: no second copy of them. */
static bool is_asked_for(const tamis_read_options *options, const tamis_rows *list, const tamis_sparse *view) {
    int64_t duplicates;
    return options->format == TAMIS_CSR && options->duplicates == TAMIS_DUPLICATES_KEEP &&
           options->index_type == list->index_type &&
           (list->values ? options->value_type == list->value_type : options->values != TAMIS_VALUES_ONES) &&
           (!list->sort || tamis_is_sorted(view, 0, &duplicates));
}

/* *offsets: an array that is not `list`'s any more. */
static tamis_status take_offsets(tamis_index_type type, tamis_rows *list, void **offsets) {
    if (type == TAMIS_I32) {
        TRY(tamis_allocate(list->rows + 1, sizeof(int32_t), "row offsets", offsets));
        for (int64_t i = 0; i <= list->rows; i++) ((int32_t *)*offsets)[i] = (int32_t)list->offsets[i];
        tamis_release(list->offsets);
    } else {
        *offsets = list->offsets;
    }
    list->offsets = NULL;
    return TAMIS_OK;
}

static tamis_status hand_over(const tamis_reading *reading, tamis_rows *list, tamis_owned_sparse **matrix) {
    const tamis_sparse shape = {.rows = list->rows,
                                .cols = list->cols,
                                .nnz = list->count,
                                .index_type = list->index_type,
                                .offset_type = reading->options.offset_type,
                                .value_type = reading->options.value_type};
    tamis_status status;
    void *offsets = NULL;
    TRY_GOTO(failed, tamis_check_sizes(reading, list->rows, list->cols, list->count));
    TRY_GOTO(failed, take_offsets(shape.offset_type, list, &offsets));
    status = tamis_owned_sparse_adopt(&shape, offsets, NULL, list->columns, list->values, matrix);
    *list = (tamis_rows){0};
    return status;
failed:
    tamis_rows_free(list);
    return status;
}

tamis_status tamis_rows_finish(const tamis_reading *reading, tamis_status status, tamis_rows *list,
                               tamis_owned_sparse **matrix) {
    const tamis_sparse view = view_of(list);
    TRY_GOTO(done, status);
    tamis_source_close(reading->source); /* the text is of no more use */
    if (is_asked_for(&reading->options, list, &view)) return hand_over(reading, list, matrix);
    status = tamis_convert_read(reading, &view, list->sort, matrix);
done:
    tamis_rows_free(list);
    return status;
}
