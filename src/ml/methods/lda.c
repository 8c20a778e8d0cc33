/*
 * Latent Dirichlet allocation by online variational Bayes in mini-batches (Hoffman, Blei, Bach 2010), in BIDMach's
 * form, which Yu et al. and Nisa et al. accelerate. Documents are rows, words columns. The model is L, words x topics:
 * L_wk / sum over w of L_wk = P(word w | topic k).
 *
 * For a mini-batch S, with M = L, its columns divided by their sums:
 *   U = 1, then inner_rounds times   U = exp(psi(U o E + alpha)),  E = quotient(S, U M^T) M        one fused call each
 *   N = scale M o (quotient(S, U M^T)^T U) + beta                  one fused call on the transpose: A = M, B = D = U
 *   L = (1 - r) L + r N,  r = (1 / (t + rate_offset))^rate_decay for the model's mini-batch t = 1, 2, ...
 * where `scale` is the number of all documents divided by that of the mini-batch. U o E + alpha are the parameters of a
 * document's posterior; transform() returns them. maximum_a_posteriori: U = U o E + alpha.
 *
 * This differs from the equations in the papers (L = N with normalised columns, no `scale`, r = 1 in the first step),
 * for the following reason. The numbers are perplexities of held-out halves of held-out documents of KOS and AP after
 * 20 passes with 50 topics and mini-batches of 256 documents, from a prototype in double, each with the best priors
 * tried on these same held-out words (on other documents and on Reuters the defaults stayed as far from scikit-learn):
 * as in the papers                                    1874 and 3115 (with 512 documents 1688, 2766)
 *   first topics of the corpus's size, `scale`, r < 1   1494 and 2499
 *   the same with M = exp(psi(L) - psi(column sums))    1620 and 2838   (r = 1 at first: 1606, 2868)
 * With r = 1 the noise of the first mini-batch becomes the topics and is never corrected. Of the last two, the first is
 * better, computes no digamma of the model, and loses no rare words to exp(psi(beta)), which is 1e-44 for beta = 0.01.
 * Priors: alpha = 0.1 to 0.15 and beta = 0.1 were best or within 1 % of it with 20 and with 50 topics, for documents of
 * some hundred words. Titles need others, which an inner split chooses from these on (choose.c); rate_decay 0.3
 * to 0.5 and mini-batches of 128 to 256 documents make no difference; 0.7 or 512 documents are up to 5 % worse on AP.
 *
 * Rows of M are divided by their sums as well. This changes neither U nor N, and keeps words with a low weight in every
 * topic (small beta, many documents) above the quotient's epsilon.
 *
 * Documents are variational: each has a Dirichlet distribution. Topics are plug-in: each word has one number, phi_wk =
 * L_wk / its column's sum; with r = 1 it is the most likely one under a prior Dirichlet(1 + beta) of each topic.
 *
 * The loss is the negative log-likelihood per word of the training words, -sum S ln P / sum S, with P_dw = sum of
 * theta_dk phi_kw, where theta are the posterior means of the mini-batch's last round and phi comes from L before its
 * update.
 *
 * The bound (`elbo`) is the evidence lower bound of that model per word, for the same theta and phi:
 *   sum over words of S ln sum_k exp(E[ln theta_dk]) phi_wk + sum over d of E[ln p(theta_d)] - E[ln q(theta_d)]
 *   + beta sum over words and k of ln phi_wk, scaled to the mini-batch's share of all documents
 * The last term is ln Dirichlet(phi_k; 1 + beta) up to a constant. With one mini-batch, r = 1 and enough rounds for
 * documents to converge, no pass decreases it; with alpha below 1 a document may have several best posteriors, and a
 * pass may find another one.
 *
 * Learned alpha (learn_row_prior): after each mini-batch, a step of Newton's method for the mean of its documents' E[ln
 * theta], r times as long (dirichlet.h). State 0 then has the alpha of each topic.
 *
 * The P of each mini-batch's words stay on the device until a pass ends or the model is saved within one. Only then are
 * their logarithms added, in the order of the mini-batches, so that nothing waits in between (except for the bound and
 * a learned alpha).
 *
 * Memory: P of the data; with the bound or a learned alpha one more matrix of a mini-batch's documents x topics, on
 * host and device; the data twice (mini-batches and their transposes); two matrices words x topics, and three of a
 * mini-batch's documents x topics.
 */
#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/fit/minibatch.h"
#include "ml/fit/place.h"
#include "ml/methods/dirichlet.h"
#include "ml/methods/lda.h"
#include "ml/methods/method.h"
#include "ml/methods/mixture.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/unigram.h"

/* Rounds for new documents: more than in fitting, as they are visited only once. After 20 rounds the perplexity of
   held-out words of KOS and AP is within 0.6 % of that after 400, and no larger. */
enum { TRANSFORM_ROUNDS = 20 };

/* The bound of documents takes as many rounds as scikit-learn's max_doc_update_iter, with which it is compared. */
enum { BOUND_ROUNDS = 100 };

/* The priors are chosen by the first documents, with as many entries as this. */
enum { CHOICE_ENTRIES = 1 << 17 };

typedef struct lda {
    ml_batches batches;
    double documents;      /* in all */
    tamis_dense M, N;      /* words x topics */
    tamis_dense word_sums; /* of M's rows */
    tamis_dense masses;    /* sums of L's columns */
    tamis_dense U, E, G;   /* documents of the largest mini-batch x topics; G only with the loss */
    tamis_dense norms;     /* of G's rows */
    tamis_dense ones;      /* as large as U; only with a learned alpha */
    void **samples;        /* by mini-batch: P at its words, from which the loss is computed at the end of a pass */
    void *posteriors;      /* G on the host; only with a learned alpha or the bound */
    double *alpha;         /* likewise: alpha by topic; behind it two vectors of scratch and the sums of E[ln theta] */
    double elbo;           /* of the last mini-batch */
} lda;

/* ------------------------------------------------------------------------------------------ options */

static void defaults(tamis_model_options *options) {
    options->factors = 20;
    options->iterations = 20;
    options->inner_rounds = 5;
    options->row_prior = options->column_prior = (double)NAN; /* chosen */
    options->rate_decay = 0.5;
    options->rate_offset = 1;
}

static tamis_status check_prior(const char *name, double prior) {
    return isnan(prior) ? TAMIS_OK : ml_check_number(name, prior, prior >= 0, "0 (1 / factors) or more");
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_rounds("inner_rounds", options->inner_rounds));
    TRY(check_prior("row_prior", options->row_prior));
    TRY(check_prior("column_prior", options->column_prior));
    TRY(ml_check_number("rate_decay", options->rate_decay, options->rate_decay >= 0 && options->rate_decay <= 1,
                        "0 to 1"));
    if (options->maximum_a_posteriori && (options->learn_row_prior || options->elbo))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s with maximum_a_posteriori: documents have no distributions then",
                          options->learn_row_prior ? "learn_row_prior" : "elbo");
    return TAMIS_OK;
}

bool ml_lda_learns(const tamis_model_options *options) { return options->learn_row_prior; }

double ml_lda_prior(const tamis_model *model, double given) {
    return given > 0 ? given : 1 / (double)model->options.factors;
}

/* Returns the documents per mini-batch, 0 for all: from a few hundred, so that small collections have enough updates
   per pass, to a few thousand; but enough to have as many entries as words, since each update visits all words. */
static int64_t batch_rows(const tamis_model *model, const tamis_sparse *data) {
    if (model->options.batch_rows > 0) return model->options.batch_rows;
    double rows = fmin(fmax((double)data->rows / 16, 256), 4096);
    if (data->nnz > 0) rows = fmax(rows, (double)data->cols * ((double)data->rows / (double)data->nnz));
    return rows < (double)data->rows ? (int64_t)rows : 0;
}

/* ------------------------------------------------------------------------------------------ one mini-batch */

/* Computes M from L. */
static tamis_status make_weights(tamis_model *model, const lda *work) {
    tamis_device *const device = model->device;
    const tamis_dense *const L = &model->column_factors, *const M = &work->M;
    TRY(tamis_dense_column_sums(device, NULL, model->workspace, L, &work->masses));
    TRY(tamis_dense_scale(device, NULL, TAMIS_DIVIDE_COLUMNS, &work->masses, 0, L, 0, M));
    TRY(tamis_dense_row_sums(device, NULL, M, &work->word_sums));
    return tamis_dense_scale(device, NULL, TAMIS_DIVIDE_ROWS, &work->word_sums, 0, M, 0, M);
}

/* Computes X = U o E + alpha; a learned alpha has a number for each topic. `ones` is as large as U. */
static tamis_status add_prior(const tamis_model *model, const tamis_dense *U, const tamis_dense *E,
                              const tamis_dense *ones, const tamis_dense *X) {
    tamis_device *const device = model->device;
    const bool learned = model->options.learn_row_prior;
    const double alpha = learned ? 0 : ml_lda_prior(model, model->options.row_prior);
    TRY(tamis_dense_map(device, NULL, TAMIS_MAP_MULTIPLY_ADD, 1, alpha, U, E, X));
    if (!learned || U->rows == 0) return TAMIS_OK;
    tamis_dense column = *ones, line = model->states[ML_ALPHA];
    column.cols = column.stride = 1;
    line.rows = 1;
    line.cols = line.stride = U->cols;
    return tamis_dense_multiply(device, NULL, 1, &column, &line, 1, X);
}

/* Computes U of documents for M. E is scratch. Writes U o E + alpha of the last round to `posterior` (NULL: not
   requested; if it is E, U is left from the round before). ones: see add_prior. */
static tamis_status infer(tamis_model *model, tamis_plan *plan, const tamis_dense *M, int rounds, const tamis_dense *U,
                          const tamis_dense *E, const tamis_dense *ones, const tamis_dense *posterior) {
    tamis_device *const device = model->device;
    const bool learned = model->options.learn_row_prior;
    const double alpha = ml_lda_prior(model, model->options.row_prior);
    const tamis_map map = model->options.maximum_a_posteriori ? TAMIS_MAP_MULTIPLY_ADD : TAMIS_MAP_EXP_DIGAMMA;
    TRY(tamis_dense_fill(device, NULL, U, 1));
    if (learned) TRY(tamis_dense_fill(device, NULL, ones, 1));
    for (int i = 1; i <= rounds; i++) {
        TRY(ml_fused(model, plan, U, M, 1, 0, E));
        const tamis_dense *const taken = i == rounds ? posterior : NULL;
        if (taken || learned) TRY(add_prior(model, U, E, ones, taken ? taken : E));
        if (taken == E) return TAMIS_OK;
        if (learned)
            TRY(tamis_dense_map(device, NULL, map, 1, 0, taken ? taken : E, ones, U));
        else
            TRY(tamis_dense_map(device, NULL, map, 1, alpha, U, E, U));
    }
    return TAMIS_OK;
}

/* Computes P_dw = <X_d, Y_w> at the words of a mini-batch, into its samples. */
static tamis_status sample(tamis_model *model, const lda *work, const ml_batch *batch, const tamis_dense *X,
                           const tamis_dense *Y) {
    const tamis_dense samples = ml_values_view(model, work->samples[batch - work->batches.batch], batch->S.view.nnz);
    return ml_sddmm(model, batch->plans[ML_PLAN_SAMPLE], X, Y, 1, 0, &samples);
}

/* Waits, and computes *sum = sum S ln P of the mini-batch's samples. */
static tamis_status log_likelihood(const tamis_model *model, const lda *work, const ml_batch *batch, double *sum) {
    const tamis_dense samples = ml_values_view(model, work->samples[batch - work->batches.batch], batch->S.view.nnz);
    const tamis_dense counts = ml_values_view(model, (void *)(uintptr_t)batch->S.view.values, batch->S.view.nnz);
    return tamis_dense_log_dot(model->device, NULL, model->workspace, &counts, &samples, 1e-30, sum);
}

/* Returns the documents' terms of the bound other than sum S ln <exp(psi(posterior)), phi>, from posteriors on the
   host. Sums of E[ln theta] over `*documents` documents with words are stored behind work->alpha. */
static double documents_gain(const tamis_model *model, const lda *work, int64_t rows, int64_t *documents) {
    const int64_t n = model->width;
    double *const q = work->alpha + n, *const logs = q + n, *const sums = logs + n;
    double gain = 0, before = 0;
    for (int64_t k = 0; k < n; k++) sums[k] = 0;
    for (int64_t k = 0; k < n; k++) before += work->alpha[k];
    *documents = 0;
    for (int64_t i = 0; i < rows; i++) {
        double after = 0;
        for (int64_t k = 0; k < n; k++) after += q[k] = ml_number(work->posteriors, model->options.type, i * n + k);
        const double words = after - before;  /* the document's words, all assigned to topics */
        if (words <= 1e-5 * before) continue; /* no words, up to rounding: p and q are equal */
        gain += ml_dirichlet_gain(work->alpha, q, n, logs) - words * ml_digamma(after);
        for (int64_t k = 0; k < n; k++) sums[k] += logs[k];
        ++*documents;
    }
    return gain;
}

/* Computes the terms of the loss, and the bound of a mini-batch. G has the posteriors and becomes theta; U has their
   exp(psi); phi is computed in N. gain: from documents_gain. */
static tamis_status measure(tamis_model *model, lda *work, const ml_batch *batch, const tamis_dense *U,
                            const tamis_dense *G, double gain) {
    tamis_device *const device = model->device;
    const tamis_dense norms = ml_first_rows(&work->norms, batch->rows);
    double sum;
    TRY(tamis_dense_scale(device, NULL, TAMIS_DIVIDE_COLUMNS, &work->masses, 0, &model->column_factors, 0, &work->N));
    if (model->options.elbo) {
        TRY(sample(model, work, batch, U, &work->N));
        TRY(log_likelihood(model, work, batch, &sum));
        work->elbo = sum + gain;
        TRY(tamis_dense_log_dot(device, NULL, model->workspace, NULL, &work->N, 1e-37, &sum));
        work->elbo += ml_lda_prior(model, model->options.column_prior) * sum * (double)batch->rows / work->documents;
    }
    TRY(tamis_dense_row_sums(device, NULL, G, &norms));
    TRY(tamis_dense_scale(device, NULL, TAMIS_DIVIDE_ROWS, &norms, 0, G, 0, G));
    return sample(model, work, batch, G, &work->N);
}

/* Takes a step of alpha towards higher likelihood. It is rounded to the model's type, so that a resumed fit has the
   same alpha. */
static tamis_status learn_prior(const tamis_model *model, const lda *work, int64_t documents, double rate) {
    const int64_t n = model->width;
    double *const alpha = work->alpha, *const packed = alpha + n, *const sums = alpha + 3 * n;
    if (documents == 0) return TAMIS_OK;
    for (int64_t k = 0; k < n; k++) sums[k] /= (double)documents;
    ml_dirichlet_step(alpha, sums, n, rate);
    for (int64_t k = 0; k < n; k++) {
        if (model->options.type == TAMIS_F32) alpha[k] = (double)(float)alpha[k];
        ml_put_number(packed, model->options.type, k, alpha[k]);
    }
    return ml_dense_write(model, &model->states[ML_ALPHA], packed);
}

static tamis_status learn(tamis_model *model, ml_batch *batch) {
    lda *const work = model->work;
    tamis_device *const device = model->device;
    const tamis_dense *const L = &model->column_factors, *const M = &work->M, *const N = &work->N;
    const tamis_dense U = ml_first_rows(&work->U, batch->rows), E = ml_first_rows(&work->E, batch->rows);
    const tamis_dense G = ml_first_rows(&work->G, batch->rows), ones = ml_first_rows(&work->ones, batch->rows);
    const bool measured = batch->plans[ML_PLAN_SAMPLE] != NULL;
    const double scale = batch->rows > 0 ? work->documents / (double)batch->rows : 0, rate = ml_rate(model);
    double gain = 0;
    int64_t documents = 0;
    TRY(make_weights(model, work));
    TRY(infer(model, batch->plans[ML_PLAN_ROWS], M, model->options.inner_rounds, &U, &E, &ones,
              work->G.cols > 0 ? &G : NULL));
    if (work->posteriors) {
        TRY(ml_dense_read(model, &G, work->posteriors));
        gain = documents_gain(model, work, batch->rows, &documents);
    }
    if (measured) TRY(measure(model, work, batch, &U, &G, gain));
    if (model->options.learn_row_prior) TRY(learn_prior(model, work, documents, rate));
    TRY(ml_fused(model, batch->plans[ML_PLAN_COLUMNS], M, &U, 1, 0, N));
    TRY(tamis_dense_map(device, NULL, TAMIS_MAP_MULTIPLY_ADD, scale, ml_lda_prior(model, model->options.column_prior),
                        M, N, N));
    return tamis_dense_axpby(device, NULL, rate, N, 1 - rate, L);
}

/* ------------------------------------------------------------------------------------------ fitting */

/* Allocates what make_weights needs. */
static tamis_status make_scratch(const tamis_model *model, lda *work) {
    const int64_t words = model->column_factors.rows, topics = model->width;
    TRY(ml_scratch(model, words, topics, &work->M));
    TRY(ml_scratch(model, words, 1, &work->word_sums));
    return ml_scratch(model, topics, 1, &work->masses);
}

/* Initialises L with random topics that together have as many tokens as the documents. */
static tamis_status make_topics(const tamis_model *model, const tamis_sparse *data, const lda *work) {
    double tokens = 0;
    for (int64_t i = 0; i < work->batches.count; i++) tokens += work->batches.batch[i].total;
    if (data->rows > 0) tokens *= work->documents / (double)data->rows;
    const double mean = fmax(tokens, 1) / ((double)data->cols * (double)model->width);
    return ml_dense_random(model, &model->column_factors, 1, 0.5 * mean, 1.5 * mean);
}

/* Allocates alpha, and posteriors of `rows` documents on the host. */
static tamis_status make_host(const tamis_model *model, lda *work, int64_t rows) {
    const int64_t n = model->width;
    TRY(tamis_allocate_array(4 * n, "alpha of topics", work->alpha));
    TRY(tamis_scope_allocate(tamis_times(rows, n), tamis_type_size(model->options.type), "topics of documents",
                             &work->posteriors));
    if (model->options.learn_row_prior) {
        double *alpha;
        TAMIS_SCOPE;
        TRY(ml_state_read(model, ML_ALPHA, &alpha));
        for (int64_t k = 0; k < n; k++) work->alpha[k] = alpha[k];
        return TAMIS_OK;
    }
    for (int64_t k = 0; k < n; k++) work->alpha[k] = ml_lda_prior(model, model->options.row_prior);
    return TAMIS_OK;
}

static tamis_status make_samples(const tamis_model *model, lda *work) {
    TRY(tamis_allocate_zeros(work->batches.count, "samples", work->samples));
    for (int64_t i = 0; i < work->batches.count; i++)
        TRY(ml_values_make(model, work->batches.batch[i].S.view.nnz, &work->samples[i]));
    return TAMIS_OK;
}

/* Allocates the matrices of a mini-batch's documents. */
static tamis_status make_documents(const tamis_model *model, lda *work, int64_t rows) {
    TRY(ml_scratch(model, rows, model->width, &work->U));
    if (model->options.learn_row_prior) TRY(ml_scratch(model, rows, model->width, &work->ones));
    return TAMIS_OK;
}

/* Makes the work for data in mini-batches of `rows` rows, 0: of all. */
static tamis_status prepare(tamis_model *model, const tamis_sparse *data, int64_t rows, bool shuffle, int visits,
                            double documents) {
    bool fresh;
    TRY(ml_model_factors(model, 0, data->cols, &fresh));
    lda *work;
    TRY(tamis_allocate_zeros(1, "the work of lda", work));
    model->work = work;
    const int64_t topics = model->width, rounds = model->options.inner_rounds;
    ml_batch_plan plans[ML_TOPIC_PLANS];
    ml_topic_plans(model, rounds, plans);
    const bool measured = !model->options.skip_loss;
    TRY(ml_batches_make(model, data, rows, shuffle, visits, plans, measured ? 3 : 2, &work->batches));
    work->documents = documents;
    /* `fresh` would not do: a failed begin() may leave uninitialised topics */
    if (model->steps == 0) TRY(make_topics(model, data, work));
    const bool learned = model->options.learn_row_prior;
    if (learned) TRY(ml_model_state(model, ML_ALPHA, &fresh));
    if (learned && model->steps == 0)
        TRY(tamis_dense_fill(model->device, NULL, &model->states[ML_ALPHA],
                             ml_lda_prior(model, model->options.row_prior)));
    TRY(make_scratch(model, work));
    TRY(ml_scratch(model, data->cols, topics, &work->N));
    TRY(make_documents(model, work, work->batches.rows));
    TRY(ml_scratch(model, work->batches.rows, topics, &work->E));
    if (learned || (measured && model->options.elbo)) TRY(make_host(model, work, work->batches.rows));
    if (measured || learned) TRY(ml_scratch(model, work->batches.rows, topics, &work->G));
    if (!measured) return TAMIS_OK;
    TRY(ml_scratch(model, work->batches.rows, 1, &work->norms));
    return make_samples(model, work);
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    TRY(ml_unigram_learn(model, data, false));
    TRY(prepare(model, data, batch_rows(model, data), true, ML_PASSES, (double)data->rows));
    const lda *const work = model->work;
    const double calls = 2.0 + model->options.inner_rounds + (model->options.elbo ? 1 : 0);
    return ml_times_reserve(model, (double)work->batches.count * calls);
}

static tamis_status learn_and_sum(tamis_model *model, ml_batch *batch) {
    const lda *const work = model->work;
    if (batch->total <= 0) return TAMIS_OK; /* a mini-batch without words changes nothing */
    TRY(learn(model, batch));
    if (batch->plans[ML_PLAN_SAMPLE]) model->parts[1] += batch->total;
    model->parts[2] += work->elbo;
    return TAMIS_OK;
}

/* Adds the losses of the pass's mini-batches that are not in `parts` yet. */
static tamis_status pending(const tamis_model *model, double parts[]) {
    const lda *const work = model->work;
    for (int64_t i = work && work->samples ? work->batches.summed : model->batches_done; i < model->batches_done; i++) {
        const ml_batch *const batch = &work->batches.batch[work->batches.order[i]];
        double sum = 0;
        if (batch->total > 0) TRY(log_likelihood(model, work, batch, &sum));
        parts[0] -= sum;
    }
    return TAMIS_OK;
}

static tamis_status iterate(tamis_model *model) {
    lda *const work = model->work;
    return ml_batches_pass(model, &work->batches, learn_and_sum);
}

static tamis_status loss(tamis_model *model, double *result) {
    const double words = model->parts[1];
    *result = words > 0 ? model->parts[0] / words : NAN;
    if (words > 0 && model->options.elbo) model->report.elbo = model->parts[2] / words;
    return TAMIS_OK;
}

/* Learns from one mini-batch. If the number of documents is unknown, it uses the number seen so far. */
static tamis_status step(tamis_model *model, const tamis_sparse *batch, int64_t whole, double *sum, double *weight) {
    const double documents = whole > 0 ? (double)whole : (double)batch->rows * (double)(model->steps + 1);
    if (whole == 0) TRY(ml_unigram_learn(model, batch, true)); /* the first pass has every word */
    TRY(prepare(model, batch, 0, false, 1, documents));
    const lda *const work = model->work;
    *sum = *weight = 0;
    if (work->batches.batch[0].total <= 0) return TAMIS_OK;
    TRY(learn(model, &work->batches.batch[0]));
    TRY(tamis_stream_synchronize(model->device, NULL)); /* the work goes */
    model->steps++;
    if (work->samples) {
        TRY(log_likelihood(model, work, &work->batches.batch[0], sum));
        *sum = -*sum;
        *weight = work->batches.batch[0].total;
    }
    model->parts[2] += work->elbo;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ new documents */

tamis_status ml_lda_transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    lda work = {0};
    ml_batch_plan plans[ML_TOPIC_PLANS];
    ml_topic_plans(model, TRANSFORM_ROUNDS, plans);
    TRY(ml_model_workspace(model));
    TRY(ml_batches_make(model, data, 0, false, 1, plans, 1, &work.batches));
    TRY(make_scratch(model, &work));
    TRY(make_documents(model, &work, data->rows));
    TRY(make_weights(model, &work));
    TRY(infer(model, work.batches.batch[0].plans[ML_PLAN_ROWS], &work.M, TRANSFORM_ROUNDS, &work.U, W, &work.ones, W));
    return tamis_stream_synchronize(model->device, NULL);
}

/* ------------------------------------------------------------------------------------------ the bound of documents */

/* Treats topics as Dirichlet distributions with parameters L: work->M = exp(E[ln phi]), scaled by each word's largest,
   whose logarithm is in largest[word]. *gain: the topics' terms of the bound, as documents_gain for documents. */
static tamis_status make_expected(const tamis_model *model, const lda *work, double *largest, double *gain) {
    const int64_t words = work->M.rows, n = work->M.cols;
    const double beta = ml_lda_prior(model, model->options.column_prior);
    double *L, *sums;
    TAMIS_SCOPE;
    TRY(ml_dense_read_doubles(model, &model->column_factors, &L));
    TRY(tamis_allocate_zeros(n, "sums of topics", sums));
    for (int64_t i = 0; i < words * n; i++) sums[i % n] += L[i];
    *gain = (double)n * (ml_log_gamma((double)words * beta) - (double)words * ml_log_gamma(beta));
    for (int64_t k = 0; k < n; k++) {
        *gain -= ml_log_gamma(sums[k]);
        sums[k] = ml_digamma(sums[k]);
    }
    for (int64_t w = 0; w < words; w++) {
        double *const line = L + w * n;
        largest[w] = -INFINITY;
        for (int64_t k = 0; k < n; k++) {
            const double number = line[k];
            line[k] = ml_digamma(number) - sums[k];
            *gain += (beta - number) * line[k] + ml_log_gamma(number);
            largest[w] = fmax(largest[w], line[k]);
        }
        for (int64_t k = 0; k < n; k++) line[k] = exp(line[k] - largest[w]);
    }
    return ml_dense_write_doubles(model, &work->M, L);
}

/*
 * Lower bound of ln p(documents), with topics as distributions too:
 *   sum S ln sum_k exp(E[ln theta_dk] + E[ln phi_kw]) + E[ln p(theta)] - E[ln q(theta)] + E[ln p(phi)] - E[ln q(phi)]
 * scikit-learn's LatentDirichletAllocation.score(X), and gensim's bound().
 */
static tamis_status bound(tamis_model *model, const tamis_sparse *data, double *per_word) {
    lda work = {0};
    const int64_t *const offsets = data->offsets;
    ml_batch_plan plans[ML_TOPIC_PLANS];
    ml_topic_plans(model, BOUND_ROUNDS, plans);
    plans[ML_PLAN_COLUMNS] = plans[ML_PLAN_SAMPLE]; /* topics are not updated: no plan of the transpose */
    double *largest, gain, sum;
    int64_t documents;
    TRY(tamis_allocate_array(data->cols, "words", largest));
    TRY(ml_batches_make(model, data, 0, false, 1, plans, 2, &work.batches));
    ml_batch *const batch = &work.batches.batch[0];
    batch->plans[ML_PLAN_SAMPLE] = batch->plans[ML_PLAN_COLUMNS];
    batch->plans[ML_PLAN_COLUMNS] = NULL;
    TRY(make_scratch(model, &work));
    TRY(make_documents(model, &work, data->rows));
    TRY(make_host(model, &work, data->rows));
    TRY(ml_scratch(model, data->rows, model->width, &work.E));
    TRY(ml_scratch(model, data->rows, model->width, &work.G));
    TRY(make_samples(model, &work));
    TRY(make_expected(model, &work, largest, &gain));
    TRY(infer(model, batch->plans[ML_PLAN_ROWS], &work.M, BOUND_ROUNDS, &work.U, &work.E, &work.ones, &work.G));
    TRY(ml_dense_read(model, &work.G, work.posteriors));
    TRY(sample(model, &work, batch, &work.U, &work.M));
    TRY(log_likelihood(model, &work, batch, &sum));
    for (int64_t t = 0; t < offsets[data->rows]; t++) sum += ml_value(data, t) * largest[ml_column(data, t)];
    *per_word = (sum + gain + documents_gain(model, &work, data->rows, &documents)) / batch->total;
    return TAMIS_OK;
}

static const tamis_method_option own_options[] = {
    {"inner_rounds", NULL},
    {"row_prior", "alpha of a document's topics; 0: 1 / K; by default chosen by an inner split"},
    {"column_prior", "beta of a topic's words; 0: 1 / K; by default chosen by an inner split"},
    {"learn_row_prior", NULL},
    {"maximum_a_posteriori", NULL},
    {"batch_rows", NULL},
    {"rate_decay", NULL},
    {"rate_offset", NULL},
    {"elbo", NULL},
    {NULL, NULL}};

const ml_method ml_lda = {
    .about = {.method = TAMIS_LDA,
              .data = TAMIS_DATA_COUNTS,
              .name = "lda",
              .summary = "topics of documents (latent Dirichlet allocation)",
              .options = own_options,
              .mini_batches = true},
    .states =
        {[ML_ALPHA] = {.rows = {ML_FACTORS, 0}, .cols = {ML_NONE, 1}, .range = ML_POSITIVE, .kept = ml_lda_learns},
         [ML_WORDS] = ML_WORDS_STATE},
    .priors = true,
    .choice_entries = CHOICE_ENTRIES,
    .defaults = defaults,
    .check = check,
    .begin = begin,
    .iterate = iterate,
    .loss = loss,
    .pending = pending,
    .step = step,
    .transform = ml_lda_transform,
    .bound = bound,
    .operands = ml_mixture,
};
