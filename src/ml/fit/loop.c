/*
 * The loop over iterations that all methods share. It times each iteration, calls the callback and saves checkpoints.
 * Nothing is allocated within an iteration; held-out entries are scored between iterations.
 */
#include "ml/fit/loop.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/scope.h"
#include "ml/fit/calls.h"
#include "ml/fit/group.h"
#include "ml/fit/group_factors.h"
#include "ml/fit/place.h"
#include "ml/fit/score.h"
#include "ml/methods/method.h"
#include "ml/model.h"
#include "ml/serve/kept.h"

void ml_begin_iteration(tamis_model *model) {
    ml_forget(model);
    model->report = (tamis_iteration){.method = model->options.method,
                                      .iteration = model->iterations_done + 1,
                                      .iterations = model->options.iterations,
                                      .loss = NAN,
                                      .metric = NAN,
                                      .elbo = NAN};
    model->iteration_start = tamis_clock_seconds();
    model->times.calls = 0; /* scoring of held-out entries does not count */
    for (int i = 0; i < 3; i++) model->times.seconds[i] = 0;
}

static void tell(tamis_model *model) {
    model->report.checkpoint_failure = model->save_failure[0] ? model->save_failure : NULL;
    if (model->options.callback && !model->options.callback(model->options.callback_context, &model->report))
        model->stopped = true;
    ml_forget(model); /* the callback may have used the model */
}

tamis_status ml_checkpoint(tamis_model *model, bool now) {
    const double clock = tamis_clock_seconds(), waited = clock - model->last_save;
    const bool due = model->options.checkpoint && (now || waited >= model->options.checkpoint_seconds);
    if (!due) return model->rank ? ml_group_checkpoint(model, false) : TAMIS_OK;
    model->last_save = clock;
    const tamis_status status =
        model->rank ? ml_group_checkpoint(model, true) : tamis_model_save(model, model->options.checkpoint);
    snprintf(model->save_failure, sizeof model->save_failure, "%s", status == TAMIS_OK ? "" : tamis_last_error());
    return now || status != TAMIS_ERROR_FILE ? status : TAMIS_OK; /* a full disk fails the checkpoint, not the fit */
}

bool ml_tell_step(const tamis_model *model, int64_t step) {
    const tamis_model_options *const options = &model->options;
    const tamis_iteration report = {.method = options->method,
                                    .iterations = options->iterations,
                                    .batch = step,
                                    .loss = NAN,
                                    .metric = NAN,
                                    .elbo = NAN};
    return !options->callback || options->callback(options->callback_context, &report);
}

void ml_tell_batch(tamis_model *model, int64_t batch, int64_t batches) {
    tamis_iteration *const report = &model->report;
    report->batch = batch;
    report->batches = batches;
    report->seconds = tamis_clock_seconds() - model->iteration_start;
    report->total_seconds = model->total_seconds + report->seconds;
    tell(model);
}

tamis_status ml_after_batch(tamis_model *model, int64_t batch, int64_t batches, bool *go_on) {
    *go_on = true;
    if (batch == batches) return TAMIS_OK; /* the iteration's own report follows */
    ml_tell_batch(model, batch, batches);
    *go_on = !model->stopped;
    return *go_on ? ml_checkpoint(model, false) : TAMIS_OK;
}

void ml_model_empty(tamis_model *model) {
    ml_dense_free(model, &model->row_factors);
    ml_dense_free(model, &model->column_factors);
    for (int i = 0; i < ML_STATES; i++) ml_dense_free(model, &model->states[i]);
    ml_forget(model);
    model->rows = model->cols = model->nnz = model->steps = model->batches_done = 0;
    model->data_sum = 0;
    model->iterations_done = 0;
    model->loss = model->metric = NAN;
}

tamis_status ml_check_finite(tamis_model *model) {
    static const char *const advice[] = {
        [TAMIS_DATA_RATINGS] = "use a larger regularization, or ratings that are closer to each other",
        [TAMIS_DATA_USES] = "use a larger regularization, less confidence, or weights that are logarithms",
        [TAMIS_DATA_COUNTS] = "use larger priors, or smaller counts"};
    const tamis_dense *const factors[] = {&model->row_factors, &model->column_factors};
    double sums[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        if (factors[i]->rows > 0 && factors[i]->cols > 0)
            TRY(tamis_dense_dot(model->device, NULL, model->workspace, factors[i], factors[i], &sums[i]));
    TRY(ml_add_ranks(model, sums, 2));
    if (isfinite(sums[0]) && isfinite(sums[1])) return TAMIS_OK;
    const int iteration = model->iterations_done + 1;
    ml_model_empty(model); /* a model with non-finite factors is unusable */
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "iteration %d: the factors of %s are not finite numbers: %s%s", iteration,
                      isfinite(sums[0]) ? "columns" : "rows",
                      model->method->about.sampled ? "use a smaller rate" : advice[model->method->about.data],
                      model->options.type == TAMIS_F32 ? "; or fp64" : "");
}

/* Computes the metric of the current model. */
static tamis_status measure(tamis_model *model, const tamis_held_out *held_out) {
    double weight;
    model->metric = NAN;
    if (!held_out) return TAMIS_OK;
    return model->rank ? ml_group_metric(model, held_out, &model->metric)
                       : ml_metric(model, held_out, &model->metric, &weight);
}

tamis_status ml_end_iteration(tamis_model *model, const tamis_held_out *held_out) {
    tamis_iteration *const report = &model->report;
    TRY(tamis_stream_synchronize(model->device, NULL));
    report->seconds = tamis_clock_seconds() - model->iteration_start;
    model->total_seconds += report->seconds;
    report->total_seconds = model->total_seconds;
    double seconds[3];
    TRY(ml_times_take(model, seconds));
    report->sddmm_share = seconds[TAMIS_OP_SDDMM] / report->seconds;
    report->spmm_share = seconds[TAMIS_OP_SPMM] / report->seconds;
    report->fused_share = seconds[TAMIS_OP_FUSED] / report->seconds;
    TRY(ml_check_finite(model));
    const double before = model->loss;
    model->loss = model->metric = NAN;
    if (!model->options.skip_loss) {
        if (model->method->loss) TRY(model->method->loss(model, &model->loss));
        TRY(ml_times_take(model, seconds)); /* not the iteration's */
    }
    model->iterations_done++;
    model->batches_done = 0;
    for (int i = 0; i < ML_PARTS; i++) model->parts[i] = 0;
    TRY(measure(model, held_out));
    report->loss = model->options.skip_loss ? NAN : model->loss;
    report->metric = model->metric;
    report->batch = report->batches = report->batches > 0 ? report->batches : 1;
    tell(model);
    TRY(ml_group_stop(model));
    const double tolerance = model->options.tolerance;
    if (tolerance > 0 && !model->options.skip_loss && before - model->loss < tolerance * fabs(before))
        model->converged = true; /* false if `before` is NaN */
    return ml_checkpoint(model, false);
}

tamis_status ml_stopped(const tamis_model *model) {
    if (model->batches_done > 0)
        return tamis_fail(TAMIS_ERROR_CANCELLED, "stopped after %lld mini-batches of iteration %d of %d",
                          (long long)model->batches_done, model->iterations_done + 1, model->options.iterations);
    return tamis_fail(TAMIS_ERROR_CANCELLED, "stopped after iteration %d of %d", model->iterations_done,
                      model->options.iterations);
}

tamis_status ml_measure_done(tamis_model *model, const tamis_held_out *held_out) {
    return model->iterations_done == 0 || ml_unfinished(model) ? TAMIS_OK : measure(model, held_out);
}

static tamis_status run(tamis_model *model, const tamis_sparse *data, const tamis_held_out *held_out) {
    ml_forget(model);
    TRY(model->method->begin(model, data));
    TRY(ml_measure_done(model, held_out));
    while (ml_unfinished(model) && !model->stopped && !model->converged) {
        ml_begin_iteration(model);
        TRY(model->method->iterate(model));
        if (model->stopped) break; /* between two mini-batches */
        TRY(ml_end_iteration(model, held_out));
    }
    return TAMIS_OK;
}

tamis_status ml_run(tamis_model *model, const tamis_sparse *data, const tamis_held_out *held_out) {
    TAMIS_SCOPE;
    const tamis_status status = run(model, data, held_out);
    model->work = NULL;
    return status;
}
