/* See unigram.h. */
#include "ml/serve/unigram.h"

#include <math.h>

#include "base/scope.h"
#include "ml/factors.h"
#include "ml/fit/place.h"
#include "ml/numbers.h"

void ml_unigram_count(const tamis_sparse *S, double *counts) {
    for (int64_t t = ml_offset(S, 0); t < ml_offset(S, S->rows); t++) counts[ml_column(S, t)] += ml_value_or_one(S, t);
}

tamis_status ml_unigram_learn(tamis_model *model, const tamis_sparse *data, bool more) {
    tamis_dense *const state = &model->states[ML_WORDS];
    const bool first = model->steps == 0;
    double *counts, *before = NULL;
    bool fresh;
    if (!first && (!more || state->cols == 0)) return TAMIS_OK; /* counted, or a file that did not count */
    TAMIS_SCOPE;
    TRY(tamis_allocate_zeros(data->cols, "counts of words", counts));
    if (!first) TRY(ml_state_read(model, ML_WORDS, &before));
    for (int64_t j = 0; before && j < data->cols; j++) counts[j] = before[j];
    ml_unigram_count(data, counts);
    TRY(ml_model_state(model, ML_WORDS, &fresh));
    return ml_dense_write_doubles(model, state, counts);
}

double ml_unigram_perplexity(const double *counts, int64_t cols, const tamis_sparse *held) {
    double all = (double)cols, sum = 0, words = 0;
    for (int64_t j = 0; j < cols; j++) all += counts[j];
    for (int64_t t = ml_offset(held, 0); t < ml_offset(held, held->rows); t++) {
        const double count = ml_value_or_one(held, t);
        if (count == 0) continue;
        sum += count * log((counts[ml_column(held, t)] + 1) / all);
        words += count;
    }
    return words > 0 ? exp(-sum / words) : (double)NAN;
}

tamis_status ml_unigram_score(const tamis_model *model, const tamis_sparse *held, double *perplexity) {
    double *counts;
    *perplexity = (double)NAN;
    if (model->method->about.data != TAMIS_DATA_COUNTS || model->states[ML_WORDS].cols == 0) return TAMIS_OK;
    TAMIS_SCOPE;
    TRY(ml_state_read(model, ML_WORDS, &counts));
    if (counts) *perplexity = ml_unigram_perplexity(counts, model->cols, held);
    return TAMIS_OK;
}
