/* Topic models in plain double-precision loops, and counts drawn from known topics. */
#ifndef TAMIS_TESTS_TOPICS_REFERENCE_H
#define TAMIS_TESTS_TOPICS_REFERENCE_H

#include <tamis/ml.h>

#include "support/own.h"

/* Documents x words, CSR, fp32; freed by corpus_free. */
typedef struct corpus {
    int64_t *offsets;
    int32_t *columns;
    float *values;
    tamis_sparse S;
    int64_t topics;
    double *phi;    /* topics x words, rows sum to 1 */
    double *tokens; /* drawn of each topic */
} corpus;

/* Topic k has the words w with w % topics = k (one in ten of its tokens is any word) with falling frequencies, a
   document two topics at random shares, `length` tokens. Every seventh document is empty where `holes`, and the last
   three words never occur. */
corpus corpus_make(int64_t documents, int64_t words, int64_t topics, int64_t length, bool holes, uint64_t seed);
void corpus_free(corpus *c);
OWN_VALUE(corpus, corpus_free)
double corpus_total(const tamis_sparse *S);

/* What a fit reports of its iterations, by a callback. */
typedef struct history {
    int count;
    double loss[64], elbo[64];
} history;

bool history_notes(void *context, const tamis_iteration *iteration);

/* psi(x) for x > 0, to 1e-14 (1 + |psi|). */
double reference_digamma(double x);

typedef struct reference_lda {
    double alpha, beta, scale, rate; /* scale: documents in all to those of the mini-batch; rate: of this step */
    int rounds;
    bool maximum_a_posteriori;
    const double *alphas; /* of each topic; NULL: alpha */
} reference_lda;

/* Posteriors of documents G (rows x topics) for the model L (words x topics). */
void reference_lda_infer(const tamis_sparse *S, const double *L, int64_t topics, const reference_lda *o, double *G);
/* The same for M, words x topics, as it is; U: the weights of topics that follow from G. */
void reference_lda_infer_for(const tamis_sparse *S, const double *M, int64_t topics, const reference_lda *o, double *G,
                             double *U);
/* One mini-batch: L is changed, -sum S ln P before that is returned. */
double reference_lda_learn(const tamis_sparse *S, double *L, int64_t topics, const reference_lda *o);

/* X (rows x topics) for fixed Y (words x topics), shape a, 1 / scale. */
void reference_gap_rows(const tamis_sparse *F, double *X, const double *Y, int64_t topics, double a, double inverse,
                        int rounds);
/* Y from X, with all rows at once. */
void reference_gap_columns(const tamis_sparse *F, const double *X, double *Y, int64_t topics);
/* The loss: of each count. */
double reference_gap_loss(const tamis_sparse *F, const double *X, const double *Y, int64_t topics, double a,
                          double inverse);

/* Of each topic of `phi` (topics x words) the largest cosine with a column of `factors`, each column once (greedily);
   the least of them. */
double least_match(const double *phi, const double *factors, int64_t words, int64_t topics);

#endif
