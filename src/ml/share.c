/*
 * The share of the noise that lambda is (noise.h). One share does not serve all data: what stands out of the noise by
 * little needs less than 1, popularity alone and visits of few pages need 2, catalogues whose items have a few uses
 * each an eighth (lab/results/quality.md). So some entries are held out, models are fitted with few iterations, and the
 * share goes up or down by a factor as long as what is held out is predicted better. Of data larger than
 * MOST entries the first rows are taken, so that the choice costs less than a fit.
 */
#include "ml/share.h"

#include <math.h>
#include <tamis/data.h>

#include "ml/canonical.h"
#include "ml/loop.h"
#include "ml/method.h"
#include "ml/numbers.h"
#include "ml/options.h"
#include "ml/score.h"

enum { LEAST = 4096, MOST = 1 << 19, ROUNDS = 8, ROUNDS_LONG = 15, STEPS_DOWN = 4, STEPS_UP = 2 };
static const double RANKED = 5e7; /* rows that are ranked, times columns */

/* What is tried: the next share is `factor` of the last, and counts as better if the error falls by more than `gain`
   of itself. */
typedef struct ladder {
    double factor, gain;
    int down, up;
} ladder;

static ladder ladder_of(const ml_method *method) {
    if (method->about.data == TAMIS_DATA_RATINGS) return (ladder){.factor = 0.85, .gain = 0.001, .down = 3, .up = 0};
    return (ladder){.factor = 0.5, .gain = 0.002, .down = STEPS_DOWN, .up = STEPS_UP};
}

/* A sample of the data, without what is held out of it. */
typedef struct chooser {
    const tamis_model *model;
    tamis_owned_sparse *kept, *held;
    tamis_sparse entries; /* those held out that are looked at */
    int64_t *offsets;     /* of entries */
} chooser;

/* Returns the first rows of the data, at most MOST entries. */
static tamis_sparse first_rows(const tamis_sparse *data) {
    tamis_sparse first = *data;
    while (first.rows > 1 && ml_offset(data, first.rows) > MOST) first.rows = first.rows / 2 + first.rows / 4;
    first.nnz = ml_offset(data, first.rows);
    return first;
}

static tamis_status split(chooser *c, const tamis_sparse *data) {
    const bool uses = c->model->method->about.data == TAMIS_DATA_USES;
    const tamis_sparse sample = first_rows(data);
    tamis_split_options options = TAMIS_SPLIT_OPTIONS_INIT;
    options.kind = uses ? TAMIS_SPLIT_LEAVE_ONE : TAMIS_SPLIT_ENTRIES;
    options.seed = c->model->options.seed;
    TRY(tamis_split(&sample, &options, &c->kept, &c->held));
    c->entries = *tamis_owned_sparse_view(c->held);
    if (!uses) return TAMIS_OK;
    const int64_t rows = c->entries.rows, most = (int64_t)(RANKED / (double)data->cols) + 1;
    TRY(tamis_allocate(rows + 1, sizeof *c->offsets, "held-out rows", (void **)&c->offsets));
    for (int64_t i = 0; i <= rows; i++)
        c->offsets[i] = ml_offset(&c->entries, i < most ? i : most < rows ? most : rows);
    c->entries.offset_type = TAMIS_I64;
    c->entries.offsets = c->offsets;
    c->entries.nnz = c->offsets[rows];
    return TAMIS_OK;
}

/* Fits with a share, and measures the error of what is held out: below 1 is better than nothing. */
static tamis_status measure(const chooser *c, double share, double *error) {
    const tamis_sparse *const kept = tamis_owned_sparse_view(c->kept);
    const bool uses = c->model->method->about.data == TAMIS_DATA_USES;
    tamis_model_options options = c->model->options;
    double metric, weight;
    tamis_model *inner;
    /* ratings show only after as many as a fit has that their noise is followed, steps along samples as late */
    options.iterations = uses && !c->model->method->about.sampled ? ROUNDS : ROUNDS_LONG;
    options.tolerance = 0;
    options.skip_loss = true;
    options.weights = TAMIS_WEIGHTS_LINEAR; /* they are in the data already */
    options.checkpoint = NULL;
    options.callback = NULL;
    options.algorithms = NULL;
    TRY(ml_model_make(c->model->device, &options, &inner));
    inner->share = share;
    inner->fixed_share = true;
    ml_describe_data(inner, kept);
    tamis_status status = ml_run(inner, kept, NULL);
    ml_end(inner);
    const tamis_held_out held = {.entries = &c->entries, .observed = kept};
    if (status == TAMIS_OK) status = ml_metric(inner, &held, &metric, &weight);
    if (status == TAMIS_OK) *error = uses ? 1 - metric : metric;
    tamis_model_free(inner);
    return status;
}

/* Goes on by `factor` from the best share as long as that helps; *moved: it did at least once. */
static tamis_status climb(const chooser *c, double factor, int steps, double gain, bool uses, double *share,
                          double *best, bool *moved) {
    *moved = false;
    for (int i = 0; i < steps; i++) {
        double error;
        TRY(measure(c, *share * factor, &error));
        /* of uses the gain is one of recall */
        const bool better = uses ? 1 - error > (1 - *best) * (1 + gain) : error < *best * (1 - gain);
        if (!better) break;
        *share *= factor;
        *best = error;
        *moved = true;
    }
    return TAMIS_OK;
}

static tamis_status choose(chooser *c, const tamis_sparse *data, double *share) {
    const ladder steps = ladder_of(c->model->method);
    const bool uses = c->model->method->about.data == TAMIS_DATA_USES;
    double best;
    bool moved;
    TRY(split(c, data));
    if (c->entries.nnz == 0) return TAMIS_OK;
    TRY(measure(c, *share, &best));
    TRY(climb(c, steps.factor, steps.down, steps.gain, uses, share, &best, &moved));
    return moved ? TAMIS_OK : climb(c, 1 / steps.factor, steps.up, 0, uses, share, &best, &moved);
}

tamis_status ml_share_choose(const tamis_model *model, const tamis_sparse *data, double *share) {
    *share = ML_SHARE;
    if (!ml_by_noise(model->method, &model->options) || model->fixed_share || data->nnz < LEAST) return TAMIS_OK;
    const int64_t most = model->method->chosen_most;
    if (most > 0 && data->cols > most) return TAMIS_OK;
    chooser c = {.model = model};
    const tamis_status status = choose(&c, data, share);
    tamis_owned_sparse_free(c.kept);
    tamis_owned_sparse_free(c.held);
    tamis_release(c.offsets);
    return status;
}
