/* Factors of new rows, and the values that a model predicts at given places, by one SDDMM with edge mask on the model's
   device. */
#include "ml/serve/predict.h"

#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/data/canonical.h"
#include "ml/data/host.h"
#include "ml/data/rows.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/operands.h"
#include "sparse/check.h"

/* ------------------------------------------------------------------------------------------ checks */

tamis_status ml_check_fitted(const tamis_model *model) {
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    if (model->cols == 0 || model->column_factors.cols == 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "the model has not been fitted yet");
    return TAMIS_OK;
}

tamis_status ml_check_rows(const tamis_model *model, const tamis_dense *W, int64_t *rows) {
    if (!W) {
        *rows = model->row_factors.rows;
        if (model->row_factors.cols > 0) return TAMIS_OK;
        return tamis_fail(
            TAMIS_ERROR_ARGUMENT,
            "W is NULL, but the model (%s) stores no row factors: compute them with tamis_model_transform",
            model->method->about.name);
    }
    *rows = W->rows;
    if (W->layout == TAMIS_COLUMN_MAJOR)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "W.layout = %s: expected row-major", tamis_layout_name(W->layout));
    return tamis_dense_check(W, "W", W->rows, model->width, model->options.type);
}

tamis_status ml_check_cols(const tamis_model *model, const char *what, int64_t cols) {
    if (cols == model->cols) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.cols = %lld, but the model has %lld columns", what, (long long)cols,
                      (long long)model->cols);
}

/* Fetches few rows from a model on a GPU one by one, rather than the whole matrix. */
tamis_status ml_gather_rows(const tamis_model *model, const tamis_dense *X, const int64_t *rows, int64_t count,
                            tamis_dense *gathered) {
    const size_t size = tamis_type_size(X->type), line = (size_t)X->cols * size;
    const size_t step = (size_t)tamis_dense_stride(X) * size;
    TRY(ml_host_make(count, X->cols, X->type, gathered));
    char *const to = gathered->data;
    TAMIS_SCOPE;
    tamis_dense here = {0};
    if (X->location == TAMIS_HOST || count >= X->rows / 256) TRY(ml_dense_here(model, X, &here));
    const char *const from = here.data;
    for (int64_t i = 0; i < count; i++) {
        const size_t at = (size_t)(rows ? rows[i] : i) * step;
        if (from)
            memcpy(to + (size_t)i * line, from + at, line);
        else
            TRY(tamis_device_download(model->device, NULL, to + (size_t)i * line, X->data, at, line));
    }
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ transform */

static void end_use(void *given) {
    tamis_model *const use = given;
    ml_times_free(use);
    if (use->location == TAMIS_HOST) tamis_dense_workspace_destroy(use->workspace);
}

tamis_status ml_use_begin(tamis_model *model, tamis_model *use) {
    const bool own = model->location == TAMIS_HOST;
    if (!own) TRY(ml_model_workspace(model));
    *use = *model;
    use->times = (ml_times){0};
    if (own) use->workspace = NULL;
    return tamis_scope_own(end_use, use);
}

tamis_status ml_transform(tamis_model *model, const tamis_sparse *S, const char *what, tamis_dense *W) {
    tamis_model use;
    tamis_sparse data;
    tamis_dense on_device;
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", what);
    TRY(ml_host_make(S->rows, model->width, model->options.type, W));
    TAMIS_SCOPE;
    TRY(ml_use_begin(model, &use));
    TRY(ml_canonical(model, S, what, &data));
    if (model->method->prepare) TRY(model->method->prepare(&use, &data, false));
    TRY(ml_scratch(model, data.rows, model->width, &on_device));
    if (data.rows > 0) TRY(model->method->transform(&use, &data, &on_device));
    return ml_dense_read(model, &on_device, W->data);
}

/* Copies line by line, without touching the padding between the caller's lines. */
static void copy_lines(const tamis_dense *from, const tamis_dense *to) {
    const size_t size = tamis_type_size(from->type);
    const size_t step = (size_t)tamis_dense_stride(to) * size, length = (size_t)from->cols * size;
    for (int64_t i = 0; i < from->rows; i++)
        memcpy((char *)to->data + (size_t)i * step, (const char *)from->data + (size_t)i * length, length);
}

tamis_status tamis_model_transform(tamis_model *model, const tamis_sparse *S, const tamis_dense *W) {
    tamis_clear_error();
    int64_t rows;
    TRY(ml_check_fitted(model));
    if (!W) return tamis_fail(TAMIS_ERROR_ARGUMENT, "W is NULL");
    TRY(ml_check_rows(model, W, &rows));
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(ml_check_cols(model, "S", S->cols));
    if (rows != S->rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "W.rows = %lld, but S.rows = %lld", (long long)rows,
                          (long long)S->rows);
    tamis_dense made;
    TAMIS_SCOPE;
    TRY(ml_transform(model, S, "S", &made));
    copy_lines(&made, W);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ predict */

/* Copies a host array to a GPU; the CPU uses the array itself. */
static tamis_status to_device(const tamis_model *model, int64_t entries, size_t size, const void **memory) {
    return model->location == TAMIS_HOST ? TAMIS_OK : ml_on_device(model, entries, size, memory);
}

static tamis_status pattern_to_device(const tamis_model *model, const tamis_sparse *S, tamis_sparse *there) {
    const size_t index = tamis_index_size(S->index_type);
    *there = *S;
    there->location = model->location;
    there->values = NULL; /* the mask edge does not read values */
    there->batch_stride = 0;
    if (S->format == TAMIS_CSR)
        TRY(to_device(model, S->rows + 1, tamis_index_size(S->offset_type), &there->offsets));
    else
        TRY(to_device(model, S->nnz, index, &there->row_indices));
    return to_device(model, S->nnz, index, &there->columns);
}

static tamis_status dense_to_device(const tamis_model *model, const ml_operand *operand, tamis_dense *there) {
    *there = operand->there ? *operand->there : operand->host;
    if (operand->there) return TAMIS_OK;
    const void *data = there->data;
    TRY(to_device(model, tamis_times(there->rows, there->cols), tamis_type_size(there->type), &data));
    there->data = (void *)(uintptr_t)data;
    there->location = model->location;
    return TAMIS_OK;
}

/* Reads the predictions at the places of S's entries. */
static void look_up(const ml_operands *operands, const tamis_sparse *S, double *predictions) {
    int64_t row = 0;
    for (int64_t t = 0; t < S->nnz; t++) {
        if (S->format == TAMIS_COO) row = tamis_index_load(S->row_indices, S->index_type, t);
        while (S->format == TAMIS_CSR && ml_offset(S, row + 1) - S->offset_base <= t) row++;
        predictions[t] = ml_expectation(operands, ml_element(&operands->A.host, row, ml_column(S, S->offset_base + t)));
    }
}

tamis_status ml_predict(tamis_model *model, const ml_operands *operands, const tamis_sparse *S, double *predictions) {
    if (S->nnz == 0) return TAMIS_OK;
    if (operands->direct) {
        look_up(operands, S, predictions);
        return TAMIS_OK;
    }
    TAMIS_SCOPE;
    tamis_sparse pattern;
    tamis_dense A, B;
    const tamis_type type = operands->A.host.type;
    const size_t size = tamis_type_size(type);
    void *host, *dots;
    TRY(tamis_scope_allocate(S->nnz, size, "predictions", &host));
    dots = host;
    TRY(pattern_to_device(model, S, &pattern));
    TRY(dense_to_device(model, &operands->A, &A));
    TRY(dense_to_device(model, &operands->B, &B));
    if (model->location != TAMIS_HOST) TRY(ml_values_make(model, S->nnz, &dots));
    tamis_options once = TAMIS_OPTIONS_INIT;
    once.edge = TAMIS_EDGE_MASK;
    once.trust_input = true;
    once.threads = model->options.threads;
    const tamis_dense P = ml_values_view(model, dots, S->nnz);
    TRY(tamis_sddmm(model->device, &pattern, &A, &B, &P, &once, NULL));
    if (dots != host) TRY(tamis_device_download(model->device, NULL, host, dots, 0, (size_t)S->nnz * size));
    for (int64_t t = 0; t < S->nnz; t++) predictions[t] = ml_expectation(operands, ml_number(host, type, t));
    return TAMIS_OK;
}

tamis_status tamis_model_predict(tamis_model *model, const tamis_dense *W, const tamis_sparse *S, double *predictions) {
    tamis_clear_error();
    int64_t rows;
    TRY(ml_check_fitted(model));
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(ml_check_cols(model, "S", S->cols));
    TRY(ml_check_rows(model, W, &rows));
    if (S->rows != rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "S.rows = %lld, but %s %lld rows", (long long)S->rows,
                          W ? "W has" : "the model has", (long long)rows);
    if (S->nnz > 0 && !predictions) return tamis_fail(TAMIS_ERROR_ARGUMENT, "predictions is NULL");
    TRY(tamis_validate(S));
    if (S->nnz == 0) return TAMIS_OK;
    ml_operands operands;
    tamis_dense packed; /* methods see no strides */
    TAMIS_SCOPE;
    if (W) TRY(ml_gather_rows(model, W, NULL, rows, &packed));
    TRY(model->method->operands(model, W ? &packed : NULL, &operands));
    return ml_predict(model, &operands, S, predictions);
}

/* A COO matrix has its rows' entries anywhere, so all its rows come at once. */
tamis_status ml_predict_rows(tamis_model *model, const tamis_sparse *observed, const tamis_sparse *S,
                             double *predictions) {
    const bool all = S->format != TAMIS_CSR;
    for (int64_t first = 0, count; first < S->rows; first += count) {
        ml_rows known, places;
        tamis_dense W;
        ml_operands made;
        TAMIS_SCOPE;
        count = all ? S->rows : ml_rows_at_once(model, S->rows - first);
        TRY(ml_rows_copy(observed, NULL, first, count, "observed", &known));
        if (!all) TRY(ml_rows_copy(S, NULL, first, count, "S", &places));
        TRY(ml_transform(model, &known.view, "observed", &W));
        TRY(model->method->operands(model, &W, &made));
        TRY(ml_predict(model, &made, all ? S : &places.view,
                       predictions + (all ? 0 : ml_offset(S, first) - S->offset_base)));
    }
    return TAMIS_OK;
}

tamis_status tamis_model_predict_rows(tamis_model *model, const tamis_sparse *observed, const tamis_sparse *S,
                                      double *predictions) {
    tamis_clear_error();
    tamis_sparse known;
    TRY(ml_check_fitted(model));
    TRY(tamis_sparse_check_host(observed, "observed"));
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(ml_check_cols(model, "observed", observed->cols));
    TRY(ml_check_cols(model, "S", S->cols));
    if (S->rows != observed->rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "S.rows = %lld, but observed.rows = %lld", (long long)S->rows,
                          (long long)observed->rows);
    if (S->nnz > 0 && !predictions) return tamis_fail(TAMIS_ERROR_ARGUMENT, "predictions is NULL");
    TRY(tamis_validate(S));
    TAMIS_SCOPE;
    TRY(ml_canonical(model, observed, "observed", &known));
    return S->nnz == 0 ? TAMIS_OK : ml_predict_rows(model, &known, S, predictions);
}
