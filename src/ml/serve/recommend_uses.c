/*
 * See recommend_uses.h. It works on blocks of rows: copies them, converts them to canonical form, and weights them as
 * tamis_model_transform does. A method with sparse scores finds the best itself (ml_method.best); for others all scores
 * of the block are computed.
 */
#include "ml/serve/recommend_uses.h"

#include <math.h>

#include "ml/data/canonical.h"
#include "ml/data/rows.h"
#include "ml/methods/method.h"
#include "ml/numbers.h"
#include "ml/serve/predict.h"
#include "ml/serve/rank.h"
#include "ml/serve/seen.h"
#include "sparse/element.h"

enum { ROWS_MOST = 4096, SCORES_MOST = 1 << 22 }; /* of a block; at least one row */

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

/* Finds the best columns by computing all scores of the rows. */
static tamis_status by_scores(tamis_model *model, const tamis_sparse *uses, const bool *candidates, int n,
                              int64_t *columns, double *scores) {
    tamis_owned_dense *W = NULL;
    ml_operands operands = {0};
    tamis_status status;
    TRY(ml_transform(model, uses, "seen", &W));
    TRY_GOTO(done, model->method->operands(model, tamis_owned_dense_view(W), &operands));
    status = ml_rank(model, &operands, NULL, uses, candidates, n, columns, scores);
done:
    ml_operands_free(&operands);
    tamis_owned_dense_free(W);
    return status;
}

static tamis_status recommend_some(tamis_model *model, const tamis_sparse *uses, const bool *candidates, int n,
                                   int64_t *columns, double *scores) {
    if (!model->method->best) return by_scores(model, uses, candidates, n, columns, scores);
    tamis_owned_sparse *data;
    TRY(ml_canonical(model, uses, "seen", &data));
    tamis_sparse view = *tamis_owned_sparse_view(data);
    tamis_status status = model->method->prepare(model, &view, false);
    if (status == TAMIS_OK) status = model->method->best(model, &view, candidates, n, columns, scores);
    tamis_owned_sparse_free(data);
    return status;
}

static tamis_status recommend_blocks(tamis_model *model, const tamis_sparse *uses, const int64_t *rows, int64_t count,
                                     const bool *candidates, int n, int64_t *columns, double *scores) {
    int64_t most = ROWS_MOST;
    if (!model->method->best && most > SCORES_MOST / model->cols) most = SCORES_MOST / model->cols;
    if (most < 1) most = 1;
    for (int64_t first = 0; first < count; first += most) {
        const int64_t some = count - first < most ? count - first : most;
        for (int64_t i = first; i < first + some; i++) TRY(check_row(uses, rows ? rows[i] : i));
        ml_rows copied;
        tamis_status status = ml_rows_copy(uses, rows, first, some, "uses of rows", &copied);
        if (status == TAMIS_OK)
            status = recommend_some(model, &copied.view, candidates, n, columns + first * n, scores + first * n);
        ml_rows_free(&copied);
        TRY(status);
    }
    return TAMIS_OK;
}

tamis_status ml_recommend_uses(tamis_model *model, const tamis_sparse *uses, const int64_t *rows, int64_t count,
                               const bool *candidates, int n, int64_t *columns, double *scores) {
    if (uses->format == TAMIS_CSR) return recommend_blocks(model, uses, rows, count, candidates, n, columns, scores);
    tamis_owned_sparse *by_rows;
    TRY(ml_canonical(model, uses, "seen", &by_rows));
    const tamis_status status =
        recommend_blocks(model, tamis_owned_sparse_view(by_rows), rows, count, candidates, n, columns, scores);
    tamis_owned_sparse_free(by_rows);
    return status;
}
