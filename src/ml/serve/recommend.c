/* Recommendations by row factors or, of models of pairs of columns, which keep no rows, by the rows' uses. */
#include <math.h>
#include <tamis/ml.h>

#include "base/scope.h"
#include "ml/data/canonical.h"
#include "ml/data/host.h"
#include "ml/data/rows.h"
#include "ml/methods/method.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/chance.h"
#include "ml/serve/lists.h"
#include "ml/serve/predict.h"
#include "ml/serve/rank.h"
#include "ml/serve/seen.h"
#include "sparse/check.h"
#include "sparse/element.h"

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

/* Ranks the columns for rows with these factors or scores. */
static tamis_status rank(tamis_model *model, const tamis_dense *lines, const int64_t *rows, const tamis_sparse *seen,
                         const bool *candidates, int n, int64_t *columns, double *scores) {
    ml_operands operands;
    TRY(model->method->operands(model, lines, &operands));
    TRY(ml_chance_terms(model, &operands));
    return ml_rank(model, &operands, rows, seen, candidates, n, columns, scores);
}

static tamis_status recommend_rows(tamis_model *model, const tamis_dense *W, const int64_t *rows, int64_t count,
                                   const tamis_sparse *seen, const bool *candidates, int n, int64_t *columns,
                                   double *scores) {
    tamis_dense asked;
    TAMIS_SCOPE;
    TRY(ml_gather_rows(model, W ? W : &model->row_factors, rows, count, &asked));
    return rank(model, &asked, rows, seen, candidates, n, columns, scores);
}

/* ------------------------------------------------------------------------------------------ by uses */

/* Works on blocks of rows: copies them, converts them to canonical form, and weights them as tamis_model_transform
   does. Of some models few scores are computed (lists.h), of others all of the block. */
enum { ROWS_MOST = 4096 }; /* of a block */

/* Checks a row; messages give the caller's row number. */
static tamis_status check_row(const tamis_sparse *uses, int64_t row) {
    int64_t begin, end;
    TRY(ml_seen_row(uses, row, &begin, &end));
    if (!uses->values) return TAMIS_OK;
    for (int64_t t = begin; t < end; t++) {
        const double value = tamis_element_load(uses->values, uses->value_type, t);
        if (isfinite(value)) continue;
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "seen has the value %g at row %lld, column %lld: expected a finite number", value,
                          (long long)row, (long long)ml_column(uses, t));
    }
    return TAMIS_OK;
}

static tamis_status recommend_some(tamis_model *model, const tamis_sparse *uses, const bool *candidates, int n,
                                   int64_t *columns, double *scores) {
    tamis_sparse data;
    tamis_dense lines;
    if (!ml_has_few_scores(model)) {
        TRY(ml_transform(model, uses, "seen", &lines));
        return rank(model, &lines, NULL, uses, candidates, n, columns, scores);
    }
    TRY(ml_canonical(model, uses, "seen", &data));
    TRY(model->method->prepare(model, &data, false));
    return ml_lists_best(model, &data, candidates, n, columns, scores);
}

static tamis_status recommend_blocks(tamis_model *model, const tamis_sparse *uses, const int64_t *rows, int64_t count,
                                     const bool *candidates, int n, int64_t *columns, double *scores) {
    int64_t most = ROWS_MOST;
    if (!ml_has_few_scores(model)) most = ml_rows_at_once(model, most);
    for (int64_t first = 0; first < count; first += most) {
        const int64_t some = count - first < most ? count - first : most;
        for (int64_t i = first; i < first + some; i++) TRY(check_row(uses, rows ? rows[i] : i));
        ml_rows copied;
        TAMIS_SCOPE;
        TRY(ml_rows_copy(uses, rows, first, some, "uses of rows", &copied));
        TRY(recommend_some(model, &copied.view, candidates, n, columns + first * n, scores + first * n));
    }
    return TAMIS_OK;
}

static tamis_status recommend_uses(tamis_model *model, const tamis_sparse *uses, const int64_t *rows, int64_t count,
                                   const bool *candidates, int n, int64_t *columns, double *scores) {
    if (uses->format == TAMIS_CSR) return recommend_blocks(model, uses, rows, count, candidates, n, columns, scores);
    tamis_sparse by_rows;
    TAMIS_SCOPE;
    TRY(ml_canonical(model, uses, "seen", &by_rows));
    return recommend_blocks(model, &by_rows, rows, count, candidates, n, columns, scores);
}

/* ------------------------------------------------------------------------------------------ the calls */

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
    if (from_uses) return recommend_uses(model, seen, rows, count, candidates, n, columns, scores);
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

/* ------------------------------------------------------------------------------------------ rows for columns */

static tamis_status check_columns(const tamis_model *model, const int64_t *columns, int64_t count, int n) {
    TRY(ml_check_fitted(model));
    if (model->row_factors.cols == 0 || model->row_factors.rows != model->rows)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s stores no row factors", model->method->about.name);
    if (count < 0 || n < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = %lld is negative", count < 0 ? "count" : "n",
                          count < 0 ? (long long)count : n);
    if (!columns && count > model->cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "count = %lld, the model has %lld columns", (long long)count,
                          (long long)model->cols);
    for (int64_t i = 0; columns && i < count; i++)
        if (columns[i] < 0 || columns[i] >= model->cols)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "columns[%lld] = %lld, the model has %lld columns", (long long)i,
                              (long long)columns[i], (long long)model->cols);
    return TAMIS_OK;
}

/* Exchanges rows and columns: predictions are products of both sides. */
static tamis_status rank_rows(tamis_model *model, const int64_t *columns, int64_t count, const tamis_sparse *seen,
                              int n, int64_t *rows, double *scores) {
    tamis_convert_options turning = ml_conversion(model, seen ? seen : &(tamis_sparse){.cols = 1});
    ml_operands made, turned;
    tamis_sparse have;
    TAMIS_SCOPE;
    TRY(model->method->operands(model, NULL, &made));
    TRY(ml_operand_fetch(model, &made.A));
    TRY(ml_operand_fetch(model, &made.B));
    turned = (ml_operands){
        .offset = made.offset, .scale = made.scale, .least = made.least, .most = made.most, .plain = true};
    turned.B = (ml_operand){.host = made.A.host};
    TRY(ml_gather_rows(model, &made.B.host, columns, count, &turned.A.host));
    turning.transpose = true;
    turning.values = TAMIS_VALUES_NONE;
    if (seen) TRY(ml_converted(seen, &turning, &have));
    return ml_rank(model, &turned, columns, seen ? &have : NULL, NULL, n, rows, scores);
}

tamis_status tamis_model_recommend_rows(tamis_model *model, const int64_t *columns, int64_t count,
                                        const tamis_sparse *seen, int n, int64_t *rows, double *scores) {
    tamis_clear_error();
    int64_t entries;
    TRY(check_columns(model, columns, count, n));
    TRY(check_seen(model, seen, NULL, model->rows));
    if (count == 0 || n == 0) return TAMIS_OK;
    if (!rows || !scores) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", rows ? "scores" : "rows");
    if (__builtin_mul_overflow(count, (int64_t)n, &entries))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "count * n = %lld * %d is too large for an array", (long long)count, n);
    return rank_rows(model, columns, count, seen, n, rows, scores);
}
