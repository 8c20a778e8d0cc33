/*
 * Data in canonical form: checked CSR with sorted columns, no duplicates, and values always present. Also the
 * statistics of data that a model keeps, and the data's fingerprint.
 */
#include "ml/data/canonical.h"

#include <math.h>

#include "base/fnv.h"
#include "base/scope.h"
#include "ml/data/host.h"
#include "ml/data/rows.h"
#include "ml/model.h"
#include "ml/numbers.h"

tamis_status ml_check_values(const tamis_sparse *S, bool counts, const char *what) {
    for (int64_t t = 0; t < S->nnz; t++) {
        const double value = ml_value(S, t);
        if (isfinite(value) && !(counts && value < 0)) continue;
        const int64_t row = tamis_index_first(S->offsets, TAMIS_I64, 1, S->rows, t + 1) - 1;
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s has the value %g at row %lld, column %lld: %s", what, value,
                          (long long)row, (long long)ml_column(S, t),
                          isfinite(value) ? "counts cannot be negative" : "expected a finite number");
    }
    return TAMIS_OK;
}

/* Numbers the entries of each row by their values, from 1; equal values get equal numbers. values: of the data, in
   double, since times are too large for fp32. */
static tamis_status number_entries(const tamis_sparse *values, tamis_sparse *data) {
    ml_place *places;
    TRY(tamis_allocate_array(ml_longest_row(data), "a row", places));
    for (int64_t i = 0; i < data->rows; i++) {
        const int64_t count = ml_sort_row(values, i, places);
        for (int64_t k = 0, number = 1; k < count; k++) {
            if (k > 0 && places[k].value > places[k - 1].value) number = k + 1;
            ml_put_number((void *)(uintptr_t)data->values, data->value_type, places[k].at, (double)number);
        }
    }
    tamis_scope_drop(places);
    return TAMIS_OK;
}

tamis_convert_options ml_conversion(const tamis_model *model, const tamis_sparse *S) {
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.format = TAMIS_CSR;
    options.index_type = S->rows > INT32_MAX || S->cols > INT32_MAX ? TAMIS_I64 : TAMIS_I32;
    options.offset_type = S->nnz > INT32_MAX ? TAMIS_I64 : TAMIS_I32;
    options.value_type = model->options.type;
    options.values = TAMIS_VALUES_ONES;
    options.duplicates = model->method->about.ordered ? TAMIS_DUPLICATES_LAST : TAMIS_DUPLICATES_SUM;
    options.sort = true;
    return options;
}

tamis_status ml_canonical(const tamis_model *model, const tamis_sparse *S, const char *what, tamis_sparse *data) {
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", what);
    if (S->location != TAMIS_HOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.location = device: models need data in host memory", what);
    if (model->cols > 0 && S->cols != model->cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.cols = %lld, the model has %lld columns", what, (long long)S->cols,
                          (long long)model->cols);
    if (S->cols < 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.cols = %lld, expected 1 or more", what, (long long)S->cols);
    tamis_convert_options options = ml_conversion(model, S);
    options.offset_type = TAMIS_I64;
    TRY(ml_converted(S, &options, data));
    const bool counts = model->method->about.data == TAMIS_DATA_COUNTS;
    if (!model->method->about.ordered) return ml_check_values(data, counts, what);
    tamis_sparse values;
    options.value_type = TAMIS_F64;
    TRY(ml_converted(S, &options, &values));
    TRY(ml_check_values(&values, counts, what));
    return number_entries(&values, data);
}

/* A fit that continues compares the sums, to detect other data. */
uint64_t ml_former_sum(const tamis_sparse *S) {
    const int64_t sizes[] = {S->rows, S->cols, S->nnz};
    uint64_t sum = tamis_fnv_words(TAMIS_FNV_START, sizes, sizeof sizes);
    sum = tamis_fnv_words(sum, S->offsets, (size_t)(S->rows + 1) * sizeof(int64_t));
    sum = tamis_fnv_words(sum, S->columns, (size_t)S->nnz * tamis_index_size(S->index_type));
    sum = tamis_fnv_words(sum, S->values, (size_t)S->nnz * tamis_type_size(S->value_type));
    return sum > 0 ? sum : 1;
}

/* Each row has its own sum, and these are added: so the sums of several ranks add up to the whole's. */
uint64_t ml_rows_sum(const tamis_sparse *S, int64_t first) {
    const int64_t *const offsets = S->offsets;
    uint64_t total = 0;
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t row = first + i;
        uint64_t sum = tamis_fnv_words(TAMIS_FNV_START, &row, sizeof row);
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) {
            const int64_t column = ml_column(S, t);
            const double value = ml_value(S, t);
            sum = tamis_fnv_words(sum, &column, sizeof column);
            sum = tamis_fnv_words(sum, &value, sizeof value);
        }
        total += sum;
    }
    return total;
}

uint64_t ml_data_sum(int64_t rows, int64_t cols, int64_t nnz, uint64_t rows_sum) {
    const int64_t sizes[] = {rows, cols, nnz};
    uint64_t sum = tamis_fnv_words(TAMIS_FNV_START, sizes, sizeof sizes);
    sum = tamis_fnv_words(sum, &rows_sum, sizeof rows_sum);
    return sum > 0 ? sum : 1;
}

static double largest_of(const tamis_model *model) { return fmax(fabs(model->least), fabs(model->most)); }

double ml_squares(const tamis_model *model, const tamis_sparse *S) {
    const double largest = largest_of(model), centre = ml_centre(model);
    double squares = 0;
    if (model->method->about.data != TAMIS_DATA_RATINGS || largest == 0) return 0;
    for (int64_t t = 0; t < S->nnz; t++) {
        const double part = (ml_value(S, t) - centre) / largest; /* scaled, as squares of ratings may overflow */
        squares += part * part;
    }
    return squares;
}

/* Returns the scale of ratings: their standard deviation, or their size if they are equal up to rounding. */
double ml_scale_of(const tamis_model *model, double squares, int64_t nnz) {
    const double largest = largest_of(model);
    if (model->method->about.data != TAMIS_DATA_RATINGS || largest == 0) return 1;
    const double share = sqrt(squares / (double)nnz);
    return share > 1e-6 ? share * largest : largest;
}

void ml_describe_data(tamis_model *model, const tamis_sparse *S) {
    model->rows = model->nnz = model->cols = 0;
    ml_describe_more(model, S);
}

void ml_describe_more(tamis_model *model, const tamis_sparse *S) {
    const bool first = model->nnz == 0;
    double sum = 0;
    if (first) {
        model->least = S->nnz > 0 ? INFINITY : 0;
        model->most = S->nnz > 0 ? -INFINITY : 0;
    }
    for (int64_t t = 0; t < S->nnz; t++) {
        const double value = ml_value(S, t);
        sum += value;
        model->least = fmin(model->least, value);
        model->most = fmax(model->most, value);
    }
    model->rows += S->rows;
    model->cols = S->cols;
    model->nnz += S->nnz;
    if (!first) return; /* later mini-batches use the same mean and scale */
    model->mean = S->nnz > 0 ? sum / (double)S->nnz : 0;
    model->scale = ml_scale_of(model, ml_squares(model, S), S->nnz);
}
