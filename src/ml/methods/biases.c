/* See biases.h. Computed on the host in double, once per fit or mini-batch. */
#include "ml/methods/biases.h"

#include "base/scope.h"
#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "sparse/check.h"

void ml_row_biases(const tamis_model *model, const tamis_sparse *data, const double *columns, double *rows) {
    const int64_t *const offsets = data->offsets;
    for (int64_t i = 0; i < data->rows; i++) {
        double sum = 0;
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
            sum += (ml_value(data, t) - model->mean) / model->scale - (columns ? columns[ml_column(data, t)] : 0);
        rows[i] = sum / ((double)(offsets[i + 1] - offsets[i]) + ML_BIAS_DAMPING);
    }
}

tamis_status ml_damped_biases(const tamis_model *model, const tamis_sparse *data, double *rows, double *columns) {
    const int64_t *const offsets = data->offsets;
    double *counts;
    TAMIS_SCOPE;
    TRY(tamis_allocate_zeros(data->cols, "ratings of each column", counts));
    for (int64_t t = 0; t < data->nnz; t++) counts[ml_column(data, t)] += 1;
    for (int round = 0; round < ML_BIAS_ROUNDS; round++) {
        ml_row_biases(model, data, round > 0 ? columns : NULL, rows);
        for (int64_t j = 0; j < data->cols; j++) columns[j] = 0;
        for (int64_t i = 0; i < data->rows; i++)
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
                columns[ml_column(data, t)] += (ml_value(data, t) - model->mean) / model->scale - rows[i];
        for (int64_t j = 0; j < data->cols; j++) columns[j] /= counts[j] + ML_BIAS_DAMPING;
    }
    return TAMIS_OK;
}

tamis_status ml_less_biases(const tamis_model *model, const tamis_sparse *data, const double *rows,
                            const double *columns, void **left) {
    const int64_t *const offsets = data->offsets;
    const double centre = ml_centre(model);
    TRY(tamis_scope_allocate(data->nnz, tamis_type_size(data->value_type), "ratings less biases", left));
    for (int64_t i = 0; i < data->rows; i++)
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) {
            const double biases = (rows ? rows[i] : 0) + (columns ? columns[ml_column(data, t)] : 0);
            ml_put_number(*left, data->value_type, t, (ml_value(data, t) - centre) / model->scale - biases);
        }
    return TAMIS_OK;
}

tamis_status ml_biases_squares(const tamis_model *model, const tamis_sparse *data, const tamis_sparse *entries,
                               double *squares) {
    double *rows;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(data->rows + data->cols, "biases", rows));
    const double *const columns = rows + data->rows;
    TRY(ml_damped_biases(model, data, rows, rows + data->rows));
    for (int64_t i = 0; i < entries->rows; i++)
        for (int64_t t = ml_offset(entries, i); t < ml_offset(entries, i + 1); t++) {
            const double rating = model->mean + model->scale * (rows[i] + columns[ml_column(entries, t)]);
            const double error = fmin(fmax(rating, model->least), model->most) - ml_value(entries, t);
            squares[t] = error * error;
        }
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the last column */

tamis_status ml_units_make(const tamis_model *model, ml_units *units) {
    const int64_t width = model->width;
    double numbers[1025] = {0};
    TRY(ml_scratch(model, width, 1, &units->first));
    TRY(ml_scratch(model, width, 1, &units->last));
    for (int last = 0; last < 2; last++) {
        for (int64_t j = 0; j < width; j++) numbers[j] = (j == width - 1) == (last == 1) ? 1 : 0;
        TRY(ml_dense_write_doubles(model, last ? &units->last : &units->first, numbers));
    }
    return TAMIS_OK;
}

tamis_dense ml_features(const tamis_model *model, const tamis_dense *factors) {
    tamis_dense features = *factors;
    features.stride = tamis_dense_stride(factors);
    features.cols = model->options.factors;
    return features;
}

/* On OpenCL a column cannot be a view, since it does not begin at the first byte. So it is extracted by a product with
   a unit vector. */
tamis_status ml_last_write(const tamis_model *model, const tamis_dense *factors, const double *numbers) {
    tamis_device *const device = model->device;
    ml_units units;
    tamis_dense column;
    TAMIS_SCOPE;
    TRY(ml_units_make(model, &units));
    TRY(ml_scratch(model, factors->rows, 1, &column));
    TRY(ml_dense_write_doubles(model, &column, numbers));
    tamis_dense last = units.last; /* as a row */
    last.cols = last.stride = last.rows;
    last.rows = 1;
    TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_COLUMNS, &units.first, 0, factors, 0, factors));
    TRY(tamis_dense_multiply(device, NULL, 1, &column, &last, 1, factors));
    return tamis_stream_synchronize(device, NULL);
}

tamis_status ml_last_read(const tamis_model *model, const tamis_dense *factors, double **numbers) {
    ml_units units;
    tamis_dense column;
    TRY(tamis_allocate_array(factors->rows, "biases", *numbers));
    TAMIS_SCOPE;
    TRY(ml_units_make(model, &units));
    TRY(ml_scratch(model, factors->rows, 1, &column));
    TRY(tamis_dense_multiply(model->device, NULL, 1, factors, &units.last, 0, &column));
    return ml_dense_take_doubles(model, &column, *numbers);
}
