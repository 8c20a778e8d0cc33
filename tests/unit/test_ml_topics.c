/*
 * LDA, GaP and NMF: passes against plain loops in double, topics that are found again, streams.
 *   test_ml_topics [DEVICE]
 */
#include "support/test.h"

#include "ml/data/canonical.h"
#include "ml/fit/calls.h"
#include "ml/fit/minibatch.h"
#include "model_rows.h"
#include "topics_reference.h"

#include "device_fixture.h" /* after the headers whose arguments have its names */

static tamis_model_options options_of(tamis_method method, int64_t topics, tamis_type type) {
    tamis_model_options options = default_options(method);
    options.factors = topics;
    options.type = type;
    return options;
}

/* Every update divides by sums of up to 512 terms of one sign, whose errors are not all of one sign: tens of u; psi
   adds 1 + |psi| <= 12 of them, and up to 8 such updates follow one another. 2000 u allows for that; 40 u have been
   seen. */
static void near(const char *what, const double *got, const double *want, int64_t count, tamis_type type) {
    model_expect_close(what, got, want, count, 2e3 * (type == TAMIS_F64 ? 0x1p-53 : 0x1p-24));
}

/* ------------------------------------------------------------------------------------------ LDA by plain loops */

static int64_t met[64];
static int64_t meetings;

static tamis_status meet(tamis_model *model, ml_batch *batch) {
    met[meetings++] = batch->first;
    return TAMIS_OK;
}

/* Passes over the model's mini-batches, in its order, by the reference. */
static double *lda_by_hand(const tamis_model_options *options, const tamis_sparse *S, int passes, double *loss) {
    OWN(tamis_model) *const model = model_made(device, options);
    tamis_sparse canonical;
    TAMIS_SCOPE;
    works(ml_canonical(model, S, "S", &canonical));
    const int64_t topics = options->factors, count = S->cols * topics;
    const double total = corpus_total(S), mean = total / (double)count;
    ml_batches batches;
    works(ml_batches_make(model, &canonical, options->batch_rows, true, 1, NULL, 0, &batches));
    tamis_dense first;
    works(ml_dense_make(model, S->cols, topics, &first));
    works(ml_dense_random(model, &first, 1, 0.5 * mean, 1.5 * mean));
    tamis_owned_dense *fetched;
    works(ml_dense_fetch(model, &first, &fetched));
    double *const L = model_numbers(fetched);
    ml_dense_free(model, &first);
    int64_t step = 0;
    for (int pass = 0; pass < passes; pass++) {
        meetings = 0;
        model->iterations_done = pass;
        model->batches_done = 0;
        works(ml_batches_pass(model, &batches, meet));
        assert_int_equal(meetings, batches.count);
        *loss = 0;
        for (int64_t m = 0; m < meetings; m++) {
            int64_t i = 0;
            while (batches.batch[i].first != met[m]) i++;
            const tamis_sparse *const B = &batches.batch[i].S.host;
            const reference_lda o = {.alpha = options->row_prior > 0 ? options->row_prior : 1 / (double)topics,
                                     .beta = options->column_prior > 0 ? options->column_prior : 1 / (double)topics,
                                     .scale = (double)S->rows / (double)B->rows,
                                     .rate = pow(1 / ((double)++step + options->rate_offset), options->rate_decay),
                                     .rounds = options->inner_rounds,
                                     .maximum_a_posteriori = options->maximum_a_posteriori};
            *loss += reference_lda_learn(B, L, topics, &o) / total;
        }
    }
    return L;
}

TEST(lda_is_right) {
    static const int64_t topics[] = {1, 3, 8, 13};
    OWN(corpus) c = corpus_make(90, 70, 3, 40, true, 5);
    for (int variant = 0; variant < 16; variant++) {
        tamis_model_options options = options_of(TAMIS_LDA, topics[variant / 4], variant & 1 ? TAMIS_F64 : TAMIS_F32);
        options.maximum_a_posteriori = variant & 2;
        options.batch_rows = variant % 3 == 0 ? 1000 : 23;
        options.row_prior = variant % 5 == 0 ? 0 : 0.2;
        options.column_prior = variant % 7 == 0 ? 0 : 0.1;
        options.inner_rounds = 1 + variant % 4;
        options.rate_offset = variant % 2 ? 1 : 9;
        options.iterations = 2;
        OWN(tamis_model) *const model = model_fitted(device, &options, &c.S);
        double loss;
        OWN(double) *const got = model_factors(model, false, NULL), *const want = lda_by_hand(&options, &c.S, 2, &loss);
        const double given = model_loss(model);
        near("lda", got, want, c.S.cols * options.factors, options.type);
        near("lda's loss", &given, &loss, 1, options.type);
    }
}

/* Parts of a corpus as matrices of their own. */
static tamis_sparse part_of(const corpus *c, int64_t first, int64_t count, int64_t *offsets) {
    tamis_sparse part = c->S;
    for (int64_t i = 0; i <= count; i++) offsets[i] = c->offsets[first + i] - c->offsets[first];
    part.rows = count;
    part.nnz = offsets[count];
    part.offsets = offsets;
    part.columns = c->columns + c->offsets[first];
    part.values = c->values + c->offsets[first];
    return part;
}

TEST(lda_new_documents) {
    OWN(corpus) c = corpus_make(80, 60, 4, 50, true, 8);
    for (int variant = 0; variant < 4; variant++) {
        tamis_model_options options = options_of(TAMIS_LDA, 5, variant & 1 ? TAMIS_F64 : TAMIS_F32);
        options.maximum_a_posteriori = variant & 2;
        options.iterations = 3;
        OWN(tamis_model) *const model = model_fitted(device, &options, &c.S);
        tamis_owned_dense *const W = model_of_rows(model, &c.S);
        ml_operands operands;
        TAMIS_SCOPE;
        works(ml_method_of(TAMIS_LDA)->operands(model, tamis_owned_dense_view(W), &operands));
        OWN(double) *const got = model_numbers(W), *const L = model_factors(model, false, NULL),
                           *const want = calloc(80 * 5, sizeof *want);
        const reference_lda o = {.alpha = 0.1, /* of data too small for a choice */
                                 .rounds = 20,
                                 .maximum_a_posteriori = options.maximum_a_posteriori};
        reference_lda_infer(&c.S, L, 5, &o, want);
        near("posteriors", got, want, 80 * 5, options.type);
        for (int k = 0; k < 5; k++) assert_true(fabs(got[3 * 5 + k] - 0.1) < 1e-7); /* an empty one */
        OWN(double) *const A = model_numbers(copy_of_operand(model, &operands.A)), *const B =
                                                                                       model_numbers(copy_of_operand(
                                                                                           model, &operands.B));
        for (int64_t d = 0; d < 80; d++) {
            double sum = 0;
            for (int64_t w = 0; w < 60; w++)
                for (int64_t k = 0; k < 5; k++) sum += A[d * 5 + k] * B[w * 5 + k];
            if (!(fabs(sum - 1) < 1e-5)) fail_msg("the words of document %lld sum to %g", (long long)d, sum);
        }
    }
}

TEST(lda_streams) {
    OWN(corpus) c = corpus_make(70, 50, 3, 40, true, 15);
    tamis_model_options options = options_of(TAMIS_LDA, 4, TAMIS_F64);
    OWN(tamis_model) *const model = model_made(device, &options);
    int64_t offsets[31];
    OWN(double) *L = NULL;
    for (int64_t i = 0; i < 3; i++) {
        const int64_t first = 30 * i, count = i < 2 ? 30 : 10;
        const tamis_sparse part = part_of(&c, first, count, offsets);
        const reference_lda o = {.alpha = 0.1, /* nothing is chosen by a part of the data */
                                 .beta = 0.1,
                                 .scale = (double)(i + 1),
                                 .rate = pow(1 / (double)(i + 2), options.rate_decay),
                                 .rounds = options.inner_rounds};
        if (!L) { /* its first topics */
            tamis_owned_dense *array;
            const double mean = corpus_total(&part) / 200;
            works(tamis_owned_dense_create(50, 4, TAMIS_F64, TAMIS_ROW_MAJOR, &array));
            works(tamis_fill_uniform(tamis_owned_dense_view(array), tamis_random_at(options.seed, 1, 0), 0.5 * mean,
                                     1.5 * mean));
            L = model_numbers(array);
        }
        const double loss = reference_lda_learn(&part, L, 4, &o) / corpus_total(&part);
        works(tamis_model_partial_fit(model, &part));
        const double given = model_loss(model);
        near("a mini-batch's loss", &given, &loss, 1, TAMIS_F64);
    }
    OWN(double) *const got = model_factors(model, false, NULL);
    near("three mini-batches", got, L, 200, TAMIS_F64);
}

/* ------------------------------------------------------------------------------------------ GaP */

TEST(gap_is_right) {
    static const int64_t topics[] = {1, 3, 8, 13};
    OWN(corpus) c = corpus_make(60, 50, 3, 40, true, 21);
    for (int variant = 0; variant < 16; variant++) {
        const int64_t k = topics[variant / 4];
        tamis_model_options options = options_of(TAMIS_GAP, k, variant & 1 ? TAMIS_F64 : TAMIS_F32);
        options.batch_rows = variant & 2 ? 17 : 0;
        options.row_prior = variant % 3 == 0 ? 1 : variant % 3 == 1 ? 1.5 : 1.1;
        options.column_prior = variant % 3 == 0 ? 0 : 2.5;
        options.inner_rounds = 1 + variant % 2;
        options.iterations = 2;
        const double inverse = options.column_prior > 0 ? 1 / options.column_prior : 0;
        OWN(tamis_model) *const model = model_fitted(device, &options, &c.S);
        tamis_owned_dense *array;
        works(tamis_owned_dense_create(50, k, options.type, TAMIS_ROW_MAJOR, &array));
        works(tamis_fill_uniform(tamis_owned_dense_view(array), tamis_random_at(options.seed, 1, 0), 0.9, 1.1));
        OWN(double) *const Y = model_numbers(array), *const X = calloc((size_t)(60 * k), sizeof *X);
        for (int64_t i = 0; i < 60 * k; i++) X[i] = 1;
        for (int i = 0; i < 2; i++) {
            reference_gap_rows(&c.S, X, Y, k, options.row_prior, inverse, options.inner_rounds);
            reference_gap_columns(&c.S, X, Y, k);
        }
        const double loss = reference_gap_loss(&c.S, X, Y, k, options.row_prior, inverse), given = model_loss(model);
        OWN(double) *const rows = model_factors(model, true, NULL), *const columns = model_factors(model, false, NULL);
        near("gap's rows", rows, X, 60 * k, options.type);
        near("gap's columns", columns, Y, 50 * k, options.type);
        near("gap's loss", &given, &loss, 1, options.type);
    }
}

TEST(gap_streams) {
    OWN(corpus) c = corpus_make(400, 63, 4, 80, true, 41);
    tamis_model_options options = options_of(TAMIS_GAP, 4, TAMIS_F32);
    OWN(tamis_model) *const model = model_made(device, &options);
    int64_t offsets[101];
    double first = 0, last = 0;
    for (int64_t i = 0; i < 60; i++) {
        const tamis_sparse part = part_of(&c, 100 * (i % 4), 100, offsets);
        works(tamis_model_partial_fit(model, &part));
        last = model_loss(model);
        if (i == 0) first = last;
    }
    assert_true(last < first && last > 0);
    assert_int_equal(model->row_factors.rows, 0); /* of a stream none are kept */
    OWN(double) *const Y = model_factors(model, false, NULL);
    const double match = least_match(c.phi, Y, 63, 4);
    if (match < 0.97) fail_msg("a topic is matched with cosine %g alone", match);
}

/* ------------------------------------------------------------------------------------------ NMF */

/* Dense tf-idf with rows of length 1. */
static double *tfidf_by_hand(const corpus *c) {
    const int64_t m = c->S.rows, n = c->S.cols;
    double *const X = calloc((size_t)(m * n), sizeof *X);
    for (int64_t d = 0; d < m; d++)
        for (int64_t t = c->offsets[d]; t < c->offsets[d + 1]; t++) X[d * n + c->columns[t]] += (double)c->values[t];
    for (int64_t w = 0; w < n; w++) {
        int64_t documents = 0;
        for (int64_t d = 0; d < m; d++) documents += X[d * n + w] > 0;
        for (int64_t d = 0; d < m; d++) X[d * n + w] *= 1 + log((1 + (double)m) / (1 + (double)documents));
    }
    for (int64_t d = 0; d < m; d++) {
        double squares = 0;
        for (int64_t w = 0; w < n; w++) squares += X[d * n + w] * X[d * n + w];
        for (int64_t w = 0; w < n && squares > 0; w++) X[d * n + w] /= sqrt(squares);
    }
    return X;
}

/* Sweeps over one side of X (m x n, or its transpose): each number becomes the best one given the others. */
static void hals_by_hand(const double *X, int64_t m, int64_t n, bool transpose, double *W, const double *H, int64_t k,
                         double lambda, int rounds) {
    for (int64_t i = 0; i < m; i++)
        for (int round = 0; round < rounds; round++)
            for (int64_t j = 0; j < k; j++) {
                double slope = -lambda * W[i * k + j], square = lambda;
                for (int64_t w = 0; w < n; w++) {
                    double left = transpose ? X[w * m + i] : X[i * n + w];
                    for (int64_t l = 0; l < k; l++) left -= W[i * k + l] * H[w * k + l];
                    slope += left * H[w * k + j];
                    square += H[w * k + j] * H[w * k + j];
                }
                if (square > 0) W[i * k + j] = fmax(0, W[i * k + j] + slope / square);
            }
}

static double nmf_loss_by_hand(const double *X, int64_t m, int64_t n, const double *W, const double *H, int64_t k,
                               double lambda) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < m * n; i++) {
        double left = X[i];
        for (int64_t l = 0; l < k; l++) left -= W[i / n * k + l] * H[i % n * k + l];
        sum += left * left;
        squares += X[i] * X[i];
    }
    for (int64_t t = 0; t < m * k; t++) sum += lambda * W[t] * W[t];
    for (int64_t t = 0; t < n * k; t++) sum += lambda * H[t] * H[t];
    return sum / squares;
}

TEST(nmf_is_right) {
    static const int64_t topics[] = {1, 3, 8};
    enum { M = 60, N = 50 };
    OWN(corpus) c = corpus_make(M, N, 3, 40, true, 21);
    OWN(double) *const X = tfidf_by_hand(&c);
    for (int variant = 0; variant < 12; variant++) {
        const int64_t k = topics[variant / 4];
        tamis_model_options options = options_of(TAMIS_NMF, k, variant & 1 ? TAMIS_F64 : TAMIS_F32);
        options.regularization = variant & 2 ? 0.3 : 0;
        options.inner_rounds = 1 + variant % 3;
        options.iterations = 2;
        OWN(tamis_model) *const model = model_fitted(device, &options, &c.S);
        tamis_owned_dense *array;
        works(tamis_owned_dense_create(N, k, options.type, TAMIS_ROW_MAJOR, &array));
        works(tamis_fill_uniform(tamis_owned_dense_view(array), tamis_random_at(options.seed, 1, 0), 0, 1));
        OWN(double) *const H = model_numbers(array), *const W = calloc((size_t)(M * k), sizeof *W);
        for (int i = 0; i < 2; i++) {
            hals_by_hand(X, M, N, false, W, H, k, options.regularization, options.inner_rounds);
            hals_by_hand(X, N, M, true, H, W, k, options.regularization, options.inner_rounds);
        }
        const double loss = nmf_loss_by_hand(X, M, N, W, H, k, options.regularization), given = model_loss(model);
        OWN(double) *const rows = model_factors(model, true, NULL), *const columns = model_factors(model, false, NULL);
        near("nmf's rows", rows, W, M * k, options.type);
        near("nmf's columns", columns, H, N * k, options.type);
        near("nmf's loss", &given, &loss, 1, options.type);
        /* new documents, and so the old ones as new: all sweeps from zeros */
        for (int64_t t = 0; t < M * k; t++) W[t] = 0;
        hals_by_hand(X, M, N, false, W, columns, k, options.regularization, 100);
        OWN(double) *const found = model_transformed(model, &c.S);
        near("nmf's new documents", found, W, M * k, options.type);
    }
}

/* It says how coherent topics are, and nothing of probabilities that it does not have. */
TEST(nmf_has_no_perplexity) {
    OWN(corpus) c = corpus_make(100, 50, 3, 40, true, 16);
    const tamis_model_options options = options_of(TAMIS_NMF, 3, TAMIS_F32);
    OWN(tamis_model) *const model = model_fitted(device, &options, &c.S);
    const tamis_held_out held = {.entries = &c.S, .observed = &c.S};
    tamis_score score;
    double baseline;
    works(tamis_model_score(model, &held, true, 0, &score));
    assert_true(isnan(score.perplexity) && isnan(score.unigram_perplexity) && isnan(score.log_likelihood));
    assert_true(score.coherence > 0);
    works(tamis_baseline(TAMIS_NMF, &c.S, &c.S, &baseline));
    assert_true(isnan(baseline));
}

/* ------------------------------------------------------------------------------------------ all */

typedef struct source {
    const corpus *c;
    int64_t next, offsets[31];
    tamis_sparse part;
} source;

static tamis_status next_part(void *context, const tamis_sparse **batch) {
    source *const s = context;
    const int64_t left = s->c->S.rows - s->next, count = left < 30 ? left : 30;
    *batch = count > 0 ? &s->part : NULL;
    if (count > 0) s->part = part_of(s->c, s->next, count, s->offsets);
    s->next = count > 0 ? s->next + count : 0;
    return TAMIS_OK;
}

/* Passes over a stream learn what passes over the same documents in memory do. */
TEST(streams) {
    OWN(corpus) c = corpus_make(100, 50, 3, 40, true, 16);
    for (int m = 0; m < 2; m++) {
        history h = {0};
        tamis_model_options options = options_of(m ? TAMIS_GAP : TAMIS_LDA, 3, TAMIS_F32);
        options.batch_rows = 30;
        options.iterations = 30;
        OWN(tamis_model) *const whole = model_fitted(device, &options, &c.S);
        options.callback = history_notes;
        options.callback_context = &h;
        OWN(tamis_model) *const model = model_made(device, &options);
        source from = {.c = &c};
        works(tamis_model_fit_stream(model, next_part, &from, c.S.cols, NULL));
        assert_int_equal(h.count, 30);
        const double last = h.loss[29], other = model_loss(whole);
        if (!(last < h.loss[0] && fabs(last - other) < 0.1)) fail_msg("method %d: %g, in memory %g", m, last, other);
        /* words are counted once, however many the passes */
        const tamis_held_out held = {.entries = &c.S, .observed = &c.S};
        tamis_score in_memory, of_stream;
        works(tamis_model_score(whole, &held, true, 0, &in_memory));
        works(tamis_model_score(model, &held, true, 0, &of_stream));
        assert_true(in_memory.unigram_perplexity > 1);
        assert_true(of_stream.unigram_perplexity == in_memory.unigram_perplexity);
    }
}

/* A topic's estimate from n tokens is off by sum phi (1 - phi) / n < 1 / n in mean square. With the share s of tokens
   whose topic cannot be told from the word (one in ten, drawn from any word), the topics blur by s at most, in a
   direction in which phi has the mean 1 / sqrt(words): cos >= 1 - (4 / n) / |phi|^2 - s^2. */
TEST(topics_are_found) {
    enum { WORDS = 83, TOPICS = 5 };
    OWN(corpus) c = corpus_make(600, WORDS, TOPICS, 60, false, 77);
    for (int variant = 0; variant < 7; variant++) {
        static const char *const names[] = {"lda", "map", "gap", "gap in mini-batches", "nmf", "lda-gibbs", "learned"};
        static const tamis_method methods[] = {TAMIS_LDA, TAMIS_LDA,       TAMIS_GAP,      TAMIS_GAP,
                                               TAMIS_NMF, TAMIS_LDA_GIBBS, TAMIS_LDA_GIBBS};
        const tamis_method method = methods[variant];
        tamis_model_options options = options_of(method, TOPICS, TAMIS_F32);
        if (method == TAMIS_NMF) options.weights = TAMIS_WEIGHTS_LINEAR; /* whose topics are of counts */
        options.maximum_a_posteriori = variant == 1 || method == TAMIS_LDA_GIBBS;
        options.learn_row_prior = variant == 6;
        options.batch_rows = variant == 2 ? 0 : 100;
        options.iterations = variant < 2 ? 40 : 300;
        options.seed = 3;
        OWN(tamis_model) *const model = model_fitted(device, &options, &c.S);
        OWN(double) *const factors = model_factors(model, false, NULL);
        double least = 1;
        for (int64_t k = 0; k < TOPICS; k++) {
            double square = 0;
            for (int64_t w = 0; w < WORDS; w++) square += c.phi[k * WORDS + w] * c.phi[k * WORDS + w];
            least = fmin(least, 1 - 4 / c.tokens[k] / square - 0.01);
        }
        const double match = least_match(c.phi, factors, WORDS, TOPICS);
        if (!(match >= least))
            fail_msg("%s: a topic is matched with cosine %g, bound %g", names[variant], match, least);
    }
}

/* A plan pays for its set-up with the calls that it will have: of a stream's mini-batch, new documents and a fit. */
TEST(plans_know_their_calls) {
    static const char *const expected[][2] = {{"for 7 calls", "for 1 call:"}, {"for 112 calls", "for 16 calls"}};
    OWN(corpus) c = corpus_make(30, 20, 2, 20, true, 90);
    const tamis_model_options options = options_of(TAMIS_LDA, 3, TAMIS_F32);
    OWN(tamis_model) *const model = model_made(device, &options);
    tamis_sparse canonical;
    TAMIS_SCOPE;
    works(ml_canonical(model, &c.S, "S", &canonical));
    const ml_batch_plan plans[] = {
        {.operation = TAMIS_OP_FUSED, .edge = TAMIS_EDGE_QUOTIENT, .inner = 3, .width = 3, .calls = 7},
        {.operation = TAMIS_OP_SDDMM, .edge = TAMIS_EDGE_MASK, .inner = 3}};
    for (int i = 0; i < 2; i++) {
        ml_batches batches;
        works(ml_batches_make(model, &canonical, 30, false, i ? ML_PASSES : 1, plans, 2, &batches));
        for (int p = 0; p < 2; p++) {
            tamis_plan_report d = {0};
            works(tamis_plan_describe(batches.batch[0].plans[p], &d));
            if (!strstr(d.reason, expected[i][p])) fail_msg("plan %d is chosen by: %s", p, d.reason);
        }
    }
}

TEST_ON_DEVICE(set_up, tear_down)
