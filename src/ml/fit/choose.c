/*
 * Hyperparameter search by an inner split: lambda as a share of the noise (noise.h), the number of factors, and the
 * weights of uses. No constant serves all data: a weak signal needs another lambda than mere popularity, a catalogue of
 * many small communities needs 128 factors, ratings of low rank need few (lab/results/quality.md). The search holds out
 * some entries, fits models with few iterations, and hill-climbs from setting to setting while the held-out error
 * falls. It moves only what the options leave open. Data larger than ML_CHOICE_ENTRIES are cut to their first rows, so
 * that the search costs less than a fit.
 */
#include "ml/fit/choose.h"

#include <math.h>
#include <tamis/data.h>

#include "base/clock.h"
#include "ml/data/canonical.h"
#include "ml/fit/loop.h"
#include "ml/fit/options.h"
#include "ml/fit/score.h"
#include "ml/methods/method.h"
#include "ml/numbers.h"

enum { LEAST = 4096, ROUNDS = 8, ROUNDS_LONG = 15, ROUNDS_LEAST = 6, FACTORS = 32, FACTORS_MOST = 128 };
static const double RANKED = 5e7;  /* limit of ranked rows times columns */
static const double BETTER = 1e-3; /* an RMSE is better if it is less by this share */
static const double STANDS = 5e-5; /* an RMSE stagnates if it changes by less than this share in an iteration */

/* A step of a climb, taken up to `steps` times while it helps. */
typedef struct move {
    double share, factors; /* multipliers of the setting; 1: no change */
    int steps;
    bool bm25;    /* uses count by BM25 */
    bool instead; /* only if the previous move did not help */
} move;

/* Fewer factors follow less noise, so they need less lambda. */
static const move of_ratings[] = {{.share = 0.7, .factors = 0.5, .steps = 5},
                                  {.share = 0.85, .factors = 0.75, .steps = 1},
                                  {.share = 0.85, .factors = 1, .steps = 3},
                                  {.share = 1 / 0.85, .factors = 1, .steps = 2, .instead = true}};
/* A multiple of a constant lambda. Unlike lambda from the noise it does not fall during a fit, so smaller values come
   first. */
static const move of_lambdas[] = {{.share = 0.5, .factors = 1, .steps = 5},
                                  {.share = 2, .factors = 1, .steps = 2, .instead = true},
                                  {.share = 0.7, .factors = 0.5, .steps = 5},
                                  {.share = 0.7, .factors = 0.75, .steps = 1},
                                  {.share = 0.7, .factors = 1, .steps = 3}};
static const move of_uses[] = {{.share = 1, .factors = 1, .bm25 = true, .steps = 1},
                               {.share = 0.5, .factors = 1, .steps = 4},
                               {.share = 2, .factors = 1, .steps = 2, .instead = true},
                               {.share = 1, .factors = 2, .steps = 2},
                               {.share = 0.5, .factors = 0.25, .steps = 1, .instead = true}};

/* A sample of the data, and the entries held out from it. */
typedef struct chooser {
    const tamis_model *model;
    bool uses;
    tamis_owned_sparse *kept, *held;
    tamis_sparse entries; /* held-out entries used for the error */
    int64_t *offsets;     /* of entries */
    ml_choice best;
    double error; /* of the best setting: 1 - recall for uses, else RMSE */
} chooser;

/* Returns the first rows of the data, as a sample. */
static tamis_sparse first_rows(const tamis_sparse *data) {
    tamis_sparse first = *data;
    while (ml_too_many(first.rows, (double)ml_offset(data, first.rows))) first.rows = ml_fewer_rows(first.rows);
    first.nnz = ml_offset(data, first.rows);
    return first;
}

static tamis_status split(chooser *c, const tamis_sparse *sample) {
    tamis_split_options options = TAMIS_SPLIT_OPTIONS_INIT;
    options.share = c->uses ? 0.2 : 0.1;
    options.seed = c->model->options.seed;
    TRY(tamis_split(sample, &options, &c->kept, &c->held));
    c->entries = *tamis_owned_sparse_view(c->held);
    if (!c->uses) return TAMIS_OK;
    const int64_t rows = c->entries.rows, most = (int64_t)(RANKED / (double)sample->cols) + 1;
    TRY(tamis_allocate(rows + 1, sizeof *c->offsets, "held-out rows", (void **)&c->offsets));
    for (int64_t i = 0; i <= rows; i++)
        c->offsets[i] = ml_offset(&c->entries, i < most ? i : most < rows ? most : rows);
    c->entries.offset_type = TAMIS_I64;
    c->entries.offsets = c->offsets;
    c->entries.nnz = c->offsets[rows];
    return TAMIS_OK;
}

/* Copies a choice to the options. */
static void set_options(const ml_method *method, const ml_choice *choice, tamis_model_options *options) {
    const double lambda = choice->regularization;
    options->regularization = ml_chooses_lambda(method, lambda) ? choice->share * method->lambda : lambda;
    options->column_regularization = choice->column_regularization;
    if (method->lambda > 0 && options->column_regularization == 0)
        options->column_regularization = options->regularization;
    options->factors = choice->factors;
    options->weights = choice->weights;
}

/* Context of the callback that stops a trial early: the error to beat, and that of the iteration before. */
typedef struct trial {
    double aim, error; /* errors below `aim` are better than the best */
} trial;

/* Callback: stops a fit whose error stagnates, or would not reach `aim` if every remaining step were as large as the
   last. */
static bool goes_on(void *context, const tamis_iteration *i) {
    trial *const t = context;
    const double step = i->metric - t->error, left = i->iterations - i->iteration;
    t->error = i->metric;
    if (i->iteration < ROUNDS_LEAST || left == 0) return true;
    return fabs(step) >= STANDS * t->error && t->error + fmin(step, 0) * left < t->aim;
}

/* Sets the options of the inner fits: the model's, or ALS's if ALS stands in for the method. */
static tamis_status inner_options(const tamis_model *model, tamis_model_options *options) {
    const tamis_model_options *const own = &model->options;
    *options = *own;
    if (!model->method->as_als || ml_is_nonnegative(model->method, own)) return TAMIS_OK;
    TRY(tamis_model_options_init(options, TAMIS_ALS));
    options->type = own->type;
    options->seed = own->seed;
    options->weighted = own->weighted;
    options->biases = own->biases;
    options->threads = own->threads;
    return TAMIS_OK;
}

/* Fits with a setting, and measures the held-out error. */
static tamis_status measure(const chooser *c, const ml_choice *tried, double *error) {
    const tamis_sparse *const kept = tamis_owned_sparse_view(c->kept);
    const tamis_held_out held = {.entries = &c->entries, .observed = kept};
    trial ends = {.aim = c->error * (1 - BETTER)};
    tamis_model_options options;
    double weight;
    tamis_model *inner;
    TRY(inner_options(c->model, &options));
    const bool watched = !c->uses && c->model->method->about.row_factors;
    /* overfitting of ratings shows only after as many iterations as a fit has; methods that sample need as many */
    options.iterations = c->uses && !c->model->method->about.sampled ? ROUNDS : ROUNDS_LONG;
    set_options(c->model->method, tried, &options);
    options.tolerance = 0;
    options.skip_loss = true;
    options.checkpoint = NULL;
    options.callback = watched ? goes_on : NULL;
    options.callback_context = &ends;
    options.algorithms = NULL;
    TRY(ml_model_make(c->model->device, &options, &inner));
    inner->share = tried->share;
    tamis_owned_sparse *own = NULL;
    tamis_status status;
    TRY_GOTO(done, ml_canonical(inner, kept, "S", &own));
    tamis_sparse data = *tamis_owned_sparse_view(own);
    ml_describe_data(inner, &data);
    if (inner->method->prepare) TRY_GOTO(done, inner->method->prepare(inner, &data, true));
    TRY_GOTO(done, ml_run(inner, &data, watched ? &held : NULL));
    ml_end(inner);
    *error = ends.error;
    if (!watched) TRY_GOTO(done, ml_metric(inner, &held, error, &weight));
    if (c->uses) *error = 1 - *error;
done:
    ml_end(inner);
    tamis_owned_sparse_free(own);
    tamis_model_free(inner);
    return status;
}

/* Returns true if the error is significantly better: an RMSE by a thousandth, a recall by half its standard
   deviation. */
static bool is_better(const chooser *c, double error) {
    if (!c->uses) return error < c->error * (1 - BETTER);
    const double recall = 1 - c->error, n = (double)c->entries.nnz;
    return 1 - error > recall + 0.5 * sqrt(recall * (1 - recall) / n);
}

/* Returns true if the weights of uses are to be chosen. */
static bool weighs(const tamis_model *model) {
    return model->method->weighs && model->asked.weights == TAMIS_WEIGHTS_AUTO;
}

static bool chooses_lambda(const tamis_model *model) {
    return ml_by_noise(model->method, &model->options) || ml_chooses_lambda(model->method, model->asked.regularization);
}

static bool is_open(const chooser *c, const move *m) {
    const tamis_model *const model = c->model;
    if (m->bm25) return weighs(model);
    return m->factors != 1 ? model->asked.factors == 0 : chooses_lambda(model);
}

static tamis_status climb(chooser *c, const move *m, bool *moved) {
    *moved = false;
    for (int i = 0; i < m->steps; i++) {
        ml_choice tried = c->best;
        double error;
        tried.share *= m->share;
        tried.factors = (int64_t)((double)tried.factors * m->factors);
        if (m->bm25) tried.weights = TAMIS_WEIGHTS_BM25;
        if (m->factors != 1 && (tried.factors < 1 || tried.factors > FACTORS_MOST)) break;
        TRY(measure(c, &tried, &error));
        if (!is_better(c, error)) break;
        c->best = tried;
        c->error = error;
        *moved = true;
    }
    return TAMIS_OK;
}

static tamis_status choose(chooser *c, const tamis_sparse *sample) {
    const bool constant = c->model->method->lambda > 0;
    const move *const moves = c->uses ? of_uses : constant ? of_lambdas : of_ratings;
    const size_t size = c->uses ? sizeof of_uses : constant ? sizeof of_lambdas : sizeof of_ratings;
    const int count = (int)(size / sizeof *moves);
    bool moved = false;
    TRY(split(c, sample));
    if (c->entries.nnz == 0) return TAMIS_OK;
    TRY(measure(c, &c->best, &c->error));
    for (int i = 0; i < count; i++)
        if (is_open(c, &moves[i]) && !(moves[i].instead && moved)) TRY(climb(c, &moves[i], &moved));
    return TAMIS_OK;
}

bool ml_chooses(const tamis_model *model, int64_t cols) {
    const int64_t most = model->method->chosen_most;
    return (chooses_lambda(model) || model->asked.factors == 0 || weighs(model)) && (most == 0 || cols <= most);
}

void ml_choose_nothing(const tamis_model *model, ml_choice *choice) {
    *choice = model->asked;
    if (choice->factors == 0) choice->factors = FACTORS;
    if (weighs(model)) choice->weights = TAMIS_WEIGHTS_LOG;
}

tamis_status ml_choose(const tamis_model *model, const tamis_sparse *data, ml_choice *choice) {
    const double start = tamis_clock_seconds();
    const tamis_sparse sample = first_rows(data);
    ml_choose_nothing(model, choice);
    if (!ml_chooses(model, data->cols) || sample.nnz < LEAST) return TAMIS_OK;
    chooser c = {
        .model = model, .uses = model->method->about.data == TAMIS_DATA_USES, .best = *choice, .error = INFINITY};
    const tamis_status status = choose(&c, &sample);
    *choice = c.best;
    choice->seconds = tamis_clock_seconds() - start;
    tamis_owned_sparse_free(c.kept);
    tamis_owned_sparse_free(c.held);
    tamis_release(c.offsets);
    return status;
}

void ml_take_choice(tamis_model *model, const ml_choice *choice) {
    model->share = choice->share;
    model->choice_seconds = choice->seconds;
    set_options(model->method, choice, &model->options);
    model->width = ml_width(model->method, &model->options);
    tamis_dense_workspace_destroy(model->workspace); /* left by a failed fit with another number of factors */
    model->workspace = NULL;
}
