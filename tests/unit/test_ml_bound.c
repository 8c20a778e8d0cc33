/*
 * LDA's lower bounds and learned alpha, against plain loops in double: the bound of a fit, which never falls in batch
 * mode; the alpha at which it stands still; the bound of documents that other libraries print.
 *   test_ml_bound [DEVICE]
 */
#include "support/test.h"

#include "ml/fit/place.h"
#include "ml/methods/dirichlet.h"
#include "ml/model.h"
#include "model_rows.h"
#include "support/matrix.h"
#include "topics_reference.h"

#include "device_fixture.h" /* after the headers whose arguments have its names */

enum { ROWS = 60, WORDS = 40, TOPICS = 4, PASSES = 25 };

/* Batch mode: all documents at once, with all of the new topics' weight. */
static tamis_model *fitted(const corpus *c, double alpha, tamis_type type, int passes, bool learn, int rounds,
                           history *h) {
    tamis_model_options options = sized_options(TAMIS_LDA, type, TOPICS, passes);
    options.row_prior = alpha;
    options.batch_rows = 1000;
    options.rate_decay = 0;
    options.inner_rounds = rounds;
    options.learn_row_prior = learn;
    options.elbo = h != NULL;
    options.callback = h ? history_notes : NULL;
    options.callback_context = h;
    return model_fitted(device, &options, &c->S);
}

static double *numbers_of(const tamis_model *model, const tamis_dense *there) {
    tamis_owned_dense *array;
    works(ml_dense_fetch(model, there, &array));
    return model_numbers(array);
}

/* E[ln p - ln q] of one document, by lgamma; adds E[ln theta] to means where there are some. */
static double document_gain(const double *alpha, const double *gamma, double *means) {
    double gain = 0, before = 0, after = 0;
    for (int k = 0; k < TOPICS; k++) before += alpha[k], after += gamma[k];
    for (int k = 0; k < TOPICS; k++) {
        const double mean = reference_digamma(gamma[k]) - reference_digamma(after);
        gain += (alpha[k] - gamma[k]) * mean + lgamma(gamma[k]) - lgamma(alpha[k]);
        if (means) means[k] += mean;
    }
    return gain + lgamma(before) - lgamma(after);
}

/* sum S ln sum_k exp(E[ln theta_dk]) M_wk and the gains of documents, of S with M as it is. */
static double documents_bound(const tamis_sparse *S, const double *M, const double *alpha, int rounds, double *means) {
    const reference_lda o = {.alphas = alpha, .rounds = rounds};
    OWN(double) *const G = test_doubles(S->rows * TOPICS), *const U = test_doubles(S->rows * TOPICS);
    double sum = 0;
    reference_lda_infer_for(S, M, TOPICS, &o, G, U);
    for (int64_t d = 0; d < S->rows; d++) {
        const int64_t first = ((const int64_t *)S->offsets)[d], end = ((const int64_t *)S->offsets)[d + 1];
        const double *const g = G + d * TOPICS;
        double all = 0;
        if (first == end) continue;
        for (int k = 0; k < TOPICS; k++) all += g[k];
        sum += document_gain(alpha, g, means);
        for (int64_t t = first; t < end; t++) {
            const double *const m = M + (int64_t)((const int32_t *)S->columns)[t] * TOPICS;
            double P = 0;
            for (int k = 0; k < TOPICS; k++) P += exp(reference_digamma(g[k]) - reference_digamma(all)) * m[k];
            sum += (double)((const float *)S->values)[t] * log(P);
        }
    }
    return sum;
}

static double *plug_in(const double *L) {
    double *const phi = test_doubles((int64_t)WORDS * TOPICS), sums[TOPICS] = {0};
    for (int i = 0; i < WORDS * TOPICS; i++) sums[i % TOPICS] += L[i];
    for (int i = 0; i < WORDS * TOPICS; i++) phi[i] = L[i] / sums[i % TOPICS];
    return phi;
}

TEST(functions) {
    for (double x = 1e-3; x < 1e5; x *= 1.07) {
        const double size = 1e-13 * (1 + fabs(lgamma(x))), h = 1e-3 * x;
        if (!(fabs(ml_log_gamma(x) - lgamma(x)) <= 2 * size)) fail_msg("ln Gamma(%g) is %.17g", x, ml_log_gamma(x));
        const double psi = reference_digamma(x);
        if (!(fabs(ml_digamma(x) - psi) <= 2e-13 * (1 + fabs(psi)))) fail_msg("psi(%g) is %.17g", x, ml_digamma(x));
        /* of central differences with h and h / 2 what is left over is of fourth order in h / x = 1e-3 */
        const double wide = (ml_digamma(x + h) - ml_digamma(x - h)) / (2 * h);
        const double close = (ml_digamma(x + h / 2) - ml_digamma(x - h / 2)) / h, slope = (4 * close - wide) / 3;
        if (!(fabs(ml_trigamma(x) - slope) <= 1e-8 * slope)) fail_msg("psi'(%g) is %.17g", x, ml_trigamma(x));
    }
}

/* The bound of pass t is of the topics, and the alpha, after pass t - 1. */
TEST(bound_is_right) {
    OWN(corpus) c = corpus_make(ROWS, WORDS, TOPICS, 30, true, 11);
    for (int variant = 0; variant < 4; variant++) {
        const tamis_type type = variant & 1 ? TAMIS_F64 : TAMIS_F32;
        const bool learn = variant & 2;
        history h = {0};
        OWN(tamis_model) *const before = fitted(&c, 0.1, type, 3, learn, 4, NULL);
        OWN(tamis_model) *const after = fitted(&c, 0.1, type, 4, learn, 4, &h);
        double alpha[TOPICS] = {0.1, 0.1, 0.1, 0.1}, prior = 0;
        OWN(double) *const L = numbers_of(before, &before->column_factors), *const phi = plug_in(L),
                           *const learned = learn ? numbers_of(before, &before->states[0]) : NULL;
        if (learn) memcpy(alpha, learned, sizeof alpha);
        for (int i = 0; i < WORDS * TOPICS; i++) prior += 0.1 * log(phi[i]);
        const double want = (documents_bound(&c.S, phi, alpha, 4, NULL) + prior) / corpus_total(&c.S);
        assert_int_equal(h.count, 4);
        /* of each word ln P and psi with tens of roundings, and ln Gamma of numbers of a few tens */
        if (!(fabs(h.elbo[3] - want) <= 2e3 * (type == TAMIS_F64 ? 0x1p-53 : 0x1p-24) * fabs(want)))
            fail_msg("variant %d: the bound is %.17g, expected %.17g", variant, h.elbo[3], want);
        assert_true(learn == (fabs(alpha[0] - alpha[1]) > 1e-4)); /* it was learned, one of each topic */
    }
}

/* With documents that stand still before topics move, which they do after 100 rounds to less than rounding. alpha = 1:
   with less a document has several best posteriors, and each pass looks for one from the same start. */
TEST(bound_never_falls) {
    for (uint64_t seed = 20; seed < 23; seed++) {
        OWN(corpus) c = corpus_make(ROWS, WORDS, TOPICS, 30, true, seed);
        history h = {0};
        OWN(tamis_model) *const model = fitted(&c, 1, TAMIS_F64, PASSES, false, 100, &h);
        assert_int_equal(h.count, PASSES);
        for (int i = 1; i < PASSES; i++)
            if (!(h.elbo[i] >= h.elbo[i - 1] - 1e-11))
                fail_msg("seed %d: the bound falls from %.17g to %.17g in pass %d", (int)seed, h.elbo[i - 1], h.elbo[i],
                         i + 1);
        assert_true(h.elbo[PASSES - 1] > h.elbo[0] + 0.1);
        history learned = {0};
        OWN(tamis_model) *const other = fitted(&c, 1, TAMIS_F64, PASSES, true, 100, &learned);
        /* documents have two of four topics: an alpha below 1 suits them better */
        assert_true(learned.elbo[PASSES - 1] > h.elbo[PASSES - 1] + 0.01);
    }
}

/* Where the fit ends, no other alpha makes the documents' distributions likelier: the gradient is small beside its
   curvature. And what is learned is kept in the file and is what an empty document gets. */
TEST(alpha_is_most_likely) {
    OWN(corpus) c = corpus_make(ROWS, WORDS, TOPICS, 30, true, 31);
    OWN(tamis_model) *const model = fitted(&c, 0.1, TAMIS_F64, 300, true, 20, NULL);
    OWN(double) *const L = numbers_of(model, &model->column_factors), *const phi = plug_in(L),
                       *const alpha = numbers_of(model, &model->states[0]);
    double means[TOPICS] = {0}, sum = 0;
    (void)documents_bound(&c.S, phi, alpha, 20, means);
    int64_t documents = 0;
    for (int64_t d = 0; d < ROWS; d++) documents += c.offsets[d + 1] > c.offsets[d];
    for (int k = 0; k < TOPICS; k++) sum += alpha[k];
    for (int k = 0; k < TOPICS; k++) {
        const double gradient = reference_digamma(sum) - reference_digamma(alpha[k]) + means[k] / (double)documents;
        if (!(fabs(gradient) <= 1e-3 * ml_trigamma(alpha[k]) * alpha[k]))
            fail_msg("topic %d: alpha %g, the gradient is %g", k, alpha[k], gradient);
    }
    OWN(tamis_model) *const loaded = model_reloaded(device, model);
    OWN(double) *const W = model_transformed(loaded, &c.S);
    assert_memory_equal(W + 3 * TOPICS, alpha, TOPICS * sizeof *alpha); /* document 3 is empty */
}

/* scikit-learn's perplexity, in loops: topics as distributions too. Words of `observed` and `entries` count together,
   so each document is asked for twice with half of its counts each: an even number of each word. */
TEST(documents_of_others) {
    OWN(corpus) c = corpus_make(ROWS, WORDS, TOPICS, 30, true, 41),
                twice = corpus_make(ROWS, WORDS, TOPICS, 30, true, 41);
    for (int64_t t = 0; t < twice.S.nnz; t++) twice.values[t] *= 2;
    for (int variant = 0; variant < 4; variant++) {
        const tamis_type type = variant & 1 ? TAMIS_F64 : TAMIS_F32;
        OWN(tamis_model) *const model = fitted(&c, 0.1, type, 5, variant & 2, 5, NULL);
        OWN(double) *const L = numbers_of(model, &model->column_factors),
                           *const M = test_doubles((int64_t)WORDS * TOPICS),
                           *const learned = variant & 2 ? numbers_of(model, &model->states[0]) : NULL;
        double alpha[TOPICS] = {0.1, 0.1, 0.1, 0.1}, sums[TOPICS] = {0};
        if (learned) memcpy(alpha, learned, sizeof alpha);
        for (int i = 0; i < WORDS * TOPICS; i++) sums[i % TOPICS] += L[i];
        double bound = 0;
        for (int i = 0; i < WORDS * TOPICS; i++) {
            const double mean = reference_digamma(L[i]) - reference_digamma(sums[i % TOPICS]);
            M[i] = exp(mean);
            bound += (0.1 - L[i]) * mean + lgamma(L[i]) - lgamma(0.1);
        }
        for (int k = 0; k < TOPICS; k++) bound += lgamma(WORDS * 0.1) - lgamma(sums[k]);
        bound += documents_bound(&twice.S, M, alpha, 100, NULL);
        const tamis_held_out held = {.entries = &c.S, .observed = &c.S};
        tamis_score score;
        works(tamis_model_score(model, &held, true, 5, &score));
        const double want = exp(-bound / corpus_total(&twice.S));
        if (!(fabs(score.bound_perplexity - want) <= 1e4 * (type == TAMIS_F64 ? 0x1p-53 : 0x1p-24) * want))
            fail_msg("variant %d: perplexity %.17g, expected %.17g", variant, score.bound_perplexity, want);
    }
}

TEST_ON_DEVICE(set_up, tear_down)
