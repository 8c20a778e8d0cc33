/*
 * Similar columns or rows: nearest neighbours by the cosine of their factors. rank.c finds them as products of the
 * queries' normalised factors with all normalised factors (kept.h). For models of item pairs they are those with the
 * largest weights.
 */
#include <math.h>

#include "base/scope.h"
#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/kept.h"
#include "ml/serve/lists.h"
#include "ml/serve/operands.h"
#include "ml/serve/predict.h"
#include "ml/serve/rank.h"

static void list_similar(const tamis_model *model, const ml_lists *lists, const tamis_dense *X, const int64_t *which,
                         int64_t count, int n, int64_t *similar, double *weights) {
    for (int64_t i = 0; i < count; i++) {
        ml_best best = {.columns = similar + i * n, .scores = weights + i * n, .n = n};
        if (lists)
            ml_lists_similar(lists, which ? which[i] : i, &best);
        else
            model->method->similar(X, which ? which[i] : i, &best);
        for (int k = best.kept; k < n; k++) best.columns[k] = -1, best.scores[k] = NAN;
    }
}

/* Normalises the lines of `asked`, without biases, so that products are cosines. */
static void make_directions(const tamis_model *model, const int64_t *which, const void *scales,
                            const tamis_dense *asked) {
    for (int64_t i = 0; i < asked->rows; i++) {
        const double scale = ml_number(scales, asked->type, which ? which[i] : i);
        for (int64_t k = 0; k < asked->cols; k++)
            ml_put_element(asked, i, k, k < model->options.factors ? scale * ml_element(asked, i, k) : 0);
    }
}

/* Each leaves out itself. Zero vectors, whose directions are NaN, are similar to nothing. */
static tamis_status find_similar(tamis_model *model, bool rows, const int64_t *which, int64_t count, int n,
                                 int64_t *similar, double *cosines) {
    const tamis_dense *const X = rows ? &model->row_factors : &model->column_factors;
    ml_operands operands = {.scale = 1, .least = -INFINITY, .most = INFINITY, .plain = true};
    int64_t *numbers;
    TAMIS_SCOPE;
    TRY(ml_kept_scales(model, rows, &operands.scales));
    TRY(ml_gather_rows(model, X, which, count, &operands.A.host));
    TRY(tamis_allocate_array(2 * count + 1, "what is asked", numbers));
    make_directions(model, which, operands.scales, &operands.A.host);
    int64_t *const own = numbers + count + 1;
    for (int64_t i = 0; i <= count; i++) numbers[i] = i;
    for (int64_t i = 0; i < count; i++) own[i] = which ? which[i] : i;
    const tamis_sparse itself = {.format = TAMIS_CSR,
                                 .rows = count,
                                 .cols = X->rows,
                                 .nnz = count,
                                 .index_type = TAMIS_I64,
                                 .offset_type = TAMIS_I64,
                                 .offsets = numbers,
                                 .columns = own};
    ml_operand_use(X, &operands.B);
    return ml_rank(model, &operands, NULL, &itself, NULL, n, similar, cosines);
}

tamis_status tamis_model_similar(tamis_model *model, bool rows, const int64_t *which, int64_t count, int n,
                                 int64_t *similar, double *cosines) {
    tamis_clear_error();
    TRY(ml_check_fitted(model));
    const tamis_dense *X = rows ? &model->row_factors : &model->column_factors;
    if (X->cols == 0 || (rows && X->rows != model->rows))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s stores no row factors", model->method->about.name);
    if (count < 0 || n < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = %lld is negative", count < 0 ? "count" : "n",
                          count < 0 ? (long long)count : n);
    for (int64_t i = 0; i < count; i++)
        if ((which ? which[i] : i) < 0 || (which ? which[i] : i) >= X->rows)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "which[%lld] = %lld, the model has %lld %s", (long long)i,
                              (long long)(which ? which[i] : i), (long long)X->rows, rows ? "rows" : "columns");
    if (count == 0 || n == 0) return TAMIS_OK;
    if (!similar || !cosines) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", similar ? "cosines" : "similar");
    const bool has_lists = ml_has_lists(model);
    if (!has_lists && !model->method->similar) return find_similar(model, rows, which, count, n, similar, cosines);
    const ml_lists *lists = NULL;
    tamis_dense here = {0};
    TAMIS_SCOPE;
    if (has_lists)
        TRY(ml_kept_lists(model, &lists));
    else
        TRY(ml_dense_here(model, X, &here));
    list_similar(model, lists, &here, which, count, n, similar, cosines);
    return TAMIS_OK;
}
