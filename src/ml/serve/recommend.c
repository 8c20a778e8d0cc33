/*
 * Recommendations: checks arguments, and dispatches to rank.c (by row factors) or recommend_uses.c (by rows' uses).
 */
#include <tamis/ml.h>

#include "ml/model.h"
#include "ml/serve/predict.h"
#include "ml/serve/rank.h"
#include "ml/serve/recommend_uses.h"
#include "sparse/check.h"

static tamis_status check_asked(const char *who, const int64_t *rows, int64_t count, int64_t have) {
    if (count < 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "count = %lld is negative", (long long)count);
    if (!rows && count > have)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "count = %lld, %s has %lld rows", (long long)count, who,
                          (long long)have);
    for (int64_t i = 0; rows && i < count; i++)
        if (rows[i] < 0 || rows[i] >= have)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows[%lld] = %lld, %s has %lld rows", (long long)i,
                              (long long)rows[i], who, (long long)have);
    return TAMIS_OK;
}

static tamis_status check_seen(const tamis_model *model, const tamis_sparse *seen, const tamis_dense *W, int64_t have) {
    if (!seen) return TAMIS_OK;
    TRY(tamis_sparse_check_host(seen, "seen"));
    TRY(ml_check_cols(model, "seen", seen->cols));
    if (seen->rows == have) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "seen.rows = %lld, but %s has %lld rows", (long long)seen->rows,
                      W ? "W" : "the model", (long long)have);
}

static tamis_status recommend_rows(tamis_model *model, const tamis_dense *W, const int64_t *rows, int64_t count,
                                   const tamis_sparse *seen, const bool *candidates, int n, int64_t *columns,
                                   double *scores) {
    tamis_owned_dense *asked;
    TRY(ml_gather_rows(model, W ? W : &model->row_factors, rows, count, &asked));
    ml_operands operands = {0};
    tamis_status status = model->method->operands(model, tamis_owned_dense_view(asked), &operands);
    if (status == TAMIS_OK) status = ml_rank(model, &operands, rows, seen, candidates, n, columns, scores);
    ml_operands_free(&operands);
    tamis_owned_dense_free(asked);
    return status;
}

tamis_status tamis_model_recommend_among(tamis_model *model, const tamis_dense *W, const int64_t *rows, int64_t count,
                                         const tamis_sparse *seen, const bool *candidates, int n, int64_t *columns,
                                         double *scores) {
    tamis_clear_error();
    int64_t have, entries;
    TRY(ml_check_fitted(model));
    const bool from_uses = model->method->about.pairs && !W && seen; /* whose rows they are */
    if (model->method->about.pairs && !W && !seen)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "W and seen are NULL, but the model (%s) keeps no rows: give their uses as seen",
                          model->method->about.name);
    if (from_uses)
        have = seen->rows;
    else
        TRY(ml_check_rows(model, W, &have));
    TRY(check_asked(W ? "W" : from_uses ? "seen" : "the model", rows, count, have));
    TRY(check_seen(model, seen, W, have));
    if (n < 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "n = %d is negative", n);
    if (count == 0 || n == 0) return TAMIS_OK;
    if (!columns || !scores) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", columns ? "scores" : "columns");
    if (__builtin_mul_overflow(count, (int64_t)n, &entries))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "count * n = %lld * %d is too large for an array", (long long)count, n);
    if (from_uses) return ml_recommend_uses(model, seen, rows, count, candidates, n, columns, scores);
    if (model->location != TAMIS_HOST || count > ML_RANK_ALONE)
        return recommend_rows(model, W, rows, count, seen, candidates, n, columns, scores);
    for (int64_t i = 0; i < count; i++) { /* of one row all factors are used as they are, biases too (operands.c) */
        const int64_t row = rows ? rows[i] : i;
        TRY(recommend_rows(model, W, &row, 1, seen, candidates, n, columns + i * n, scores + i * n));
    }
    return TAMIS_OK;
}

tamis_status tamis_model_recommend(tamis_model *model, const tamis_dense *W, const int64_t *rows, int64_t count,
                                   const tamis_sparse *seen, int n, int64_t *columns, double *scores) {
    return tamis_model_recommend_among(model, W, rows, count, seen, NULL, n, columns, scores);
}
