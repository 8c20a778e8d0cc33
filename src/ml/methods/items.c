/* See items.h. */
#include "ml/methods/items.h"

#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/fit/loop.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/lists.h"

enum { ENTRIES = 1 << 23, BLOCK_LEAST = 8, BLOCK_MOST = 256 }; /* sizes of a block of X's columns */

tamis_status ml_items_make(tamis_model *model, const tamis_sparse *data, ml_items *items) {
    const size_t size = tamis_type_size(model->options.type);
    const int64_t rows = data->rows > data->cols ? data->rows : data->cols, fits = ENTRIES / (rows > 0 ? rows : 1);
    items->block = fits < BLOCK_LEAST ? BLOCK_LEAST : fits > BLOCK_MOST ? BLOCK_MOST : fits;
    if (items->block > data->cols) items->block = data->cols;
    const int64_t blocks = (data->cols + items->block - 1) / items->block;
    TRY(ml_times_reserve(model, (double)blocks));
    TRY(ml_sparse_place(model, data, true, &items->turned));
    TRY(ml_plan(model, &items->turned.view, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, items->block, blocks, &items->plan));
    TRY(ml_scratch(model, data->rows, items->block, &items->B));
    TRY(ml_scratch(model, data->cols, items->block, &items->C));
    TRY(tamis_scope_allocate_zeroed(tamis_times(data->rows, items->block), size, "columns", &items->host_B));
    return tamis_scope_allocate(tamis_times(data->cols, items->block), size, "products of columns", &items->host_C);
}

/* Writes columns of X into host_B, or zeros in their places. */
static void put_columns(const ml_items *items, int64_t first, bool zeros) {
    const tamis_sparse *const T = &items->turned.host;
    for (int64_t j = first; j < T->rows && j < first + items->block; j++)
        for (int64_t t = ml_offset(T, j); t < ml_offset(T, j + 1); t++)
            ml_put_number(items->host_B, T->value_type, ml_column(T, t) * items->block + (j - first),
                          zeros ? 0 : ml_value(T, t));
}

tamis_status ml_items_products(tamis_model *model, ml_items *items, int64_t first) {
    put_columns(items, first, false);
    const tamis_status status = ml_dense_write(model, &items->B, items->host_B);
    put_columns(items, first, true);
    TRY(status);
    TRY(ml_spmm(model, items->plan, &items->B, 1, 0, &items->C));
    return ml_dense_read(model, &items->C, items->host_C);
}

tamis_status ml_items_go_on(tamis_model *model, int64_t done, int64_t all) {
    if (done >= all) return TAMIS_OK; /* the iteration's own report follows */
    ml_tell_batch(model, done, all);
    if (!model->stopped) return TAMIS_OK;
    ml_model_empty(model);
    return tamis_fail(TAMIS_ERROR_CANCELLED, "stopped after %d %% of the fit: there is no model yet",
                      (int)(100.0 * (double)done / (double)all));
}

tamis_status ml_items_factors(tamis_model *model, int64_t cols, int64_t width) {
    tamis_dense *const kept = &model->column_factors;
    model->width = cols;
    TRY(ml_model_workspace(model));
    if (kept->rows == cols && kept->cols == width && kept->data) return TAMIS_OK;
    ml_dense_free(model, kept);
    TRY(ml_dense_make(model, cols, width, kept));
    return tamis_dense_fill(model->device, NULL, kept, ml_has_lists(model) ? -1 : 0); /* callbacks may use it */
}

tamis_status ml_items_operands(tamis_model *model, const tamis_dense *W, ml_operands *made) {
    *made = (ml_operands){.direct = true, .scale = 1, .least = -INFINITY, .most = INFINITY};
    made->A = (ml_operand){.host = *W};
    made->B = (ml_operand){.host = {.rows = model->cols, .cols = model->cols, .type = model->options.type}};
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ lists of columns */

ml_lists_kind ml_items_give_lists(const tamis_model_options *options) {
    (void)options;
    return ML_LISTS_GIVEN;
}

tamis_status ml_items_check_lists(const char *path, const tamis_model *model, const tamis_dense *kept) {
    (void)model;
    return ml_lists_check(path, kept);
}

int64_t ml_items_lists_width(const tamis_model_options *options, int64_t cols) {
    (void)cols;
    return 2 * (int64_t)options->neighbours;
}

tamis_status ml_items_admit_lists(const tamis_model *model, int64_t cols) {
    if (cols <= ML_LISTS_COLUMNS_MOST) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "S.cols = %lld, %s has at most %d columns", (long long)cols,
                      model->method->about.name, ML_LISTS_COLUMNS_MOST);
}

tamis_status ml_items_begin_lists(tamis_model *model, int64_t cols) {
    TRY(ml_items_admit_lists(model, cols));
    return ml_items_factors(model, cols, ml_items_lists_width(&model->options, cols));
}

void ml_items_put_list(const tamis_model *model, void *lines, int64_t at, int64_t kept, const int64_t *columns,
                       const double *weights) {
    const int64_t n = model->options.neighbours, line = at * 2 * n;
    for (int64_t k = 0; k < n; k++) {
        ml_put_number(lines, model->options.type, line + k, k < kept ? (double)columns[k] : -1);
        ml_put_number(lines, model->options.type, line + n + k, k < kept ? weights[k] : 0);
    }
}
