/* The heaviest columns of each factor, the shares of topics in documents, and the coherence of topics. */
#include "ml/serve/topics.h"

#include <math.h>

#include "base/scope.h"
#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/predict.h"

/* Divides weights of counts by the topic's mass, unless it is 0. */
static void share(const tamis_dense *X, int64_t factor, ml_best *best) {
    double mass = 0;
    for (int64_t j = 0; j < X->rows; j++) mass += ml_element(X, j, factor);
    if (!(mass > 0)) return;
    for (int i = 0; i < best->kept; i++) best->scores[i] /= mass;
}

tamis_status ml_topics(tamis_model *model, int n, int64_t *columns, double *weights) {
    const int64_t factors = model->options.factors; /* excludes the bias, which is last */
    const bool of_counts = model->method->about.data == TAMIS_DATA_COUNTS;
    tamis_dense here, *const X = &here;
    ml_best *best;
    TAMIS_SCOPE;
    TRY(tamis_allocate_zeros(factors, "the heaviest columns", best));
    TRY(ml_dense_here(model, &model->column_factors, &here));
    for (int64_t k = 0; k < factors; k++)
        best[k] = (ml_best){.columns = columns + k * n, .scores = weights + k * n, .n = n};
    for (int64_t j = 0; j < X->rows; j++)
        for (int64_t k = 0; k < factors; k++)
            if (!of_counts || ml_element(X, j, k) > 0) ml_best_offer(&best[k], j, ml_element(X, j, k));
    for (int64_t k = 0; k < factors; k++) {
        if (of_counts) share(X, k, &best[k]);
        ml_best_finish(&best[k]);
    }
    return TAMIS_OK;
}

tamis_status tamis_model_topics(tamis_model *model, int n, int64_t *columns, double *weights) {
    tamis_clear_error();
    int64_t entries;
    TRY(ml_check_fitted(model));
    if (model->method->about.pairs)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s has no factors, and so no topics", model->method->about.name);
    if (n < 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "n = %d is negative", n);
    if (n == 0) return TAMIS_OK;
    if (!columns || !weights) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", columns ? "weights" : "columns");
    if (__builtin_mul_overflow(model->options.factors, (int64_t)n, &entries))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "factors * n = %lld * %d is too large for an array",
                          (long long)model->options.factors, n);
    return ml_topics(model, n, columns, weights);
}

/* ------------------------------------------------------------------------------------------ shares */

/* Computes the words per unit of a topic's weight in a document. */
static tamis_status find_masses(tamis_model *model, double *masses) {
    tamis_dense here;
    for (int64_t k = 0; k < model->width; k++) masses[k] = 1;
    if (!model->method->masses) return TAMIS_OK;
    TRY(ml_dense_here(model, &model->column_factors, &here));
    ml_column_sums(&here, masses);
    double sum = 0;
    for (int64_t k = 0; k < model->width; k++) sum += masses[k];
    for (int64_t k = 0; k < model->width && sum == 0; k++) masses[k] = 1; /* documents without words: use the weights */
    return TAMIS_OK;
}

tamis_status tamis_model_shares(tamis_model *model, const tamis_dense *W) {
    tamis_clear_error();
    double *masses;
    int64_t rows = 0;
    TAMIS_SCOPE;
    TRY(ml_check_fitted(model));
    if (model->method->about.data != TAMIS_DATA_COUNTS)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s is not a topic model: its documents have no shares of topics",
                          model->method->about.name);
    if (!W) return tamis_fail(TAMIS_ERROR_ARGUMENT, "W is NULL");
    TRY(ml_check_rows(model, W, &rows));
    TRY(tamis_allocate_array(model->width, "the masses of topics", masses));
    TRY(find_masses(model, masses));
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t k = 0; k < W->cols; k++) sum += masses[k] * ml_element(W, i, k);
        for (int64_t k = 0; k < W->cols && sum > 0; k++) ml_put_element(W, i, k, masses[k] * ml_element(W, i, k) / sum);
    }
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ coherence */

/*
 * Normalised pointwise mutual information (Bouma 2009; Roeder, Both and Hinneburg 2015 compare other measures with it)
 * of all pairs of a topic's first words. Words occur together if one document contains both.
 *
 *   NPMI(v, w) = ln(p(v, w) / (p(v) p(w))) / -ln p(v, w),   p the share of documents with the word, or with both
 *
 * It is 1 for words that only occur together, 0 for independent ones, and -1 for words that never meet. No constant is
 * added to the shares. Words that both occur but never together get the limit, -1; words that are both in every
 * document get 1; a word that is in no document has no information, and its pairs are left out. The coherence of a
 * topic is the mean over its pairs, and the result is the mean over the topics that have any.
 */

/* Place p = topic * top + position of a word; the places of a word are a list. */
typedef struct counting {
    const int64_t *words;
    int64_t topics, cols;
    int top;
    int64_t *first;    /* first place of a column; -1: none */
    int64_t *next;     /* of a place */
    int64_t *together; /* top x top per topic: documents with both words; diagonal: with the word */
    int *present;      /* a topic's positions that are in the current document */
    int *presents;     /* how many */
    int64_t *touched;  /* topics that have any */
} counting;

static tamis_status make(counting *c) {
    const int64_t top = c->top; /* top * top has an int64 */
    if (c->topics > INT64_MAX / (top * top))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "top = %d words of %lld topics have too many pairs", c->top,
                          (long long)c->topics);
    TRY(tamis_allocate_array(c->cols, "words of topics", c->first));
    TRY(tamis_allocate_array(tamis_times(c->topics, top), "words of topics", c->next));
    TRY(tamis_allocate_zeros(tamis_times(tamis_times(c->topics, top), top), "pairs of words", c->together));
    TRY(tamis_allocate_array(tamis_times(c->topics, top), "words of a document", c->present));
    TRY(tamis_allocate_zeros(c->topics, "words of a document", c->presents));
    TRY(tamis_allocate_array(c->topics, "words of a document", c->touched));
    for (int64_t j = 0; j < c->cols; j++) c->first[j] = -1;
    for (int64_t p = 0; p < c->topics * top; p++) {
        if (c->words[p] < 0) continue;
        c->next[p] = c->first[c->words[p]];
        c->first[c->words[p]] = p;
    }
    return TAMIS_OK;
}

static void count_document(counting *c, const tamis_sparse *S, int64_t row) {
    const int64_t *const offsets = S->offsets;
    int64_t touched = 0;
    for (int64_t t = offsets[row]; t < offsets[row + 1]; t++) {
        if (!(ml_value(S, t) > 0)) continue;
        for (int64_t p = c->first[ml_column(S, t)]; p >= 0; p = c->next[p]) {
            const int64_t topic = p / c->top;
            if (c->presents[topic] == 0) c->touched[touched++] = topic;
            c->present[topic * c->top + c->presents[topic]++] = (int)(p % c->top);
        }
    }
    for (int64_t i = 0; i < touched; i++) {
        const int64_t topic = c->touched[i];
        const int *const present = c->present + topic * c->top;
        int64_t *const together = c->together + topic * c->top * c->top;
        for (int a = 0; a < c->presents[topic]; a++)
            for (int b = 0; b < c->presents[topic]; b++) together[(int64_t)present[a] * c->top + present[b]]++;
        c->presents[topic] = 0;
    }
}

static double npmi(int64_t together, int64_t one, int64_t other, int64_t documents) {
    if (together == 0) return -1;
    if (together == documents) return 1;
    const double all = (double)documents, p = (double)together / all;
    return log(p / ((double)one / all * ((double)other / all))) / -log(p);
}

/* Returns the coherence of one topic, NaN if no pair can be judged. */
static double topic_coherence(const counting *c, int64_t topic, int64_t documents) {
    const int64_t *const together = c->together + topic * c->top * c->top;
    double sum = 0;
    int64_t pairs = 0;
    for (int64_t a = 1; a < c->top; a++)
        for (int64_t b = 0; b < a; b++) {
            const int64_t one = together[a * c->top + a], other = together[b * c->top + b];
            if (one == 0 || other == 0) continue;
            sum += npmi(together[a * c->top + b], one, other, documents);
            pairs++;
        }
    return pairs > 0 ? sum / (double)pairs : NAN;
}

tamis_status ml_coherence(const tamis_sparse *documents, const int64_t *words, int64_t topics, int top,
                          double *coherence) {
    counting c = {.words = words, .topics = topics, .top = top, .cols = documents->cols};
    double sum = 0;
    int64_t judged = 0;
    TAMIS_SCOPE;
    TRY(make(&c));
    for (int64_t row = 0; row < documents->rows; row++) count_document(&c, documents, row);
    for (int64_t topic = 0; topic < topics; topic++) {
        const double value = topic_coherence(&c, topic, documents->rows);
        if (isnan(value)) continue;
        sum += value;
        judged++;
    }
    *coherence = judged > 0 ? sum / (double)judged : NAN;
    return TAMIS_OK;
}
