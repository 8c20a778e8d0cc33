/*
 * Sums that stay on the device, so that nothing waits for them. The dots of tamis/dense.h return their results to the
 * host, which suits the end of an iteration; in the middle of one, the wait would leave a GPU idle.
 *
 * A vector has one number a row, a shape without sums along rows. So vectors are padded with zeros to a multiple of
 * LINE numbers and are also used as a matrix with rows of LINE numbers.
 */
#include "ml/fit/sums.h"

#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"

enum { LINE = 64 };

static int64_t lines_of(int64_t count) { return count / LINE + (count % LINE > 0); }

int64_t ml_vector_scratch(int64_t count) { return lines_of(count); }

static tamis_dense lines_view(const tamis_dense *vector) {
    tamis_dense lines = *vector;
    lines.rows = lines_of(vector->rows);
    lines.cols = lines.stride = LINE;
    return lines;
}

tamis_status ml_vector_make(const tamis_model *model, int64_t count, tamis_dense *vector) {
    TRY(ml_scratch(model, lines_of(count), LINE, vector));
    const tamis_status status = tamis_dense_fill(model->device, NULL, vector, 0);
    vector->rows = count;
    vector->cols = vector->stride = 1;
    return status;
}

tamis_status ml_vector_first(const tamis_model *model, const tamis_dense *vector, int64_t count,
                             const tamis_dense *zeros, tamis_dense *first) {
    const size_t size = tamis_type_size(vector->type);
    const int64_t behind = lines_of(count) * LINE - count;
    *first = ml_first_rows(vector, count);
    return tamis_device_copy(model->device, NULL, vector->data, (size_t)count * size, zeros->data, 0,
                             (size_t)behind * size);
}

tamis_status ml_dot(const tamis_model *model, const tamis_dense *X, const tamis_dense *Y, const tamis_dense *scratch,
                    const tamis_dense *sum) {
    const tamis_dense dots = ml_first_rows(scratch, X->rows);
    TRY(tamis_dense_row_dots(model->device, NULL, X, Y, &dots));
    return tamis_dense_column_sums(model->device, NULL, model->workspace, &dots, sum);
}

tamis_status ml_vector_dot(const tamis_model *model, const tamis_dense *x, const tamis_dense *y,
                           const tamis_dense *scratch, const tamis_dense *sum) {
    const tamis_dense X = lines_view(x), Y = lines_view(y);
    return ml_dot(model, &X, &Y, scratch, sum);
}
