/* A model's matrices and names; describing and freeing a model. */
#include "ml/factors.h"

#include <math.h>
#include <string.h>

#include "ml/fit/calls.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/model.h"
#include "ml/serve/kept.h"

void tamis_model_free(tamis_model *model) {
    if (!model) return;
    ml_dense_free(model, &model->row_factors);
    ml_dense_free(model, &model->column_factors);
    for (int i = 0; i < ML_STATES; i++) ml_dense_free(model, &model->states[i]);
    if (model->kept) ml_forget(model);
    tamis_release(model->kept);
    tamis_dense_workspace_destroy(model->workspace);
    ml_times_free(model);
    tamis_release(model->seeds);
    tamis_names_free(model->row_names);
    tamis_names_free(model->column_names);
    for (int i = 0; i < 2; i++) tamis_owned_sparse_free(model->features[i]);
    tamis_release((void *)(uintptr_t)model->options.checkpoint);
    tamis_release(model);
}

/* ------------------------------------------------------------------------------------------ what it keeps */

static tamis_status make_once(const tamis_model *model, int64_t rows, int64_t cols, tamis_dense *dense, bool *fresh) {
    if (dense->cols == cols && dense->rows == rows && (dense->data || rows * cols == 0)) {
        *fresh = false;
        return TAMIS_OK;
    }
    ml_dense_free(model, dense);
    *fresh = true;
    TRY(ml_dense_make(model, rows, cols, dense));
    return dense->data ? tamis_dense_fill(model->device, NULL, dense, 0) : TAMIS_OK;
}

tamis_status ml_model_workspace(tamis_model *model) {
    if (model->workspace) return TAMIS_OK;
    return tamis_dense_workspace_create(model->device, model->width + 2, model->options.type, &model->workspace);
}

tamis_status ml_model_factors(tamis_model *model, int64_t rows, int64_t cols, bool *fresh) {
    bool rows_fresh = false, cols_fresh = false;
    TRY(ml_model_workspace(model));
    if (model->method->about.row_factors) TRY(make_once(model, rows, model->width, &model->row_factors, &rows_fresh));
    TRY(make_once(model, cols, model->width, &model->column_factors, &cols_fresh));
    *fresh = rows_fresh || cols_fresh;
    return TAMIS_OK;
}

bool ml_state_size(const ml_method *method, const tamis_model_options *options, int64_t rows, int64_t cols, int number,
                   int64_t size[2]) {
    const ml_state *const state = &method->states[number];
    const int64_t counts[] = {
        [ML_NONE] = 0, [ML_ROWS] = rows, [ML_COLUMNS] = cols, [ML_FACTORS] = options->factors, [ML_ANY] = -1};
    size[0] = counts[state->rows.of] + state->rows.more;
    size[1] = counts[state->cols.of] + state->cols.more;
    return size[1] > 0 && (!state->kept || state->kept(options));
}

tamis_status ml_model_state(tamis_model *model, int number, bool *fresh) {
    int64_t size[2];
    if (!ml_state_size(model->method, &model->options, model->rows, model->cols, number, size))
        return tamis_fail(TAMIS_ERROR_INTERNAL, "%s has no state %d", model->method->about.name, number);
    return make_once(model, size[0], size[1], &model->states[number], fresh);
}

tamis_status ml_model_state_of(tamis_model *model, int number, int64_t rows, bool *fresh) {
    return make_once(model, rows, model->method->states[number].cols.more, &model->states[number], fresh);
}

tamis_status ml_state_read(const tamis_model *model, int number, double **numbers) {
    const tamis_dense *const state = &model->states[number];
    int64_t size[2];
    *numbers = NULL;
    if (state->cols == 0 && model->method->states[number].optional) return TAMIS_OK;
    const bool known = ml_state_size(model->method, &model->options, model->rows, model->cols, number, size);
    if (known && size[0] < 0) size[0] = state->rows;
    if (!known || state->rows != size[0] || state->cols != size[1])
        return tamis_fail(TAMIS_ERROR_INTERNAL, "state %d of %s is %lld x %lld, expected %lld x %lld", number,
                          model->method->about.name, (long long)state->rows, (long long)state->cols,
                          (long long)(known ? size[0] : 0), (long long)(known ? size[1] : 0));
    return ml_dense_read_doubles(model, state, numbers);
}

/* ------------------------------------------------------------------------------------------ looking at it */

tamis_status tamis_model_describe(const tamis_model *model, tamis_model_description *description) {
    tamis_clear_error();
    if (!model || !description) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", model ? "description" : "model");
    *description =
        (tamis_model_description){.options = model->options,
                                  .rows = model->row_factors.rows,
                                  .cols = model->cols,
                                  .nnz = model->nnz,
                                  .width = model->width,
                                  .iterations_done = model->iterations_done,
                                  .loss = model->loss,
                                  .metric = model->metric,
                                  .mean = model->mean,
                                  .least = model->least,
                                  .most = model->most,
                                  .scale = model->scale,
                                  .regularization = ml_lambda(model),
                                  .choice_seconds = model->choice_seconds,
                                  .featured_rows = model->featured[0],
                                  .featured_columns = model->featured[1],
                                  .biases_alone = model->method->over_biases && model->share >= ML_BIASES_ALONE};
    description->options.checkpoint = NULL;
    description->options.callback = NULL;
    description->options.callback_context = NULL;
    return TAMIS_OK;
}

static tamis_status fetch(tamis_model *model, tamis_owned_dense **factors, bool of_rows) {
    tamis_clear_error();
    if (!model || !factors) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", model ? "factors" : "model");
    *factors = NULL;
    if (model->cols == 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "the model has not been fitted yet");
    if (of_rows && (model->row_factors.cols == 0 || model->row_factors.rows != model->rows))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s stores no row factors: use tamis_model_transform",
                          model->method->about.name);
    return ml_dense_fetch(model, of_rows ? &model->row_factors : &model->column_factors, factors);
}

tamis_status tamis_model_row_factors(tamis_model *model, tamis_owned_dense **factors) {
    return fetch(model, factors, true);
}

tamis_status tamis_model_column_factors(tamis_model *model, tamis_owned_dense **factors) {
    return fetch(model, factors, false);
}

/* ------------------------------------------------------------------------------------------ names */

tamis_status tamis_model_set_names(tamis_model *model, const tamis_names *rows, const tamis_names *columns) {
    tamis_clear_error();
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    if (columns && model->cols > 0 && !model->renewed && tamis_names_count(columns) != model->cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "columns has %lld names, the model has %lld columns",
                          (long long)tamis_names_count(columns), (long long)model->cols);
    const bool fitted = ml_begun(model) || model->steps > 0;
    if (rows && fitted && !model->renewed && tamis_names_count(rows) > model->rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows has %lld names, the model has %lld rows",
                          (long long)tamis_names_count(rows), (long long)model->rows);
    tamis_names *own_rows = NULL, *own_columns = NULL;
    if (rows) TRY(tamis_names_copy(rows, &own_rows));
    const tamis_status status = columns ? tamis_names_copy(columns, &own_columns) : TAMIS_OK;
    if (status != TAMIS_OK) {
        tamis_names_free(own_rows);
        return status;
    }
    tamis_names_free(model->row_names);
    tamis_names_free(model->column_names);
    model->row_names = own_rows;
    model->column_names = own_columns;
    return TAMIS_OK;
}

tamis_status tamis_model_set_seeds(tamis_model *model, const int64_t *topics, int64_t count) {
    tamis_clear_error();
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    if (!model->method->about.seeds)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s takes no seeds of topics", model->method->about.name);
    if (ml_begun(model)) return tamis_fail(TAMIS_ERROR_ARGUMENT, "the model has begun: seeds are for a new model");
    if (count < 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "count = %lld is negative", (long long)count);
    for (int64_t j = 0; topics && j < count; j++)
        if (topics[j] < -1 || topics[j] >= model->options.factors)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "topics[%lld] = %lld, expected -1 or a topic of 0 to %lld",
                              (long long)j, (long long)topics[j], (long long)model->options.factors - 1);
    int64_t *copy = NULL;
    if (topics && count > 0) {
        TRY(tamis_allocate(count, sizeof *copy, "seeds of topics", (void **)&copy));
        memcpy(copy, topics, (size_t)count * sizeof *copy);
    }
    tamis_release(model->seeds);
    model->seeds = copy;
    model->seed_count = copy ? count : 0;
    return TAMIS_OK;
}

const tamis_names *tamis_model_row_names(const tamis_model *model) { return model ? model->row_names : NULL; }
const tamis_names *tamis_model_column_names(const tamis_model *model) { return model ? model->column_names : NULL; }
