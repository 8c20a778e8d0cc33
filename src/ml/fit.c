/*
 * Fitting: the loop over iterations that all methods share. It times each iteration, calls the callback and saves
 * checkpoints. Nothing is allocated within an iteration; held-out entries are scored between iterations.
 */
#include "ml/fit.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "ml/calls.h"
#include "ml/canonical.h"
#include "ml/group.h"
#include "ml/group_factors.h"
#include "ml/method.h"
#include "ml/model.h"
#include "ml/score.h"
#include "ml/share.h"

void ml_begin_iteration(tamis_model *model) {
    model->report = (tamis_iteration){.method = model->options.method,
                                      .iteration = model->iterations_done + 1,
                                      .iterations = model->options.iterations,
                                      .loss = NAN,
                                      .metric = NAN,
                                      .elbo = NAN};
    model->iteration_start = tamis_clock_seconds();
    model->times.calls = 0; /* what held-out entries took is no iteration's */
    for (int i = 0; i < 3; i++) model->times.seconds[i] = 0;
}

static void tell(tamis_model *model) {
    model->report.checkpoint_failure = model->save_failure[0] ? model->save_failure : NULL;
    if (model->options.callback && !model->options.callback(model->options.callback_context, &model->report))
        model->stopped = true;
}

tamis_status ml_checkpoint(tamis_model *model, bool now) {
    const double clock = tamis_clock_seconds(), waited = clock - model->last_save;
    const bool due = model->options.checkpoint && (now || waited >= model->options.checkpoint_seconds);
    if (!due) return model->rank ? ml_group_checkpoint(model, false) : TAMIS_OK;
    model->last_save = clock;
    const tamis_status status =
        model->rank ? ml_group_checkpoint(model, true) : tamis_model_save(model, model->options.checkpoint);
    snprintf(model->save_failure, sizeof model->save_failure, "%s", status == TAMIS_OK ? "" : tamis_last_error());
    return now || status != TAMIS_ERROR_FILE ? status : TAMIS_OK; /* a full disk costs the checkpoint, not the fit */
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
    ml_model_empty(model); /* what is not finite is no model */
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "iteration %d: the factors of %s are not finite numbers: %s%s", iteration,
                      isfinite(sums[0]) ? "columns" : "rows", advice[model->method->about.data],
                      model->options.type == TAMIS_F32 ? "; or fp64" : "");
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
        TRY(model->method->loss(model, &model->loss));
        TRY(ml_times_take(model, seconds)); /* not the iteration's */
    }
    model->iterations_done++;
    model->batches_done = 0;
    for (int i = 0; i < ML_PARTS; i++) model->parts[i] = 0;
    double weight;
    if (held_out)
        TRY(model->rank ? ml_group_metric(model, held_out, &model->metric)
                        : ml_metric(model, held_out, &model->metric, &weight));
    report->loss = model->options.skip_loss ? NAN : model->loss;
    report->metric = model->metric;
    report->batch = report->batches = report->batches > 0 ? report->batches : 1;
    tell(model);
    TRY(ml_group_stop(model));
    const double tolerance = model->options.tolerance;
    if (tolerance > 0 && !model->options.skip_loss && before - model->loss < tolerance * fabs(before))
        model->converged = true; /* not where `before` is NaN */
    return ml_checkpoint(model, false);
}

tamis_status ml_stopped(const tamis_model *model) {
    if (model->batches_done > 0)
        return tamis_fail(TAMIS_ERROR_CANCELLED, "stopped after %lld mini-batches of iteration %d of %d",
                          (long long)model->batches_done, model->iterations_done + 1, model->options.iterations);
    return tamis_fail(TAMIS_ERROR_CANCELLED, "stopped after iteration %d of %d", model->iterations_done,
                      model->options.iterations);
}

tamis_status ml_run(tamis_model *model, const tamis_sparse *data, const tamis_held_out *held_out) {
    TRY(model->method->begin(model, data));
    while (ml_unfinished(model) && !model->stopped && !model->converged) {
        ml_begin_iteration(model);
        TRY(model->method->iterate(model));
        if (model->stopped) break; /* between two mini-batches */
        TRY(ml_end_iteration(model, held_out));
    }
    return TAMIS_OK;
}

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

/* Checks that the model can go on with these data, and notes what it keeps of them. */
static tamis_status take_data(tamis_model *model, const tamis_sparse *data) {
    const uint64_t sum = ml_data_sum(data->rows, data->cols, data->nnz, ml_rows_sum(data, 0));
    const bool former = model->data_sum != sum && ml_begun(model) && ml_former_sum(data) == model->data_sum;
    TRY(ml_check_same(model, data->rows, data->cols, data->nnz, former ? model->data_sum : sum));
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

tamis_status tamis_model_fit(tamis_model *model, const tamis_sparse *S, const tamis_held_out *held_out) {
    tamis_clear_error();
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    const int64_t cols = model->cols;
    if (model->iterations_done == 0 && model->batches_done == 0 && model->steps == 0)
        model->cols = 0; /* a failed fit leaves no trace */
    tamis_owned_sparse *data;
    tamis_status status = ml_canonical(model, S, "S", &data);
    if (status != TAMIS_OK) {
        model->cols = cols;
        return status;
    }
    tamis_sparse given = *tamis_owned_sparse_view(data), *const view = &given;
    model->stopped = model->converged = false;
    model->last_save = tamis_clock_seconds();
    TRY_GOTO(done, take_data(model, view));
    TRY_GOTO(done, ml_check_held_out(model, held_out, view->rows));
    if (model->method->prepare) TRY_GOTO(done, model->method->prepare(model, view, true));
    if (!ml_begun(model)) TRY_GOTO(done, ml_share_choose(model, view, &model->share));
    /* a method that keeps no rows finds those of held-out ratings from the data of the fit */
    tamis_held_out own = held_out ? *held_out : (tamis_held_out){0};
    if (!own.observed && !model->method->about.row_factors) own.observed = view;
    status = ml_run(model, view, held_out ? &own : NULL);
    ml_end(model);
    if (status == TAMIS_OK) status = ml_checkpoint(model, true);
    if (status == TAMIS_OK && model->stopped && ml_unfinished(model)) status = ml_stopped(model);
done:
    tamis_owned_sparse_free(data);
    return status;
}
