/*
 * Fits in consecutive mini-batches: of new rows (partial_fit), or in passes over a stream larger than memory. Only the
 * model is kept from one mini-batch to the next.
 */
#include <math.h>

#include "base/clock.h"
#include "base/scope.h"
#include "ml/data/canonical.h"
#include "ml/fit/calls.h"
#include "ml/fit/choose.h"
#include "ml/fit/fit.h"
#include "ml/fit/loop.h"
#include "ml/model.h"
#include "ml/serve/kept.h"

static tamis_status check_streams(const tamis_model *model) {
    if (model->method->about.mini_batches) return TAMIS_OK;
    return tamis_fail(
        TAMIS_ERROR_UNSUPPORTED,
        "%s needs all data at once: fit it again, or compute the factors of new rows with tamis_model_transform",
        model->method->about.name);
}

/* Sizes and checksum of a pass so far; check_pass compares them with those of earlier passes. */
typedef struct stream_sum {
    int64_t rows, nnz;
    uint64_t rows_sum;
} stream_sum;

static tamis_status check_names(const tamis_model *model, int64_t cols) {
    const int64_t names = tamis_names_count(model->column_names);
    if (!model->column_names || names == cols) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "cols = %lld, the model has names for %lld columns", (long long)cols,
                      (long long)names);
}

/* Learns from one mini-batch, and adds its loss to the pass's sums. */
static tamis_status step(tamis_model *model, const tamis_sparse *batch, const char *what, int64_t whole,
                         stream_sum *came) {
    tamis_sparse data, *const view = &data;
    TAMIS_SCOPE;
    TRY(ml_canonical(model, batch, what, &data));
    came->rows_sum += ml_rows_sum(view, came->rows);
    came->rows += view->rows;
    came->nnz += view->nnz;
    if (model->steps == 0 && !ml_begun(model)) {
        ml_choice choice;
        ml_choose_nothing(model, &choice);
        ml_take_choice(model, &choice);
    }
    if (whole == 0) ml_describe_more(model, view);
    double loss = 0, weight = 0;
    ml_forget(model);
    const tamis_status status = model->method->step(model, view, whole, &loss, &weight);
    model->work = NULL;
    if (status != TAMIS_OK) return status;
    model->parts[0] += loss;
    model->parts[1] += weight;
    return ml_times_add(model); /* a pass may have any number of mini-batches */
}

tamis_status tamis_model_partial_fit(tamis_model *model, const tamis_sparse *batch) {
    tamis_clear_error();
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    TRY(check_streams(model));
    if (batch) TRY(check_names(model, batch->cols));
    stream_sum came = {0};
    model->parts[0] = model->parts[1] = 0;
    TRY(step(model, batch, "batch", 0, &came));
    model->data_sum = 0; /* the model has learnt from more than one matrix */
    double seconds[3];
    TRY(ml_times_take(model, seconds));
    TRY(ml_check_finite(model));
    model->loss = model->parts[1] > 0 ? model->parts[0] / model->parts[1] : NAN;
    model->parts[0] = model->parts[1] = 0;
    return TAMIS_OK;
}

/* Does a pass and sums up its data in *came. The pass ends early if the callback says stop. */
static tamis_status pass(tamis_model *model, tamis_batch_source source, void *context, int64_t cols, stream_sum *came) {
    const int64_t whole = model->iterations_done > 0 ? model->rows : 0; /* not known in the first pass */
    if (whole == 0) model->rows = model->nnz = 0;
    model->parts[0] = model->parts[1] = 0; /* of a pass that was stopped */
    *came = (stream_sum){0};
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
        TRY(step(model, batch, "a mini-batch", whole, came));
        ml_tell_batch(model, number, 0); /* the total is not known */
    }
    return TAMIS_OK;
}

/* Checks after a pass that it had the same data as earlier passes, or records the first pass's fingerprint. */
static tamis_status check_pass(tamis_model *model, int64_t cols, const stream_sum *came) {
    if (came->rows == 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "the stream is empty");
    const uint64_t sum = ml_data_sum(came->rows, cols, came->nnz, came->rows_sum);
    if (model->iterations_done > 0) return ml_check_same(model, came->rows, cols, came->nnz, sum);
    model->data_sum = sum;
    return TAMIS_OK;
}

static tamis_status run(tamis_model *model, tamis_batch_source source, void *context, int64_t cols,
                        const tamis_held_out *held_out) {
    TRY(ml_measure_done(model, held_out));
    while (model->iterations_done < model->options.iterations && !model->stopped && !model->converged) {
        ml_begin_iteration(model);
        stream_sum came;
        TRY(pass(model, source, context, cols, &came));
        if (model->stopped) return ml_stopped(model); /* the checkpoint of the last whole pass stays */
        TRY(check_pass(model, cols, &came));
        if (model->iterations_done == 0 && held_out) TRY(ml_check_held_out(model, held_out, came.rows));
        TRY(ml_end_iteration(model, held_out));
        model->last_save = -INFINITY; /* saves now: a fit stopped within a pass resumes from here */
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
    TRY(check_names(model, cols));
    model->stopped = model->converged = false;
    model->last_save = tamis_clock_seconds();
    TRY(run(model, source, context, cols, held_out));
    TRY(ml_checkpoint(model, true));
    return model->stopped && model->iterations_done < model->options.iterations ? ml_stopped(model) : TAMIS_OK;
}
