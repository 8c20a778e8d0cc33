/*
 * What is alike: columns or rows whose factors point the same way, by a pass over all of them for a few (scan.c), by
 * products of their directions for many (recommend.c); of models of pairs those with the largest weights.
 */
#include <math.h>
#include <string.h>

#include "ml/best.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/operands.h"
#include "ml/place.h"
#include "ml/predict.h"
#include "ml/recommend.h"
#include "ml/scan.h"

enum { PRODUCTS_LEAST = 8 };

/* Sets unit to X_at, without what is behind its features, over its length. Returns false if that is 0. */
static bool find_direction(const tamis_dense *X, int64_t at, int64_t length, void *unit) {
    double square = 0;
    for (int64_t k = 0; k < length; k++) square += ml_element(X, at, k) * ml_element(X, at, k);
    for (int64_t k = 0; k < length; k++) ml_put_number(unit, X->type, k, ml_element(X, at, k) / sqrt(square));
    return square > 0;
}

static void list_similar(const tamis_model *model, const tamis_dense *X, const int64_t *which, int64_t count, int n,
                         int64_t *similar, double *weights) {
    for (int64_t i = 0; i < count; i++) {
        ml_best best = {.columns = similar + i * n, .scores = weights + i * n, .n = n};
        model->method->similar(X, which ? which[i] : i, &best);
        for (int k = best.kept; k < n; k++) best.columns[k] = -1, best.scores[k] = NAN;
    }
}

/* Many at once by products (recommend.c) of the directions: each leaves out itself. */
static tamis_status find_by_products(tamis_model *model, const tamis_dense *X, const int64_t *which, int64_t count,
                                     int n, int64_t *similar, double *cosines) {
    const int64_t length = model->options.factors;
    const size_t line = (size_t)length * tamis_type_size(X->type);
    tamis_owned_dense *units = NULL, *asked = NULL;
    int64_t *offsets = NULL, *own = NULL;
    bool *there = NULL;
    tamis_status status;
    TRY_GOTO(done, tamis_owned_dense_create(X->rows, length, X->type, TAMIS_ROW_MAJOR, &units));
    TRY_GOTO(done, tamis_owned_dense_create(count, length, X->type, TAMIS_ROW_MAJOR, &asked));
    TRY_GOTO(done, tamis_allocate(count + 1, sizeof *offsets, "what is asked", (void **)&offsets));
    TRY_GOTO(done, tamis_allocate(count, sizeof *own, "what is asked", (void **)&own));
    TRY_GOTO(done, tamis_allocate(X->rows, sizeof *there, "directions", (void **)&there));
    char *const to = tamis_owned_dense_view(units)->data, *const rows = tamis_owned_dense_view(asked)->data;
    for (int64_t j = 0; j < X->rows; j++) there[j] = find_direction(X, j, length, to + (size_t)j * line);
    for (int64_t i = 0; i <= count; i++) offsets[i] = i;
    for (int64_t i = 0; i < count; i++) {
        own[i] = which ? which[i] : i;
        memcpy(rows + (size_t)i * line, to + (size_t)own[i] * line, line);
    }
    const tamis_sparse itself = {.format = TAMIS_CSR,
                                 .rows = count,
                                 .cols = X->rows,
                                 .nnz = count,
                                 .index_type = TAMIS_I64,
                                 .offset_type = TAMIS_I64,
                                 .offsets = offsets,
                                 .columns = own};
    const ml_operands operands = {.A = {.host = *tamis_owned_dense_view(asked)},
                                  .B = {.host = *tamis_owned_dense_view(units)},
                                  .scale = 1,
                                  .least = -INFINITY,
                                  .most = INFINITY,
                                  .plain = true};
    TRY_GOTO(done, ml_recommend(model, &operands, NULL, &itself, there, n, similar, cosines));
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < n && !there[own[i]]; k++) similar[i * n + k] = -1, cosines[i * n + k] = NAN;
done:
    tamis_owned_dense_free(units);
    tamis_owned_dense_free(asked);
    tamis_release(offsets);
    tamis_release(own);
    tamis_release(there);
    return status;
}

static tamis_status find_similar(const tamis_model *model, const tamis_dense *X, const int64_t *which, int64_t count,
                                 int n, int64_t *similar, double *cosines) {
    const int64_t length = model->options.factors;
    tamis_device_description description;
    TRY(tamis_device_describe(model->device, &description));
    const int threads = model->options.threads > 0      ? model->options.threads
                        : model->location == TAMIS_HOST ? description.threads
                                                        : 0;
    void *unit;
    TRY(tamis_allocate(length, tamis_type_size(X->type), "a direction", &unit));
    tamis_status status = TAMIS_OK;
    for (int64_t i = 0; i < count && status == TAMIS_OK; i++) {
        const int64_t at = which ? which[i] : i;
        ml_best best = {.columns = similar + i * n, .scores = cosines + i * n, .n = n};
        if (find_direction(X, at, length, unit)) status = ml_scan_directions(unit, X, length, at, threads, &best);
        ml_best_finish(&best);
        for (int k = 0; k < best.kept; k++) best.scores[k] = copysign(sqrt(fabs(best.scores[k])), best.scores[k]);
    }
    tamis_release(unit);
    return status;
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
    tamis_owned_dense *fetched = NULL;
    if (X->location != TAMIS_HOST) TRY(ml_dense_fetch(model, X, &fetched));
    const tamis_dense *const here = fetched ? tamis_owned_dense_view(fetched) : X;
    tamis_status status = TAMIS_OK;
    if (model->method->similar)
        list_similar(model, here, which, count, n, similar, cosines);
    else
        status = count >= PRODUCTS_LEAST ? find_by_products(model, here, which, count, n, similar, cosines)
                                         : find_similar(model, here, which, count, n, similar, cosines);
    tamis_owned_dense_free(fetched);
    return status;
}
