/* The factors with which a fit begins. */
#include "ml/fit/first.h"

#include <math.h>

#include "base/scope.h"
#include "ml/fit/group.h"
#include "ml/model.h"

/* Sets the factors of rows without entries to 0. */
static tamis_status zero_unused(const tamis_model *model, const ml_sparse *S, const tamis_dense *factors) {
    tamis_device *const device = model->device;
    tamis_dense used;
    TAMIS_SCOPE;
    TRY(ml_row_counts(model, S, &used));
    TRY(tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 0, 1, &used, NULL, &used));
    TRY(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, &used, 0, factors, 0, factors));
    return tamis_stream_synchronize(device, NULL);
}

tamis_status ml_first_factors(const tamis_model *model, const ml_sparse *rows, const ml_sparse *columns) {
    const tamis_dense *const X = &model->row_factors, *const Y = &model->column_factors;
    if (model->iterations_done == 0) {
        const double size = 1 / sqrt((double)model->options.factors);
        TRY(tamis_dense_fill(model->device, NULL, X, 0));
        TRY(ml_dense_random_from(model, Y, ml_first_column(model), 1, -size, size));
    } else if (model->iterations_done >= model->options.iterations) {
        return TAMIS_OK;
    } else {
        TRY(zero_unused(model, rows, X));
    }
    return zero_unused(model, columns, Y);
}
