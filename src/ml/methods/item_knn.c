/*
 * Nearest neighbours of columns: the score of column j for a row is the sum over the row's entries r_i of s_ij, where j
 * is one of the `neighbours` columns most similar to i. Similarity is the cosine of columns of weighted uses. With
 * weights bm25 it is the inner product, since these weights already reduce frequent rows and columns (as in implicit's
 * BM25Recommender). All products of columns are X^T X, computed by SpMM some columns at a time (items.c).
 *
 * With weights rp3beta (Paudel et al. 2017, "Updatable, accurate, diverse, and scalable recommendations for interactive
 * applications") it is the chance of the steps i -> row -> j of a random walk over uses, divided by a power of the uses
 * of j: s_ij = sum over the rows that have both of 1 / k / (m_i m_j^beta), with the k uses of the row, m_i of i. With
 * the chance of a step to i as r_i, a score is that of three steps.
 *
 * For each column the model keeps its neighbours' indices, in its floating-point type, and their similarities.
 */
#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "base/threads.h"
#include "ml/factors.h"
#include "ml/fit/place.h"
#include "ml/methods/items.h"
#include "ml/methods/method.h"
#include "ml/methods/weights.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/popular.h"

enum {
    ROWS_A_THREAD = 16,
    NEIGHBOURS = 20,
    NEIGHBOURS_MOST = 4096,
    COLUMNS_MOST = 1 << 24, /* integers that fp32 represents exactly */
    BETA_MOST = 2,
    CHOICE_COLUMNS = 8192
};

/* A product of columns i and j, divided by from[i] and to[j], is the similarity of j to i. */
typedef struct item_knn {
    ml_items items;
    double *from, *to;
} item_knn;

static void defaults(tamis_model_options *options) {
    options->factors = 1;
    options->iterations = 1;
    options->neighbours = NEIGHBOURS;
    options->weights = TAMIS_WEIGHTS_AUTO;
    options->beta = ML_BETA;
}

static tamis_status check(const tamis_model_options *options) {
    if (options->neighbours < 1 || options->neighbours > NEIGHBOURS_MOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "neighbours = %d, expected 1 to %d", options->neighbours,
                          NEIGHBOURS_MOST);
    TRY(ml_check_number("beta", options->beta, options->beta >= 0 && options->beta <= BETA_MOST, "0 to 2"));
    return ml_weights_check(options, TAMIS_WEIGHTS_RP3BETA);
}

static int64_t column_width(const tamis_model_options *options, int64_t cols) {
    (void)cols;
    return 2 * (int64_t)options->neighbours;
}

/* A neighbour is a column, or -1 if there are no more. */
static tamis_status check_kept(const char *path, const tamis_dense *kept) {
    const int64_t n = kept->cols / 2;
    for (int64_t j = 0; j < kept->rows; j++)
        for (int64_t k = 0; k < n; k++) {
            const double number = ml_element(kept, j, k), similarity = ml_element(kept, j, n + k);
            if (!(number >= -1 && number < (double)kept->rows && number == floor(number)))
                return tamis_fail(TAMIS_ERROR_FORMAT,
                                  "%s: neighbour %lld of column %lld is %g, expected -1 or a column of 0 to %lld", path,
                                  (long long)k, (long long)j, number, (long long)kept->rows - 1);
            if (!isfinite(similarity))
                return tamis_fail(TAMIS_ERROR_FORMAT,
                                  "%s: the similarity of neighbour %lld of column %lld is %g, expected a finite number",
                                  path, (long long)k, (long long)j, similarity);
        }
    return TAMIS_OK;
}

/* With bm25 the uses of a scored row are not weighted: these weights only serve to find neighbours. */
static tamis_status prepare(tamis_model *model, tamis_sparse *data, bool fit) {
    if (fit) TRY(ml_popular_learn(model, data));
    return fit || model->options.weights != TAMIS_WEIGHTS_BM25 ? ml_weights_apply(model, data, fit) : TAMIS_OK;
}

/* Computes what products are divided by: norms of columns, or (rp3beta) their numbers of uses, a power of them in
   `to`; bm25: ones. */
static void find_divisors(const tamis_model *model, const tamis_sparse *data, item_knn *work) {
    const tamis_use_weights weights = model->options.weights;
    const bool walks = weights == TAMIS_WEIGHTS_RP3BETA;
    for (int64_t t = 0; t < data->nnz; t++) {
        const double r = ml_value(data, t);
        work->from[ml_column(data, t)] += walks ? r != 0 : r * r;
    }
    for (int64_t j = 0; j < data->cols; j++) {
        const double sum = weights == TAMIS_WEIGHTS_BM25 || work->from[j] == 0 ? 1 : work->from[j];
        work->from[j] = walks ? sum : sqrt(sum);
        work->to[j] = walks ? pow(sum, model->options.beta) : work->from[j];
    }
}

static tamis_status check_columns(const tamis_model *model, int64_t cols) {
    (void)model;
    if (cols <= COLUMNS_MOST) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "S.cols = %lld, item-knn has at most %d columns", (long long)cols,
                      COLUMNS_MOST);
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    item_knn *work;
    TRY(check_columns(model, data->cols));
    TRY(tamis_allocate_zeros(1, "the work of item-knn", work));
    model->work = work;
    TRY(ml_items_factors(model, data->cols, column_width(&model->options, data->cols)));
    TRY(tamis_allocate_zeros(data->cols, "norms of columns", work->from));
    TRY(tamis_allocate_array(data->cols, "norms of columns", work->to));
    find_divisors(model, data, work);
    return ml_items_make(model, data, &work->items);
}

/* Keeps the neighbours of the columns of a block. */
static void keep_best(const tamis_model *model, const item_knn *work, int64_t first, double *kept, int64_t *columns,
                      double *scores) {
    const int64_t cols = model->cols, block = work->items.block, n = model->options.neighbours;
    for (int64_t j = first; j < cols && j < first + block; j++) {
        ml_best best = {.columns = columns, .scores = scores, .n = (int)n};
        for (int64_t i = 0; i < cols; i++) {
            const double product = ml_number(work->items.host_C, model->options.type, i * block + (j - first));
            if (i != j && product > 0) ml_best_offer(&best, i, product / (work->to[i] * work->from[j]));
        }
        ml_best_finish(&best);
        for (int64_t k = 0; k < n; k++) {
            kept[j * 2 * n + k] = (double)best.columns[k];
            kept[j * 2 * n + n + k] = best.columns[k] < 0 ? 0 : best.scores[k];
        }
    }
}

static tamis_status iterate(tamis_model *model) {
    item_knn *const work = model->work;
    const int64_t n = model->options.neighbours;
    double *kept, *scores;
    int64_t *columns;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(tamis_times(model->cols, 2 * n), "neighbours", kept));
    TRY(tamis_allocate_array(n, "neighbours", columns));
    TRY(tamis_allocate_array(n, "neighbours", scores));
    for (int64_t first = 0; first < model->cols; first += work->items.block) {
        TRY(ml_items_products(model, &work->items, first));
        keep_best(model, work, first, kept, columns, scores);
        TRY(ml_items_go_on(model, first + work->items.block, model->cols));
    }
    return ml_dense_write_doubles(model, &model->column_factors, kept);
}

/* Scores rows on the host: a row has few entries, and each of them few neighbours. */
static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    const int64_t n = model->options.neighbours, cols = model->cols;
    tamis_dense kept;
    double *scores;
    TRY(ml_dense_here(model, &model->column_factors, &kept));
    TRY(tamis_allocate_zeros(tamis_times(data->rows, cols), "scores", scores));
    for (int64_t i = 0; i < data->rows; i++)
        for (int64_t t = ml_offset(data, i); t < ml_offset(data, i + 1); t++) {
            const int64_t column = ml_column(data, t);
            const double r = ml_value(data, t);
            for (int64_t k = 0; k < n && ml_element(&kept, column, k) >= 0; k++)
                scores[i * cols + (int64_t)ml_element(&kept, column, k)] += r * ml_element(&kept, column, n + k);
        }
    return ml_dense_write_doubles(model, W, scores);
}

/* ------------------------------------------------------------------------------------------ the best of few scores */

/* Each thread has its own scores, which are 0 for all columns between two rows. */
typedef struct finder {
    tamis_dense kept;
    const tamis_sparse *data;
    const bool *allowed;
    int64_t *order; /* order of columns that tie at 0, or NULL */
    int n;
    int64_t *columns;
    double *scores;
    double *sums; /* by thread and column; NaN: not a candidate */
    int64_t *met; /* by thread: the columns with a score */
    int64_t met_most;
    bool *is_short; /* rows whose list includes columns with score 0 */
    bool filling;   /* only those rows are done */
} finder;

TAMIS_INLINE int64_t add_scores(const finder *f, int64_t row, double *sums, int64_t *met, tamis_type type) {
    const int64_t n = f->kept.cols / 2, end = ml_offset(f->data, row + 1);
    int64_t count = 0;
    for (int64_t t = ml_offset(f->data, row); t < end; t++) {
        const int64_t line = ml_column(f->data, t) * 2 * n;
        const double r = ml_number(f->data->values, type, t);
        for (int64_t k = 0; k < n; k++) {
            const double number = ml_number(f->kept.data, type, line + k);
            if (number < 0) break;
            const int64_t column = (int64_t)number;
            if (sums[column] == 0) met[count++] = column;
            sums[column] += r * ml_number(f->kept.data, type, line + n + k);
        }
    }
    return count;
}

/* Offers columns that tie at 0, the most popular first, until one is not kept. */
static void fill_up(const finder *f, ml_best *best, const double *sums) {
    int kept = best->kept, at = 0;
    while (at < kept && best->scores[at] > 0) at++;
    for (int64_t k = 0; k < f->data->cols && at < best->n; k++) {
        const int64_t column = f->order ? f->order[k] : k;
        if (sums[column] != 0 || (f->allowed && !f->allowed[column])) continue;
        for (int i = kept < best->n ? kept++ : kept - 1; i > at; i--) {
            best->columns[i] = best->columns[i - 1];
            best->scores[i] = best->scores[i - 1];
        }
        best->columns[at] = column;
        best->scores[at++] = 0;
    }
    best->kept = kept;
}

static void best_of_row(const finder *f, int64_t row, double *sums, int64_t *met) {
    const int64_t begin = ml_offset(f->data, row), end = ml_offset(f->data, row + 1);
    const bool wide = f->kept.type == TAMIS_F64;
    ml_best best = {.columns = f->columns + row * f->n, .scores = f->scores + row * f->n, .n = f->n};
    for (int64_t t = begin; t < end; t++) sums[ml_column(f->data, t)] = NAN;
    const int64_t count = wide ? add_scores(f, row, sums, met, TAMIS_F64) : add_scores(f, row, sums, met, TAMIS_F32);
    for (int64_t i = 0; i < count; i++) {
        double *const sum = &sums[met[i]];
        if (!wide) *sum = (double)(float)*sum; /* as transform stores it */
        if (*sum == 0 || (f->allowed && !f->allowed[met[i]])) continue;
        ml_best_offer_any(&best, met[i], *sum);
        *sum = NAN; /* it may be listed twice, if its sum was 0 in between */
    }
    ml_best_finish(&best);
    if (f->filling)
        fill_up(f, &best, sums);
    else
        f->is_short[row] = best.kept < f->n || best.scores[f->n - 1] < 0;
    for (int64_t i = 0; i < count; i++) sums[met[i]] = 0;
    for (int64_t t = begin; t < end; t++) sums[ml_column(f->data, t)] = 0;
}

static void find_rows(void *given, int share, int shares) {
    const finder *const f = given;
    const int64_t rows = f->data->rows, from = rows * share / shares, to = rows * (share + 1) / shares;
    for (int64_t i = from; i < to; i++)
        if (!f->filling || f->is_short[i])
            best_of_row(f, i, f->sums + share * f->data->cols, f->met + share * f->met_most);
}

static bool any_short(const finder *f) {
    for (int64_t i = 0; i < f->data->rows; i++)
        if (f->is_short[i]) return true;
    return false;
}

static tamis_status best(tamis_model *model, const tamis_sparse *data, const bool *allowed, int n, int64_t *columns,
                         double *scores) {
    finder f = {.data = data, .allowed = allowed, .n = n, .columns = columns, .scores = scores};
    int asked;
    TRY(ml_host_threads(model, &asked));
    const int shares = asked < 1 || data->rows < (int64_t)asked * ROWS_A_THREAD ? 1 : asked;
    f.met_most = ml_longest_row(data) * model->options.neighbours; /* counted with repetitions */
    TRY(ml_dense_here(model, &model->column_factors, &f.kept));
    TRY(tamis_allocate_zeros(tamis_times(shares, data->cols), "scores", f.sums));
    TRY(tamis_allocate_array(tamis_times(shares, f.met_most), "columns with scores", f.met));
    TRY(tamis_allocate_array(data->rows, "rows", f.is_short));
    tamis_threads_run(shares, find_rows, &f);
    if (!any_short(&f)) return TAMIS_OK;
    TRY(ml_popular_order(model, &f.order));
    f.filling = true;
    tamis_threads_run(shares, find_rows, &f);
    return TAMIS_OK;
}

static void similar(const tamis_dense *kept, int64_t column, ml_best *best) {
    const int64_t n = kept->cols / 2;
    for (int64_t k = 0; k < n && ml_element(kept, column, k) >= 0 && best->kept < best->n; k++) {
        best->columns[best->kept] = (int64_t)ml_element(kept, column, k);
        best->scores[best->kept++] = ml_element(kept, column, n + k);
    }
}

static const tamis_method_option own_options[] = {
    {"neighbours", NULL}, {"weights", NULL}, {"beta", NULL}, {NULL, NULL}};

const ml_method ml_item_knn = {
    .about = {.method = TAMIS_ITEM_KNN,
              .data = TAMIS_DATA_USES,
              .name = "item-knn",
              .summary = "uses: recommends items that are near those that a user has",
              .options = own_options,
              .pairs = true},
    .weighs = true,
    .usual = TAMIS_WEIGHTS_BM25,
    .choice_columns = CHOICE_COLUMNS,
    .defaults = defaults,
    .check = check,
    .states = {ML_WEIGHTS_STATE, [ML_POPULARITY] = ML_POPULARITY_STATE},
    .check_kept = check_kept,
    .column_width = column_width,
    .prepare = prepare,
    .admits = check_columns,
    .begin = begin,
    .iterate = iterate,
    .transform = transform,
    .similar = similar,
    .best = best,
    .operands = ml_items_operands,
};
