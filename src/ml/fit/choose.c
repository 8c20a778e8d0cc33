/*
 * Hyperparameter search by an inner split: lambda as a share of the noise (noise.h), the number of factors, the
 * weights of uses and how much they count, and the priors of topics. No constant serves all data: a weak signal needs
 * another lambda than mere popularity, a catalogue of many small communities needs 128 factors, ratings of low rank
 * need few (lab/results/quality.md). The search holds out some entries, fits models with few iterations, and
 * hill-climbs from setting to setting while the held-out error falls. It moves only what the options leave open.
 * Factors that are fitted over biases and predict the held-out ratings no better than these alone are left at nothing
 * by a large lambda. Data larger than ML_CHOICE_ENTRIES are cut to their first rows, so that the search costs less than
 * a fit; where a fit's time grows faster than its columns, also to the columns of the most uses.
 */
#include "ml/fit/choose.h"

#include <math.h>
#include <tamis/data.h>

#include "base/clock.h"
#include "base/scope.h"
#include "ml/data/canonical.h"
#include "ml/data/host.h"
#include "ml/data/rows.h"
#include "ml/fit/loop.h"
#include "ml/fit/options.h"
#include "ml/fit/score.h"
#include "ml/methods/biases.h"
#include "ml/methods/method.h"
#include "ml/numbers.h"
#include "ml/serve/popular.h"

enum {
    LEAST = 4096,
    ROUNDS = 8,
    ROUNDS_LONG = 15,
    ROUNDS_TOPICS = 10,
    ROUNDS_LEAST = 6,
    FACTORS = 32,
    FACTORS_MOST = 128,
    NEIGHBOURS_MOST = 128,
    LISTS = 4,   /* times as many columns where each has a list of neighbours */
    SURE = 32,   /* the fewest held-out ratings that tell factors from biases alone */
    STRONGER = 2 /* larger values of lambda that are tried before biases alone */
};
enum { FIRST = 20 };               /* recommendations by which what ranks is chosen */
enum { DOCUMENTS = 0x646f63 };     /* stream of random numbers */
static const double RANKED = 5e7;  /* limit of ranked rows times columns */
static const double BETTER = 1e-3; /* an RMSE or a perplexity is better if it is less by this share */
static const double STANDS = 5e-5; /* an RMSE stagnates if it changes by less than this share in an iteration */
static const double STRONGER_BY = 1.5;
/* A recall is better if it is greater by this many standard deviations of its own. Models of pairs that differ in
   lambda alone rank nearly alike, so their recalls differ by chance far less than that. */
static const double DEVIATIONS = 0.5, DEVIATIONS_PAIRS = 0.1;

/* A step of a climb, taken up to `steps` times while it helps. */
typedef struct move {
    double share, factors;          /* multipliers of the setting; 1: no change */
    double row_prior, column_prior; /* the same, 0: no change */
    double confidence;              /* the same */
    int steps;
    tamis_use_weights weights;
    bool weighs;  /* uses count by `weights` */
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
/* Lambda rises with the confidence by itself, as the weights of uses are its noise. Weights come three times, as those
   that are best depend on it and on the factors; so does the confidence come twice. */
static const move of_uses[] = {{.share = 1, .factors = 1, .weighs = true, .weights = TAMIS_WEIGHTS_BM25, .steps = 1},
                               {.share = 0.5, .factors = 1, .confidence = 3, .steps = 4},
                               {.share = 1, .factors = 1, .confidence = 3, .steps = 4, .instead = true},
                               {.share = 1, .factors = 1, .weighs = true, .weights = TAMIS_WEIGHTS_BM25, .steps = 1},
                               {.share = 0.5, .factors = 1, .steps = 4},
                               {.share = 2, .factors = 1, .steps = 2, .instead = true},
                               {.share = 1, .factors = 2, .steps = 2},
                               {.share = 0.5, .factors = 0.25, .steps = 1, .instead = true},
                               {.share = 1, .factors = 1, .weighs = true, .weights = TAMIS_WEIGHTS_BM25, .steps = 1},
                               {.share = 1, .factors = 1, .confidence = 1.0 / 3, .steps = 1},
                               {.share = 1, .factors = 1, .confidence = 3, .steps = 2, .instead = true}};
static const move of_pairs[] = {
    {.share = 1, .factors = 1, .weighs = true, .weights = TAMIS_WEIGHTS_ONES, .steps = 1},
    {.share = 1, .factors = 1, .weighs = true, .weights = TAMIS_WEIGHTS_RP3BETA, .steps = 1},
    {.share = 2, .factors = 1, .steps = 5},
    {.share = 0.5, .factors = 1, .steps = 5, .instead = true}};

/* A title has few words, and rarely of few topics: its priors are larger by far than a long document's. A
   topic of few words needs less smoothing. */
static const move of_topics[] = {{.share = 1, .factors = 1, .row_prior = 3, .steps = 5},
                                 {.share = 1, .factors = 1, .row_prior = 1 / 3.0, .steps = 3, .instead = true},
                                 {.share = 1, .factors = 1, .column_prior = 0.5, .steps = 4}};

/* The moves for a kind of models. */
typedef struct moves {
    const move *move;
    int count;
} moves;

#define MOVES(of)                                                                                                      \
    (moves) { (of), (int)(sizeof(of) / sizeof *(of)) }

/* The error of a setting that was tried. */
typedef struct known {
    ml_choice tried;
    double error;
} known;

/* More than the steps of any list of moves. */
enum { KNOWN_MOST = 40 };

/* A sample of the data, and the entries held out from it. */
typedef struct chooser {
    const tamis_model *model;
    bool uses;
    tamis_sparse kept;
    tamis_sparse observed; /* known of the rows of held-out entries: kept, but of documents some of their words */
    tamis_sparse entries;  /* held-out entries used for the error */
    int64_t *offsets;      /* of entries */
    known known[KNOWN_MOST];
    int known_count;
    ml_choice best;
    double error;  /* of the best setting: 1 - recall (mean of recall and NDCG) of uses, perplexity of counts, RMSE */
    int64_t steps; /* reported to the callback */
    bool stopped;  /* by it */
} chooser;

/* Returns the first rows of the data, as a sample. */
static tamis_sparse first_rows(const tamis_model *model, const tamis_sparse *data) {
    tamis_sparse first = *data;
    const double larger =
        model->method->choice_entries > 0 ? (double)ML_CHOICE_ENTRIES / (double)model->method->choice_entries : 1;
    while (ml_too_many(first.rows, larger * (double)ml_offset(data, first.rows)))
        first.rows = ml_fewer_rows(first.rows);
    first.nnz = ml_offset(data, first.rows);
    return first;
}

/* Keeps the columns whose numbers are not negative, and gives them these numbers, which rise. */
static void renumber(ml_rows *copy, const int64_t *numbers) {
    tamis_sparse *const view = &copy->view;
    int64_t kept = 0;
    for (int64_t i = 0; i < view->rows; i++) {
        const int64_t begin = copy->offsets[i], end = copy->offsets[i + 1];
        copy->offsets[i] = kept;
        for (int64_t t = begin; t < end; t++) {
            const int64_t number = numbers[ml_column(view, t)];
            if (number < 0) continue;
            tamis_index_store(copy->columns, view->index_type, kept, number);
            ml_put_number(copy->values, view->value_type, kept++, ml_value(view, t));
        }
    }
    copy->offsets[view->rows] = view->nnz = kept;
}

/* Copies the `most` columns of the sample that have the most entries, into *copy, and makes it the sample. */
static tamis_status keep_columns(tamis_sparse *sample, int64_t most, ml_rows *copy) {
    static const char *const what = "columns to choose by";
    const int64_t cols = sample->cols;
    double *counts;
    int64_t *order, *numbers;
    TRY(tamis_allocate_zeros(cols, what, counts));
    TRY(tamis_allocate_array(cols, what, numbers));
    for (int64_t t = 0; t < sample->nnz; t++) counts[ml_column(sample, t)] += 1;
    TRY(ml_order_by_count(counts, cols, &order));
    for (int64_t j = 0; j < cols; j++) numbers[j] = -1;
    for (int64_t k = 0; k < most; k++) numbers[order[k]] = 0;
    for (int64_t j = 0, next = 0; j < cols; j++)
        if (numbers[j] == 0) numbers[j] = next++;
    TRY(ml_rows_copy(sample, NULL, 0, sample->rows, what, copy));
    renumber(copy, numbers);
    copy->view.cols = most;
    *sample = copy->view;
    tamis_scope_drop(counts);
    tamis_scope_drop(order);
    tamis_scope_drop(numbers);
    return TAMIS_OK;
}

/* Returns true if counts can be split by occurrences of words. */
static bool are_whole(const tamis_sparse *S) {
    for (int64_t t = 0; t < S->nnz; t++)
        if (ml_value(S, t) != floor(ml_value(S, t)) || ml_value(S, t) > 1 << 24) return false;
    return true;
}

/* Splits data; both parts belong to the scope. */
static tamis_status split_in_two(const tamis_sparse *S, const tamis_split_options *options, tamis_sparse *kept,
                                 tamis_sparse *held) {
    tamis_owned_sparse *first, *second;
    TRY(tamis_split(S, options, &first, &second));
    *kept = *tamis_owned_sparse_view(first);
    *held = *tamis_owned_sparse_view(second);
    const tamis_status keeps[] = {ml_keep_sparse(first), ml_keep_sparse(second)};
    for (int i = 0; i < 2; i++) TRY(keeps[i]);
    return TAMIS_OK;
}

/* Holds out documents, half of whose words are known: words of documents that were fitted ask for too large priors. */
static tamis_status split_documents(chooser *c, const tamis_sparse *sample) {
    tamis_split_options options = TAMIS_SPLIT_OPTIONS_INIT;
    tamis_sparse held;
    /* another one than callers split by: the documents that they hold out may be rows without words here */
    options.seed = tamis_random_at(c->model->options.seed, DOCUMENTS, 0);
    options.kind = TAMIS_SPLIT_ROWS;
    options.share = 0.2;
    TRY(split_in_two(sample, &options, &c->kept, &held));
    options.kind = are_whole(sample) ? TAMIS_SPLIT_TOKENS : TAMIS_SPLIT_ENTRIES;
    options.share = 0.5;
    return split_in_two(&held, &options, &c->observed, &c->entries);
}

static tamis_status split(chooser *c, const tamis_sparse *sample) {
    tamis_split_options options = TAMIS_SPLIT_OPTIONS_INIT;
    if (c->model->method->about.data == TAMIS_DATA_COUNTS) return split_documents(c, sample);
    options.share = c->uses ? 0.2 : 0.1;
    options.seed = c->model->options.seed;
    TRY(split_in_two(sample, &options, &c->kept, &c->entries));
    c->observed = c->kept;
    if (!c->uses) return TAMIS_OK;
    const int64_t rows = c->entries.rows, most = (int64_t)(RANKED / (double)sample->cols) + 1;
    TRY(tamis_allocate_array(rows + 1, "held-out rows", c->offsets));
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
    options->confidence = choice->confidence;
    options->neighbours = choice->neighbours;
    options->row_prior = choice->row_prior;
    options->column_prior = choice->column_prior;
}

/* Context of the callback of a trial. */
typedef struct trial {
    chooser *of;
    bool watched;      /* by its errors */
    double aim, error; /* the error to beat, and that of the iteration before */
} trial;

/* Callback: stops a fit if the caller stops the choice. Stops a watched one also if its error stagnates, or would not
   reach `aim` if every remaining step were as large as the last. */
static bool goes_on(void *context, const tamis_iteration *i) {
    trial *const t = context;
    t->of->stopped = t->of->stopped || !ml_tell_step(t->of->model, ++t->of->steps);
    if (t->of->stopped || !t->watched) return !t->of->stopped;
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

static void free_model(void *model) { tamis_model_free(model); }

/* Fits a model with a setting to what is kept. Model and data belong to the scope. held: what the callback watches, or
   NULL. */
static tamis_status fit_inner(const chooser *c, tamis_model_options *options, const ml_choice *tried, trial *ends,
                              const tamis_held_out *held, tamis_model **made, tamis_sparse *data) {
    set_options(c->model->method, tried, options);
    if (!c->model->method->priors && options->factors > FACTORS_MOST) options->factors = FACTORS_MOST;
    if (c->model->method->neighbours_for && options->neighbours > NEIGHBOURS_MOST)
        options->neighbours = NEIGHBOURS_MOST;
    options->tolerance = 0;
    options->skip_loss = true;
    options->checkpoint = NULL;
    options->algorithms = NULL;
    options->callback = goes_on;
    options->callback_context = ends;
    TRY(ml_model_make(c->model->device, options, made));
    TRY(tamis_scope_own(free_model, *made));
    tamis_model *const inner = *made;
    inner->share = tried->share;
    TRY(ml_canonical(inner, &c->kept, "S", data));
    ml_describe_data(inner, data);
    if (inner->method->prepare) TRY(inner->method->prepare(inner, data, true));
    TRY(ml_run(inner, data, held));
    if (!c->stopped) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_CANCELLED, "stopped while options were chosen: there is no model yet");
}

/* Sets *error to 1 less the mean of recall and NDCG of the first recommendations. */
static tamis_status measure_ranking(tamis_model *model, const tamis_held_out *held, double *error) {
    tamis_score score;
    TRY(tamis_model_score(model, held, false, FIRST, &score));
    *error = 1 - (score.recall + score.ndcg) / 2;
    return TAMIS_OK;
}

/* Fits with a setting, and measures the held-out error. */
static tamis_status measure(chooser *c, const ml_choice *tried, double *error) {
    const tamis_held_out held = {.entries = &c->entries, .observed = &c->observed};
    trial ends = {.of = c, .aim = c->error * (1 - BETTER)};
    tamis_model_options options;
    double weight;
    tamis_model *inner;
    tamis_sparse data;
    TRY(inner_options(c->model, &options));
    ends.watched = !c->uses && c->model->method->about.row_factors;
    /* overfitting of ratings shows only after as many iterations as a fit has; methods that sample need as many */
    options.iterations = c->model->method->about.pairs                 ? 1
                         : c->model->method->priors                    ? ROUNDS_TOPICS
                         : c->uses && !c->model->method->about.sampled ? ROUNDS
                                                                       : ROUNDS_LONG;
    TAMIS_SCOPE;
    TRY(fit_inner(c, &options, tried, &ends, ends.watched ? &held : NULL, &inner, &data));
    *error = ends.error;
    if (c->model->method->confident) return measure_ranking(inner, &held, error);
    if (!ends.watched) TRY(ml_metric(inner, &held, error, &weight));
    if (c->uses) *error = 1 - *error;
    return TAMIS_OK;
}

/* Returns true if the error is significantly better: an RMSE by a thousandth, a recall by a part of its standard
   deviation. Less confidence is taken if it is not as much worse. */
static bool is_better(const chooser *c, const move *m, double error) {
    if (!c->uses) return error < c->error * (1 - BETTER);
    const double recall = 1 - c->error, n = (double)c->entries.nnz;
    const bool lowers = m->confidence > 0 && m->confidence < 1;
    const double deviations = lowers                                        ? -DEVIATIONS
                              : c->model->method->about.pairs && !m->weighs ? DEVIATIONS_PAIRS
                                                                            : DEVIATIONS;
    return 1 - error > recall + deviations * sqrt(recall * (1 - recall) / n);
}

/* Return true if a prior is to be chosen. A prior that is learned begins with the default. */
static bool chooses_row_prior(const tamis_model *model) {
    return model->method->priors && isnan(model->asked.row_prior) && !model->options.learn_row_prior;
}
static bool chooses_column_prior(const tamis_model *model) {
    return model->method->priors && isnan(model->asked.column_prior);
}

/* Returns true if the weights of uses are to be chosen. */
static bool weighs(const tamis_model *model) {
    return model->method->weighs && model->asked.weights == TAMIS_WEIGHTS_AUTO;
}

static bool chooses_confidence(const tamis_model *model) {
    return model->method->confident && isnan(model->asked.confidence);
}

static bool chooses_lambda(const tamis_model *model) {
    return ml_by_noise(model->method, &model->options) || ml_chooses_lambda(model->method, model->asked.regularization);
}

/* Returns true if the fit may be left at biases alone. */
static bool is_over_biases(const tamis_model *model) {
    return model->method->over_biases && chooses_lambda(model) && model->options.biases &&
           !ml_is_nonnegative(model->method, &model->options);
}

static bool is_open(const chooser *c, const move *m) {
    const tamis_model *const model = c->model;
    if (m->weighs) return weighs(model) && m->weights != c->best.weights;
    if (m->confidence > 0) return chooses_confidence(model);
    if (m->row_prior > 0) return chooses_row_prior(model);
    if (m->column_prior > 0) return chooses_column_prior(model);
    return m->factors != 1 ? model->asked.factors == 0 : chooses_lambda(model);
}

static bool is_same(double a, double b) { return a == b || fabs(a - b) <= 1e-9 * fabs(b); }

/* Sets *error to the error of a setting, which is measured once. */
static tamis_status error_of(chooser *c, const ml_choice *tried, double *error) {
    for (int i = 0; i < c->known_count; i++) {
        const ml_choice *const other = &c->known[i].tried;
        *error = c->known[i].error;
        if (is_same(tried->share, other->share) && is_same(tried->confidence, other->confidence) &&
            is_same(tried->row_prior, other->row_prior) && is_same(tried->column_prior, other->column_prior) &&
            tried->factors == other->factors && tried->weights == other->weights)
            return TAMIS_OK;
    }
    TRY(measure(c, tried, error));
    if (c->known_count < KNOWN_MOST) c->known[c->known_count++] = (known){.tried = *tried, .error = *error};
    return TAMIS_OK;
}

static tamis_status climb(chooser *c, const move *m, bool *moved) {
    *moved = false;
    for (int i = 0; i < m->steps; i++) {
        ml_choice tried = c->best;
        double error;
        if (chooses_lambda(c->model)) tried.share *= m->share;
        tried.factors = (int64_t)((double)tried.factors * m->factors);
        if (m->weighs) tried.weights = m->weights;
        if (m->confidence > 0) tried.confidence *= m->confidence;
        if (m->row_prior > 0) tried.row_prior *= m->row_prior;
        if (m->column_prior > 0) tried.column_prior *= m->column_prior;
        if (m->confidence > 0 && tried.confidence < 0.999 * ML_CONFIDENCE) break;
        if (m->factors != 1 && (tried.factors < 1 || tried.factors > FACTORS_MOST)) break;
        TRY(error_of(c, &tried, &error));
        if (!is_better(c, m, error)) break;
        c->best = tried;
        c->error = error;
        *moved = true;
    }
    return TAMIS_OK;
}

/* Computes the squared errors of the method itself with a setting; alone: also the errors of biases, NULL: not. */
static tamis_status measure_squares(chooser *c, const ml_choice *tried, double *squares, double *alone) {
    const tamis_held_out held = {.entries = &c->entries, .observed = &c->observed};
    tamis_model_options options = c->model->options;
    tamis_model *inner;
    tamis_sparse data;
    TAMIS_SCOPE;
    options.iterations = ROUNDS_LONG;
    TRY(fit_inner(c, &options, tried, &(trial){.of = c}, NULL, &inner, &data));
    if (alone) TRY(ml_biases_squares(inner, &data, &c->entries, alone));
    return ml_square_errors(inner, &held, squares);
}

/* Returns true if squares are less than others by more than chance: twice the standard error of the difference of their
   means. The setting was chosen by the same entries, so that once is too little. */
static bool are_less(const double *squares, const double *others, int64_t count) {
    double sum = 0, deviations = 0;
    for (int64_t t = 0; t < count; t++) sum += others[t] - squares[t];
    const double n = (double)count, gain = sum / n;
    for (int64_t t = 0; t < count; t++) deviations += pow(others[t] - squares[t] - gain, 2);
    return gain > 2 * sqrt(deviations / (n - 1) / n);
}

/* Looks for a setting whose factors are better than biases alone, and else takes these. */
static tamis_status rise_above_biases(chooser *c) {
    const int64_t count = c->entries.nnz;
    double *squares, *alone;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(count, "errors of held-out ratings", squares));
    TRY(tamis_allocate_array(count, "errors of held-out ratings", alone));
    for (int i = 0; i <= STRONGER; i++) {
        TRY(measure_squares(c, &c->best, squares, i == 0 ? alone : NULL));
        if (are_less(squares, alone, count)) return TAMIS_OK;
        c->best.share *= STRONGER_BY;
    }
    c->best.share = ML_BIASES_ALONE;
    if (c->model->asked.factors == 0) c->best.factors = 1;
    return TAMIS_OK;
}

static moves moves_of(const ml_method *method) {
    if (method->about.pairs) return MOVES(of_pairs);
    if (method->priors) return MOVES(of_topics);
    if (method->about.data == TAMIS_DATA_USES) return MOVES(of_uses);
    return method->lambda > 0 ? MOVES(of_lambdas) : MOVES(of_ratings);
}

static tamis_status climb_all(chooser *c) {
    const moves all = moves_of(c->model->method);
    bool moved = false;
    if (c->entries.nnz == 0) return TAMIS_OK;
    TRY(error_of(c, &c->best, &c->error));
    for (int i = 0; i < all.count; i++)
        if (is_open(c, &all.move[i]) && !(all.move[i].instead && moved)) TRY(climb(c, &all.move[i], &moved));
    return TAMIS_OK;
}

static tamis_status choose(chooser *c, const tamis_sparse *sample) {
    TRY(split(c, sample));
    if (sample->nnz >= LEAST) TRY(climb_all(c));
    return is_over_biases(c->model) && c->entries.nnz >= SURE ? rise_above_biases(c) : TAMIS_OK;
}

bool ml_chooses(const tamis_model *model) {
    return chooses_lambda(model) || model->asked.factors == 0 || weighs(model) || chooses_row_prior(model) ||
           chooses_column_prior(model) || chooses_confidence(model);
}

void ml_choose_nothing(const tamis_model *model, ml_choice *choice) {
    *choice = model->asked;
    if (choice->factors == 0) choice->factors = FACTORS;
    if (weighs(model)) choice->weights = model->method->usual;
    if (chooses_confidence(model)) choice->confidence = ML_CONFIDENCE;
    if (model->method->priors && isnan(choice->row_prior)) choice->row_prior = ML_PRIOR;
    if (model->method->priors && isnan(choice->column_prior)) choice->column_prior = ML_PRIOR;
}

tamis_status ml_choose(const tamis_model *model, const tamis_sparse *data, ml_choice *choice) {
    const double start = tamis_clock_seconds();
    tamis_sparse sample = first_rows(model, data);
    ml_rows copy;
    ml_choose_nothing(model, choice);
    if (model->method->neighbours_for)
        choice->neighbours = model->method->neighbours_for(choice->neighbours, data->cols);
    const bool lists = model->method->neighbours_for && choice->neighbours > 0;
    const int64_t most = model->method->choice_columns * (lists ? LISTS : 1);
    if (model->method->admits) TRY(model->method->admits(model, data->cols));
    if (!ml_chooses(model) || (sample.nnz < LEAST && !is_over_biases(model))) return TAMIS_OK;
    chooser c = {
        .model = model, .uses = model->method->about.data == TAMIS_DATA_USES, .best = *choice, .error = INFINITY};
    TAMIS_SCOPE;
    if (most > 0 && most < data->cols) TRY(keep_columns(&sample, most, &copy));
    TRY(choose(&c, &sample));
    *choice = c.best;
    if (sample.nnz >= LEAST || c.entries.nnz >= SURE) choice->seconds = tamis_clock_seconds() - start;
    return TAMIS_OK;
}

void ml_take_choice(tamis_model *model, const ml_choice *choice) {
    model->share = choice->share;
    model->choice_seconds = choice->seconds;
    set_options(model->method, choice, &model->options);
    model->width = ml_width(model->method, &model->options);
    tamis_dense_workspace_destroy(model->workspace); /* left by a failed fit with another number of factors */
    model->workspace = NULL;
}
