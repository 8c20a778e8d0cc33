/*
 * What predictions are made of. Where they are plain products of factors nothing is copied: the CPU's factors are host
 * memory, and a GPU's stay where they are until somebody asks for them on the host.
 */
#include "ml/model.h"

void ml_operand_take(ml_operand *operand, tamis_owned_dense *array) {
    *operand = (ml_operand){.host = *tamis_owned_dense_view(array), .own = array};
}

static void use_factors(const tamis_dense *factors, ml_operand *operand) {
    *operand = (ml_operand){.host = *factors, .there = factors};
    if (factors->location == TAMIS_HOST) return;
    operand->host.location = TAMIS_HOST;
    operand->host.data = NULL;
}

tamis_status ml_operand_fetch(const tamis_model *model, ml_operand *operand) {
    if (operand->host.data || !operand->there || !operand->there->data) return TAMIS_OK;
    TRY(ml_dense_fetch(model, operand->there, &operand->own));
    operand->host = *tamis_owned_dense_view(operand->own);
    return TAMIS_OK;
}

void ml_plain_operands(const tamis_model *model, const tamis_dense *W, ml_operands *operands) {
    use_factors(&model->column_factors, &operands->B);
    if (W)
        operands->A = (ml_operand){.host = *W};
    else
        use_factors(&model->row_factors, &operands->A);
}

void ml_operands_free(ml_operands *operands) {
    tamis_owned_dense_free(operands->A.own);
    tamis_owned_dense_free(operands->B.own);
    *operands = (ml_operands){0};
}
