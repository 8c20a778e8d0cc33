#include "core/operand.h"

#include "base/status.h"
#include "sparse/check.h"

/* True if batch members that begin `batch_stride` elements apart share no element: each begins after the end of the
   previous one, or all of them are interleaved within each line. */
static bool members_apart(const tamis_dense *X, int64_t batch_stride, int64_t batch) {
    const bool row_major = X->layout == TAMIS_ROW_MAJOR;
    const int64_t lines = row_major ? X->rows : X->cols, length = row_major ? X->cols : X->rows;
    const int64_t stride = tamis_dense_stride(X);
    int64_t extent, width;
    if (lines == 0 || length == 0) return true;
    extent = (lines - 1) * stride + length; /* cannot overflow: the view has been checked */
    if (batch_stride >= extent) return true;
    return batch_stride >= length && !__builtin_mul_overflow(batch_stride, batch, &width) &&
           (lines == 1 || width <= stride);
}

static tamis_status check_layout(const tamis_operand *x) {
    const tamis_layout layout = x->view->layout;
    if (x->option && layout != x->layout)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.layout = %s, but the plan was made for %s: set options.%s", x->name,
                          tamis_layout_name(layout), tamis_layout_name(x->layout), x->option);
    if (x->packed && x->rows > 1 && layout == TAMIS_ROW_MAJOR && tamis_dense_stride(x->view) != 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.stride = %lld: samples are packed, expected 1 or 0", x->name,
                          (long long)x->view->stride);
    return TAMIS_OK;
}

tamis_status tamis_operand_check(const tamis_device *device, const tamis_operand *x) {
    const int64_t batch = x->batch ? x->batch : 1;
    if (!x->view && x->optional) return TAMIS_OK;
    if (!x->view)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected a matrix of %lld x %lld%s%s", x->name,
                          (long long)x->rows, (long long)x->cols, x->why ? ", which " : "", x->why ? x->why : "");
    TRY(tamis_device_check(device));
    if (x->rows_only && x->view->layout == TAMIS_COLUMN_MAJOR)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "%s.layout = %s: this call takes row-major views, so transpose the matrix into one", x->name,
                          tamis_layout_name(x->view->layout));
    if (x->view->location == TAMIS_HOST || x->view->location == TAMIS_DEVICE)
        TRY(tamis_device_check_location(device, x->view->location, x->name));
    TRY(tamis_dense_check_at(x->view, x->name, x->rows, x->cols, x->type, device->backend->location, batch));
    TRY(check_layout(x));
    if (x->rows > 0 && x->cols > 0 && tamis_device_asks_for_places())
        TRY(tamis_device_check_place(device, x->view->data, x->name));
    if (x->output && batch > 1 && !members_apart(x->view, x->view->batch_stride, batch))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.batch_stride = %lld: the %lld outputs of the batch would overlap",
                          x->name, (long long)x->view->batch_stride, (long long)batch);
    return TAMIS_OK;
}

static tamis_status check_apart(const tamis_device *device, const tamis_operand *const *all, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            if (i != j && all[i]->output && (j > i || !all[j]->output))
                TRY(tamis_check_apart(device->backend->handles, all[i], all[j]));
    return TAMIS_OK;
}

tamis_status tamis_operands_check(const tamis_device *device, const tamis_operand *const *all, int count) {
    for (int i = 0; i < count; i++) TRY(tamis_operand_check(device, all[i]));
    return check_apart(device, all, count);
}

tamis_matrix tamis_matrix_of(const tamis_dense *X) {
    if (!X) return (tamis_matrix){.stride = 0};
    return (tamis_matrix){.at = {X->data, 0}, .stride = tamis_dense_stride(X)};
}
