/* Word frequencies: the model that every model of counts must beat. */
#ifndef TAMIS_ML_UNIGRAM_H
#define TAMIS_ML_UNIGRAM_H

#include "ml/model.h"

/* State with the counts of the words of a fit; files of older versions lack it. */
enum { ML_WORDS = 2 };
#define ML_WORDS_STATE                                                                                                 \
    { .rows = {ML_COLUMNS, 0}, .cols = {ML_NONE, 1}, .range = ML_SQUARES, .optional = true }

/* Counts the words of a fit's data at its first step. more: adds a mini-batch's, also later. */
tamis_status ml_unigram_learn(tamis_model *model, const tamis_sparse *data, bool more);

/* Adds the counts of the words of S to `counts`. */
void ml_unigram_count(const tamis_sparse *S, double *counts);

/* Returns the perplexity of the words of `held` by the frequencies of `cols` words, each counted once more than it
   occurs (Laplace), so that words that never occur are possible. NaN without words. */
double ml_unigram_perplexity(const double *counts, int64_t cols, const tamis_sparse *held);

/* The same by the model's counts; NaN if it has none. */
tamis_status ml_unigram_score(const tamis_model *model, const tamis_sparse *held, double *perplexity);

#endif
