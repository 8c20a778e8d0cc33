/*
 * Nearest neighbours of columns: the score of column j for a row is the sum over the row's entries r_i of s_ij, where j
 * is one of the `neighbours` columns most similar to i. Similarity is the cosine of columns of weighted uses. With
 * weights bm25 it is the inner product, since these weights already reduce frequent rows and columns (as in implicit's
 * BM25Recommender). The products of a column with all others are sums over the rows that have it (pairs.h): a row of l
 * entries has l^2 of them, where products of dense columns would take l times the number of columns.
 *
 * With weights rp3beta (Paudel et al. 2017, "Updatable, accurate, diverse, and scalable recommendations for interactive
 * applications") it is the chance of the steps i -> row -> j of a random walk over uses, divided by a power of the uses
 * of j: s_ij = sum over the rows that have both of 1 / k / (m_i m_j^beta), with the k uses of the row, m_i of i. With
 * the chance of a step to i as r_i, a score is that of three steps.
 *
 * For each column the model keeps its neighbours' indices, in its floating-point type, and their similarities
 * (lists.h).
 */
#include <math.h>

#include "base/scope.h"
#include "ml/methods/items.h"
#include "ml/methods/method.h"
#include "ml/methods/pairs.h"
#include "ml/methods/weights.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/lists.h"
#include "ml/serve/popular.h"

enum { NEIGHBOURS = 20, BETA_MOST = 2, CHOICE_COLUMNS = 8192 };

/* A product of columns i and j, divided by from[i] and to[j], is the similarity of j to i. */
typedef struct item_knn {
    ml_pairs pairs;
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
    TRY(ml_lists_check_option(options, 1));
    TRY(ml_check_number("beta", options->beta, options->beta >= 0 && options->beta <= BETA_MOST, "0 to 2"));
    return ml_weights_check(options, TAMIS_WEIGHTS_RP3BETA);
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

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    item_knn *work;
    TRY(ml_items_begin_lists(model, data->cols));
    TRY(tamis_allocate_zeros(1, "the work of item-knn", work));
    model->work = work;
    TRY(tamis_allocate_zeros(data->cols, "norms of columns", work->from));
    TRY(tamis_allocate_array(data->cols, "norms of columns", work->to));
    find_divisors(model, data, work);
    TRY(ml_pairs_make(data, &work->pairs));
    return ml_pairs_turn(&work->pairs);
}

static double weigh(const void *context, const ml_pair_sums *sums, int32_t other, double total) {
    const item_knn *const work = context;
    (void)total;
    return other == sums->column ? 0 : sums->sums[other] / (work->to[other] * work->from[sums->column]);
}

static tamis_status iterate(tamis_model *model) {
    item_knn *const work = model->work;
    return ml_pairs_keep(model, &work->pairs, ml_pairs_products, weigh, work);
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
    .check_kept = ml_items_check_lists,
    .lists = ml_items_give_lists,
    .column_width = ml_items_lists_width,
    .prepare = prepare,
    .admits = ml_items_admit_lists,
    .begin = begin,
    .iterate = iterate,
    .transform = ml_lists_transform,
    .operands = ml_items_operands,
};
