/*
 * Matrices on the device: packed dense ones of the model's type, and sparse ones as CSR, with their transpose if the
 * method needs it. The CPU uses the converted matrix itself; a GPU gets copies.
 */
#include "ml/fit/place.h"

#include "base/random.h"
#include "base/scope.h"
#include "base/sizes.h"
#include "group/collective.h"
#include "ml/data/canonical.h"
#include "ml/data/host.h"
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

tamis_status ml_dense_copy(const tamis_model *model, const tamis_dense *dense, tamis_dense *copy) {
    TRY(ml_host_make(dense->rows, dense->cols, dense->type, copy));
    return ml_dense_read(model, dense, copy->data);
}

tamis_status ml_dense_here(const tamis_model *model, const tamis_dense *dense, tamis_dense *here) {
    if (dense->location != TAMIS_HOST) return ml_dense_copy(model, dense, here);
    *here = *dense;
    return TAMIS_OK;
}

tamis_status ml_dense_write_doubles(const tamis_model *model, const tamis_dense *dense, const double *numbers) {
    TAMIS_SCOPE;
    const int64_t count = tamis_times(dense->rows, dense->cols);
    void *cast;
    TRY(tamis_scope_allocate(count, tamis_type_size(dense->type), "numbers for the device", &cast));
    for (int64_t i = 0; i < count; i++) ml_put_number(cast, dense->type, i, numbers[i]);
    return ml_dense_write(model, dense, cast);
}

tamis_status ml_dense_take_doubles(const tamis_model *model, const tamis_dense *dense, double *numbers) {
    TAMIS_SCOPE;
    tamis_dense host;
    TRY(ml_dense_here(model, dense, &host));
    for (int64_t i = 0; i < dense->rows * dense->cols; i++) numbers[i] = ml_number(host.data, dense->type, i);
    return TAMIS_OK;
}

tamis_status ml_dense_read_doubles(const tamis_model *model, const tamis_dense *dense, double **numbers) {
    TRY(tamis_allocate_array(tamis_times(dense->rows, dense->cols), "numbers of the device", *numbers));
    return ml_dense_take_doubles(model, dense, *numbers);
}

tamis_status ml_dense_random_from(const tamis_model *model, const tamis_dense *dense, int64_t first, uint64_t stream,
                                  double low, double high) {
    TAMIS_SCOPE;
    tamis_dense all;
    TRY(ml_host_make(first + dense->rows, dense->cols, dense->type, &all));
    /* a different seed for each matrix of a model */
    TRY(tamis_fill_uniform(&all, tamis_random_at(model->options.seed, stream, 0), low, high));
    if (dense->rows == 0) return TAMIS_OK;
    return ml_dense_write(model, dense, (char *)all.data + (size_t)(first * all.cols) * tamis_type_size(all.type));
}

tamis_status ml_dense_random(const tamis_model *model, const tamis_dense *dense, uint64_t stream, double low,
                             double high) {
    return ml_dense_random_from(model, dense, 0, stream, low, high);
}

static void free_on_device(void *device, void *memory) { tamis_device_free(device, memory); }

static tamis_status own_on_device(const tamis_model *model, void *memory) {
    return tamis_scope_own_of(free_on_device, model->device, memory);
}

tamis_status ml_scratch(const tamis_model *model, int64_t rows, int64_t cols, tamis_dense *dense) {
    TRY(ml_dense_make(model, rows, cols, dense));
    return own_on_device(model, dense->data);
}

tamis_status ml_values_make(const tamis_model *model, int64_t count, void **values) {
    *values = NULL;
    const size_t bytes = tamis_bytes(count, tamis_type_size(model->options.type));
    if (bytes == 0) return TAMIS_OK;
    TRY(tamis_device_allocate(model->device, bytes, values));
    return own_on_device(model, *values);
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

tamis_status ml_on_device(const tamis_model *model, int64_t entries, size_t size, const void **memory) {
    const void *const host = *memory;
    const size_t bytes = tamis_bytes(entries, size);
    void *made;
    if (bytes == 0 || !host) return TAMIS_OK;
    TRY(tamis_device_allocate(model->device, bytes, &made));
    TRY(own_on_device(model, made));
    *memory = made;
    return tamis_device_upload(model->device, NULL, made, 0, host, bytes);
}

tamis_status ml_sparse_convert(const tamis_model *model, const tamis_sparse *S, bool transpose, ml_sparse *placed) {
    tamis_convert_options options = ml_conversion(model, S);
    options.transpose = transpose;
    TRY(ml_converted(S, &options, &placed->host));
    placed->view = placed->host;
    return TAMIS_OK;
}

tamis_status ml_sparse_send(const tamis_model *model, ml_sparse *placed) {
    if (model->location == TAMIS_HOST) return TAMIS_OK;
    tamis_sparse *const view = &placed->view;
    TRY(ml_on_device(model, view->rows + 1, tamis_index_size(view->offset_type), &view->offsets));
    TRY(ml_on_device(model, view->nnz, tamis_index_size(view->index_type), &view->columns));
    TRY(ml_on_device(model, view->nnz, tamis_type_size(view->value_type), &view->values));
    view->location = model->location;
    return TAMIS_OK;
}

tamis_status ml_sparse_place(const tamis_model *model, const tamis_sparse *S, bool transpose, ml_sparse *placed) {
    *placed = (ml_sparse){0};
    TRY(ml_sparse_convert(model, S, transpose, placed));
    return ml_sparse_send(model, placed);
}

tamis_status ml_sparse_place_rows(const tamis_model *model, const tamis_sparse *S, int64_t first, int64_t count,
                                  bool transpose, ml_sparse *placed) {
    *placed = (ml_sparse){0};
    const int64_t *const all = S->offsets;
    int64_t *offsets;
    TRY(tamis_allocate_array(count + 1, "the offsets of a mini-batch", offsets));
    for (int64_t i = 0; i <= count; i++) offsets[i] = all[first + i] - all[first];
    tamis_sparse part = *S;
    part.rows = count;
    part.nnz = offsets[count];
    part.offsets = offsets;
    part.columns = (const char *)S->columns + (size_t)all[first] * tamis_index_size(S->index_type);
    part.values = (const char *)S->values + (size_t)all[first] * tamis_type_size(S->value_type);
    TRY(ml_sparse_place(model, &part, transpose, placed));
    tamis_scope_drop(offsets); /* of each mini-batch of a fit */
    return TAMIS_OK;
}

double ml_lambda_weight(const tamis_model *model, int64_t count) {
    const double prior = model->prior_ratings;
    if (!model->options.weighted) return 1;
    return prior > 0 ? (double)count + prior : count > 1 ? (double)count : 1;
}

/* Computes the number of nonzeros of each row, or (weights) factor times its weight of lambda. */
static tamis_status row_numbers(const tamis_model *model, const ml_sparse *S, bool weights, double factor,
                                tamis_dense *made) {
    const tamis_sparse *const host = &S->host;
    double *numbers;
    TRY(ml_scratch(model, host->rows, 1, made));
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(host->rows, "a number of each row", numbers));
    for (int64_t i = 0; i < host->rows; i++) {
        const int64_t count = ml_offset(host, i + 1) - ml_offset(host, i);
        numbers[i] = weights ? factor * ml_lambda_weight(model, count) : (double)count;
    }
    return ml_dense_write_doubles(model, made, numbers);
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
