/* Options of models: defaults, checks, and making a model from them. */
#include "ml/fit/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text_buffer.h"
#include "ml/methods/method.h"
#include "ml/methods/methods.h"
#include "ml/model.h"
#include "ml/serve/kept.h"

enum { THREADS_MOST = 1024 };

static tamis_status check_method(tamis_method method) {
    if (!ml_method_of(method))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "method = %d is not a valid method", (int)method);
    return TAMIS_OK;
}

tamis_status tamis_model_options_init(tamis_model_options *options, tamis_method method) {
    tamis_clear_error();
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options is NULL");
    TRY(check_method(method));
    const ml_method *const row = ml_method_of(method);
    *options = (tamis_model_options){.method = method,
                                     .factors = row->sizes ? 0 : 32,
                                     .type = TAMIS_F32,
                                     .iterations = 15,
                                     .seed = 1,
                                     .checkpoint_seconds = 30};
    row->defaults(options);
    return TAMIS_OK;
}

tamis_status ml_algorithms(const char *text, char algorithms[3][48]) {
    for (int i = 0; i < 3; i++) algorithms[i][0] = 0;
    if (!text) return TAMIS_OK;
    const char *at = text;
    int count = 0;
    for (;; count++) {
        const size_t length = strcspn(at, ",");
        if (count == 3 || length == 0 || length >= sizeof algorithms[0])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "algorithms = \"%s\", expected one name or three", text);
        memcpy(algorithms[count], at, length);
        algorithms[count][length] = 0;
        at += length;
        if (!*at) break;
        at++;
    }
    if (count == 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "algorithms = \"%s\", expected one name or three", text);
    for (int i = count + 1; i < 3; i++) memcpy(algorithms[i], algorithms[0], sizeof algorithms[0]);
    return TAMIS_OK;
}

tamis_status ml_options_check(const tamis_model_options *options) {
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options is NULL");
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(TAMIS_RESERVED_FLAGS(options, "options"));
    TRY(check_method(options->method));
    const ml_method *const method = ml_method_of(options->method);
    const int least = method->sizes ? 0 : 1;
    if (options->factors < least || options->factors > 1024)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "factors = %lld, expected %d to 1024", (long long)options->factors,
                          least);
    if (options->type != TAMIS_F32 && options->type != TAMIS_F64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "type = %s, models are fp32 or fp64", tamis_type_name(options->type));
    if (options->iterations < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "iterations = %d is negative", options->iterations);
    if (method->about.pairs && options->iterations < 1) /* models of pairs have no initial factors */
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "iterations = %d: %s is made in its first iteration: expected 1",
                          options->iterations, method->about.name);
    if (options->threads < 0 || options->threads > THREADS_MOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "threads = %d, expected 0 (the device's) to %d", options->threads,
                          THREADS_MOST);
    if (options->batch_rows < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "batch_rows = %lld is negative", (long long)options->batch_rows);
    TRY(ml_check_number("tolerance", options->tolerance, options->tolerance >= 0 && options->tolerance < 1,
                        "0 to below 1"));
    if (!(options->checkpoint_seconds >= 0))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "checkpoint_seconds = %g, expected 0 or more",
                          options->checkpoint_seconds);
    TRY(ml_check_number("rate_offset", options->rate_offset, options->rate_offset >= 0, "0 (which means 1) or more"));
    char algorithms[3][48];
    TRY(ml_algorithms(options->algorithms, algorithms));
    return method->check ? method->check(options) : TAMIS_OK;
}

tamis_status ml_model_make(tamis_device *device, const tamis_model_options *options, tamis_model **made) {
    tamis_device_description description;
    TRY(tamis_device_describe(device, &description));
    tamis_model *model;
    TRY(tamis_allocate_zeroed(1, sizeof *model, "a model", (void **)&model));
    model->device = device;
    model->location = description.location;
    model->method = ml_method_of(options->method);
    model->options = *options;
    model->options.checkpoint = model->options.algorithms = NULL;
    model->width = ml_width(model->method, options);
    model->loss = model->metric = NAN;
    model->scale = 1;
    model->prior_ratings = ML_PRIOR_RATINGS;
    model->share = ML_SHARE;
    model->asked = (ml_choice){.share = model->method->lambda > 0 ? 1 : ML_SHARE,
                               .regularization = options->regularization,
                               .column_regularization = options->column_regularization,
                               .row_prior = options->row_prior,
                               .column_prior = options->column_prior,
                               .factors = options->factors,
                               .confidence = options->confidence,
                               .neighbours = options->neighbours,
                               .weights = options->weights};
    char *checkpoint = NULL;
    tamis_status status = tamis_allocate_zeroed(1, sizeof *model->kept, "a model", (void **)&model->kept);
    if (status == TAMIS_OK) status = ml_algorithms(options->algorithms, model->algorithms);
    if (status == TAMIS_OK) status = tamis_text_copy(options->checkpoint, "a path", &checkpoint);
    model->options.checkpoint = checkpoint;
    if (status != TAMIS_OK) {
        tamis_model_free(model);
        return status;
    }
    *made = model;
    return TAMIS_OK;
}

tamis_status ml_model_give_up(tamis_status status, tamis_model *model) {
    char why[512];
    snprintf(why, sizeof why, "%s", tamis_last_error());
    tamis_model_free(model);
    return tamis_fail(status, "%s", why);
}

tamis_status tamis_model_create(tamis_device *device, const tamis_model_options *options, tamis_model **model) {
    tamis_clear_error();
    if (!device || !model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", device ? "model" : "device");
    *model = NULL;
    TRY(ml_options_check(options));
    const ml_method *const method = ml_method_of(options->method);
    if (method->check_new) TRY(method->check_new(options));
    return ml_model_make(device, options, model);
}

tamis_status tamis_model_continue_with(tamis_model *model, const tamis_model_options *options) {
    tamis_clear_error();
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    TRY(ml_options_check(options));
    if (options->method != model->options.method)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.method = %s, but the model's is %s",
                          tamis_method_name(options->method), model->method->about.name);
    char *checkpoint;
    TRY(tamis_text_copy(options->checkpoint, "a path", &checkpoint));
    tamis_model_options *const own = &model->options;
    tamis_release((void *)(uintptr_t)own->checkpoint);
    own->checkpoint = checkpoint;
    own->checkpoint_seconds = options->checkpoint_seconds;
    own->iterations = options->iterations;
    own->tolerance = options->tolerance;
    own->skip_loss = options->skip_loss;
    own->elbo = options->elbo;
    own->threads = options->threads;
    TRY(ml_algorithms(options->algorithms, model->algorithms));
    own->callback = options->callback;
    own->callback_context = options->callback_context;
    return TAMIS_OK;
}
