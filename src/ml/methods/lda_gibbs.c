/*
 * Latent Dirichlet allocation by collapsed Gibbs sampling (Griffiths and Steyvers 2004). Each word of a document, as
 * often as it occurs, has one topic z. A pass draws each anew, given all others:
 *
 *   P(z = k) ~ (n_dk + alpha_k) (N_wk + beta) / (N_k + V beta)
 *
 * n_dk are the words of the document with topic k, N_wk the occurrences of this word with it anywhere, N_k of any word;
 * all without the word that is drawn. Topics of documents are always up to date. Those of words stay as they are while
 * a part of the documents is drawn, a quarter or less, as in distributed sampling (Newman et al. 2009): so documents
 * are independent, and with random numbers by the word's place (base/random.h) the model is the same from any number of
 * threads.
 *
 * The distribution is the sum of two (Yao, Mimno and McCallum 2009): n_dk phi_wk, over the few topics of the document,
 * and alpha_k phi_wk, whose sums over k are tables by word, made once a part; a search in them finds the topic. Nothing
 * is rejected or approximate, as where tables are older than counts (WarpLDA). The word's own topic counts once less,
 * so that entry is corrected.
 *
 * A count of more than TOKENS_MOST, or one that is not whole, is as many words of a weight each, not 1.
 *
 * The model is lda's: L_wk = N_wk + beta, as a running average over passes with the rate max(1 / pass, 0.1), since
 * a single draw is noisy. It is used by lda's functions on every device. The sampler runs on the host.
 *
 * Learned alpha (learn_row_prior): after each pass a fixed-point step (Minka 2000) for the alpha of each topic, the
 * state ML_ALPHA. It lowers the perplexity of KOS, AP and Reuters by half a percent and more, and makes topics less
 * coherent; a learned beta likewise, which there is not.
 *
 * The loss is -ln P of a word given all others, the mean over the pass. It is estimated from samples, so it may rise.
 *
 * Seeds: all occurrences of a word that is a topic's seed begin with it, and the word has the prior beta + 1 + its
 * occurrences in that topic (SeededLDA of Jagarlamudi, Daume and Udupa 2012 likewise draws from seeds with a prior
 * chance).
 *
 * Memory on the host: per word of the data 8 bytes and a number of the model's type, which the model keeps too; five
 * matrices words x topics; and per 32 documents two numbers, or K + 3 where alpha is learned.
 */
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "base/threads.h"
#include "ml/factors.h"
#include "ml/fit/place.h"
#include "ml/methods/dirichlet.h"
#include "ml/methods/lda.h"
#include "ml/methods/method.h"
#include "ml/methods/mixture.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/unigram.h"

enum {
    TOPICS = 1, /* state: the topic of each word */
    SEEDS = 3,  /* state: a word's topic and 1, 0 for none */
    TOKENS_MOST = 1024,
    BLOCK = 32, /* documents whose sums are added first */
    PARTS_LEAST = 4,
    PARTS_MOST = 32,
    DRAWS = 256,    /* random numbers at a time */
    LEARNS_FROM = 5 /* the first pass after which alpha is learned: topics are random before */
};
enum { FIRST = 0x676900, PASSES = 0x67690000 }; /* streams of random numbers */
static const double AVERAGE_LEAST = 0.1;

/* Scratch of a thread: the topics of the document under way. */
typedef struct scratch {
    double *weight, *sums;         /* by topic: words of it; partial sums of a draw */
    int32_t *count, *list, *place; /* by topic: tokens; topics that have any; where in the list */
    uint64_t *draws;
} scratch;

typedef struct gibbs {
    const tamis_sparse *data;
    int64_t tokens, words, topics, blocks;
    int64_t *first; /* token of each document */
    uint16_t *z, *before;
    double *N, *mass, *inverse; /* words x topics, topics; 1 / what phi is divided by */
    float *phi, *tables;
    int64_t *seed;        /* topic of each word, -1: none */
    double *more, *mores; /* prior of seeds, by word; their sums, by topic */
    double *alpha, beta, alpha_sum;
    double *L;
    void *packed;      /* numbers of the model's type */
    double *psi;       /* of alpha */
    int64_t sum_count; /* of a block */
    double *sums;      /* by block: the loss, its weight, the steps of alpha's numerators, and its denominator;
                     then of the pass */
    int threads, parts;
    bool measured, learns;
    scratch *scratch;   /* by thread */
    int64_t begin, end; /* blocks of the part under way */
    uint64_t seed_of_draws, stream;
} gibbs;

/* ------------------------------------------------------------------------------------------ options */

static void defaults(tamis_model_options *options) {
    options->factors = 20;
    options->iterations = 100;
    options->row_prior = options->column_prior = ML_PRIOR;
    options->maximum_a_posteriori =
        true; /* of new documents: as topics are drawn, by counts, 1 to 2 % better than else */
}

static tamis_status check(const tamis_model_options *options) {
    static const char *const expected = "0 (1 / factors) or more";
    TRY(ml_check_number("row_prior", options->row_prior, options->row_prior >= 0, expected));
    return ml_check_number("column_prior", options->column_prior, options->column_prior >= 0, expected);
}

/* ------------------------------------------------------------------------------------------ words */

/* Weights that are not whole may leave rounding below 0. Unlike fmax() it is one instruction. */
static inline double positive(double x) { return x > 0 ? x : 0; }

/* An entry is as many words, of value / tokens each. */
static int64_t tokens_of(double value) {
    return !(value > 0) ? 0 : value > TOKENS_MOST ? TOKENS_MOST : (int64_t)ceil(value);
}

static int64_t count_tokens(const tamis_sparse *data, int64_t *first) {
    int64_t tokens = 0;
    for (int64_t i = 0; i < data->rows; i++) {
        if (first) first[i] = tokens;
        for (int64_t t = ml_offset(data, i); t < ml_offset(data, i + 1); t++) tokens += tokens_of(ml_value(data, t));
    }
    if (first) first[data->rows] = tokens;
    return tokens;
}

/* Counts all words anew, so that weights that are not whole leave no rounding behind. */
static void count_topics(gibbs *work) {
    const tamis_sparse *const data = work->data;
    const int64_t K = work->topics;
    memset(work->N, 0, (size_t)(work->words * K) * sizeof *work->N);
    for (int64_t k = 0; k < K; k++) work->mass[k] = 0;
    int64_t at = 0;
    for (int64_t t = 0; t < ml_offset(data, data->rows); t++) {
        const int64_t tokens = tokens_of(ml_value(data, t)), w = ml_column(data, t);
        for (int64_t i = 0; i < tokens; i++, at++) {
            work->N[w * K + work->z[at]] += ml_value(data, t) / (double)tokens;
            work->mass[work->z[at]] += ml_value(data, t) / (double)tokens;
        }
    }
}

/* Makes the counts of words follow the part's new topics. */
static void move_topics(gibbs *work, int64_t begin, int64_t end) {
    const tamis_sparse *const data = work->data;
    const int64_t K = work->topics;
    int64_t at = work->first[begin];
    for (int64_t t = ml_offset(data, begin); t < ml_offset(data, end); t++) {
        const int64_t tokens = tokens_of(ml_value(data, t)), w = ml_column(data, t);
        const double weight = tokens > 0 ? ml_value(data, t) / (double)tokens : 0;
        for (int64_t i = 0; i < tokens; i++, at++) {
            const int64_t from = work->before[at], to = work->z[at];
            if (from == to) continue;
            work->N[w * K + from] = positive(work->N[w * K + from] - weight);
            work->N[w * K + to] += weight;
            work->mass[from] = positive(work->mass[from] - weight);
            work->mass[to] += weight;
        }
    }
}

/* ------------------------------------------------------------------------------------------ draws */

/* Returns what phi_k is divided by, without a word of that weight. */
static double mass_of(const gibbs *work, int64_t k, double weight) {
    return positive(work->mass[k] - weight) + (double)work->words * work->beta + work->mores[k];
}

/* Returns phi_wk without a word of that weight. */
static double phi_of(const gibbs *work, int64_t w, int64_t k, double weight) {
    const double seed = work->seed[w] == k ? work->more[w] : 0;
    return (positive(work->N[w * work->topics + k] - weight) + work->beta + seed) / mass_of(work, k, weight);
}

/* Computes phi and the tables of a share of the words. */
static void body_tables(void *context, int share, int shares) {
    gibbs *const work = context;
    const int64_t K = work->topics, words = work->words;
    for (int64_t w = words * share / shares; w < words * (share + 1) / shares; w++) {
        const double *const N = work->N + w * K;
        float *const phi = work->phi + w * K, *const table = work->tables + w * K;
        const int64_t seed = work->seed[w];
        double sum = 0;
        for (int64_t k = 0; k < K; k++) {
            const double part = (N[k] + work->beta + (k == seed ? work->more[w] : 0)) * work->inverse[k];
            phi[k] = (float)part;
            sum += work->alpha[k] * part;
            table[k] = (float)sum;
        }
    }
}

static void put_in(scratch *s, int64_t k, double weight, int32_t *used) {
    if (s->count[k]++ == 0) {
        s->place[k] = *used;
        s->list[(*used)++] = (int32_t)k;
        s->weight[k] = 0;
    }
    s->weight[k] += weight;
}

static void take_out(scratch *s, int64_t k, double weight, int32_t *used) {
    s->weight[k] -= weight;
    if (--s->count[k] > 0) return;
    const int32_t last = s->list[--*used];
    s->list[s->place[k]] = last;
    s->place[last] = s->place[k];
    s->weight[k] = 0;
}

/* Returns the first place of begin .. end - 1 with a number above x, or the last place. */
static int64_t find_above(const float *table, int64_t begin, int64_t end, double x) {
    int64_t last = end - 1;
    while (begin < last) {
        const int64_t middle = begin + (last - begin) / 2;
        if ((double)table[middle] > x)
            last = middle;
        else
            begin = middle + 1;
    }
    return begin;
}

/* Draws a topic for the word w, which had `old` with the weight; u is uniform in [0, 1). *all: the sum of the numbers
   to which probabilities are proportional. */
static int64_t draw(const gibbs *work, scratch *s, int32_t used, int64_t w, int64_t old, double weight, double u,
                    double *all) {
    const int64_t K = work->topics;
    const float *const phi = work->phi + w * K, *const table = work->tables + w * K;
    const double own = phi_of(work, w, old, weight);
    double few = 0;
    for (int32_t i = 0; i < used; i++) {
        const int64_t k = s->list[i];
        few += s->weight[k] * (k == old ? own : (double)phi[k]);
        s->sums[i] = few;
    }
    const double less = old > 0 ? (double)table[old - 1] : 0, here = work->alpha[old] * own;
    const double more = positive((double)table[K - 1] - (double)table[old]), many = less + here + more;
    *all = few + many;
    double x = u * *all;
    if (x < few) {
        int32_t i = 0;
        while (i < used - 1 && !(s->sums[i] > x)) i++;
        return s->list[i];
    }
    x -= few;
    if (x < less) return find_above(table, 0, old, x);
    if (x < less + here || old == K - 1) return old;
    return find_above(table, old + 1, K, x - less - here + (double)table[old]);
}

/* Adds a document's part of the step of alpha. */
static void add_document(const gibbs *work, const scratch *s, int32_t used, double words, double *sums) {
    for (int32_t i = 0; i < used; i++) {
        const int64_t k = s->list[i];
        sums[2 + k] += ml_digamma(s->weight[k] + work->alpha[k]) - work->psi[k];
    }
    sums[2 + work->topics] += ml_digamma(words + work->alpha_sum) - work->psi[work->topics];
}

static void draw_document(const gibbs *work, scratch *s, int64_t row, double *sums) {
    const tamis_sparse *const data = work->data;
    const int64_t begin = ml_offset(data, row), end = ml_offset(data, row + 1), first = work->first[row];
    double words = 0;
    int32_t used = 0;
    int64_t at = first;
    for (int64_t t = begin; t < end; t++) {
        const double value = ml_value(data, t);
        const int64_t tokens = tokens_of(value);
        for (int64_t i = 0; i < tokens; i++) put_in(s, work->z[at++], value / (double)tokens, &used);
        words += tokens > 0 ? value : 0;
    }
    at = first;
    for (int64_t t = begin; t < end; t++) {
        const int64_t w = ml_column(data, t), tokens = tokens_of(ml_value(data, t));
        const double weight = tokens > 0 ? ml_value(data, t) / (double)tokens : 0;
        for (int64_t i = 0; i < tokens; i++, at++) {
            const int64_t old = work->z[at], place = (at - first) % DRAWS;
            if (place == 0) tamis_random_fill(work->seed_of_draws, work->stream, (uint64_t)at, DRAWS, s->draws);
            double all;
            take_out(s, old, weight, &used);
            const double u = (double)(s->draws[place] >> 11) * 0x1p-53;
            const int64_t topic = draw(work, s, used, w, old, weight, u, &all);
            put_in(s, topic, weight, &used);
            work->z[at] = (uint16_t)topic;
            if (work->measured) sums[0] -= weight * log(all / (positive(words - weight) + work->alpha_sum));
        }
    }
    sums[1] += words;
    if (work->learns && words > 0) add_document(work, s, used, words, sums);
    for (int32_t i = 0; i < used; i++) s->count[s->list[i]] = 0;
}

static void body_draw(void *context, int share, int shares) {
    gibbs *const work = context;
    const int64_t rows = work->data->rows;
    for (int64_t b = work->begin + share; b < work->end; b += shares) {
        double *const sums = work->sums + b * work->sum_count;
        for (int64_t k = 0; k < work->sum_count; k++) sums[k] = 0;
        for (int64_t row = b * BLOCK; row < rows && row < (b + 1) * BLOCK; row++)
            draw_document(work, &work->scratch[share], row, sums);
    }
}

/* Draws the part `part` of the documents. */
static void draw_part(gibbs *work, int part) {
    const int64_t rows = work->data->rows;
    work->begin = work->blocks * part / work->parts;
    work->end = work->blocks * (part + 1) / work->parts;
    if (work->begin == work->end) return;
    const int64_t first = work->begin * BLOCK, end = work->end * BLOCK < rows ? work->end * BLOCK : rows;
    for (int64_t k = 0; k < work->topics; k++) work->inverse[k] = 1 / mass_of(work, k, 0);
    tamis_threads_run(work->threads, body_tables, work);
    const int64_t token = work->first[first], tokens = work->first[end] - token;
    if (tokens > 0) memcpy(work->before + token, work->z + token, (size_t)tokens * sizeof *work->z);
    tamis_threads_run(work->threads, body_draw, work);
    move_topics(work, first, end);
}

/* ------------------------------------------------------------------------------------------ alpha */

/* Rounds to the model's type, so that a resumed fit has the same number. */
static double rounded(const tamis_model *model, double x) {
    return model->options.type == TAMIS_F32 ? (double)(float)x : x;
}

static void set_alpha(gibbs *work) {
    work->alpha_sum = 0;
    for (int64_t k = 0; k < work->topics; k++) {
        work->alpha_sum += work->alpha[k];
        work->psi[k] = ml_digamma(work->alpha[k]);
    }
    work->psi[work->topics] = ml_digamma(work->alpha_sum);
}

/* ------------------------------------------------------------------------------------------ fitting */

/* Keeps seeds as a state, and computes their priors. */
static tamis_status take_seeds(tamis_model *model, gibbs *work) {
    const int64_t words = work->words;
    double *kept;
    bool fresh;
    TRY(tamis_allocate_array(words, "seeds of topics", work->seed));
    TRY(tamis_allocate_zeros(words, "seeds of topics", work->more));
    TRY(tamis_allocate_zeros(work->topics, "seeds of topics", work->mores));
    TRY(tamis_allocate_zeros(words, "seeds of topics", kept));
    for (int64_t w = 0; model->seeds && w < words; w++) kept[w] = (double)(model->seeds[w] + 1);
    if (model->seeds) {
        TRY(ml_model_state(model, SEEDS, &fresh));
        TRY(ml_dense_write_doubles(model, &model->states[SEEDS], kept));
    } else if (model->states[SEEDS].cols > 0) {
        TRY(ml_state_read(model, SEEDS, &kept));
    }
    for (int64_t w = 0; w < words; w++) {
        if (kept[w] > (double)work->topics || kept[w] != floor(kept[w]))
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "the model is damaged: word %lld is a seed of topic %g",
                              (long long)w, kept[w] - 1);
        work->seed[w] = (int64_t)kept[w] - 1;
    }
    ml_unigram_count(work->data, work->more);
    for (int64_t w = 0; w < words; w++)
        if (work->seed[w] >= 0) work->mores[work->seed[w]] += ++work->more[w];
    return TAMIS_OK;
}

/* Seeds have their topics, other words random ones. */
static void first_topics(gibbs *work) {
    const tamis_sparse *const data = work->data;
    int64_t at = 0;
    for (int64_t t = 0; t < ml_offset(data, data->rows); t++) {
        const int64_t seed = work->seed[ml_column(data, t)];
        for (int64_t i = tokens_of(ml_value(data, t)); i > 0; i--, at++) {
            const double u = tamis_random_uniform_at(work->seed_of_draws, FIRST, (uint64_t)at);
            work->z[at] = (uint16_t)(seed >= 0 ? seed : (int64_t)(u * (double)work->topics));
        }
    }
}

/* Gives each word its first topic, or that of the model. */
static tamis_status take_topics(tamis_model *model, gibbs *work) {
    tamis_dense *const state = &model->states[TOPICS];
    bool fresh;
    double *numbers;
    TAMIS_SCOPE;
    if (model->iterations_done == 0) {
        TRY(ml_model_state_of(model, TOPICS, work->tokens, &fresh));
        first_topics(work);
        return TAMIS_OK;
    }
    if (state->rows != work->tokens)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "the model has topics of %lld words, but S has %lld words",
                          (long long)state->rows, (long long)work->tokens);
    TRY(ml_state_read(model, TOPICS, &numbers));
    for (int64_t t = 0; t < work->tokens; t++) {
        if (!(numbers[t] >= 0 && numbers[t] < (double)work->topics && numbers[t] == floor(numbers[t])))
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "the model is damaged: word %lld has topic %g, expected 0 to %lld",
                              (long long)t, numbers[t], (long long)work->topics - 1);
        work->z[t] = (uint16_t)numbers[t];
    }
    return TAMIS_OK;
}

static tamis_status take_priors(tamis_model *model, gibbs *work) {
    const int64_t K = work->topics;
    bool fresh;
    double *kept;
    TAMIS_SCOPE;
    work->beta = ml_lda_prior(model, model->options.column_prior);
    for (int64_t k = 0; k < K; k++) work->alpha[k] = ml_lda_prior(model, model->options.row_prior);
    if (work->learns) {
        TRY(ml_model_state(model, ML_ALPHA, &fresh));
        for (int64_t k = 0; k < K; k++) work->alpha[k] = rounded(model, fmax(work->alpha[k], ML_PRIOR_LEAST));
        if (model->iterations_done == 0) TRY(ml_dense_write_doubles(model, &model->states[ML_ALPHA], work->alpha));
        TRY(ml_state_read(model, ML_ALPHA, &kept));
        for (int64_t k = 0; k < K; k++) work->alpha[k] = kept[k];
    }
    set_alpha(work);
    return TAMIS_OK;
}

static tamis_status make_scratch(gibbs *work) {
    const int64_t K = work->topics;
    TRY(tamis_allocate_zeros(work->threads, "the work of threads", work->scratch));
    for (int i = 0; i < work->threads; i++) {
        scratch *const s = &work->scratch[i];
        TRY(tamis_allocate_array(K, "topics of a document", s->weight));
        TRY(tamis_allocate_array(K, "topics of a document", s->sums));
        TRY(tamis_allocate_zeros(K, "topics of a document", s->count));
        TRY(tamis_allocate_array(K, "topics of a document", s->list));
        TRY(tamis_allocate_array(K, "topics of a document", s->place));
        TRY(tamis_allocate_array(DRAWS, "random numbers", s->draws));
    }
    return TAMIS_OK;
}

static tamis_status make_counts(const tamis_model *model, gibbs *work) {
    const int64_t K = work->topics, all = tamis_times(work->words, K);
    TRY(tamis_allocate_array(work->tokens, "topics of words", work->z));
    TRY(tamis_allocate_array(work->tokens, "topics of words", work->before));
    TRY(tamis_allocate_array(all, "words of topics", work->N));
    TRY(tamis_allocate_array(all, "words of topics", work->L));
    TRY(tamis_scope_allocate(all > work->tokens ? all : work->tokens, tamis_type_size(model->options.type),
                             "words of topics", &work->packed));
    TRY(tamis_allocate_array(all, "words of topics", work->phi));
    TRY(tamis_allocate_array(all, "words of topics", work->tables));
    TRY(tamis_allocate_array(K, "words of topics", work->mass));
    TRY(tamis_allocate_array(K, "words of topics", work->inverse));
    TRY(tamis_allocate_array(K, "alpha of topics", work->alpha));
    TRY(tamis_allocate_array(K + 1, "alpha of topics", work->psi));
    return tamis_allocate_array(tamis_times(work->blocks + 1, work->sum_count), "sums of documents", work->sums);
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    bool fresh;
    gibbs *work;
    if (model->seeds && model->seed_count != data->cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "S has %lld columns, but there are seeds for %lld",
                          (long long)data->cols, (long long)model->seed_count);
    TRY(ml_model_factors(model, 0, data->cols, &fresh));
    TRY(ml_unigram_learn(model, data, false));
    TRY(tamis_allocate_zeros(1, "the work of lda-gibbs", work));
    model->work = work;
    *work = (gibbs){.data = data,
                    .words = data->cols,
                    .topics = model->width,
                    .blocks = (data->rows + BLOCK - 1) / BLOCK,
                    .measured = !model->options.skip_loss,
                    .learns = model->options.learn_row_prior,
                    .sum_count = model->options.learn_row_prior ? model->width + 3 : 2,
                    .seed_of_draws = model->options.seed};
    TRY(tamis_allocate_array(data->rows + 1, "documents", work->first));
    work->tokens = count_tokens(data, work->first);
    /* tables of all words cost as much as a few draws of each; topics settle faster in more parts */
    const double parts = 16 * (double)work->tokens / ((double)work->words * (double)work->topics);
    work->parts = parts < PARTS_LEAST ? PARTS_LEAST : parts > PARTS_MOST ? PARTS_MOST : (int)parts;
    TRY(ml_host_threads(model, &work->threads));
    TRY(make_scratch(work));
    TRY(make_counts(model, work));
    TRY(take_priors(model, work));
    TRY(take_seeds(model, work));
    TRY(take_topics(model, work));
    if (model->iterations_done == 0) TRY(tamis_dense_fill(model->device, NULL, &model->column_factors, 1));
    return TAMIS_OK;
}

/* Writes numbers to the device by the work's memory, as an iteration allocates nothing. */
static tamis_status write_numbers(const tamis_model *model, const gibbs *work, const tamis_dense *to,
                                  const double *numbers) {
    for (int64_t t = 0; t < to->rows * to->cols; t++) ml_put_number(work->packed, to->type, t, numbers[t]);
    return ml_dense_write(model, to, work->packed);
}

/* Moves L towards the words of topics as they are now, and keeps the topic of each word. */
static tamis_status keep(tamis_model *model, const gibbs *work) {
    const double rate = fmax(1 / ((double)model->iterations_done + 1), AVERAGE_LEAST);
    const tamis_dense *const topics = &model->states[TOPICS];
    double *const L = work->L;
    TRY(ml_dense_take_doubles(model, &model->column_factors, L));
    for (int64_t t = 0; t < work->words * work->topics; t++)
        L[t] = (1 - rate) * L[t] + rate * (work->N[t] + work->beta);
    TRY(write_numbers(model, work, &model->column_factors, L));
    for (int64_t t = 0; t < work->tokens; t++) ml_put_number(work->packed, topics->type, t, work->z[t]);
    return ml_dense_write(model, topics, work->packed);
}

/* sums: of the pass. */
static tamis_status learn_alpha(tamis_model *model, gibbs *work, const double *sums) {
    const int64_t K = work->topics;
    if (sums[1] <= 0 || model->iterations_done + 1 < LEARNS_FROM) return TAMIS_OK;
    for (int64_t k = 0; k < K; k++)
        work->alpha[k] = rounded(model, fmax(work->alpha[k] * sums[2 + k] / sums[2 + K], ML_PRIOR_LEAST));
    set_alpha(work);
    return write_numbers(model, work, &model->states[ML_ALPHA], work->alpha);
}

static tamis_status iterate(tamis_model *model) {
    gibbs *const work = model->work;
    const int64_t sums = work->sum_count;
    double *const all = work->sums + work->blocks * sums;
    work->stream = PASSES + (uint64_t)model->iterations_done;
    count_topics(work);
    for (int part = 0; part < work->parts; part++) draw_part(work, part);
    for (int64_t k = 0; k < sums; k++) all[k] = 0;
    for (int64_t b = 0; b < work->blocks; b++)
        for (int64_t k = 0; k < sums; k++) all[k] += work->sums[b * sums + k];
    model->parts[0] = all[0];
    model->parts[1] = all[1];
    TRY(keep(model, work));
    if (work->learns) TRY(learn_alpha(model, work, all));
    model->steps++;
    return TAMIS_OK;
}

static tamis_status loss(tamis_model *model, double *result) {
    *result = model->parts[1] > 0 ? model->parts[0] / model->parts[1] : NAN;
    return TAMIS_OK;
}

static const tamis_method_option own_options[] = {{"row_prior", "alpha of a document's topics; 0: 1 / K"},
                                                  {"column_prior", "beta of a topic's words; 0: 1 / K"},
                                                  {"learn_row_prior", NULL},
                                                  {NULL, NULL}};

const ml_method ml_lda_gibbs = {
    .about = {.method = TAMIS_LDA_GIBBS,
              .data = TAMIS_DATA_COUNTS,
              .name = "lda-gibbs",
              .summary = "topics of documents (latent Dirichlet allocation by Gibbs sampling)",
              .options = own_options,
              .sampled = true,
              .seeds = true},
    .states =
        {[ML_ALPHA] = {.rows = {ML_FACTORS, 0}, .cols = {ML_NONE, 1}, .range = ML_POSITIVE, .kept = ml_lda_learns},
         [TOPICS] = {.rows = {ML_ANY, 0}, .cols = {ML_NONE, 1}, .range = ML_NOT_NEGATIVE},
         [ML_WORDS] = ML_WORDS_STATE,
         [SEEDS] = {.rows = {ML_COLUMNS, 0}, .cols = {ML_NONE, 1}, .range = ML_NOT_NEGATIVE, .optional = true}},
    .defaults = defaults,
    .check = check,
    .begin = begin,
    .iterate = iterate,
    .loss = loss,
    .transform = ml_lda_transform,
    .operands = ml_mixture,
};
