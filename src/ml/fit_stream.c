/*
 * Fits in consecutive mini-batches: of new rows (partial_fit), or in passes over a stream larger than memory. Only the
 * model is kept from one mini-batch to the next.
 */
#include <math.h>

#include "base/clock.h"
#include "ml/calls.h"
#include "ml/canonical.h"
#include "ml/choose.h"
#include "ml/fit.h"
#include "ml/kept.h"
#include "ml/loop.h"
#include "ml/model.h"

static tamis_status check_streams(const tamis_model *model) {
    if (model->method->about.mini_batches) return TAMIS_OK;
    return tamis_fail(
        TAMIS_ERROR_UNSUPPORTED,
        "%s needs all data at once: fit it again, or compute the factors of new rows with tamis_model_transform",
        model->method->about.name);
}

/* Learns from one mini-batch, whose loss goes into the pass's sums. */
static tamis_status step(tamis_model *model, const tamis_sparse *batch, const char *what, int64_t whole,
                         int64_t *rows) {
    tamis_owned_sparse *data;
    TRY(ml_canonical(model, batch, what, &data));
    const tamis_sparse *const view = tamis_owned_sparse_view(data);
    *rows = view->rows;
    if (model->steps == 0 && !ml_begun(model)) {
        ml_choice choice;
        ml_choose_nothing(model, &choice);
        ml_take_choice(model, &choice);
    }
    if (whole == 0) ml_describe_more(model, view);
    double loss = 0, weight = 0;
    ml_forget(model);
    const tamis_status status = model->method->step(model, view, whole, &loss, &weight);
    tamis_owned_sparse_free(data);
    if (status != TAMIS_OK) return status;
    model->parts[0] += loss;
    model->parts[1] += weight;
    return ml_times_add(model); /* a pass may have any number of mini-batches */
}

tamis_status tamis_model_partial_fit(tamis_model *model, const tamis_sparse *batch) {
    tamis_clear_error();
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    TRY(check_streams(model));
    int64_t rows;
    model->parts[0] = model->parts[1] = 0;
    TRY(step(model, batch, "batch", 0, &rows));
    double seconds[3];
    TRY(ml_times_take(model, seconds));
    TRY(ml_check_finite(model));
    model->loss = model->parts[1] > 0 ? model->parts[0] / model->parts[1] : NAN;
    model->parts[0] = model->parts[1] = 0;
    return TAMIS_OK;
}

/* Does a pass; *rows counts what came. It ends early if the callback says stop. */
static tamis_status pass(tamis_model *model, tamis_batch_source source, void *context, int64_t cols, int64_t *rows) {
    const int64_t whole = model->iterations_done > 0 ? model->rows : 0; /* not known in the first pass */
    if (whole == 0) model->rows = model->nnz = 0;
    model->parts[0] = model->parts[1] = 0; /* of a pass that was stopped */
    *rows = 0;
    for (int64_t number = 1; !model->stopped; number++) {
        const tamis_sparse *batch = NULL;
        const tamis_status status = source(context, &batch);
        if (status != TAMIS_OK && !*tamis_last_error())
            return tamis_fail(status, "the source of mini-batches returned the error \"%s\"",
                              tamis_status_name(status));
        if (status != TAMIS_OK) return status;
        if (!batch) {
            model->report.batches = number - 1;
            return TAMIS_OK;
        }
        if (batch->cols != cols)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "a mini-batch has %lld columns, cols = %lld",
                              (long long)batch->cols, (long long)cols);
        int64_t count;
        TRY(step(model, batch, "a mini-batch", whole, &count));
        *rows += count;
        ml_tell_batch(model, number, 0); /* how many there will be is not known */
    }
    return TAMIS_OK;
}

static tamis_status run(tamis_model *model, tamis_batch_source source, void *context, int64_t cols,
                        const tamis_held_out *held_out) {
    TRY(ml_measure_done(model, held_out));
    while (model->iterations_done < model->options.iterations && !model->stopped && !model->converged) {
        ml_begin_iteration(model);
        int64_t rows;
        TRY(pass(model, source, context, cols, &rows));
        if (model->stopped) return ml_stopped(model); /* the checkpoint stays that of the last whole pass */
        if (rows == 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "the stream is empty");
        if (model->iterations_done == 0 && held_out) TRY(ml_check_held_out(model, held_out, rows));
        TRY(ml_end_iteration(model, held_out));
        model->last_save = -INFINITY; /* what is stopped within a pass goes on from here */
        TRY(ml_checkpoint(model, false));
    }
    return TAMIS_OK;
}

tamis_status tamis_model_fit_stream(tamis_model *model, tamis_batch_source source, void *context, int64_t cols,
                                    const tamis_held_out *held_out) {
    tamis_clear_error();
    if (!model || !source) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", model ? "source" : "model");
    TRY(check_streams(model));
    if (cols < 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "cols = %lld, expected 1 or more", (long long)cols);
    if (model->cols > 0 && model->cols != cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "cols = %lld, the model has %lld columns", (long long)cols,
                          (long long)model->cols);
    model->stopped = model->converged = false;
    model->last_save = tamis_clock_seconds();
    TRY(run(model, source, context, cols, held_out));
    TRY(ml_checkpoint(model, true));
    return model->stopped && model->iterations_done < model->options.iterations ? ml_stopped(model) : TAMIS_OK;
}
