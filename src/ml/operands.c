/* What predictions are made of where they are plain products of factors. */
#include <string.h>

#include "ml/model.h"

/* A packed copy, the caller's. */
static tamis_status copy_of(const tamis_dense *from, tamis_array **made) {
    TRY(tamis_array_create(from->rows, from->cols, from->type, TAMIS_ROW_MAJOR, made));
    const size_t size = tamis_type_size(from->type), bytes = (size_t)from->cols * size;
    const size_t stride = (size_t)(from->stride > 0 ? from->stride : from->cols) * size;
    char *const to = tamis_array_view(*made)->data;
    for (int64_t i = 0; i < from->rows && bytes > 0; i++)
        memcpy(to + (size_t)i * bytes, (const char *)from->data + (size_t)i * stride, bytes);
    return TAMIS_OK;
}

tamis_status ml_plain_operands(const tamis_model *model, const tamis_dense *W, bool want_rows, ml_operands *operands) {
    operands->A = operands->B = NULL;
    if (want_rows) TRY(W ? copy_of(W, &operands->A) : ml_dense_fetch(model, &model->row_factors, &operands->A));
    const tamis_status status = ml_dense_fetch(model, &model->column_factors, &operands->B);
    if (status != TAMIS_OK) {
        tamis_array_free(operands->A);
        operands->A = NULL;
    }
    return status;
}
