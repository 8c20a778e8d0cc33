/*
 * Gamma-Poisson factors of counts (Canny 2004): F_dw is Poisson with the mean P_dw = <X_d, Y_w>, and the rows' factors
 * X_dk have a gamma prior of shape a and scale b. Shape 1 without a scale is non-negative factorisation under the
 * Kullback-Leibler divergence (Lee and Seung 2001). X is documents x topics, Y words x topics. An iteration is
 *   inner_rounds times  X = (X o E + a - 1) / (column sums of Y + 1 / b),  E = quotient(F, X Y^T) Y     one fused call
 *   Y = Y o (quotient(F, X Y^T)^T X) / column sums of X           one fused call on the transpose: A = Y, B = D = X
 * where the quotient edge computes F / P. For a < 1, which only old files have, negative results are
 * replaced by 0.
 *
 * Mini-batches only limit the scratch memory: each keeps its rows of X from pass to pass, and Y changes at the end of a
 * pass by the sums over all of them, so that the objective decreases as with all rows at once. For mini-batches of a
 * stream, X is not kept: it starts with ones and takes at least 10 rounds. The numerator and denominator of Y are then
 * running averages over rows with rate (1 / t)^rate_decay, t = 2, 3, ... (t starts at 2, because a word that is missing
 * from the first mini-batch would stay 0).
 *
 * The loss is the divergence of F from P per count: (sum P - sum F ln P + sum F ln F - sum F - (a - 1) sum ln X + sum X
 * / b) / sum F. With a = 1 it never increases. A shape above 1 should come with a scale: without one, a larger X and a
 * smaller Y make the prior as probable as one likes.
 *
 * Memory: the data twice, one matrix words x topics (with mini-batches two), one of a mini-batch's documents x topics
 * (with several mini-batches two).
 */
#include <math.h>

#include "base/scope.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/fit/minibatch.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/methods/mixture.h"
#include "ml/model.h"
#include "ml/serve/unigram.h"

enum { NUMERATOR = 0, DENOMINATOR = 1 }; /* states: of Y, words x topics and topics x 1, a row of data */

/* Rounds for rows that start from ones: the fewest for a stream's mini-batch, and the number for new rows. */
enum { STREAM_ROUNDS = 10, TRANSFORM_ROUNDS = 50 };

static const double tiny = 1e-30; /* a topic that died: 0 / (0 + tiny) */

typedef struct gap {
    ml_batches batches;
    tamis_dense X, E;         /* documents x topics; X with several mini-batches alone, else the model's own rows */
    tamis_dense N;            /* words x topics */
    tamis_dense Y_sums, sums; /* column sums of Y and X */
    void *samples;
    double counts, of_counts; /* of all mini-batches: their sum, and what measure_counts says of them */
} gap;

/* ------------------------------------------------------------------------------------------ options */

static void defaults(tamis_model_options *options) {
    options->factors = 20;
    options->iterations = 50;
    options->inner_rounds = 1;
    options->row_prior = 1.1; /* 6 % better on held-out words of KOS than 1 without a scale, as are 50 passes than 20 */
    options->column_prior = 1;
    options->rate_decay = 0.5;
    options->rate_offset = 1;
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_rounds("inner_rounds", options->inner_rounds));
    TRY(ml_check_number("row_prior", options->row_prior, options->row_prior > 0,
                        "a positive number: it is the shape of a gamma distribution"));
    TRY(ml_check_number("column_prior", options->column_prior, options->column_prior >= 0, "0 (no scale) or more"));
    return ml_check_number("rate_decay", options->rate_decay, options->rate_decay >= 0 && options->rate_decay <= 1,
                           "0 to 1");
}

/* Refuses options that files of older versions may have. Their loss is unbounded: scaling rows by c and columns by 1 /
   c decreases it without end as c grows. */
static tamis_status check_new(const tamis_model_options *options) {
    if (options->row_prior < 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "row_prior = %g, expected 1 or more: with a shape below 1 the loss has no minimum, it falls "
                          "without end as a factor nears 0",
                          options->row_prior);
    if (options->row_prior > 1 && options->column_prior == 0)
        return tamis_fail(
            TAMIS_ERROR_ARGUMENT,
            "row_prior = %g with column_prior = 0: a shape above 1 needs a scale, without it the loss has "
            "no minimum",
            options->row_prior);
    return TAMIS_OK;
}

/* 1 / b */
static double inverse_scale(const tamis_model *model) {
    return model->options.column_prior > 0 ? 1 / model->options.column_prior : 0;
}

/* ------------------------------------------------------------------------------------------ updates */

static tamis_status update_rows(tamis_model *model, const gap *work, tamis_plan *plan, int rounds, const tamis_dense *X,
                                const tamis_dense *E) {
    tamis_device *const device = model->device;
    const tamis_dense *const Y = &model->column_factors;
    const double shape = model->options.row_prior;
    TRY(tamis_dense_column_sums(device, NULL, model->workspace, Y, &work->Y_sums));
    for (int i = 0; i < rounds; i++) {
        TRY(ml_fused(model, plan, X, Y, 1, 0, E));
        TRY(tamis_dense_map(device, NULL, TAMIS_MAP_MULTIPLY_ADD, 1, shape - 1, X, E, X));
        if (shape < 1) TRY(tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 0, INFINITY, X, NULL, X));
        TRY(tamis_dense_scale(device, NULL, TAMIS_DIVIDE_COLUMNS, &work->Y_sums, inverse_scale(model) + tiny, X, 0, X));
    }
    return TAMIS_OK;
}

/* Computes the numerator of Y into N, and X's column sums. */
static tamis_status count(tamis_model *model, const gap *work, const ml_batch *batch, const tamis_dense *X) {
    tamis_device *const device = model->device;
    const tamis_dense *const Y = &model->column_factors;
    TRY(ml_fused(model, batch->plans[ML_PLAN_COLUMNS], Y, X, 1, 0, &work->N));
    TRY(tamis_dense_map(device, NULL, TAMIS_MAP_MULTIPLY_ADD, 1, 0, Y, &work->N, &work->N));
    return tamis_dense_column_sums(device, NULL, model->workspace, X, &work->sums);
}

/* Computes the terms of counts: sum F ln F - sum F. */
static tamis_status measure_counts(const tamis_model *model, const ml_batch *batch, double *sum) {
    const tamis_sparse *const F = &batch->S.view;
    const tamis_dense counts = ml_values_view(model, (void *)(uintptr_t)F->values, F->nnz);
    TRY(tamis_dense_log_dot(model->device, NULL, model->workspace, &counts, &counts, tiny, sum));
    *sum -= batch->total;
    return TAMIS_OK;
}

/* Computes sum F ln P of a mini-batch. */
static tamis_status measure_likelihood(tamis_model *model, const gap *work, const ml_batch *batch, const tamis_dense *X,
                                       double *sum) {
    const tamis_sparse *const F = &batch->S.view;
    const tamis_dense counts = ml_values_view(model, (void *)(uintptr_t)F->values, F->nnz);
    const tamis_dense samples = ml_values_view(model, work->samples, F->nnz);
    TRY(ml_sddmm(model, batch->plans[ML_PLAN_SAMPLE], X, &model->column_factors, 1, 0, &samples));
    return tamis_dense_log_dot(model->device, NULL, model->workspace, &counts, &samples, tiny, sum);
}

/* Computes the terms of rows: sum P - (a - 1) sum ln X + sum X / b, for a mini-batch or all rows. */
static tamis_status measure_rows(const tamis_model *model, const gap *work, const tamis_dense *X, double *sum) {
    tamis_device *const device = model->device;
    const double shape = model->options.row_prior;
    double expected, logarithms = 0, total = 0;
    TRY(tamis_dense_column_sums(device, NULL, model->workspace, &model->column_factors, &work->Y_sums));
    TRY(tamis_dense_column_sums(device, NULL, model->workspace, X, &work->sums));
    TRY(tamis_dense_dot(device, NULL, model->workspace, &work->sums, &work->Y_sums, &expected));
    if (shape < 1 || shape > 1) TRY(tamis_dense_log_dot(device, NULL, model->workspace, NULL, X, tiny, &logarithms));
    if (inverse_scale(model) > 0) {
        TRY(tamis_dense_fill(device, NULL, &work->Y_sums, 1));
        TRY(tamis_dense_dot(device, NULL, model->workspace, &work->sums, &work->Y_sums, &total));
    }
    *sum = expected - (shape - 1) * logarithms + inverse_scale(model) * total;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ rows of mini-batches */

/* Sets *X to the mini-batch's rows: the model's own matrix if there is one mini-batch, else a copy, since not every
   device allows views that begin within a matrix. */
static tamis_status load_rows(const tamis_model *model, const gap *work, const ml_batch *batch, tamis_dense *X) {
    *X = model->row_factors;
    if (work->batches.count == 1) return TAMIS_OK;
    *X = work->X;
    X->rows = batch->rows;
    const size_t line = (size_t)X->cols * tamis_type_size(X->type);
    return tamis_device_copy(model->device, NULL, X->data, 0, model->row_factors.data, (size_t)batch->first * line,
                             (size_t)batch->rows * line);
}

static tamis_status store_rows(const tamis_model *model, const gap *work, const ml_batch *batch, const tamis_dense *X) {
    if (work->batches.count == 1) return TAMIS_OK;
    const size_t line = (size_t)X->cols * tamis_type_size(X->type);
    return tamis_device_copy(model->device, NULL, model->row_factors.data, (size_t)batch->first * line, X->data, 0,
                             (size_t)batch->rows * line);
}

/* ------------------------------------------------------------------------------------------ fitting */

/* Returns the rounds for a mini-batch's rows. The rows of a stream start anew each time, so they take more. */
static int rounds_of(const tamis_model *model, bool keep) {
    const int asked = model->options.inner_rounds;
    return keep || asked > STREAM_ROUNDS ? asked : STREAM_ROUNDS;
}

/* Makes the work for data in mini-batches of `rows` rows, 0: of all. keep: the model keeps X. */
static tamis_status prepare(tamis_model *model, const tamis_sparse *data, int64_t rows, bool keep) {
    const int64_t kept = keep ? data->rows : 0;
    /* what a fit left behind that failed before its first step is not filled yet */
    const bool begun = model->steps > 0;
    const bool old = begun && model->column_factors.data && model->column_factors.rows == data->cols;
    bool fresh;
    const bool known = begun && kept > 0 && model->row_factors.data && model->row_factors.rows == kept;
    TRY(ml_model_factors(model, kept, data->cols, &fresh));
    /* small differences suffice to separate topics: a wider range takes more passes to the same perplexity */
    if (!old) TRY(ml_dense_random(model, &model->column_factors, 1, 0.9, 1.1));
    if (!known) TRY(tamis_dense_fill(model->device, NULL, &model->row_factors, 1));
    gap *work;
    TRY(tamis_allocate_zeros(1, "the work of gap", work));
    model->work = work;
    const int64_t topics = model->width, rounds = rounds_of(model, keep);
    ml_batch_plan plans[ML_TOPIC_PLANS];
    ml_topic_plans(model, rounds, plans);
    const bool measured = !model->options.skip_loss;
    TRY(ml_batches_make(model, data, rows, false, keep ? ML_PASSES : 1, plans, measured ? 3 : 2, &work->batches));
    TRY(ml_scratch(model, work->batches.rows, topics, &work->E));
    TRY(ml_scratch(model, data->cols, topics, &work->N));
    TRY(ml_scratch(model, topics, 1, &work->Y_sums));
    TRY(ml_scratch(model, topics, 1, &work->sums));
    if (measured) TRY(ml_values_make(model, work->batches.nnz, &work->samples));
    if (keep && work->batches.count == 1) return TAMIS_OK;
    return ml_scratch(model, work->batches.rows, topics, &work->X);
}

static tamis_status make_states(tamis_model *model, bool *fresh) {
    bool other;
    TRY(ml_model_state(model, NUMERATOR, fresh));
    TRY(ml_model_state(model, DENOMINATOR, &other));
    *fresh = *fresh || other;
    return TAMIS_OK;
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    TRY(ml_unigram_learn(model, data, false));
    TRY(prepare(model, data, model->options.batch_rows, true));
    gap *const work = model->work;
    for (int64_t i = 0; i < work->batches.count && !model->options.skip_loss; i++) {
        double sum;
        TRY(measure_counts(model, &work->batches.batch[i], &sum));
        work->of_counts += sum;
        work->counts += work->batches.batch[i].total;
    }
    TRY(ml_times_reserve(model, (double)work->batches.count * (1.0 + model->options.inner_rounds)));
    bool fresh;
    return work->batches.count > 1 ? make_states(model, &fresh) : TAMIS_OK;
}

/* Adds the mini-batch to the pass's sums; the last one changes Y. */
static tamis_status learn(tamis_model *model, ml_batch *batch) {
    gap *const work = model->work;
    tamis_device *const device = model->device;
    const tamis_dense *const Y = &model->column_factors;
    const tamis_dense *numerator = &work->N, *denominator = &work->sums;
    tamis_dense X, E = work->E;
    E.rows = batch->rows;
    TRY(load_rows(model, work, batch, &X));
    TRY(update_rows(model, work, batch->plans[ML_PLAN_ROWS], model->options.inner_rounds, &X, &E));
    TRY(count(model, work, batch, &X));
    if (work->batches.count > 1) {
        numerator = &model->states[NUMERATOR];
        denominator = &model->states[DENOMINATOR];
        const double share = 1 / (double)model->row_factors.rows, before = model->batches_done > 0 ? 1 : 0;
        TRY(tamis_dense_axpby(device, NULL, share, &work->N, before, numerator));
        TRY(tamis_dense_axpby(device, NULL, share, &work->sums, before, denominator));
        TRY(store_rows(model, work, batch, &X));
    }
    if (model->batches_done < work->batches.count - 1) return TAMIS_OK;
    return tamis_dense_scale(device, NULL, TAMIS_DIVIDE_COLUMNS, denominator, tiny, numerator, 0, Y);
}

static tamis_status iterate(tamis_model *model) {
    gap *const work = model->work;
    return ml_batches_pass(model, &work->batches, learn);
}

/* Computes the loss of the current model; after a pass over a stream, the loss summed over its mini-batches. */
static tamis_status loss(tamis_model *model, double *result) {
    const gap *const work = model->work;
    double sum = model->parts[0], counts = model->parts[1];
    if (work) {
        double likelihood;
        TRY(measure_rows(model, work, &model->row_factors, &sum));
        sum += work->of_counts;
        counts = work->counts;
        for (int64_t i = 0; i < work->batches.count; i++) {
            const ml_batch *const batch = &work->batches.batch[i];
            tamis_dense X;
            TRY(load_rows(model, work, batch, &X));
            TRY(measure_likelihood(model, work, batch, &X, &likelihood));
            sum -= likelihood;
        }
    }
    *result = counts > 0 ? sum / counts : NAN;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ streams */

/* Adds the mini-batch's N and sums to the running averages, and computes Y from them. */
static tamis_status average(tamis_model *model, const gap *work, const ml_batch *batch) {
    tamis_device *const device = model->device;
    const tamis_dense *const Y = &model->column_factors;
    const double share = 1 / (double)batch->rows;
    const double rate = ml_rate(model);
    bool fresh;
    TRY(make_states(model, &fresh));
    const tamis_dense *const numerator = &model->states[NUMERATOR], *const denominator = &model->states[DENOMINATOR];
    if (fresh) { /* as if rows with the same factors had led to Y */
        TRY(tamis_dense_axpby(device, NULL, share, &work->sums, 0, denominator));
        TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_COLUMNS, denominator, 0, Y, 0, numerator));
    }
    TRY(tamis_dense_axpby(device, NULL, rate * share, &work->N, 1 - rate, numerator));
    TRY(tamis_dense_axpby(device, NULL, rate * share, &work->sums, 1 - rate, denominator));
    return tamis_dense_scale(device, NULL, TAMIS_DIVIDE_COLUMNS, denominator, tiny, numerator, 0, Y);
}

static tamis_status learn_once(tamis_model *model, const gap *work, double *sum, double *weight) {
    const ml_batch *const batch = &work->batches.batch[0];
    const tamis_dense *const X = &work->X;
    const int rounds = rounds_of(model, false);
    TRY(tamis_dense_fill(model->device, NULL, X, 1));
    TRY(update_rows(model, work, batch->plans[ML_PLAN_ROWS], rounds, X, &work->E));
    if (batch->plans[ML_PLAN_SAMPLE]) {
        double of_counts, likelihood;
        TRY(measure_counts(model, batch, &of_counts));
        TRY(measure_likelihood(model, work, batch, X, &likelihood));
        TRY(measure_rows(model, work, X, sum));
        *sum += of_counts - likelihood;
        *weight = batch->total;
    }
    TRY(count(model, work, batch, X));
    if (batch->total > 0) TRY(average(model, work, batch)); /* a mini-batch without counts changes nothing */
    return tamis_stream_synchronize(model->device, NULL);
}

static tamis_status step(tamis_model *model, const tamis_sparse *batch, int64_t whole, double *sum, double *weight) {
    *sum = *weight = 0;
    if (whole == 0) TRY(ml_unigram_learn(model, batch, true)); /* the first pass has every word */
    TRY(prepare(model, batch, 0, false));
    TRY(learn_once(model, model->work, sum, weight));
    model->steps++;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ new rows */

static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    gap work = {0};
    ml_batch_plan plans[ML_TOPIC_PLANS];
    ml_topic_plans(model, TRANSFORM_ROUNDS, plans);
    TRY(ml_model_workspace(model));
    TRY(ml_batches_make(model, data, 0, false, 1, plans, 1, &work.batches));
    TRY(ml_scratch(model, data->rows, model->width, &work.E));
    TRY(ml_scratch(model, model->width, 1, &work.Y_sums));
    TRY(tamis_dense_fill(model->device, NULL, W, 1));
    TRY(update_rows(model, &work, work.batches.batch[0].plans[ML_PLAN_ROWS], TRANSFORM_ROUNDS, W, &work.E));
    return tamis_stream_synchronize(model->device, NULL);
}

static const tamis_method_option own_options[] = {{"inner_rounds", NULL},
                                                  {"row_prior", "shape of the gamma prior of a document's factors"},
                                                  {"column_prior", "scale of that prior; 0: none (infinite)"},
                                                  {"batch_rows", "rows per mini-batch; 0: all"},
                                                  {"rate_decay", NULL},
                                                  {"rate_offset", NULL},
                                                  {NULL, NULL}};

const ml_method ml_gap = {
    .about = {.method = TAMIS_GAP,
              .data = TAMIS_DATA_COUNTS,
              .name = "gap",
              .summary = "topics of documents, or non-negative factors of counts (gamma-Poisson)",
              .options = own_options,
              .row_factors = true,
              .mini_batches = true},
    .states = {[NUMERATOR] = {.rows = {ML_COLUMNS, 0}, .cols = {ML_FACTORS, 0}, .range = ML_SQUARES, .optional = true},
               [DENOMINATOR] = {.rows = {ML_FACTORS, 0}, .cols = {ML_NONE, 1}, .range = ML_SQUARES, .optional = true},
               [ML_WORDS] = ML_WORDS_STATE},
    .masses = true,
    .check_new = check_new,
    .defaults = defaults,
    .check = check,
    .begin = begin,
    .iterate = iterate,
    .loss = loss,
    .step = step,
    .transform = transform,
    .operands = ml_mixture,
};
