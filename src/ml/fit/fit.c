/* Fits to data in memory on one device: takes the data, chooses hyperparameters, and runs the loop (loop.c). */
#include "ml/fit/fit.h"

#include "base/clock.h"
#include "base/scope.h"
#include "ml/data/canonical.h"
#include "ml/fit/choose.h"
#include "ml/fit/features.h"
#include "ml/fit/loop.h"
#include "ml/fit/renew.h"
#include "ml/methods/method.h"
#include "ml/model.h"

tamis_status ml_check_same(const tamis_model *model, int64_t rows, int64_t cols, int64_t nnz, uint64_t sum) {
    if (ml_begun(model) && model->data_sum != 0 && model->data_sum != sum)
        return tamis_fail(
            TAMIS_ERROR_ARGUMENT,
            "S differs from the data of the first %d iterations (%lld x %lld with %lld entries then, %lld x %lld with "
            "%lld now, or other values): make a new model for other data",
            model->iterations_done, (long long)model->rows, (long long)model->cols, (long long)model->nnz,
            (long long)rows, (long long)cols, (long long)nnz);
    const tamis_names *const names[] = {model->row_names, model->column_names};
    const int64_t counts[] = {rows, cols};
    for (int i = 0; i < 2; i++)
        if (names[i] && tamis_names_count(names[i]) != counts[i])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "S has %lld %s, the model has names for %lld", (long long)counts[i],
                              i == 0 ? "rows" : "columns", (long long)tamis_names_count(names[i]));
    return TAMIS_OK;
}

/* Checks that the model can continue with these data, and sets its statistics of them. */
static tamis_status take_data(tamis_model *model, const tamis_sparse *data) {
    const uint64_t sum = ml_data_sum(data->rows, data->cols, data->nnz, ml_rows_sum(data, 0));
    const bool former = model->data_sum != sum && ml_begun(model) && ml_former_sum(data) == model->data_sum;
    TRY(ml_check_same(model, data->rows, data->cols, data->nnz, former || model->renewed ? model->data_sum : sum));
    if (model->renewed) return ml_renew(model, data, sum);
    if (ml_begun(model) && model->row_factors.rows > 0 && model->row_factors.rows != data->rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "S has %lld rows, but the model %lld, some of which were put in later",
                          (long long)data->rows, (long long)model->row_factors.rows);
    if (ml_begun(model)) {
        model->rows = data->rows;
        model->nnz = data->nnz;
    } else {
        ml_describe_data(model, data);
    }
    model->data_sum = sum;
    return TAMIS_OK;
}

tamis_status ml_check_held_out(const tamis_model *model, const tamis_held_out *held_out, int64_t rows) {
    if (!held_out) return TAMIS_OK;
    const tamis_sparse *const parts[] = {held_out->entries, held_out->observed};
    static const char *const names[] = {"held_out.entries", "held_out.observed"};
    if (!parts[0]) return tamis_fail(TAMIS_ERROR_ARGUMENT, "held_out.entries is NULL");
    const bool folded = model->method->about.data == TAMIS_DATA_COUNTS;
    if (folded && !parts[1])
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "held_out.observed is NULL: %s computes the topics of held-out documents from it",
                          model->method->about.name);
    for (int i = 0; i < 2; i++) {
        if (!parts[i]) continue;
        const int64_t expected = folded ? parts[0]->rows : rows;
        if (parts[i]->cols != model->cols)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.cols = %lld, S has %lld columns", names[i],
                              (long long)parts[i]->cols, (long long)model->cols);
        if (parts[i]->rows != expected)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.rows = %lld, expected %lld", names[i],
                              (long long)parts[i]->rows, (long long)expected);
    }
    return TAMIS_OK;
}

/* Does all iterations, and what follows the last one. */
static tamis_status run(tamis_model *model, const tamis_sparse *view, const tamis_held_out *held) {
    TRY(ml_run(model, view, held));
    if (model->stopped && ml_unfinished(model)) {
        TRY(ml_checkpoint(model, true));
        return ml_stopped(model);
    }
    if (model->features[0] || model->features[1]) TRY(ml_checkpoint(model, true)); /* which may be stopped */
    TRY(ml_features_use(model, view));
    if (model->featured[0] > 0 || model->featured[1] > 0) TRY(ml_measure_done(model, held));
    return ml_checkpoint(model, true);
}

static tamis_status fit(tamis_model *model, const tamis_sparse *S, const tamis_held_out *held_out) {
    const int64_t cols = model->cols;
    if (model->renewed || (model->iterations_done == 0 && model->batches_done == 0 && model->steps == 0))
        model->cols = 0; /* a failed fit leaves no trace */
    tamis_sparse data, *const view = &data;
    TAMIS_SCOPE;
    tamis_status status = ml_canonical(model, S, "S", &data);
    if (status != TAMIS_OK) {
        model->cols = cols;
        return status;
    }
    model->stopped = model->converged = false;
    model->last_save = tamis_clock_seconds();
    TRY_GOTO(done, take_data(model, view));
    TRY_GOTO(done, ml_check_held_out(model, held_out, view->rows));
    TRY_GOTO(done, ml_features_check(model, view->rows, view->cols));
    if (!ml_begun(model)) {
        ml_choice choice;
        status = ml_choose(model, view, &choice);
        if (status != TAMIS_OK && model->column_factors.cols == 0) ml_model_empty(model); /* it is of no data */
        if (status != TAMIS_OK) goto done;
        ml_take_choice(model, &choice);
    }
    if (model->method->prepare) TRY_GOTO(done, model->method->prepare(model, view, true));
    /* a method without stored row factors computes the held-out rows' factors from the data of the fit */
    tamis_held_out own = held_out ? *held_out : (tamis_held_out){0};
    if (!own.observed && !model->method->about.row_factors) own.observed = model->method->prepare ? S : view;
    status = run(model, view, held_out ? &own : NULL);
done:
    if (model->renewed && model->cols == 0) model->cols = cols; /* the data were refused */
    model->renewed = false;
    return status;
}

tamis_status tamis_model_fit(tamis_model *model, const tamis_sparse *S, const tamis_held_out *held_out) {
    tamis_clear_error();
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    model->featured[0] = model->featured[1] = 0;
    const tamis_status status = fit(model, S, held_out);
    ml_features_forget(model);
    return status;
}
