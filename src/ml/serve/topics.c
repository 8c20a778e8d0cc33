/* The heaviest columns of each factor, and the shares of topics in documents. */
#include "ml/serve/topics.h"

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
    tamis_status status;
    tamis_owned_dense *array = NULL;
    ml_best *best;
    TRY(tamis_allocate_zeroed(factors, sizeof *best, "the heaviest columns", (void **)&best));
    TRY_GOTO(done, ml_dense_fetch(model, &model->column_factors, &array));
    const tamis_dense *const X = tamis_owned_dense_view(array);
    for (int64_t k = 0; k < factors; k++)
        best[k] = (ml_best){.columns = columns + k * n, .scores = weights + k * n, .n = n};
    for (int64_t j = 0; j < X->rows; j++)
        for (int64_t k = 0; k < factors; k++) ml_best_offer(&best[k], j, ml_element(X, j, k));
    for (int64_t k = 0; k < factors; k++) {
        if (model->method->about.data == TAMIS_DATA_COUNTS) share(X, k, &best[k]);
        ml_best_finish(&best[k]);
    }
done:
    tamis_owned_dense_free(array);
    tamis_release(best);
    return status;
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
    tamis_owned_dense *array = NULL;
    for (int64_t k = 0; k < model->width; k++) masses[k] = 1;
    if (!model->method->masses) return TAMIS_OK;
    TRY(ml_dense_fetch(model, &model->column_factors, &array));
    ml_column_sums(tamis_owned_dense_view(array), masses);
    tamis_owned_dense_free(array);
    double sum = 0;
    for (int64_t k = 0; k < model->width; k++) sum += masses[k];
    for (int64_t k = 0; k < model->width && sum == 0; k++) masses[k] = 1; /* documents without words: use the weights */
    return TAMIS_OK;
}

tamis_status tamis_model_shares(tamis_model *model, const tamis_dense *W) {
    tamis_clear_error();
    double *masses = NULL;
    int64_t rows = 0;
    TRY(ml_check_fitted(model));
    if (model->method->about.data != TAMIS_DATA_COUNTS)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s is not a topic model: its documents have no shares of topics",
                          model->method->about.name);
    if (!W) return tamis_fail(TAMIS_ERROR_ARGUMENT, "W is NULL");
    TRY(ml_check_rows(model, W, &rows));
    TRY(tamis_allocate(model->width, sizeof *masses, "the masses of topics", (void **)&masses));
    const tamis_status status = find_masses(model, masses);
    for (int64_t i = 0; i < rows && status == TAMIS_OK; i++) {
        double sum = 0;
        for (int64_t k = 0; k < W->cols; k++) sum += masses[k] * ml_element(W, i, k);
        for (int64_t k = 0; k < W->cols && sum > 0; k++) ml_put_element(W, i, k, masses[k] * ml_element(W, i, k) / sum);
    }
    tamis_release(masses);
    return status;
}
