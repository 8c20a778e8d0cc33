/* The operands of topic models, computed on the host with sums in double. */
#include "ml/methods/mixture.h"

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

static tamis_status make_rows(const tamis_model *model, const tamis_dense *W, const double *sizes,
                              tamis_owned_dense **A) {
    tamis_owned_dense *own = NULL;
    if (!W) {
        TRY(ml_dense_fetch(model, &model->row_factors, &own));
        W = tamis_owned_dense_view(own);
    }
    const tamis_status status = tamis_owned_dense_create(W->rows, W->cols, model->options.type, TAMIS_ROW_MAJOR, A);
    for (int64_t i = 0; status == TAMIS_OK && i < W->rows; i++) weigh_row(W, tamis_owned_dense_view(*A), i, sizes);
    tamis_owned_dense_free(own);
    return status;
}

tamis_status ml_mixture(tamis_model *model, const tamis_dense *W, ml_operands *operands) {
    *operands = (ml_operands){.scale = 1, .least = 0, .most = 1};
    if (!W && model->row_factors.cols == 0)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s stores no row factors: use tamis_model_transform",
                          model->method->about.name);
    double *sizes;
    tamis_owned_dense *made;
    TRY(tamis_allocate(model->width, sizeof *sizes, "the sums of topics", (void **)&sizes));
    tamis_status status;
    TRY_GOTO(done, ml_dense_fetch(model, &model->column_factors, &made));
    ml_operand_take(&operands->B, made);
    divide_columns(&operands->B.host, sizes);
    for (int64_t j = 0; !model->method->masses && j < model->width; j++) sizes[j] = 1;
    TRY_GOTO(done, make_rows(model, W, sizes, &made));
    ml_operand_take(&operands->A, made);
done:
    tamis_release(sizes);
    return status;
}
