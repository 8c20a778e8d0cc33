/* The operands of topic models, computed on the host with sums in double. */
#include "ml/methods/mixture.h"

#include "base/scope.h"
#include "ml/data/host.h"
#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/operands.h"

static void divide_columns(const tamis_dense *B, double *sums) {
    ml_column_sums(B, sums);
    for (int64_t i = 0; i < B->rows; i++)
        for (int64_t j = 0; j < B->cols; j++)
            ml_put_element(B, i, j, sums[j] > 0 ? ml_element(B, i, j) / sums[j] : 1 / (double)B->rows);
}

/* Sets A_i to W_i o sizes, or to sizes if W_i is zero, normalised to sum 1. */
static void weigh_row(const tamis_dense *W, const tamis_dense *A, int64_t i, const double *sizes) {
    double sum = 0, all = 0;
    for (int64_t j = 0; j < A->cols; j++) {
        sum += ml_element(W, i, j) * sizes[j];
        all += sizes[j];
    }
    for (int64_t j = 0; j < A->cols; j++) {
        const double share = sum > 0 ? ml_element(W, i, j) * sizes[j] / sum : sizes[j] / all;
        ml_put_element(A, i, j, all > 0 ? share : 1 / (double)A->cols);
    }
}

tamis_status ml_mixture(tamis_model *model, const tamis_dense *W, ml_operands *operands) {
    const tamis_dense *const B = &operands->B.host;
    *operands = (ml_operands){.scale = 1, .least = 0, .most = 1};
    if (!W && model->row_factors.cols == 0)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s stores no row factors: use tamis_model_transform",
                          model->method->about.name);
    double *sizes;
    tamis_dense rows;
    TRY(tamis_allocate_array(model->width, "the sums of topics", sizes));
    TRY(ml_dense_copy(model, &model->column_factors, &operands->B.host));
    divide_columns(B, sizes);
    for (int64_t j = 0; !model->method->masses && j < model->width; j++) sizes[j] = 1;
    if (!W) TRY(ml_dense_here(model, &model->row_factors, &rows));
    if (!W) W = &rows;
    TRY(ml_host_make(W->rows, W->cols, model->options.type, &operands->A.host));
    for (int64_t i = 0; i < W->rows; i++) weigh_row(W, &operands->A.host, i, sizes);
    return TAMIS_OK;
}
