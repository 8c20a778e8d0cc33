/*
 * LDA by Gibbs sampling: a pass against its probabilities, one topic in closed form, seeds, files that lie.
 *   test_ml_gibbs [DEVICE]
 */
#include "support/test.h"

#include "ml/factors.h"
#include "model_rows.h"
#include "topics_reference.h"

#include "device_fixture.h" /* after the headers whose arguments have its names */

enum { TOPICS_STATE = 1 };

static tamis_model_options options_of(int64_t topics, int iterations) {
    tamis_model_options options = default_options(TAMIS_LDA_GIBBS);
    options.factors = topics;
    options.iterations = iterations;
    options.type = TAMIS_F64;
    return options;
}

/* ------------------------------------------------------------------------------------------ draws */

enum { DOCUMENTS = 30, WORDS = 7, K = 3, LENGTH = 3, SEEDS = 400 };

/* Three different words each, so that tokens are entries. */
typedef struct short_texts {
    int64_t offsets[DOCUMENTS + 1];
    int32_t columns[DOCUMENTS * LENGTH];
    float values[DOCUMENTS * LENGTH];
    tamis_sparse S;
} short_texts;

static void short_texts_make(short_texts *t) {
    for (int64_t d = 0; d <= DOCUMENTS; d++) t->offsets[d] = d * LENGTH;
    for (int64_t d = 0; d < DOCUMENTS; d++)
        for (int64_t i = 0; i < LENGTH; i++) {
            t->columns[d * LENGTH + i] = (int32_t)(d % (WORDS - LENGTH + 1) + i);
            t->values[d * LENGTH + i] = 1;
        }
    t->S = (tamis_sparse){.format = TAMIS_CSR,
                          .rows = DOCUMENTS,
                          .cols = WORDS,
                          .nnz = DOCUMENTS * LENGTH,
                          .index_type = TAMIS_I32,
                          .offset_type = TAMIS_I64,
                          .value_type = TAMIS_F32,
                          .offsets = t->offsets,
                          .columns = t->columns,
                          .values = t->values};
}

/* Topics of all words after so many passes; freed by the caller. */
static double *topics_after(const short_texts *t, uint64_t seed, int passes, double *loss) {
    tamis_model_options options = options_of(K, passes);
    options.seed = seed;
    options.row_prior = 0.4;
    options.column_prior = 0.2;
    OWN(tamis_model) *const model = model_fitted(device, &options, &t->S);
    assert_int_equal(model->states[TOPICS_STATE].rows, DOCUMENTS * LENGTH);
    tamis_owned_dense *array;
    works(ml_dense_fetch(model, &model->states[TOPICS_STATE], &array));
    *loss = model_loss(model);
    return model_numbers(array);
}

/* Sum and variance of what was drawn less what was expected. */
typedef struct tally {
    double off, variance;
} tally;

/* The second pass by its definition: all documents are of one part, so that words have the topics of the first pass. */
static double expect_pass(const short_texts *t, const double *before, const double *after, tally tallies[K]) {
    double N[WORDS][K] = {{0}}, mass[K] = {0}, logs = 0;
    for (int64_t at = 0; at < DOCUMENTS * LENGTH; at++) {
        N[t->columns[at]][(int)before[at]] += 1;
        mass[(int)before[at]] += 1;
    }
    for (int64_t d = 0; d < DOCUMENTS; d++) {
        double n[K] = {0};
        for (int64_t at = d * LENGTH; at < (d + 1) * LENGTH; at++) n[(int)before[at]] += 1;
        for (int64_t at = d * LENGTH; at < (d + 1) * LENGTH; at++) {
            const int old = (int)before[at], new = (int)after[at];
            double p[K], sum = 0;
            n[old] -= 1;
            for (int k = 0; k < K; k++) {
                const double own = k == old ? 1 : 0;
                p[k] = (n[k] + 0.4) * (N[t->columns[at]][k] - own + 0.2) / (mass[k] - own + WORDS * 0.2);
                sum += p[k];
            }
            for (int k = 0; k < K; k++) {
                p[k] /= sum;
                tallies[k].off += (new == k) - p[k];
                tallies[k].variance += p[k] * (1 - p[k]);
            }
            logs -= log(sum / (LENGTH - 1 + K * 0.4));
            n[new] += 1;
        }
    }
    return logs / (DOCUMENTS * LENGTH);
}

/* Draws follow their probabilities: given all before, what was drawn less what was expected has the mean 0, so the sums
   are a martingale; beyond five deviations is one chance in two million. The loss is the reference's. */
TEST(draws_are_right) {
    short_texts t;
    tally tallies[K] = {{0, 0}};
    short_texts_make(&t);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        double loss, other;
        OWN(double) *const before = topics_after(&t, seed, 1, &other), *const after = topics_after(&t, seed, 2, &loss);
        const double expected = expect_pass(&t, before, after, tallies);
        /* tables are of fp32: each probability errs by some 2^-24 of it */
        if (!(fabs(loss - expected) <= 64 * 0x1p-24))
            fail_msg("seed %d: the loss is %.12g, expected %.12g", (int)seed, loss, expected);
    }
    for (int k = 0; k < K; k++)
        if (!(fabs(tallies[k].off) <= 5 * sqrt(tallies[k].variance)))
            fail_msg("topic %d was drawn %g times more than expected, deviation %g", k, tallies[k].off,
                     sqrt(tallies[k].variance));
}

/* With one topic there is nothing to draw: L is the counts and beta, the loss that of each word given all others. */
TEST(one_topic_is_frequencies) {
    enum { COLUMNS = 50 };
    OWN(corpus) c = corpus_make(60, COLUMNS, 3, 40, true, 21);
    c.values[3] = 2.5F; /* as three words */
    c.values[7] = 5000; /* as 1024 words */
    tamis_model_options options = options_of(1, 3);
    options.column_prior = 0.3;
    OWN(tamis_model) *const model = model_fitted(device, &options, &c.S);
    OWN(double) *const L = model_factors(model, false, NULL), *const N = calloc(COLUMNS, sizeof *N);
    const double total = corpus_total(&c.S);
    double loss = 0;
    for (int64_t t = 0; t < c.S.nnz; t++) N[c.columns[t]] += (double)c.values[t];
    for (int64_t w = 0; w < COLUMNS; w++) assert_true(fabs(L[w] - N[w] - 0.3) <= 1e-9 * (N[w] + 1));
    for (int64_t t = 0; t < c.S.nnz; t++) {
        const double value = (double)c.values[t], weight = value / fmin(ceil(value), 1024);
        if (value > 0) loss -= value * log((N[c.columns[t]] - weight + 0.3) / (total - weight + COLUMNS * 0.3)) / total;
    }
    const double given = model_loss(model);
    if (!(fabs(given - loss) <= 1e-6 * loss)) fail_msg("the loss is %.12g, expected %.12g", given, loss);
}

/* ------------------------------------------------------------------------------------------ seeds */

TEST(seeds_lead_topics) {
    enum { COLUMNS = 83, TOPICS = 5 };
    OWN(corpus) c = corpus_make(600, COLUMNS, TOPICS, 60, false, 77);
    for (int shift = 0; shift < TOPICS; shift++) {
        int64_t seeds[COLUMNS];
        tamis_model_options options = options_of(TOPICS, 60);
        OWN(tamis_model) *const model = model_made(device, &options);
        /* two words of each topic, in another order of topics */
        for (int64_t w = 0; w < COLUMNS; w++) seeds[w] = w < 2 * TOPICS ? (w + shift) % TOPICS : -1;
        works(tamis_model_set_seeds(model, seeds, COLUMNS));
        works(tamis_model_fit(model, &c.S, NULL));
        OWN(double) *const L = model_factors(model, false, NULL);
        for (int64_t k = 0; k < TOPICS; k++) {
            double dot = 0, a = 0, b = 0;
            for (int64_t w = 0; w < COLUMNS; w++) {
                const double phi = c.phi[k * COLUMNS + w], found = L[w * TOPICS + (k + shift) % TOPICS];
                dot += phi * found;
                a += phi * phi;
                b += found * found;
            }
            if (!(dot / sqrt(a * b) > 0.95)) fail_msg("topic %d has cosine %g", (int)k, dot / sqrt(a * b));
        }
    }
}

TEST(seeds_are_checked) {
    short_texts t;
    int64_t seeds[WORDS] = {0, 1, 2, -1, -1, -1, -1};
    short_texts_make(&t);
    const tamis_model_options options = options_of(K, 2);
    OWN(tamis_model) *const model = model_made(device, &options);
    seeds[2] = K;
    REFUSED(ARGUMENT, "^topics[2] = 3, expected -1 or a topic of 0 to 2$", tamis_model_set_seeds(model, seeds, WORDS));
    seeds[2] = -2;
    REFUSED(ARGUMENT, "^topics[2] = -2, expected", tamis_model_set_seeds(model, seeds, WORDS));
    seeds[2] = 2;
    REFUSED(ARGUMENT, "^count = -1 is negative$", tamis_model_set_seeds(model, seeds, -1));
    REFUSED(ARGUMENT, "^model is NULL$", tamis_model_set_seeds(NULL, seeds, WORDS));
    works(tamis_model_set_seeds(model, seeds, WORDS - 1));
    REFUSED(ARGUMENT, "^S has 7 columns, but there are seeds for 6$", tamis_model_fit(model, &t.S, NULL));
    works(tamis_model_set_seeds(model, seeds, WORDS));
    works(tamis_model_fit(model, &t.S, NULL));
    REFUSED(ARGUMENT, "^the model has begun", tamis_model_set_seeds(model, seeds, WORDS));
    const tamis_model_options others = default_options(TAMIS_LDA);
    OWN(tamis_model) *const lda = model_made(device, &others);
    REFUSED(UNSUPPORTED, "^lda takes no seeds of topics$", tamis_model_set_seeds(lda, seeds, WORDS));
}

/* A fit that stops, is saved and goes on has its seeds, and ends with the same bits. */
TEST(seeds_go_on) {
    short_texts t;
    const int64_t seeds[WORDS] = {0, 1, 2, -1, -1, -1, -1};
    short_texts_make(&t);
    tamis_model_options options = options_of(K, 6);
    OWN(tamis_model) *const whole = model_made(device, &options);
    works(tamis_model_set_seeds(whole, seeds, WORDS));
    works(tamis_model_fit(whole, &t.S, NULL));
    options.iterations = 2;
    OWN(tamis_model) *const part = model_made(device, &options);
    works(tamis_model_set_seeds(part, seeds, WORDS));
    works(tamis_model_fit(part, &t.S, NULL));
    OWN(tamis_model) *const loaded = model_reloaded(device, part);
    options.iterations = 6;
    works(tamis_model_continue_with(loaded, &options));
    works(tamis_model_fit(loaded, &t.S, NULL));
    model_expect_same("seeds", loaded, whole);
}

/* ------------------------------------------------------------------------------------------ files */

/* What a file says of words is checked where a fit goes on. */
TEST(damaged_topics_are_refused) {
    static const struct {
        int64_t rows;
        double number;
        const char *words;
    } wrong[] = {{DOCUMENTS * LENGTH, K, "the model is damaged: word 0 has topic 3, expected 0 to 2"},
                 {DOCUMENTS * LENGTH, 0.5, "the model is damaged: word 0 has topic 0.5, expected 0 to 2"},
                 {4, 0, "the model has topics of 4 words, but S has 90 words"}};
    short_texts t;
    short_texts_make(&t);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tamis_model_options options = options_of(K, 2);
        OWN(tamis_model) *const model = model_fitted(device, &options, &t.S);
        bool fresh;
        works(ml_model_state_of(model, TOPICS_STATE, wrong[i].rows, &fresh));
        works(tamis_dense_fill(device, NULL, &model->states[TOPICS_STATE], wrong[i].number));
        OWN(tamis_model) *const loaded = model_reloaded(device, model);
        options.iterations = 4;
        works(tamis_model_continue_with(loaded, &options));
        assert_int_equal(tamis_model_fit(loaded, &t.S, NULL), TAMIS_ERROR_ARGUMENT);
        assert_string_equal(tamis_last_error(), wrong[i].words);
    }
}

TEST_ON_DEVICE(set_up, tear_down)
