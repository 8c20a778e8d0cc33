/*
 * See weights.h. Numbers of uses have heavy tails: a thousand plays of a song do not say a thousand times as much as
 * one. Each use r becomes, with its sign,
 *
 *   linear  |r|                log   log2(1 + |r|)             ones  1
 *   bm25    idf |r| (K + 1) / (K (1 - B + B l / mean l) + |r|)
 *   tfidf   |r| (1 + ln((1 + n) / (1 + m))), then each row divided by its Euclidean norm (as scikit-learn does)
 *   rp3beta 1 / k in a new row, the chance of a step to it; 1 / sqrt k in a fit, so that products of columns add up
 *           chances of two steps
 *
 * Here k is the number of the row's uses, l the sum of its |r|, m of n rows have the column, and idf = ln(1 + (n - m +
 * 1/2) / (m + 1/2)). K and B are implicit's.
 *
 * A single use stays 1, except with bm25, tfidf and rp3beta. A zero, which is a known absence, stays 0.
 */
#include "ml/methods/weights.h"

#include <math.h>

#include "base/scope.h"
#include "ml/factors.h"
#include "ml/fit/group.h"
#include "ml/numbers.h"

static const double K = 100, B = 0.8;

tamis_status ml_weights_check(const tamis_model_options *options, tamis_use_weights most) {
    if ((int)options->weights >= TAMIS_WEIGHTS_LINEAR && (int)options->weights <= (int)most) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "weights = %d, expected %d to %d", (int)options->weights,
                      (int)TAMIS_WEIGHTS_LINEAR, (int)most);
}

bool ml_weights_kept(const tamis_model_options *options) {
    return options->weights == TAMIS_WEIGHTS_BM25 || options->weights == TAMIS_WEIGHTS_TFIDF;
}

static double idf_of(tamis_use_weights weights, double n, double m) {
    return weights == TAMIS_WEIGHTS_TFIDF ? 1 + log((1 + n) / (1 + m)) : log(1 + (n - m + 0.5) / (m + 0.5));
}

/* Computes the state: the idf of each column, then the mean length of a row. */
static tamis_status learn(tamis_model *model, const tamis_sparse *data) {
    const int64_t cols = data->cols;
    double *numbers;
    bool fresh;
    TAMIS_SCOPE;
    TRY(ml_model_state(model, 0, &fresh));
    TRY(tamis_allocate_zeros(cols + 1, "weights of columns", numbers));
    for (int64_t t = 0; t < data->nnz; t++) {
        numbers[ml_column(data, t)] += 1;
        numbers[cols] += fabs(ml_value(data, t));
    }
    TRY(ml_add_ranks(model, numbers, cols + 1));
    const double rows = (double)model->rows;
    for (int64_t j = 0; j < cols; j++) numbers[j] = idf_of(model->options.weights, rows, numbers[j]);
    numbers[cols] = numbers[cols] > 0 ? numbers[cols] / rows : 1;
    return ml_dense_write_doubles(model, &model->states[0], numbers);
}

static tamis_status apply_bm25(tamis_model *model, tamis_sparse *data) {
    const int64_t *const offsets = data->offsets, cols = data->cols;
    double *numbers;
    TAMIS_SCOPE;
    TRY(ml_state_read(model, 0, &numbers));
    for (int64_t i = 0; i < data->rows; i++) {
        double length = 0;
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) length += fabs(ml_value(data, t));
        const double damping = K * (1 - B + B * length / numbers[cols]);
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) {
            const double r = ml_value(data, t);
            const double weight = numbers[ml_column(data, t)] * r * ((K + 1) / (damping + fabs(r)));
            ml_put_number((void *)(uintptr_t)data->values, data->value_type, t, weight);
        }
    }
    return TAMIS_OK;
}

static tamis_status apply_tfidf(tamis_model *model, tamis_sparse *data) {
    double *numbers;
    TAMIS_SCOPE;
    TRY(ml_state_read(model, 0, &numbers));
    for (int64_t i = 0; i < data->rows; i++) {
        const int64_t begin = ml_offset(data, i), end = ml_offset(data, i + 1);
        double largest = 0, squares = 0;
        for (int64_t t = begin; t < end; t++) largest = fmax(largest, fabs(ml_value(data, t)));
        if (largest == 0) continue;
        for (int64_t t = begin; t < end; t++) /* scaled, as squares of counts may overflow */
            squares += pow(numbers[ml_column(data, t)] * (ml_value(data, t) / largest), 2);
        for (int64_t t = begin; t < end; t++)
            ml_put_number((void *)(uintptr_t)data->values, data->value_type, t,
                          numbers[ml_column(data, t)] * (ml_value(data, t) / largest) / sqrt(squares));
    }
    return TAMIS_OK;
}

static void apply_steps(tamis_sparse *data, bool fit) {
    for (int64_t i = 0; i < data->rows; i++) {
        const int64_t begin = ml_offset(data, i), end = ml_offset(data, i + 1);
        double uses = 0;
        for (int64_t t = begin; t < end; t++) uses += ml_value(data, t) != 0;
        for (int64_t t = begin; t < end; t++) {
            const double r = ml_value(data, t), weight = r == 0 ? 0 : 1 / (fit ? sqrt(uses) : uses);
            ml_put_number((void *)(uintptr_t)data->values, data->value_type, t, copysign(weight, r));
        }
    }
}

tamis_status ml_weights_apply(tamis_model *model, tamis_sparse *data, bool fit) {
    const tamis_use_weights weights = model->options.weights;
    if (weights == TAMIS_WEIGHTS_LINEAR) return TAMIS_OK;
    if (weights == TAMIS_WEIGHTS_RP3BETA) {
        apply_steps(data, fit);
        return TAMIS_OK;
    }
    if (ml_weights_kept(&model->options)) {
        if (fit && ml_learns_data(model)) TRY(learn(model, data));
        return weights == TAMIS_WEIGHTS_BM25 ? apply_bm25(model, data) : apply_tfidf(model, data);
    }
    for (int64_t t = 0; t < data->nnz; t++) {
        const double r = ml_value(data, t), size = weights == TAMIS_WEIGHTS_LOG ? log2(1 + fabs(r)) : r != 0;
        ml_put_number((void *)(uintptr_t)data->values, data->value_type, t, copysign(size, r));
    }
    return TAMIS_OK;
}
