/* tamis_model_copy: a second model, which may change while others use the first. */
#include "ml/fit/options.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/model.h"
#include "ml/serve/predict.h"

static tamis_status copy_matrix(const tamis_model *model, const tamis_dense *from, tamis_dense *to) {
    *to = (tamis_dense){0};
    if (from->cols == 0) return TAMIS_OK;
    TRY(ml_dense_make(model, from->rows, from->cols, to));
    const size_t bytes = (size_t)(from->rows * from->cols) * tamis_type_size(from->type);
    return bytes > 0 ? tamis_device_copy(model->device, NULL, to->data, 0, from->data, 0, bytes) : TAMIS_OK;
}

static tamis_status copy_names(const tamis_names *from, tamis_names **to) {
    *to = NULL;
    return from ? tamis_names_copy(from, to) : TAMIS_OK;
}

/* Takes over the plain members; what the model owns is left as `own` has it. */
static void take_members(const tamis_model *model, const tamis_model *own, tamis_model *copy) {
    *copy = *model;
    copy->options.checkpoint = own->options.checkpoint;
    copy->kept = own->kept;
    copy->workspace = NULL;
    copy->row_names = copy->column_names = NULL;
    copy->features[0] = copy->features[1] = NULL;
    copy->work = NULL;
    copy->seeds = NULL;
    copy->rank = NULL;
    copy->times = (ml_times){0};
    copy->row_factors = copy->column_factors = (tamis_dense){0};
    for (int i = 0; i < ML_STATES; i++) copy->states[i] = (tamis_dense){0};
}

tamis_status tamis_model_copy(const tamis_model *model, tamis_model **copy) {
    tamis_clear_error();
    if (!copy) return tamis_fail(TAMIS_ERROR_ARGUMENT, "copy = NULL: expected an address for the model");
    *copy = NULL;
    TRY(ml_check_fitted(model));
    if (model->work) return tamis_fail(TAMIS_ERROR_ARGUMENT, "the model is being fitted: copy it before, or after");
    tamis_status status;
    tamis_model *made;
    TRY(ml_model_make(model->device, &model->options, &made));
    const tamis_model own = *made;
    take_members(model, &own, made);
    TRY_GOTO(failed, copy_matrix(model, &model->row_factors, &made->row_factors));
    TRY_GOTO(failed, copy_matrix(model, &model->column_factors, &made->column_factors));
    for (int i = 0; i < ML_STATES; i++) TRY_GOTO(failed, copy_matrix(model, &model->states[i], &made->states[i]));
    TRY_GOTO(failed, copy_names(model->row_names, &made->row_names));
    TRY_GOTO(failed, copy_names(model->column_names, &made->column_names));
    TRY_GOTO(failed, tamis_stream_synchronize(model->device, NULL));
    *copy = made;
    return TAMIS_OK;
failed:
    return ml_model_give_up(status, made);
}
