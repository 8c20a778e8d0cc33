/*
 * EASE (Steck 2019, "Embarrassingly shallow autoencoders"): the weights B of pairs of columns, with a diagonal of
 * zeros, that minimise |X - X B|^2 + lambda |B|^2. With P = (X^T X + lambda)^-1 they are B_ij = -P_ij / P_jj. The
 * scores of a row are its line of X B, one SpMM.
 *
 * X^T X is computed by SpMM, some columns at a time (items.c), and its inverse in double by inverse.c: columns^3
 * operations, and 4 bytes for each pair beside its weight. Lambda 0 means a share of
 * twice the largest eigenvalue that X^T X would have if uses were noise (noise.c), found by an inner split of the
 * columns with the most uses (choose.c).
 */
#include "base/scope.h"
#include "base/sizes.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/methods/inverse.h"
#include "ml/methods/items.h"
#include "ml/methods/method.h"
#include "ml/methods/noise.h"
#include "ml/methods/weights.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/popular.h"

enum { COLUMNS_MOST = 1 << 15, CHOICE_COLUMNS = 2048 };

static void defaults(tamis_model_options *options) {
    options->factors = 1;
    options->iterations = 1;
    options->regularization = 0; /* a share of the diagonal */
    options->weights = TAMIS_WEIGHTS_ONES;
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_lambda(options));
    if (options->weights == TAMIS_WEIGHTS_BM25)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "weights = bm25: ease has linear, log or ones");
    return ml_weights_check(options, TAMIS_WEIGHTS_ONES);
}

static tamis_status prepare(tamis_model *model, tamis_sparse *data, bool fit) {
    if (fit) TRY(ml_popular_learn(model, data));
    return ml_weights_apply(model, data, fit);
}

static int64_t column_width(const tamis_model_options *options, int64_t cols) {
    (void)options;
    return cols;
}

/* ------------------------------------------------------------------------------------------ fitting */

typedef struct ease {
    ml_items items;
    ml_inverse inverse;
    double *diagonal; /* of the inverse */
    void *lines;      /* of weights, for the device */
} ease;

/* Fails if there are too many columns, or if their pairs do not fit in the device's memory. */
static tamis_status check_columns(const tamis_model *model, int64_t cols) {
    static const double GB = 1e9;
    tamis_device_description description;
    if (cols > COLUMNS_MOST)
        return tamis_fail(
            TAMIS_ERROR_UNSUPPORTED,
            "S.cols = %lld: ease keeps a weight for each pair of columns, of which it has at most %d: use "
            "item-knn",
            (long long)cols, COLUMNS_MOST);
    TRY(tamis_device_describe(model->device, &description));
    const double pairs = (double)cols * (double)cols * (double)tamis_type_size(model->options.type);
    const double bytes = pairs + ml_inverse_bytes(cols), memory = (double)description.memory;
    if (memory <= 0 || bytes <= memory) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_MEMORY,
                      "S.cols = %lld: ease needs %.3g GB for weights of pairs of columns, but %s has %.3g GB: use "
                      "item-knn",
                      (long long)cols, bytes / GB, description.name, memory / GB);
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    const int64_t n = data->cols, panel = n < ML_INVERSE_PANEL ? n : ML_INVERSE_PANEL;
    double squares = 0;
    ease *work;
    TRY(check_columns(model, n));
    TRY(tamis_allocate_zeros(1, "the work of ease", work));
    model->work = work;
    TRY(ml_items_factors(model, n, n));
    TRY(ml_inverse_make(model, n, &work->inverse));
    TRY(tamis_allocate_array(n, "a diagonal", work->diagonal));
    TRY(tamis_scope_allocate(tamis_times(panel, n), tamis_type_size(model->options.type), "weights of pairs of columns",
                             &work->lines));
    for (int64_t t = 0; t < data->nnz; t++) squares += ml_value(data, t) * ml_value(data, t);
    if (ml_finds_lambda(model)) TRY(ml_noise_of_pairs(model, squares));
    return ml_items_make(model, data, &work->items);
}

/* Computes X^T X + lambda, whose columns come in blocks of other widths than panels. */
static tamis_status make_gram(tamis_model *model) {
    ease *const work = model->work;
    ml_inverse *const inverse = &work->inverse;
    const int64_t n = model->cols, block = work->items.block;
    for (int64_t j = 0; j < n; j++) {
        if (j % block == 0) TRY(ml_items_products(model, &work->items, j));
        const int64_t panel = j / ML_INVERSE_PANEL, width = ml_panel_width(inverse, panel), at = j % ML_INVERSE_PANEL;
        for (int64_t i = 0; i < ml_panel_first(panel) + width; i++)
            inverse->host_C[i * width + at] = ml_number(work->items.host_C, model->options.type, i * block + j % block);
        inverse->host_C[j * width + at] += ml_lambda(model);
        if (at == width - 1) TRY(ml_inverse_put(inverse, panel));
        if ((j + 1) % block == 0 || j + 1 == n) TRY(ml_items_go_on(model, j + 1, 2 * n));
    }
    return TAMIS_OK;
}

/* Writes the weights of a panel's columns for all others: lines of B, from columns of the inverse, which is symmetric.
 */
static tamis_status write_weights(tamis_model *model, int64_t panel) {
    ease *const work = model->work;
    const tamis_type type = model->options.type;
    const int64_t n = model->cols, width = ml_panel_width(&work->inverse, panel), first = ml_panel_first(panel);
    const size_t line = (size_t)n * tamis_type_size(type);
    TRY(ml_inverse_get(&work->inverse, panel));
    for (int64_t i = 0; i < width; i++)
        for (int64_t j = 0; j < n; j++)
            ml_put_number(work->lines, type, i * n + j,
                          j == first + i ? 0 : -work->inverse.host_C[j * width + i] / work->diagonal[j]);
    return tamis_device_upload(model->device, NULL, model->column_factors.data, (size_t)first * line, work->lines,
                               (size_t)width * line);
}

static tamis_status iterate(tamis_model *model) {
    ease *const work = model->work;
    ml_inverse *const inverse = &work->inverse;
    const int64_t n = model->cols;
    TRY(make_gram(model));
    for (int64_t k = 0; k < inverse->panels; k++) {
        TRY(ml_inverse_sweep(inverse, k, ml_lambda(model)));
        TRY(ml_items_go_on(model, n + ml_panel_first(k) + ml_panel_width(inverse, k), 2 * n));
    }
    TRY(ml_inverse_diagonal(inverse, work->diagonal));
    for (int64_t k = 0; k < inverse->panels; k++) TRY(write_weights(model, k));
    return TAMIS_OK;
}

static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    ml_sparse X;
    tamis_plan *plan;
    TRY(ml_times_reserve(model, 1));
    TRY(ml_sparse_place(model, data, false, &X));
    TRY(ml_plan(model, &X.view, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, model->cols, 1, &plan));
    TRY(ml_spmm(model, plan, &model->column_factors, 1, 0, W));
    return tamis_stream_synchronize(model->device, NULL);
}

static void similar(const tamis_dense *kept, int64_t column, ml_best *best) {
    for (int64_t j = 0; j < kept->cols; j++)
        if (ml_element(kept, column, j) != 0) ml_best_offer(best, j, ml_element(kept, column, j));
    ml_best_finish(best);
}

static const tamis_method_option own_options[] = {
    {"regularization", "lambda; 0: found by the noise of the data and an inner split"},
    {"weights", NULL},
    {NULL, NULL}};

const ml_method ml_ease = {
    .about = {.method = TAMIS_EASE,
              .data = TAMIS_DATA_USES,
              .name = "ease",
              .summary = "uses: a linear weight for each pair of items",
              .options = own_options,
              .pairs = true},
    .noise = true,
    .choice_columns = CHOICE_COLUMNS,
    .states = {[ML_POPULARITY] = ML_POPULARITY_STATE},
    .defaults = defaults,
    .check = check,
    .column_width = column_width,
    .prepare = prepare,
    .admits = check_columns,
    .begin = begin,
    .iterate = iterate,
    .transform = transform,
    .similar = similar,
    .operands = ml_items_operands,
};
