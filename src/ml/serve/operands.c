/*
 * The operands of predictions. If predictions are plain products of factors, nothing is copied: the CPU's factors are
 * in host memory, and a GPU's stay on the device until they are needed on the host.
 */
#include "ml/serve/operands.h"

#include "ml/data/host.h"
#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"

void ml_operand_use(const tamis_dense *factors, ml_operand *operand) {
    *operand = (ml_operand){.host = *factors, .there = factors};
    if (factors->location == TAMIS_HOST) return;
    operand->host.location = TAMIS_HOST;
    operand->host.data = NULL;
}

tamis_status ml_operand_fetch(const tamis_model *model, ml_operand *operand) {
    if (operand->host.data || !operand->there || !operand->there->data) return TAMIS_OK;
    return ml_dense_copy(model, operand->there, &operand->host);
}

void ml_plain_operands(const tamis_model *model, const tamis_dense *W, ml_operands *operands) {
    ml_operand_use(&model->column_factors, &operands->B);
    if (W)
        operands->A = (ml_operand){.host = *W};
    else
        ml_operand_use(&model->row_factors, &operands->A);
}

tamis_status ml_insert_column(const tamis_dense *from, int64_t place, const tamis_dense *numbers, ml_operand *wide) {
    *wide = (ml_operand){0};
    if (from->rows > 0 && !from->data) return tamis_fail(TAMIS_ERROR_INTERNAL, "factors are not there");
    const tamis_dense *const to = &wide->host;
    TRY(ml_host_make(from->rows, from->cols + 1, from->type, &wide->host));
    for (int64_t i = 0; i < from->rows; i++) {
        for (int64_t j = 0; j < from->cols; j++) ml_put_element(to, i, j < place ? j : j + 1, ml_element(from, i, j));
        ml_put_element(to, i, place, numbers ? ml_element(numbers, i, 0) : 1);
    }
    return TAMIS_OK;
}

/* Makes [x, b_u, 1] from [x, b_u], or for columns [y, 1, b_i] from [y, b_i]. */
static tamis_status widen(const tamis_model *model, bool columns, ml_operand *operand) {
    TRY(ml_operand_fetch(model, operand));
    const tamis_dense from = operand->host;
    return ml_insert_column(&from, columns ? from.cols - 1 : from.cols, NULL, operand);
}

/* For one row: uses the columns' factors without a copy, as there may be a million. The row's bias is added to all
   predictions, and the row becomes [x, 1]. */
static tamis_status narrow(const tamis_model *model, ml_operands *operands) {
    TRY(ml_operand_fetch(model, &operands->A));
    const tamis_dense from = operands->A.host;
    const int64_t last = from.cols - 1;
    if (!from.data) return tamis_fail(TAMIS_ERROR_INTERNAL, "factors are not there");
    operands->A = (ml_operand){0};
    TRY(ml_host_make(1, from.cols, from.type, &operands->A.host));
    for (int64_t j = 0; j <= last; j++) ml_put_element(&operands->A.host, 0, j, j < last ? ml_element(&from, 0, j) : 1);
    operands->offset += operands->scale * ml_element(&from, 0, last);
    return TAMIS_OK;
}

tamis_status ml_biased_operands(const tamis_model *model, const tamis_dense *W, ml_operands *operands) {
    ml_plain_operands(model, W, operands);
    if (!ml_biased(model)) return TAMIS_OK;
    if (operands->A.host.rows == 1) return narrow(model, operands);
    TRY(widen(model, false, &operands->A));
    return widen(model, true, &operands->B);
}
