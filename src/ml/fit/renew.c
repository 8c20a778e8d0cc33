/*
 * Models that continue with other data: warm starts, and rows put into a model with fixed columns.
 *
 * A warm start keeps the factors of existing rows and columns and gives new ones small random factors; then it
 * continues like a resumed fit. So methods need no special code, except that statistics of the data (weights,
 * popularity, lambda of uses) are recomputed if model->renewed is set.
 */
#include "ml/fit/renew.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/scope.h"
#include "base/sizes.h"
#include "ml/data/canonical.h"
#include "ml/data/host.h"
#include "ml/factors.h"
#include "ml/fit/loop.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/numbers.h"
#include "ml/serve/kept.h"
#include "ml/serve/predict.h"

enum { NEW_ROWS = 11, NEW_COLUMNS = 12, STATE = 13 }; /* streams of random numbers */

static bool keeps_rows(const ml_method *method) { return method->about.row_factors && !method->about.mini_batches; }

tamis_status tamis_model_renew(tamis_model *model) {
    tamis_clear_error();
    TRY(ml_check_fitted(model));
    if (model->method->about.pairs || !(keeps_rows(model->method) || model->method->about.mini_batches)) {
        /* the former model is of no use */
        ml_model_empty(model);
        return TAMIS_OK;
    }
    if (!keeps_rows(model->method))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "%s goes on with other data by mini-batches: tamis_model_partial_fit",
                          model->method->about.name);
    if (model->batches_done > 0 || ml_unfinished(model))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "the model has %d of %d iterations: fit it to the end first",
                          model->iterations_done, model->options.iterations);
    if (model->options.iterations > INT32_MAX / 2)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "iterations = %d are too many to go on with",
                          model->options.iterations);
    model->renewed = true;
    return TAMIS_OK;
}

/* Enlarges a matrix: new rows get random numbers of up to `size`, and a bias of 0. */
static tamis_status grow(const tamis_model *model, tamis_dense *kept, int64_t rows, uint64_t stream, double size) {
    if (kept->rows == rows) return TAMIS_OK;
    if (kept->rows > rows)
        return tamis_fail(TAMIS_ERROR_INTERNAL, "%lld rows are more than %lld", (long long)kept->rows, (long long)rows);
    const bool whole = ml_has_whole_factors(model->method, &model->options);
    const int64_t features = model->options.factors, cols = kept->cols;
    tamis_dense larger;
    double *before, *after;
    TAMIS_SCOPE;
    TRY(ml_dense_read_doubles(model, kept, &before));
    TRY(tamis_allocate_zeros(tamis_times(rows, cols), "factors of new rows", after));
    memcpy(after, before, (size_t)(kept->rows * cols) * sizeof *after);
    for (int64_t i = kept->rows; i < rows; i++)
        for (int64_t k = 0; k < cols && k < features; k++) {
            const double drawn = tamis_random_uniform_at(model->options.seed, stream, (uint64_t)(i * cols + k));
            after[i * cols + k] = size * (whole ? drawn : 2 * drawn - 1);
        }
    TRY(ml_dense_make(model, rows, cols, &larger));
    const tamis_status status = ml_dense_write_doubles(model, &larger, after);
    ml_dense_free(model, status == TAMIS_OK ? kept : &larger);
    if (status == TAMIS_OK) *kept = larger;
    return status;
}

/* Enlarges states with a row per row or column, with zeros. */
static tamis_status grow_states(tamis_model *model, int64_t rows, int64_t cols) {
    for (int i = 0; i < ML_STATES; i++) {
        int64_t size[2];
        const bool known = ml_state_size(model->method, &model->options, rows, cols, i, size);
        if (known && model->states[i].cols > 0) TRY(grow(model, &model->states[i], size[0], STATE, 0));
    }
    return TAMIS_OK;
}

tamis_status ml_renew(tamis_model *model, const tamis_sparse *data, uint64_t sum) {
    const int64_t had[] = {model->row_factors.rows, model->column_factors.rows}, has[] = {data->rows, data->cols};
    for (int i = 0; i < 2; i++)
        if (has[i] < had[i])
            return tamis_fail(TAMIS_ERROR_ARGUMENT,
                              "S has %lld %s, the model %lld: a warm start has its %s first, and then new ones",
                              (long long)has[i], i ? "columns" : "rows", (long long)had[i], i ? "columns" : "rows");
    const double size = 0.1 / sqrt((double)model->options.factors);
    ml_forget(model);
    TRY(grow(model, &model->row_factors, data->rows, NEW_ROWS, size));
    TRY(grow(model, &model->column_factors, data->cols, NEW_COLUMNS, size));
    TRY(grow_states(model, data->rows, data->cols)); /* statistics of the data are recomputed */
    const double mean = model->mean, scale = model->scale, least = model->least, most = model->most;
    ml_describe_data(model, data);
    model->least = fmin(model->least, least); /* factors keep the former mean and scale */
    model->most = fmax(model->most, most);
    model->mean = mean;
    model->scale = scale;
    model->options.iterations += model->iterations_done;
    model->data_sum = sum;
    model->loss = NAN;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ rows that are put in */

static tamis_status check_places(const tamis_model *model, const int64_t *rows, int64_t count, int64_t *whole) {
    const int64_t had = model->row_factors.rows;
    *whole = had;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = rows ? rows[i] : had + i;
        if (row < 0 || row > *whole)
            return tamis_fail(TAMIS_ERROR_ARGUMENT,
                              "rows[%lld] = %lld, expected 0 to %lld: rows of the model or the next one", (long long)i,
                              (long long)row, (long long)*whole);
        if (row == *whole) (*whole)++;
    }
    if (*whole > had && model->row_names)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "the model has names of its %lld rows: new rows would have none",
                          (long long)had);
    return TAMIS_OK;
}

/* Checks that factors are finite: a file with others could not be read. */
static tamis_status check_finite(const tamis_dense *W) {
    for (int64_t i = 0; i < W->rows; i++)
        for (int64_t k = 0; k < W->cols; k++)
            if (!isfinite(ml_element(W, i, k)))
                return tamis_fail(TAMIS_ERROR_ARGUMENT, "row %lld of S: its factors are not finite numbers%s",
                                  (long long)i, W->type == TAMIS_F32 ? ": use smaller values, or fp64" : "");
    return TAMIS_OK;
}

tamis_status tamis_model_put_rows(tamis_model *model, const tamis_sparse *S, const int64_t *rows) {
    tamis_clear_error();
    TRY(ml_check_fitted(model));
    if (!keeps_rows(model->method) || model->row_factors.rows == 0)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s stores no rows that others could be put beside",
                          model->method->about.name);
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "S is NULL");
    int64_t whole;
    TRY(check_places(model, rows, S->rows, &whole));
    const int64_t had = model->row_factors.rows, width = model->width;
    const size_t line = (size_t)width * tamis_type_size(model->options.type);
    tamis_dense W, all, larger;
    TAMIS_SCOPE;
    TRY(ml_host_make(S->rows, width, model->options.type, &W));
    TRY(tamis_model_transform(model, S, &W));
    TRY(check_finite(&W));
    TRY(ml_host_make(whole, width, model->options.type, &all));
    char *const to = all.data;
    const char *const from = W.data;
    TRY(ml_dense_read(model, &model->row_factors, to));
    for (int64_t i = 0; i < S->rows; i++)
        memcpy(to + (size_t)(rows ? rows[i] : had + i) * line, from + (size_t)i * line, line);
    TRY(ml_dense_make(model, whole, width, &larger));
    tamis_status status = ml_dense_write(model, &larger, to);
    /* ADAGRAD's sums of the new rows start at 0 in the next fit */
    if (status == TAMIS_OK) status = grow_states(model, whole, model->cols);
    if (status == TAMIS_OK) ml_forget(model);
    ml_dense_free(model, status == TAMIS_OK ? &model->row_factors : &larger);
    if (status != TAMIS_OK) return status;
    model->row_factors = larger;
    model->rows = whole;
    return TAMIS_OK;
}
