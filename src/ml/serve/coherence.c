/*
 * Coherence of topics: normalised pointwise mutual information (Bouma 2009; Roeder, Both and Hinneburg 2015 compare
 * other measures with it) of all pairs of a topic's first words. Words occur together if one document contains both.
 *
 *   NPMI(v, w) = ln(p(v, w) / (p(v) p(w))) / -ln p(v, w),   p the share of documents with the word, or with both
 *
 * It is 1 for words that only occur together, 0 for independent ones, and -1 for words that never meet. No constant is
 * added to the shares. Words that both occur but never together get the limit, -1; words that are both in every
 * document get 1; a word that is in no document has no information, and its pairs are left out. The coherence of a
 * topic is the mean over its pairs, and the result is the mean over the topics that have any.
 */
#include "ml/serve/coherence.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "ml/numbers.h"
#include "sparse/index.h"

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
    TRY(tamis_allocate(c->cols, sizeof *c->first, "words of topics", (void **)&c->first));
    TRY(tamis_allocate(tamis_times(c->topics, top), sizeof *c->next, "words of topics", (void **)&c->next));
    TRY(tamis_allocate_zeroed(tamis_times(tamis_times(c->topics, top), top), sizeof *c->together, "pairs of words",
                              (void **)&c->together));
    TRY(tamis_allocate(tamis_times(c->topics, top), sizeof *c->present, "words of a document", (void **)&c->present));
    TRY(tamis_allocate_zeroed(c->topics, sizeof *c->presents, "words of a document", (void **)&c->presents));
    TRY(tamis_allocate(c->topics, sizeof *c->touched, "words of a document", (void **)&c->touched));
    for (int64_t j = 0; j < c->cols; j++) c->first[j] = -1;
    for (int64_t p = 0; p < c->topics * top; p++) {
        if (c->words[p] < 0) continue;
        c->next[p] = c->first[c->words[p]];
        c->first[c->words[p]] = p;
    }
    return TAMIS_OK;
}

static void release(counting *c) {
    tamis_release(c->first);
    tamis_release(c->next);
    tamis_release(c->together);
    tamis_release(c->present);
    tamis_release(c->presents);
    tamis_release(c->touched);
}

static bool occurs(const tamis_sparse *S, int64_t t) { return ml_value(S, t) > 0; }

static void count_document(counting *c, const tamis_sparse *S, int64_t row) {
    const int64_t *const offsets = S->offsets;
    int64_t touched = 0;
    for (int64_t t = offsets[row]; t < offsets[row + 1]; t++) {
        if (!occurs(S, t)) continue;
        for (int64_t p = c->first[tamis_index_load(S->columns, S->index_type, t)]; p >= 0; p = c->next[p]) {
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
    const tamis_status status = make(&c);
    double sum = 0;
    int64_t judged = 0;
    for (int64_t row = 0; status == TAMIS_OK && row < documents->rows; row++) count_document(&c, documents, row);
    for (int64_t topic = 0; status == TAMIS_OK && topic < topics; topic++) {
        const double value = topic_coherence(&c, topic, documents->rows);
        if (isnan(value)) continue;
        sum += value;
        judged++;
    }
    if (status == TAMIS_OK) *coherence = judged > 0 ? sum / (double)judged : NAN;
    release(&c);
    return status;
}
