/*
 * EASE (Steck 2019, "Embarrassingly shallow autoencoders"): the weights B of pairs of columns, with a diagonal of
 * zeros, that minimise |X - X B|^2 + lambda |B|^2. With P = (X^T X + lambda)^-1 they are B_ij = -P_ij / P_jj. The
 * scores of a row are its line of X B, one SpMM.
 *
 * X^T X is computed by SpMM, some columns at a time (items.c), and its inverse in double by inverse.c: columns^3
 * operations, and 4 bytes for each pair beside its weight. Lambda 0 means a share of
 * twice the largest eigenvalue that X^T X would have if uses were noise (noise.c), found by an inner split of the
 * columns with the most uses (choose.c).
 *
 * With `neighbours` each column takes weights from so many others alone (local.c). It is the choice for more than
 * EXACT_MOST columns.
 */
#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/methods/inverse.h"
#include "ml/methods/items.h"
#include "ml/methods/local.h"
#include "ml/methods/method.h"
#include "ml/methods/noise.h"
#include "ml/methods/weights.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/lists.h"
#include "ml/serve/popular.h"

enum { EXACT_MOST = 1 << 14, COLUMNS_MOST = 1 << 15, CHOICE_COLUMNS = 2048, NEIGHBOURS = 128 };

static void defaults(tamis_model_options *options) {
    options->factors = 1;
    options->iterations = 1;
    options->regularization = 0; /* a share of the diagonal */
    options->weights = TAMIS_WEIGHTS_ONES;
    options->neighbours = TAMIS_NEIGHBOURS_AUTO;
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_lambda(options));
    if (options->weights == TAMIS_WEIGHTS_BM25)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "weights = bm25: ease has linear, log or ones");
    TRY(ml_lists_check_option(options, TAMIS_NEIGHBOURS_AUTO));
    return ml_weights_check(options, TAMIS_WEIGHTS_ONES);
}

static tamis_status prepare(tamis_model *model, tamis_sparse *data, bool fit) {
    if (fit) TRY(ml_popular_learn(model, data));
    return ml_weights_apply(model, data, fit);
}

static ml_lists_kind lists(const tamis_model_options *options) {
    return options->neighbours > 0 ? ML_LISTS_TAKEN : ML_LISTS_NONE;
}

static int64_t column_width(const tamis_model_options *options, int64_t cols) {
    return options->neighbours > 0 ? 2 * (int64_t)options->neighbours : cols;
}

static tamis_status check_kept(const char *path, const tamis_model *model, const tamis_dense *kept) {
    if (ml_has_lists(model)) return ml_lists_check(path, kept);
    for (int64_t i = 0; i < kept->rows; i++)
        for (int64_t j = 0; j < kept->cols; j++)
            if (!isfinite(ml_element(kept, i, j)))
                return tamis_fail(TAMIS_ERROR_FORMAT, "%s: column_factors(%lld, %lld) = %g, expected a finite number",
                                  path, (long long)i, (long long)j, ml_element(kept, i, j));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ fitting */

typedef struct ease {
    ml_local *local; /* with neighbours; then it has nothing else */
    ml_items items;
    ml_inverse inverse;
    double *diagonal; /* of the inverse */
    void *lines;      /* of weights, for the device */
} ease;

static int neighbours_for(int asked, int64_t cols) {
    return asked != TAMIS_NEIGHBOURS_AUTO ? asked : cols > EXACT_MOST ? NEIGHBOURS : 0;
}

/* Fails if there are too many columns, or if their weights do not fit in memory. */
static tamis_status check_columns(const tamis_model *model, int64_t cols) {
    static const double GB = 1e9;
    const int neighbours = neighbours_for(model->asked.neighbours, cols);
    tamis_device_description description;
    double bytes;
    if (neighbours == 0 && cols > COLUMNS_MOST)
        return tamis_fail(
            TAMIS_ERROR_UNSUPPORTED,
            "S.cols = %lld: with neighbours = 0 ease keeps a weight for each pair of at most %d columns: use "
            "neighbours = %d",
            (long long)cols, COLUMNS_MOST, NEIGHBOURS);
    if (cols > ML_LISTS_COLUMNS_MOST)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "S.cols = %lld: ease has at most %d columns", (long long)cols,
                          ML_LISTS_COLUMNS_MOST);
    TRY(tamis_device_describe(model->device, &description));
    if (neighbours > 0) {
        int threads;
        TRY(ml_host_threads(model, &threads));
        bytes = ml_local_bytes(model, neighbours, cols, threads);
    } else {
        bytes = (double)cols * (double)cols * (double)tamis_type_size(model->options.type) + ml_inverse_bytes(cols);
    }
    const double memory = (double)description.memory;
    if (memory <= 0 || bytes <= memory) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_MEMORY,
                      "S.cols = %lld: ease needs %.3g GB for weights of pairs of columns, but %s has %.3g GB: use "
                      "%s",
                      (long long)cols, bytes / GB, description.name, memory / GB,
                      neighbours > 0 ? "fewer neighbours" : "neighbours or item-knn");
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    const int64_t n = data->cols, panel = n < ML_INVERSE_PANEL ? n : ML_INVERSE_PANEL;
    double squares = 0;
    ease *work;
    TRY(check_columns(model, n));
    TRY(tamis_allocate_zeros(1, "the work of ease", work));
    model->work = work;
    TRY(ml_items_factors(model, n, column_width(&model->options, n)));
    for (int64_t t = 0; t < data->nnz; t++) squares += ml_value(data, t) * ml_value(data, t);
    if (ml_finds_lambda(model)) TRY(ml_noise_of_pairs(model, squares));
    if (ml_has_lists(model)) return ml_local_make(model, data, &work->local);
    TRY(ml_inverse_make(model, n, &work->inverse));
    TRY(tamis_allocate_array(n, "a diagonal", work->diagonal));
    TRY(tamis_scope_allocate(tamis_times(panel, n), tamis_type_size(model->options.type), "weights of pairs of columns",
                             &work->lines));
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
    if (work->local) return ml_local_fit(model, work->local);
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
    if (ml_has_lists(model)) return ml_lists_transform(model, data, W);
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
    {"neighbours",
     "items from which each item takes weights; 0: from all; -1: 128 with more than 16,384 items, else all"},
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
    .neighbours_for = neighbours_for,
    .states = {[ML_POPULARITY] = ML_POPULARITY_STATE},
    .defaults = defaults,
    .check = check,
    .check_kept = check_kept,
    .column_width = column_width,
    .prepare = prepare,
    .admits = check_columns,
    .begin = begin,
    .iterate = iterate,
    .transform = transform,
    .lists = lists,
    .similar = similar,
    .operands = ml_items_operands,
};
