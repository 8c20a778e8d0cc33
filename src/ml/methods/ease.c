/*
 * EASE (Steck 2019, "Embarrassingly shallow autoencoders"): the weights B of pairs of columns, with a diagonal of
 * zeros, that minimise |X - X B|^2 + lambda |B|^2. With P = (X^T X + lambda)^-1 they are B_ij = -P_ij / P_jj. The
 * scores of a row are its line of X B, one SpMM.
 *
 * X^T X is computed by SpMM, some columns at a time (items.c). The inverse is computed on the host in double by blocked
 * Gauss-Jordan elimination, without pivoting as the matrix is positive definite: 2 columns^3 operations, and 8 bytes
 * for each pair. Lambda 0 means a share of the mean of the diagonal, chosen by an inner split if there are few columns
 * (choose.c).
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "base/threads.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/methods/items.h"
#include "ml/methods/method.h"
#include "ml/methods/noise.h"
#include "ml/methods/weights.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/popular.h"

enum { COLUMNS_MOST = 1 << 15, CHOSEN_MOST = 1500, PANEL = 32 };

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

/* ------------------------------------------------------------------------------------------ the inverse */

typedef struct inverse {
    double *A, *R; /* A: n x n; R: the current panel times the inverse of its diagonal block */
    int64_t n, first, count;
} inverse;

/* Inverts the panel's diagonal block, and computes R. */
static void invert_panel(const inverse *v) {
    double D[PANEL * PANEL] = {0};
    const int64_t n = v->n, m = v->count;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) D[i * m + j] = v->A[(v->first + i) * n + v->first + j];
    for (int64_t k = 0; k < m; k++) {
        const double pivot = 1 / D[k * m + k];
        D[k * m + k] = 1;
        for (int64_t j = 0; j < m; j++) D[k * m + j] *= pivot;
        for (int64_t i = 0; i < m; i++) {
            if (i == k) continue;
            const double factor = D[i * m + k];
            D[i * m + k] = 0;
            for (int64_t j = 0; j < m; j++) D[i * m + j] -= factor * D[k * m + j];
        }
    }
    for (int64_t i = 0; i < m; i++) {
        double *const line = v->R + i * n;
        memset(line, 0, (size_t)n * sizeof *line);
        for (int64_t k = 0; k < m; k++) {
            const double *const from = v->A + (v->first + k) * n;
            for (int64_t j = 0; j < n; j++) line[j] += D[i * m + k] * from[j];
        }
        for (int64_t j = 0; j < m; j++) line[v->first + j] = D[i * m + j];
    }
}

static void body_eliminate(void *context, int thread, int threads) {
    const inverse *const v = context;
    const int64_t n = v->n, from = n * thread / threads, to = n * (thread + 1) / threads;
    for (int64_t i = from; i < to; i++) {
        double factors[PANEL], *const line = v->A + i * n;
        if (i >= v->first && i < v->first + v->count) continue;
        for (int64_t k = 0; k < v->count; k++) {
            factors[k] = line[v->first + k];
            line[v->first + k] = 0;
        }
        for (int64_t k = 0; k < v->count; k++) {
            const double *const other = v->R + k * n, factor = factors[k];
            for (int64_t j = 0; j < n; j++) line[j] -= factor * other[j];
        }
    }
}

/* Inverts a positive definite matrix in place. */
static tamis_status invert(tamis_model *model, double *A, int64_t n, int threads) {
    inverse v = {.A = A, .n = n};
    tamis_status status = TAMIS_OK;
    TRY(tamis_allocate(tamis_times(PANEL, n), sizeof *v.R, "a panel", (void **)&v.R));
    for (v.first = 0; v.first < n && status == TAMIS_OK; v.first += PANEL) {
        v.count = n - v.first < PANEL ? n - v.first : PANEL;
        invert_panel(&v);
        tamis_threads_run(threads, body_eliminate, &v);
        memcpy(A + v.first * n, v.R, (size_t)(v.count * n) * sizeof *A);
        status = ml_items_go_on(model, n + v.first + v.count, 2 * n);
    }
    tamis_release(v.R);
    return status;
}

/* ------------------------------------------------------------------------------------------ fitting */

static void free_work(const tamis_model *model, void *given) {
    ml_items_free(model, given);
    tamis_release(given);
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    if (data->cols > COLUMNS_MOST)
        return tamis_fail(
            TAMIS_ERROR_UNSUPPORTED,
            "S.cols = %lld: ease keeps a weight for each pair of columns, of which it has at most %d: use "
            "item-knn",
            (long long)data->cols, COLUMNS_MOST);
    ml_items *work;
    TRY(tamis_allocate_zeroed(1, sizeof *work, "the work of ease", (void **)&work));
    model->work = work;
    TRY(ml_items_factors(model, data->cols, data->cols));
    return ml_items_make(model, data, work);
}

/* Computes X^T X, and sets lambda if it is 0. */
static tamis_status make_gram(tamis_model *model, double *A) {
    ml_items *const items = model->work;
    const int64_t n = model->cols, block = items->block;
    double trace = 0;
    for (int64_t first = 0; first < n; first += block) {
        TRY(ml_items_products(model, items, first));
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = first; j < n && j < first + block; j++)
                A[i * n + j] = ml_number(items->host_C, model->options.type, i * block + (j - first));
        TRY(ml_items_go_on(model, first + block < n ? first + block : n, 2 * n));
    }
    for (int64_t i = 0; i < n; i++) trace += A[i * n + i];
    if (ml_finds_lambda(model)) model->lambda = trace > 0 ? model->share * trace / (double)n : 1;
    for (int64_t i = 0; i < n; i++) A[i * n + i] += ml_lambda(model);
    return TAMIS_OK;
}

static tamis_status iterate(tamis_model *model) {
    const int64_t n = model->cols;
    int threads;
    double *A;
    TRY(ml_host_threads(model, &threads));
    TRY(tamis_allocate(tamis_times(n, n), sizeof *A, "weights of pairs of columns", (void **)&A));
    tamis_status status = make_gram(model, A);
    if (status == TAMIS_OK) status = invert(model, A, n, threads > 0 ? threads : 1);
    if (status == TAMIS_OK) {
        for (int64_t j = 0; j < n; j++) { /* P is symmetric: rows are columns */
            const double own = A[j * n + j];
            for (int64_t i = 0; i < n; i++) A[j * n + i] = i == j ? 0 : -A[j * n + i] / own;
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) {
                const double other = A[i * n + j];
                A[i * n + j] = A[j * n + i];
                A[j * n + i] = other;
            }
        status = ml_dense_write_doubles(model, &model->column_factors, A);
    }
    tamis_release(A);
    return status;
}

static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    ml_sparse X = {0};
    tamis_plan *plan = NULL;
    tamis_status status;
    TRY_GOTO(done, ml_times_reserve(model, 1));
    TRY_GOTO(done, ml_sparse_place(model, data, false, &X));
    TRY_GOTO(done, ml_plan(model, &X.view, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, model->cols, 1, &plan));
    TRY_GOTO(done, ml_spmm(model, plan, &model->column_factors, 1, 0, W));
    TRY_GOTO(done, tamis_stream_synchronize(model->device, NULL));
done:
    tamis_plan_destroy(plan);
    ml_sparse_free(model, &X);
    return status;
}

static void similar(const tamis_dense *kept, int64_t column, ml_best *best) {
    for (int64_t j = 0; j < kept->cols; j++)
        if (ml_element(kept, column, j) != 0) ml_best_offer(best, j, ml_element(kept, column, j));
    ml_best_finish(best);
}

static const tamis_method_option own_options[] = {
    {"regularization", "lambda; 0: a share of the mean uses of a column"}, {"weights", NULL}, {NULL, NULL}};

const ml_method ml_ease = {
    .about = {.method = TAMIS_EASE,
              .data = TAMIS_DATA_USES,
              .name = "ease",
              .summary = "uses: a linear weight for each pair of items",
              .options = own_options,
              .pairs = true},
    .noise = true,
    .chosen_most = CHOSEN_MOST,
    .states = {[ML_POPULARITY] = ML_POPULARITY_STATE},
    .defaults = defaults,
    .check = check,
    .column_width = column_width,
    .prepare = prepare,
    .begin = begin,
    .iterate = iterate,
    .free_work = free_work,
    .transform = transform,
    .similar = similar,
    .operands = ml_items_operands,
};
