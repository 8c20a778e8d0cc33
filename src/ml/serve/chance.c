/* See chance.h. */
#include "ml/serve/chance.h"

#include <math.h>

#include "base/scope.h"
#include "ml/factors.h"
#include "ml/numbers.h"
#include "ml/serve/kept.h"
#include "ml/serve/popular.h"

/* With 5 the recall of the first twenty is within 1 % of popularity's or above it on five sets of ratings, and the
   share of what is liked is larger (docs/manual/models.md). */
static const double SEEN = 5;

/* Returns the share of the counts' variance that is more than chance, which gives counts a variance of their mean. */
static double real_share(const double *counts, int64_t cols) {
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < cols; j++) sum += counts[j];
    const double mean = sum / (double)cols;
    for (int64_t j = 0; j < cols; j++) squares += (counts[j] - mean) * (counts[j] - mean);
    return squares > sum ? 1 - sum / squares : 0;
}

tamis_status ml_chance_prepare(tamis_model *model, tamis_sparse *data, bool fit) {
    return fit && !model->options.by_prediction && ml_learns_data(model) ? ml_popular_learn(model, data) : TAMIS_OK;
}

tamis_status ml_chance_terms(const tamis_model *model, ml_operands *operands) {
    _Atomic(void *) *const place = &model->kept->terms;
    const int64_t cols = model->column_factors.rows;
    if (!model->method->chance || model->states[ML_POPULARITY].cols == 0) return TAMIS_OK;
    operands->terms = atomic_load(place);
    if (operands->terms) return TAMIS_OK;
    double *counts;
    void *made;
    TAMIS_SCOPE;
    TRY(ml_state_read(model, ML_POPULARITY, &counts));
    TRY(tamis_allocate(cols, tamis_type_size(model->options.type), "terms of columns", &made));
    const double weight = SEEN * real_share(counts, cols);
    for (int64_t j = 0; j < cols; j++) ml_put_number(made, model->options.type, j, weight * log(counts[j] + 0.5));
    operands->terms = ml_kept_publish(place, made);
    if (operands->terms != made) tamis_release(made);
    return TAMIS_OK;
}
