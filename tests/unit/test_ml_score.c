/* Topics, their coherence, scores and the metric of a fit, against plain restatements in double. */
#include "support/test.h"

#include "ml/fit/score.h"
#include "ml/methods/methods.h"
#include "ml/numbers.h"
#include "ml/serve/predict.h"
#include "ml/serve/topics.h"
#include "test_ml_models.h"

#include "cpu_device.h"

/* ------------------------------------------------------------------------------------------ topics */

TEST(tells_topics) {
    for (int i = 0; i < SHAPES; i++) {
        OWN(tamis_model) *const model = model_of(device, &shapes[i]);
        const int64_t cols = model->cols, factors = model->options.factors;
        const bool of_counts = shapes[i].kind == TAMIS_DATA_COUNTS; /* topics, which list no words of weight 0 */
        const int n = cols < 50 ? (int)cols + 2 : 11;
        OWN(int64_t) *const columns = malloc((size_t)(factors * n) * sizeof *columns);
        OWN(double) *const weights = malloc((size_t)(factors * n) * sizeof *weights);
        works(tamis_model_topics(model, n, columns, weights));
        const tamis_dense *const X = &model->column_factors;
        for (int64_t k = 0; k < factors; k++) {
            OWN(bool) *const taken = calloc((size_t)cols, sizeof *taken);
            double mass = 0;
            for (int64_t j = 0; j < cols; j++) mass += number(X, j, k);
            for (int64_t at = k * n; at < (k + 1) * n; at++) {
                int64_t best = -1;
                for (int64_t j = 0; j < cols; j++)
                    if (!taken[j] && !(of_counts && number(X, j, k) == 0) &&
                        (best < 0 || number(X, j, k) > number(X, best, k)))
                        best = j;
                assert_int_equal(columns[at], best);
                if (best < 0) {
                    assert_true(isnan(weights[at]));
                    continue;
                }
                taken[best] = true;
                assert_true(weights[at] == number(X, best, k) / (of_counts ? mass : 1));
            }
        }
    }
}

/* Four documents; words 0 and 1 together in two of them, 0 and 2 never, 3 in all, 4 in none. */
TEST(measures_coherence) {
    const int64_t offsets[] = {0, 3, 6, 8, 10};
    const int32_t columns[] = {0, 1, 3, 0, 1, 3, 2, 3, 1, 3};
    const float values[] = {1, 1, 1, 2, 1, 1, 1, 1, 1, 1};
    tamis_sparse S = CSR(4, 6, offsets, columns, values);
    const struct {
        int64_t words[6];
        int topics, top;
        double expected;
    } cases[] = {
        {{0, 1}, 1, 2, log(0.5 / (0.5 * 0.75)) / -log(0.5)},
        {{0, 2}, 1, 2, -1},
        {{0, 3}, 1, 2, 0},
        {{3, 3}, 1, 2, 1},
        {{0, 4}, 1, 2, NAN},
        {{0, -1}, 1, 2, NAN},
        {{0, 4, 0, 2}, 2, 2, -1}, /* the first topic says nothing */
        {{0, 1, 0, 2}, 2, 2, (log(0.5 / (0.5 * 0.75)) / -log(0.5) - 1) / 2},
        {{0, 1, 2}, 1, 3, (log(0.5 / (0.5 * 0.75)) / -log(0.5) - 2) / 3},
        {{0}, 1, 1, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double found = 77;
        works(ml_coherence(&S, cases[i].words, cases[i].topics, cases[i].top, &found));
        if (isnan(cases[i].expected))
            assert_true(isnan(found));
        else
            assert_true(fabs(found - cases[i].expected) < 1e-14);
    }
    double found;
    float zeros[10] = {0};
    S.values = zeros; /* a word that was counted zero times is not there */
    works(ml_coherence(&S, cases[0].words, 1, 2, &found));
    assert_true(isnan(found));
}

/* ------------------------------------------------------------------------------------------ score */

static void same(const char *what, double found, double expected) {
    if (isnan(expected) ? !isnan(found) : !(fabs(found - expected) <= 1e-6 * (1 + fabs(expected))))
        fail_msg("%s = %.12g, expected %.12g", what, found, expected);
}

static tamis_score nothing(void) {
    return (tamis_score){.rmse = NAN,
                         .mae = NAN,
                         .log_likelihood = NAN,
                         .perplexity = NAN,
                         .precision = NAN,
                         .recall = NAN,
                         .ndcg = NAN,
                         .coherence = NAN};
}

static void restate_ranking(const plain *p, const data *held, const data *seen, int top, bool positive, double least,
                            tamis_score *score) {
    const int64_t cols = held->view.cols;
    double precision = 0, recall = 0, ndcg = 0;
    int64_t rows = 0;
    for (int64_t i = 0; i < held->view.rows; i++) {
        OWN(bool) *const relevant = calloc((size_t)cols, sizeof *relevant);
        OWN(bool) *const taken = calloc((size_t)cols, sizeof *taken);
        int64_t count = 0;
        for (int64_t t = held->offsets[i]; t < held->offsets[i + 1]; t++)
            if ((!positive || held->values[t] > 0) && held->values[t] >= least) {
                relevant[held->columns[t]] = true;
                count++;
            }
        for (int64_t t = seen->offsets[i]; t < seen->offsets[i + 1]; t++) taken[seen->columns[t]] = true;
        double gain = 0, best_gain = 0, hits = 0;
        for (int place = 0; place < top; place++) {
            int64_t best = -1;
            for (int64_t j = 0; j < cols; j++)
                if (!taken[j] && (best < 0 || plain_raw(p, i, j) > plain_raw(p, i, best))) best = j;
            if (place < count) best_gain += 1 / log2(place + 2);
            if (best < 0) continue;
            taken[best] = true;
            if (!relevant[best]) continue;
            hits++;
            gain += 1 / log2(place + 2);
        }
        if (count > 0) {
            rows++;
            precision += hits / top;
            recall += hits / (double)count;
            ndcg += gain / best_gain;
        }
    }
    score->precision = precision / (double)rows;
    score->recall = recall / (double)rows;
    score->ndcg = ndcg / (double)rows;
}

static void restate_entries(const plain *p, tamis_method_data kind, const data *held, tamis_score *score) {
    double squares = 0, sizes = 0, sum = 0, weights = 0;
    for (int64_t i = 0; i < held->view.rows; i++) {
        double all = 0;
        for (int64_t j = 0; j < held->view.cols; j++) all += plain_raw(p, i, j);
        for (int64_t t = held->offsets[i]; t < held->offsets[i + 1]; t++) {
            const double expected = plain_expectation(p, i, held->columns[t]), error = expected - held->values[t];
            squares += error * error;
            sizes += fabs(error);
            if (held->values[t] == 0) continue;
            sum += held->values[t] * log(fmax(all == 0 ? 0 : expected / all, 1e-12));
            weights += held->values[t];
        }
    }
    if (kind == TAMIS_DATA_RATINGS) {
        score->rmse = sqrt(squares / (double)held->view.nnz);
        score->mae = sizes / (double)held->view.nnz;
    } else if (kind == TAMIS_DATA_COUNTS) {
        score->log_likelihood = sum / weights;
        score->perplexity = exp(-sum / weights);
    }
}

TEST(scores) {
    for (int i = 0; i < SHAPES - 2; i++)
        for (int fold_in = 0; fold_in < 2; fold_in++) {
            const shape *const s = &shapes[i];
            if (s->cols < 2) continue;
            OWN(tamis_model) *const model = model_of(device, s);
            const bool folds = fold_in || s->kind == TAMIS_DATA_COUNTS;
            const int64_t rows = folds ? 27 : s->rows;
            OWN(data) held = data_make(rows, s->cols, 4, 50), seen = data_make(rows, s->cols, 6, 51);
            for (int64_t t = 0; t < held.view.nnz; t += 5)
                if (s->kind != TAMIS_DATA_RATINGS) held.values[t] = 0;
            const tamis_held_out held_out = {
                .entries = &held.view, .observed = &seen.view, .threshold = i % 3 == 1, .relevant = 2.5};
            tamis_dense W;
            TAMIS_SCOPE;
            if (folds) works(ml_transform(model, &seen.view, "S", &W));
            OWN(plain) p = plain_of(model, folds ? &W : NULL);
            tamis_score found, expected = nothing();
            works(tamis_model_score(model, &held_out, fold_in == 1, i % 2 == 0 ? 0 : 3, &found));
            expected.entries = held.view.nnz;
            for (int64_t row = 0; row < rows; row++) expected.rows += held.offsets[row + 1] > held.offsets[row];
            restate_entries(&p, s->kind, &held, &expected);
            restate_ranking(&p, &held, &seen, i % 2 == 0 ? 10 : 3, s->kind != TAMIS_DATA_RATINGS,
                            i % 3 == 1 ? 2.5 : -INFINITY, &expected);
            assert_int_equal(found.entries, expected.entries);
            assert_int_equal(found.rows, expected.rows);
            same("rmse", found.rmse, expected.rmse);
            same("mae", found.mae, expected.mae);
            same("log_likelihood", found.log_likelihood, expected.log_likelihood);
            same("perplexity", found.perplexity, expected.perplexity);
            same("precision", found.precision, expected.precision);
            same("recall", found.recall, expected.recall);
            same("ndcg", found.ndcg, expected.ndcg);
            assert_true(isnan(found.coherence) == (s->kind != TAMIS_DATA_COUNTS));
            assert_true(isnan(found.coherence) || (found.coherence >= -1 && found.coherence <= 1));
        }
}

/* The number of a fit's callback is that of the score. */
TEST(gives_metrics) {
    for (int kind = 0; kind < 3; kind++) {
        OWN(tamis_model) *const model = model_by_hand(device, kind == TAMIS_DATA_RATINGS ? TAMIS_ALS : TAMIS_LDA,
                                                      (tamis_method_data)kind, 23, 40, 3, TAMIS_F32, false);
        OWN(data) held = data_make(23, 40, 4, 50), seen = data_make(23, 40, 6, 51);
        const tamis_held_out held_out = {.entries = &held.view, .observed = &seen.view};
        tamis_score score;
        double metric, weight;
        works(tamis_model_score(model, &held_out, false, 10, &score));
        works(ml_metric(model, &held_out, &metric, &weight));
        assert_true(metric == (kind == TAMIS_DATA_RATINGS  ? score.rmse
                               : kind == TAMIS_DATA_COUNTS ? score.perplexity
                                                           : score.recall));
        if (kind != TAMIS_DATA_COUNTS)
            works(ml_metric(model, &(tamis_held_out){.entries = &held.view, .observed = NULL}, &metric, &weight));
    }
}

/* A word of a topic without weight costs ln 1e-12, not everything; nothing held out is no number. */
TEST(scores_the_impossible) {
    OWN(tamis_model) *const model = model_by_hand(device, TAMIS_LDA, TAMIS_DATA_COUNTS, 1, 2, 1, TAMIS_F32, false);
    put(model, &model->column_factors, (const double[]){1, 0}, 2);
    const int64_t offsets[] = {0, 1}, first[] = {0}, second[] = {1};
    tamis_sparse observed = CSR(1, 2, offsets, first, NULL);
    tamis_sparse entries = observed;
    entries.columns = second;
    tamis_score score;
    works(tamis_model_score(model, &(tamis_held_out){.entries = &entries, .observed = &observed}, false, 0, &score));
    same("log_likelihood", score.log_likelihood, log(1e-12));
    /* a document without a word has no topics: everything is impossible */
    const int64_t none[] = {0, 0};
    observed.nnz = 0;
    observed.offsets = none;
    works(tamis_model_score(model, &(tamis_held_out){.entries = &entries, .observed = &observed}, false, 0, &score));
    same("log_likelihood", score.log_likelihood, log(1e-12));
    works(tamis_model_score(model, &(tamis_held_out){.entries = &observed, .observed = &observed}, false, 0, &score));
    assert_true(score.entries == 0 && score.rows == 0 && isnan(score.perplexity) && isnan(score.recall));
}

/* ------------------------------------------------------------------------------------------ shares */

/* Topics of 4 and 1 words in all: of gap a document's weights count as many words; of lda they are shares already but
   for their sum. A document without topics stays. */
TEST(tells_shares) {
    static const tamis_method methods[] = {TAMIS_LDA, TAMIS_GAP};
    static const double expected[2][6] = {{0.25, 0.75, 0.5, 0.5, 0, 0}, {4.0 / 7, 3.0 / 7, 0.8, 0.2, 0, 0}};
    for (int n = 0; n < 2; n++) {
        for (int type = 0; type < 2; type++) {
            OWN(tamis_model) *const model =
                model_by_hand(device, methods[n], TAMIS_DATA_COUNTS, 3, 2, 2, (tamis_type)type, false);
            ml_method method = *model->method;
            method.masses = ml_method_of(methods[n])->masses;
            model->method = &method;
            float single[] = {1, 3, 2, 2, 0, 0};
            double wide[] = {1, 3, 2, 2, 0, 0};
            const tamis_dense W = {
                .data = type ? (void *)wide : (void *)single, .rows = 3, .cols = 2, .type = (tamis_type)type};
            put(model, &model->column_factors, (const double[]){3, 1, 1, 0}, 4);
            works(tamis_model_shares(model, &W));
            for (int i = 0; i < 6; i++) assert_true(fabs(ml_number(W.data, W.type, i) - expected[n][i]) < 1e-6);
            assert_int_equal(tamis_model_shares(model, NULL), TAMIS_ERROR_ARGUMENT);
            if (methods[n] == TAMIS_GAP)
                EACH_FAULT(w) FAULTY(w, tamis_model_shares(model, &W));
        }
    }
    OWN(tamis_model) *const model = model_of(device, &shapes[0]);
    const tamis_dense W = {.data = NULL, .cols = model->width};
    assert_int_equal(tamis_model_shares(model, &W), TAMIS_ERROR_UNSUPPORTED);
}

/* ------------------------------------------------------------------------------------------ baselines */

/* Two rows that rate everything 2 and 4, with 10 entries each: biases of -1 and 1, damped to half by 10 at the mean;
   what the columns then have is 0. And three columns by popularity, of which each row has one. */
TEST(baselines_are_what_they_say) {
    enum { COLUMNS = 11 };
    int32_t offsets[] = {0, 10, 20}, columns[20], held_offsets[] = {0, 1, 2}, held_columns[] = {10, 10};
    float values[20], held_values[] = {3, 3};
    for (int i = 0; i < 20; i++) {
        columns[i] = i % 10;
        values[i] = i < 10 ? 2 : 4;
    }
    const tamis_sparse ratings = CSR(2, COLUMNS, offsets, columns, values);
    const tamis_sparse held = CSR(2, COLUMNS, held_offsets, held_columns, held_values);
    double metric = 0;
    works(tamis_baseline(TAMIS_ALS, &ratings, &held, &metric));
    assert_true(fabs(metric - 0.5) < 1e-12);
    /* of 11 words ten have a count of 6, and the held-out one has none: 1 in 60 + 11, each counted once more */
    works(tamis_baseline(TAMIS_LDA, &ratings, &held, &metric));
    assert_true(fabs(metric - 71) < 1e-9);
    /* Column j is in the rows from j on, so that popularity falls with j. Row 0 has the first column alone: ten of the
       eleven others are listed, and of the two that are wanted the last is not among them. */
    enum { ROWS = 12 };
    int32_t row_offsets[ROWS + 1] = {0}, stairs[ROWS * ROWS], wanted_offsets[ROWS + 1] = {0}, wanted[] = {1, 11};
    int32_t count = 0;
    for (int32_t row = 0; row < ROWS; row++) {
        for (int32_t j = 0; j <= row; j++) stairs[count++] = j;
        row_offsets[row + 1] = count;
        wanted_offsets[row + 1] = 2; /* of row 0: columns 1 and 11, the first and the last that it lacks */
    }
    const tamis_sparse uses = CSR(ROWS, ROWS, row_offsets, stairs, NULL);
    const tamis_sparse left = CSR(ROWS, ROWS, wanted_offsets, wanted, NULL);
    works(tamis_baseline(TAMIS_IMPLICIT_ALS, &uses, &left, &metric));
    assert_true(metric == 0.5);
    /* the same from rows that are not sorted */
    for (int32_t row = 0; row < ROWS; row++) {
        for (int32_t j = 0; j <= row; j++) stairs[row_offsets[row] + j] = row - j;
    }
    wanted[0] = 11;
    wanted[1] = 1;
    works(tamis_baseline(TAMIS_IMPLICIT_ALS, &uses, &left, &metric));
    assert_true(metric == 0.5);
    for (int method = 0; method < 2; method++)
        EACH_FAULT_OF(w, .least = 4)
            FAULTY(w, tamis_baseline(method ? TAMIS_IMPLICIT_ALS : TAMIS_ALS, &uses, &left, &metric));
    assert_int_equal(tamis_baseline((tamis_method)17, &uses, &left, &metric), TAMIS_ERROR_ARGUMENT);
    REFUSED(ARGUMENT, "held_out is 2 x 11, but trained is 12 x 12", tamis_baseline(TAMIS_ALS, &uses, &held, &metric));
    stairs[5] = ROWS;
    assert_int_equal(tamis_baseline(TAMIS_ALS, &uses, &left, &metric), TAMIS_ERROR_PATTERN);
}

/* ------------------------------------------------------------------------------------------ the baseline */

/* Rows of unlike length count the same, and what is not used is not to be found: the metric is that of models. */
TEST(baseline_is_the_same_metric) {
    enum { COLUMNS = 14 };
    /* column j is in as many of the rows from 5 on as 13 - j; rows 0 to 4 have nothing, but row 0 has column 0 */
    int64_t known_offsets[5 + COLUMNS + 1] = {0, 1, 1, 1, 1, 1}, nnz = 1;
    int32_t known_columns[1 + COLUMNS * COLUMNS] = {0};
    for (int i = 0; i < COLUMNS; i++) {
        for (int32_t j = 0; j < COLUMNS - 1 - i; j++) known_columns[nnz++] = j;
        known_offsets[5 + i + 1] = nnz;
    }
    /* found: column 10 of row 0, which has column 0; column 9 of row 1; neither 11 nor 12 of rows 1 and 2 */
    int64_t held_offsets[5 + COLUMNS + 1] = {0, 1, 5, 6, 8, 8};
    const int32_t held_columns[] = {10, 9, 11, 12, 13, 12, 1, 2};
    float held_values[] = {1, 2, 1, 1, 1, 3, 0, -1};
    for (int i = 6; i <= 5 + COLUMNS; i++) held_offsets[i] = 8;
    const tamis_sparse known = CSR(5 + COLUMNS, COLUMNS, known_offsets, known_columns, NULL);
    tamis_sparse held = CSR(5 + COLUMNS, COLUMNS, held_offsets, held_columns, held_values);
    double found;
    works(tamis_baseline(TAMIS_IMPLICIT_ALS, &known, &held, &found));
    same("recall", found, (1 + 1. / 4 + 0) / 3); /* row 3 has a zero and a dislike alone */
    held.values = NULL;                          /* all are uses */
    works(tamis_baseline(TAMIS_IMPLICIT_ALS, &known, &held, &found));
    same("recall", found, (1 + 1. / 4 + 0 + 1) / 4);
    for (int i = 0; i < 8; i++) held_values[i] = -1;
    held.values = held_values;
    works(tamis_baseline(TAMIS_IMPLICIT_ALS, &known, &held, &found));
    assert_true(isnan(found));
}

TEST_FIXTURE(set_up, tear_down)
