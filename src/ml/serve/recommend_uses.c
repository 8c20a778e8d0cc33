/*
 * See recommend_uses.h. It works on blocks of rows: copies them, converts them to canonical form, and weights them as
 * tamis_model_transform does. A method with sparse scores finds the best itself (ml_method.best); for others all scores
 * of the block are computed.
 */
#include "ml/serve/recommend_uses.h"

#include <math.h>
#include <string.h>

#include "ml/data/canonical.h"
#include "ml/methods/method.h"
#include "ml/numbers.h"
#include "ml/serve/predict.h"
#include "ml/serve/rank.h"
#include "ml/serve/seen.h"
#include "sparse/element.h"

enum { ROWS_MOST = 4096, SCORES_MOST = 1 << 22 }; /* of a block; at least one row */

/* A copy of rows of a CSR, with the same types. */
typedef struct copied_rows {
    tamis_sparse view;
    int64_t *offsets;
    void *columns, *values;
} copied_rows;

static void copied_free(copied_rows *copied) {
    tamis_release(copied->offsets);
    tamis_release(copied->columns);
    tamis_release(copied->values);
}

/* Checks a row's values; messages give the caller's row number. */
static tamis_status check_values(const tamis_sparse *uses, int64_t row) {
    if (!uses->values) return TAMIS_OK;
    for (int64_t t = ml_offset(uses, row); t < ml_offset(uses, row + 1); t++) {
        const double value = tamis_element_load(uses->values, uses->value_type, t);
        if (isfinite(value)) continue;
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "seen has the value %g at row %lld, column %lld: expected a finite number", value,
                          (long long)row, (long long)ml_column(uses, t));
    }
    return TAMIS_OK;
}

static tamis_status copy_rows(const tamis_sparse *uses, const int64_t *rows, int64_t first, int64_t count,
                              copied_rows *copied) {
    const size_t index_size = tamis_index_size(uses->index_type), size = tamis_type_size(uses->value_type);
    int64_t begin, end, nnz = 0;
    TRY(tamis_allocate(count + 1, sizeof *copied->offsets, "uses of rows", (void **)&copied->offsets));
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = rows ? rows[first + i] : first + i;
        TRY(ml_seen_row(uses, row, &begin, &end));
        TRY(check_values(uses, row));
        copied->offsets[i] = nnz;
        if (__builtin_add_overflow(nnz, end - begin, &nnz))
            return tamis_fail(TAMIS_ERROR_OVERFLOW, "more than 2^63 entries of `seen` belong to the requested rows");
    }
    copied->offsets[count] = nnz;
    TRY(tamis_allocate(nnz, index_size, "uses of rows", &copied->columns));
    if (uses->values) TRY(tamis_allocate(nnz, size, "uses of rows", &copied->values));
    for (int64_t i = 0; i < count; i++) {
        const size_t from = (size_t)ml_offset(uses, rows ? rows[first + i] : first + i);
        const size_t to = (size_t)copied->offsets[i], length = (size_t)copied->offsets[i + 1] - to;
        if (length == 0) continue;
        memcpy((char *)copied->columns + to * index_size, (const char *)uses->columns + from * index_size,
               length * index_size);
        if (uses->values)
            memcpy((char *)copied->values + to * size, (const char *)uses->values + from * size, length * size);
    }
    copied->view = *uses;
    copied->view.rows = count;
    copied->view.nnz = nnz;
    copied->view.offsets = copied->offsets;
    copied->view.offset_type = TAMIS_I64;
    copied->view.offset_base = 0; /* that of a slice */
    copied->view.columns = copied->columns;
    copied->view.values = copied->values;
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
        copied_rows copied = {0};
        tamis_status status = copy_rows(uses, rows, first, count - first < most ? count - first : most, &copied);
        if (status == TAMIS_OK)
            status = recommend_some(model, &copied.view, candidates, n, columns + first * n, scores + first * n);
        copied_free(&copied);
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
