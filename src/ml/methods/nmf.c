/*
 * Non-negative matrix factorisation by least squares (Paatero and Tapper 1994; Lee and Seung 1999): X of documents x
 * words is approximated by W H^T with W and H >= 0, for the least
 *
 *   |X - W H^T|^2 + lambda (|W|^2 + |H|^2)
 *
 * X are weighted counts (weights.c), by default tf-idf with rows of length 1. W is documents x topics, H words x
 * topics. Half an iteration is hierarchical alternating least squares (HALS, Cichocki and Phan 2009), coordinate
 * descent on one side with the other fixed: G = H^T H + lambda I         Gram product       R = X H - W G     SpMM and
 * a product with a small matrix inner_rounds sweeps over the topics: W_k = max(0, W_k + R_k / G_kk) tamis_dense_cd_step
 * then the same on the transpose. X is never dense. The product with X costs most for long documents, and more sweeps
 * for each of them make good use of it (Gillis and Glineur 2012). No step increases the objective.
 *
 * The loss is the objective as a share of |X|^2. It needs no further product with X: after the words' half, with its R
 * and G (of W),  |X|^2 - 2 <H, R> - <H^T H, G> + lambda |W|^2.
 *
 * The first topics are random, the first documents zeros.
 *
 * Memory: the data twice, and R of both sides.
 */
#include <math.h>

#include "base/scope.h"
#include "ml/factors.h"
#include "ml/fit/calls.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/methods/weights.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/operands.h"

/* Sweeps for new documents, which have a strictly convex problem of few unknowns each. */
enum { TRANSFORM_ROUNDS = 100 };

/* Documents, or words. */
typedef struct side {
    ml_sparse S;
    tamis_plan *product;
    tamis_dense R;
} side;

typedef struct nmf {
    side sides[2];
    tamis_dense G, other; /* topics x topics */
    double squares;       /* |X|^2 */
} nmf;

static void defaults(tamis_model_options *options) {
    options->factors = 20;
    options->iterations = 50;
    options->inner_rounds = 3;
    options->weights = TAMIS_WEIGHTS_TFIDF;
}

static tamis_status check(const tamis_model_options *options) {
    TRY(ml_check_rounds("inner_rounds", options->inner_rounds));
    TRY(ml_check_number("regularization", options->regularization, options->regularization >= 0, "0 (none) or more"));
    TRY(ml_weights_check(options, TAMIS_WEIGHTS_TFIDF));
    if (options->weights == TAMIS_WEIGHTS_AUTO || options->weights == TAMIS_WEIGHTS_RP3BETA)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "weights = %d: nmf has linear, log, bm25, ones or tfidf",
                          (int)options->weights);
    return TAMIS_OK;
}

static tamis_status side_make(const tamis_model *model, const tamis_sparse *data, bool transpose, int64_t calls,
                              side *half) {
    TRY(ml_sparse_place(model, data, transpose, &half->S));
    TRY(ml_scratch(model, half->S.view.rows, model->width, &half->R));
    return ml_plan(model, &half->S.view, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 0, model->width, calls, &half->product);
}

/* Improves X given the other side Y. known: X has numbers, else it begins with zeros. */
static tamis_status improve(tamis_model *model, const tamis_dense *G, side *half, const tamis_dense *Y, bool known,
                            int rounds, const tamis_dense *X) {
    tamis_device *const device = model->device;
    TRY(tamis_dense_gram(device, NULL, model->workspace, 1, Y, model->options.regularization, G));
    TRY(ml_spmm(model, half->product, Y, 1, 0, &half->R));
    if (!known) TRY(tamis_dense_fill(device, NULL, X, 0));
    if (known) TRY(tamis_dense_multiply(device, NULL, -1, X, G, 1, &half->R));
    for (int i = 0; i < rounds; i++) TRY(tamis_dense_cd_step(device, NULL, G, &half->R, X));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ fitting */

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    bool fresh;
    TRY(ml_model_factors(model, data->rows, data->cols, &fresh));
    /* `fresh` would not do: a failed begin() may leave uninitialised factors */
    if (model->iterations_done == 0) {
        TRY(tamis_dense_fill(model->device, NULL, &model->row_factors, 0));
        TRY(ml_dense_random(model, &model->column_factors, 1, 0, 1));
    }
    nmf *work;
    TRY(tamis_allocate_zeros(1, "the work of nmf", work));
    model->work = work;
    for (int64_t t = 0; t < data->nnz; t++) work->squares += ml_value(data, t) * ml_value(data, t);
    for (int i = 0; i < 2; i++) TRY(side_make(model, data, i == 1, ML_PASSES, &work->sides[i]));
    TRY(ml_scratch(model, model->width, model->width, &work->G));
    TRY(ml_scratch(model, model->width, model->width, &work->other));
    return ml_times_reserve(model, 2);
}

static tamis_status iterate(tamis_model *model) {
    nmf *const work = model->work;
    const tamis_dense *const W = &model->row_factors, *const H = &model->column_factors;
    const int rounds = model->options.inner_rounds;
    TRY(improve(model, &work->G, &work->sides[0], H, true, rounds, W));
    return improve(model, &work->G, &work->sides[1], W, true, rounds, H);
}

static tamis_status loss(tamis_model *model, double *result) {
    const nmf *const work = model->work;
    tamis_device *const device = model->device;
    const tamis_dense *const W = &model->row_factors, *const H = &model->column_factors;
    const double lambda = model->options.regularization;
    double left, product, penalty = 0;
    *result = (double)NAN;
    if (work->squares == 0) return TAMIS_OK;
    TRY(tamis_dense_gram(device, NULL, model->workspace, 1, H, 0, &work->other));
    TRY(tamis_dense_dot(device, NULL, model->workspace, H, &work->sides[1].R, &left));
    TRY(tamis_dense_dot(device, NULL, model->workspace, &work->other, &work->G, &product));
    if (lambda > 0) TRY(tamis_dense_dot(device, NULL, model->workspace, W, W, &penalty));
    *result = fmax(0, (work->squares - 2 * left - product + lambda * penalty) / work->squares);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ using */

static tamis_status prepare(tamis_model *model, tamis_sparse *data, bool fit) {
    return ml_weights_apply(model, data, fit);
}

static tamis_status transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    side half;
    tamis_dense G;
    TRY(ml_model_workspace(model));
    TRY(side_make(model, data, false, 1, &half));
    TRY(ml_scratch(model, model->width, model->width, &G));
    TRY(improve(model, &G, &half, &model->column_factors, false, TRANSFORM_ROUNDS, W));
    return tamis_stream_synchronize(model->device, NULL);
}

/* A prediction is a weight, of a word that a document does not have too. */
static tamis_status operands(tamis_model *model, const tamis_dense *W, ml_operands *made) {
    *made = (ml_operands){.scale = 1, .least = 0, .most = INFINITY, .plain = true};
    ml_plain_operands(model, W, made);
    return TAMIS_OK;
}

static const tamis_method_option own_options[] = {
    {"inner_rounds", "sweeps over the topics in half an iteration"},
    {"regularization", "lambda of the squares of all factors; 0: none"},
    {"weights", "weight of a word with the count r; tfidf: as usual, rows of length 1; linear: r; log: log2(1 + r); "
                "bm25: as in BM25; ones: 1"},
    {NULL, NULL}};

const ml_method ml_nmf = {
    .about = {.method = TAMIS_NMF,
              .data = TAMIS_DATA_COUNTS,
              .name = "nmf",
              .summary = "topics of documents (non-negative factors of tf-idf, by least squares)",
              .options = own_options,
              .row_factors = true,
              .no_perplexity = true},
    .states = {ML_WEIGHTS_STATE},
    .masses = true,
    .defaults = defaults,
    .check = check,
    .prepare = prepare,
    .begin = begin,
    .iterate = iterate,
    .loss = loss,
    .transform = transform,
    .operands = operands,
};
