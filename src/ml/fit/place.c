/*
 * Matrices on the device: packed dense ones of the model's type, and sparse ones as CSR, with their transpose if the
 * method needs it. The CPU uses the converted matrix itself; a GPU gets copies.
 */
#include "ml/fit/place.h"

#include "base/random.h"
#include "base/sizes.h"
#include "group/collective.h"
#include "ml/data/canonical.h"
#include "ml/model.h"
#include "ml/numbers.h"

tamis_status ml_host_threads(const tamis_model *model, int *threads) {
    tamis_device_description description;
    TRY(tamis_device_describe(model->device, &description));
    *threads = model->options.threads > 0 ? model->options.threads : description.threads;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ dense */

tamis_status ml_dense_make(const tamis_model *model, int64_t rows, int64_t cols, tamis_dense *dense) {
    *dense = (tamis_dense){.rows = rows,
                           .cols = cols,
                           .stride = cols,
                           .type = model->options.type,
                           .layout = TAMIS_ROW_MAJOR,
                           .location = model->location};
    const size_t size = tamis_type_size(model->options.type);
    const size_t bytes = tamis_bytes(tamis_times(rows, cols), size);
    if (bytes >= TAMIS_TOO_MANY)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "the size in bytes of a %lld x %lld matrix overflows 64 bits",
                          (long long)rows, (long long)cols);
    return bytes > 0 ? tamis_device_allocate(model->device, bytes, &dense->data) : TAMIS_OK;
}

void ml_dense_free(const tamis_model *model, tamis_dense *dense) {
    if (dense->data) tamis_device_free(model->device, dense->data);
    *dense = (tamis_dense){0};
}

static size_t bytes_of(const tamis_dense *dense) {
    return (size_t)(dense->rows * dense->cols) * tamis_type_size(dense->type);
}

tamis_status ml_dense_write(const tamis_model *model, const tamis_dense *dense, const void *host) {
    const size_t bytes = bytes_of(dense);
    return bytes > 0 ? tamis_device_upload(model->device, NULL, dense->data, 0, host, bytes) : TAMIS_OK;
}

tamis_status ml_dense_read(const tamis_model *model, const tamis_dense *dense, void *host) {
    const size_t bytes = bytes_of(dense);
    return bytes > 0 ? tamis_device_download(model->device, NULL, host, dense->data, 0, bytes) : TAMIS_OK;
}

tamis_status ml_dense_fetch(const tamis_model *model, const tamis_dense *dense, tamis_owned_dense **array) {
    TRY(tamis_owned_dense_create(dense->rows, dense->cols, dense->type, TAMIS_ROW_MAJOR, array));
    const tamis_status status = ml_dense_read(model, dense, tamis_owned_dense_view(*array)->data);
    if (status != TAMIS_OK) {
        tamis_owned_dense_free(*array);
        *array = NULL;
    }
    return status;
}

tamis_status ml_dense_here(const tamis_model *model, const tamis_dense *dense, tamis_owned_dense **copy,
                           tamis_dense *here) {
    *copy = NULL;
    *here = *dense;
    if (dense->location == TAMIS_HOST) return TAMIS_OK;
    TRY(ml_dense_fetch(model, dense, copy));
    *here = *tamis_owned_dense_view(*copy);
    return TAMIS_OK;
}

tamis_status ml_dense_write_doubles(const tamis_model *model, const tamis_dense *dense, const double *numbers) {
    const int64_t count = tamis_times(dense->rows, dense->cols);
    void *cast;
    TRY(tamis_allocate(count, tamis_type_size(dense->type), "numbers for the device", &cast));
    for (int64_t i = 0; i < count; i++) ml_put_number(cast, dense->type, i, numbers[i]);
    const tamis_status status = ml_dense_write(model, dense, cast);
    tamis_release(cast);
    return status;
}

tamis_status ml_dense_read_doubles(const tamis_model *model, const tamis_dense *dense, double **numbers) {
    const int64_t count = tamis_times(dense->rows, dense->cols);
    tamis_owned_dense *array;
    *numbers = NULL;
    TRY(ml_dense_fetch(model, dense, &array));
    const tamis_status status = tamis_allocate(count, sizeof **numbers, "numbers of the device", (void **)numbers);
    for (int64_t i = 0; status == TAMIS_OK && i < count; i++)
        (*numbers)[i] = ml_number(tamis_owned_dense_view(array)->data, dense->type, i);
    tamis_owned_dense_free(array);
    return status;
}

tamis_status ml_dense_random_from(const tamis_model *model, const tamis_dense *dense, int64_t first, uint64_t stream,
                                  double low, double high) {
    tamis_owned_dense *array;
    TRY(tamis_owned_dense_create(first + dense->rows, dense->cols, dense->type, TAMIS_ROW_MAJOR, &array));
    const tamis_dense *const all = tamis_owned_dense_view(array);
    /* a different seed for each matrix of a model */
    tamis_status status = tamis_fill_uniform(all, tamis_random_at(model->options.seed, stream, 0), low, high);
    if (status == TAMIS_OK && dense->rows > 0)
        status =
            ml_dense_write(model, dense, (char *)all->data + (size_t)(first * all->cols) * tamis_type_size(all->type));
    tamis_owned_dense_free(array);
    return status;
}

tamis_status ml_dense_random(const tamis_model *model, const tamis_dense *dense, uint64_t stream, double low,
                             double high) {
    return ml_dense_random_from(model, dense, 0, stream, low, high);
}

tamis_status ml_values_make(const tamis_model *model, int64_t count, void **values) {
    *values = NULL;
    const size_t bytes = tamis_bytes(count, tamis_type_size(model->options.type));
    return bytes > 0 ? tamis_device_allocate(model->device, bytes, values) : TAMIS_OK;
}

tamis_dense ml_values_view(const tamis_model *model, void *values, int64_t count) {
    return (tamis_dense){.data = values,
                         .rows = count,
                         .cols = 1,
                         .stride = 1,
                         .type = model->options.type,
                         .layout = TAMIS_ROW_MAJOR,
                         .location = model->location};
}

/* ------------------------------------------------------------------------------------------ sparse */

/* Copies host memory to the device; zero bytes need none. */
static tamis_status upload(const tamis_model *model, const void *host, size_t bytes, void **memory) {
    *memory = NULL;
    if (bytes == 0) return TAMIS_OK;
    TRY(tamis_device_allocate(model->device, bytes, memory));
    return tamis_device_upload(model->device, NULL, *memory, 0, host, bytes);
}

tamis_status ml_sparse_convert(const tamis_model *model, const tamis_sparse *S, bool transpose, ml_sparse *placed) {
    tamis_convert_options options = ml_conversion(model, S);
    options.transpose = transpose;
    TRY(tamis_convert(S, &options, &placed->host));
    placed->view = *tamis_owned_sparse_view(placed->host);
    return TAMIS_OK;
}

tamis_status ml_sparse_send(const tamis_model *model, ml_sparse *placed) {
    if (model->location == TAMIS_HOST) return TAMIS_OK;
    tamis_sparse *const view = &placed->view;
    const size_t nnz = (size_t)view->nnz;
    TRY(upload(model, view->offsets, (size_t)(view->rows + 1) * tamis_index_size(view->offset_type), &placed->offsets));
    TRY(upload(model, view->columns, nnz * tamis_index_size(view->index_type), &placed->columns));
    TRY(upload(model, view->values, nnz * tamis_type_size(view->value_type), &placed->values));
    view->location = model->location;
    view->offsets = placed->offsets;
    view->columns = placed->columns;
    view->values = placed->values;
    return TAMIS_OK;
}

tamis_status ml_sparse_place(const tamis_model *model, const tamis_sparse *S, bool transpose, ml_sparse *placed) {
    *placed = (ml_sparse){0};
    tamis_status status;
    TRY_GOTO(failed, ml_sparse_convert(model, S, transpose, placed));
    TRY_GOTO(failed, ml_sparse_send(model, placed));
    return TAMIS_OK;
failed:
    ml_sparse_free(model, placed);
    return status;
}

tamis_status ml_sparse_place_rows(const tamis_model *model, const tamis_sparse *S, int64_t first, int64_t count,
                                  bool transpose, ml_sparse *placed) {
    *placed = (ml_sparse){0};
    const int64_t *const all = S->offsets;
    int64_t *offsets;
    TRY(tamis_allocate(count + 1, sizeof *offsets, "the offsets of a mini-batch", (void **)&offsets));
    for (int64_t i = 0; i <= count; i++) offsets[i] = all[first + i] - all[first];
    tamis_sparse part = *S;
    part.rows = count;
    part.nnz = offsets[count];
    part.offsets = offsets;
    part.columns = (const char *)S->columns + (size_t)all[first] * tamis_index_size(S->index_type);
    part.values = (const char *)S->values + (size_t)all[first] * tamis_type_size(S->value_type);
    const tamis_status status = ml_sparse_place(model, &part, transpose, placed);
    tamis_release(offsets);
    return status;
}

void ml_sparse_free(const tamis_model *model, ml_sparse *placed) {
    if (placed->offsets) tamis_device_free(model->device, placed->offsets);
    if (placed->columns) tamis_device_free(model->device, placed->columns);
    if (placed->values) tamis_device_free(model->device, placed->values);
    tamis_group_rows_destroy(placed->others);
    tamis_owned_sparse_free(placed->host);
    *placed = (ml_sparse){0};
}

double ml_lambda_weight(const tamis_model *model, int64_t count) {
    const double prior = model->prior_ratings;
    if (!model->options.weighted) return 1;
    return prior > 0 ? (double)count + prior : count > 1 ? (double)count : 1;
}

/* Computes the number of nonzeros of each row, or (weights) factor times its weight of lambda. */
static tamis_status row_numbers(const tamis_model *model, const ml_sparse *S, bool weights, double factor,
                                tamis_dense *made) {
    const tamis_sparse *const host = tamis_owned_sparse_view(S->host);
    *made = (tamis_dense){0};
    void *numbers;
    const size_t size = tamis_type_size(model->options.type);
    TRY(tamis_allocate(host->rows, size, "a number of each row", &numbers));
    for (int64_t i = 0; i < host->rows; i++) {
        const int64_t count = ml_offset(host, i + 1) - ml_offset(host, i);
        ml_put_number(numbers, model->options.type, i,
                      weights ? factor * ml_lambda_weight(model, count) : (double)count);
    }
    tamis_status status = ml_dense_make(model, host->rows, 1, made);
    if (status == TAMIS_OK) status = ml_dense_write(model, made, numbers);
    if (status != TAMIS_OK) ml_dense_free(model, made);
    tamis_release(numbers);
    return status;
}

tamis_status ml_row_counts(const tamis_model *model, const ml_sparse *S, tamis_dense *counts) {
    return row_numbers(model, S, false, 1, counts);
}

tamis_status ml_row_lambdas(const tamis_model *model, const ml_sparse *S, tamis_dense *lambdas) {
    return row_numbers(model, S, true, ml_lambda(model), lambdas);
}

tamis_status ml_row_weights(const tamis_model *model, const ml_sparse *S, tamis_dense *weights) {
    return row_numbers(model, S, true, 1, weights);
}
