/*
 * Using a model: transform, predict and recommend against plain restatements in double. The factors by hand are small
 * fractions, whose products are exact in fp32: there the comparisons are of bits, ties included.
 */
#include "support/test.h"

#include "eliminate.h"
#include "ml/fit/place.h"
#include "model_rows.h"

#include "cpu_device.h"

/* Random factors of other rows, with a stride. */
static tamis_dense strided_rows(const tamis_model *model, int64_t rows, void **memory) {
    const int64_t stride = model->width + 3;
    const size_t count = (size_t)(rows * stride) + 1;
    tamis_dense W = {.rows = rows, .cols = model->width, .stride = stride, .type = model->options.type};
    W.data = *memory = calloc(count, 8);
    for (int64_t t = 0; t < rows * stride; t++)
        tamis_element_store(W.data, W.type, t,
                            (double)(tamis_random_at(5, 3, (uint64_t)t) % 65) / 64 - (t % 3 == 0 ? 1 : 0));
    return W;
}

static tamis_sparse places_of(int64_t rows, int64_t cols, int64_t nnz, const int64_t *of_row,
                              const int64_t *of_column) {
    return (tamis_sparse){.format = TAMIS_COO,
                          .rows = rows,
                          .cols = cols,
                          .nnz = nnz,
                          .index_type = TAMIS_I64,
                          .row_indices = of_row,
                          .columns = of_column};
}

/* ------------------------------------------------------------------------------------------ predict */

static void expect_predictions(tamis_model *model, const tamis_dense *W, const plain *p, const tamis_sparse *S,
                               const int64_t *rows, const int64_t *columns) {
    OWN(double) *const found = malloc(((size_t)S->nnz + 1) * sizeof *found);
    found[S->nnz] = 77;
    works(tamis_model_predict(model, W, S, found));
    assert_string_equal(tamis_last_error(), "");
    for (int64_t t = 0; t < S->nnz; t++) {
        const double expected = plain_expectation(p, rows[t], columns[t]);
        if (found[t] != expected) fail_msg("entry %lld: %g, expected %g", (long long)t, found[t], expected);
    }
    assert_true(found[S->nnz] == 77);
}

TEST(predicts) {
    for (int i = 0; i < SHAPES; i++)
        for (int own = 0; own < 2; own++) {
            OWN(tamis_model) *const model = model_of(device, &shapes[i]);
            const int64_t rows = own ? shapes[i].rows : 31;
            OWN(void) *memory = NULL;
            const tamis_dense W = strided_rows(model, rows, &memory);
            OWN(plain) p = plain_of(model, own ? NULL : &W);
            OWN(data) d = data_make(rows, shapes[i].cols, 5, 3);
            for (int64_t t = 0; t < d.view.nnz; t++) d.values[t] = NAN; /* nobody looks at them */
            expect_predictions(model, own ? NULL : &W, &p, &d.view, d.rows, d.columns);
            const tamis_sparse coo = data_shuffled(&d);
            expect_predictions(model, own ? NULL : &W, &p, &coo, d.rows, d.columns);
            OWN(int32_t) *const columns = malloc(((size_t)d.view.nnz + 1) * sizeof *columns);
            OWN(int32_t) *const indices = malloc(((size_t)d.view.nnz + 1) * sizeof *indices);
            for (int64_t t = 0; t < d.view.nnz; t++) {
                columns[t] = (int32_t)d.columns[t];
                indices[t] = (int32_t)d.rows[t];
            }
            tamis_sparse narrow = coo;
            narrow.index_type = TAMIS_I32;
            narrow.columns = columns;
            narrow.row_indices = indices;
            narrow.values = NULL;
            expect_predictions(model, own ? NULL : &W, &p, &narrow, d.rows, d.columns);
        }
}

/* NaN in a factor makes NaN of what it is part of, and of nothing else; no clamp hides it. */
TEST(keeps_nan) {
    OWN(tamis_model) *const model = model_of(device, &shapes[0]);
    ((float *)model->column_factors.data)[4 * 5 + 2] = NAN;
    ((float *)model->row_factors.data)[3 * 5] = NAN;
    OWN(plain) p = plain_of(model, NULL);
    double predictions[2];
    const int64_t rows[] = {1, 1}, columns[] = {4, 5};
    const tamis_sparse S = places_of(23, 37, 2, rows, columns);
    works(tamis_model_predict(model, NULL, &S, predictions));
    assert_true(isnan(predictions[0]) && predictions[1] == plain_expectation(&p, 1, 5));
    int64_t best[2 * 37];
    double scores[2 * 37];
    const int64_t asked[] = {1, 3};
    works(tamis_model_recommend(model, NULL, asked, 2, NULL, 37, best, scores));
    for (int i = 0; i < 36; i++) assert_true(best[i] >= 0 && best[i] != 4);
    assert_true(best[36] == -1 && isnan(scores[36]));
    for (int i = 37; i < 74; i++) assert_true(best[i] == -1 && isnan(scores[i]));
}

/* ------------------------------------------------------------------------------------------ transform */

/* (sum y y^T + lambda (n + 40)) x = sum ((r - mean) / scale - b) y of a row, by elimination; with biases y ends in 1.
 */
static void solve_row(const tamis_model *model, const plain *p, const data *d, int64_t row, double *x) {
    double G[64] = {0}, y[8];
    const tamis_dense *const B = tamis_owned_dense_view(p->B);
    const int64_t width = B->cols;
    int64_t count = 0;
    for (int64_t t = d->offsets[row]; t < d->offsets[row + 1]; t++, count++) {
        double target = (d->values[t] - model->mean) / model->scale;
        for (int64_t k = 0; k < width; k++) y[k] = number(B, d->columns[t], k);
        if (p->biases) {
            target -= y[width - 1];
            y[width - 1] = 1;
        }
        for (int64_t a = 0; a < width; a++) {
            for (int64_t b = 0; b < width; b++) G[a * width + b] += y[a] * y[b];
            x[a] += y[a] * target;
        }
    }
    for (int64_t a = 0; a < width; a++) G[a * (width + 1)] += model->options.regularization * ((double)count + 40);
    eliminate(width, G, x);
}

TEST(transforms) {
    for (int i = 0; i < SHAPES; i++) {
        if (shapes[i].method != TAMIS_ALS) continue;
        OWN(tamis_model) *const model = model_of(device, &shapes[i]);
        OWN(plain) p = plain_of(model, NULL);
        OWN(data) d = data_make(17, shapes[i].cols, 9, 8);
        OWN(void) *memory;
        const tamis_dense W = strided_rows(model, 17, &memory);
        OWN(void) *const before = malloc((size_t)(17 * W.stride) * 8);
        memcpy(before, memory, (size_t)(17 * W.stride) * 8);
        const tamis_dense old = {.data = before, .rows = 17, .cols = W.stride, .type = W.type};
        const tamis_dense all = {.data = memory, .rows = 17, .cols = W.stride, .type = W.type};
        works(tamis_model_transform(model, &d.view, &W));
        for (int64_t row = 0; row < 17; row++) {
            double x[8] = {0};
            solve_row(model, &p, &d, row, x);
            for (int64_t k = 0; k < W.cols; k++) {
                const double error = fabs(number(&W, row, k) - x[k]);
                if (!(error <= (W.type == TAMIS_F64 ? 1e-4 : 1e-3) * (1 + fabs(x[k]))))
                    fail_msg("shape %d, row %lld: %g, expected %g", i, (long long)row, number(&W, row, k), x[k]);
            }
            for (int64_t k = W.cols; k < W.stride; k++) assert_true(number(&all, row, k) == number(&old, row, k));
        }
        /* COO in another order, and packed: the same */
        const tamis_sparse coo = data_shuffled(&d);
        OWN(void) *const again = calloc((size_t)(17 * W.cols), 8);
        const tamis_dense packed = {.data = again, .rows = 17, .cols = W.cols, .type = W.type};
        works(tamis_model_transform(model, &coo, &packed));
        for (int64_t row = 0; row < 17; row++)
            for (int64_t k = 0; k < W.cols; k++) assert_true(number(&packed, row, k) == number(&W, row, k));
        /* no rows at all */
        const int64_t zero = 0;
        const tamis_sparse none = {.cols = shapes[i].cols, .offset_type = TAMIS_I64, .offsets = &zero};
        works(tamis_model_transform(model, &none, &(tamis_dense){.cols = W.cols, .type = W.type}));
    }
}

/* ------------------------------------------------------------------------------------------ recommend */

/* One row by looking through all columns again and again. */
static void expect_best(const plain *p, int64_t row, int64_t cols, const bool *left_out, int n, const int64_t *columns,
                        const double *scores) {
    OWN(bool) *const taken = calloc((size_t)(cols < 1 ? 1 : cols), sizeof *taken);
    OWN(double) *const raw = malloc((size_t)cols * sizeof *raw);
    for (int64_t j = 0; j < cols; j++) raw[j] = plain_raw(p, row, j);
    if (left_out) memcpy(taken, left_out, (size_t)cols * sizeof *taken);
    for (int i = 0; i < n; i++) {
        int64_t best = -1;
        for (int64_t j = 0; j < cols; j++)
            if (!taken[j] && (best < 0 || raw[j] > raw[best])) best = j;
        if (columns[i] != best)
            fail_msg("%lld columns: row %lld, place %d: column %lld, expected %lld", (long long)cols, (long long)row, i,
                     (long long)columns[i], (long long)best);
        if (best < 0) {
            assert_true(isnan(scores[i]));
            continue;
        }
        assert_true(scores[i] == plain_expectation(p, row, best));
        taken[best] = true;
    }
}

static void expect_recommendations(tamis_model *model, const tamis_dense *W, const plain *p, const int64_t *rows,
                                   int64_t count, const tamis_sparse *seen, const data *d, int n) {
    const size_t entries = (size_t)(count * n);
    OWN(int64_t) *const columns = malloc((entries + 1) * sizeof *columns);
    OWN(double) *const scores = malloc((entries + 1) * sizeof *scores);
    OWN(bool) *const left_out = calloc((size_t)model->cols, sizeof *left_out);
    OWN(bool) *const candidates = calloc((size_t)model->cols, sizeof *candidates);
    columns[entries] = 77;
    scores[entries] = 77;
    for (int64_t j = 0; j < model->cols; j++) candidates[j] = tamis_random_at(5, (uint64_t)n, (uint64_t)j) % 3 > 0;
    for (int some = 0; some < 2; some++) {
        if (some)
            works(tamis_model_recommend_among(model, W, rows, count, seen, candidates, n, columns, scores));
        else
            works(tamis_model_recommend(model, W, rows, count, seen, n, columns, scores));
        assert_string_equal(tamis_last_error(), "");
        for (int64_t i = 0; i < count; i++) {
            const int64_t row = rows ? rows[i] : i;
            for (int64_t j = 0; j < model->cols; j++) left_out[j] = some && !candidates[j];
            for (int64_t t = 0; seen && t < d->view.nnz; t++)
                if (d->rows[t] == row) left_out[d->columns[t]] = true;
            expect_best(p, row, model->cols, left_out, n, columns + i * n, scores + i * n);
        }
    }
    assert_true(columns[entries] == 77 && scores[entries] == 77);
}

TEST(recommends) {
    for (int i = 0; i < SHAPES; i++)
        for (int own = 0; own < 2; own++) {
            OWN(tamis_model) *const model = model_of(device, &shapes[i]);
            const int64_t rows = own ? shapes[i].rows : 31, cols = shapes[i].cols;
            OWN(void) *memory = NULL;
            const tamis_dense strided = strided_rows(model, rows, &memory), *const W = own ? NULL : &strided;
            OWN(plain) p = plain_of(model, W);
            OWN(data) d = data_make(rows, cols, 9, 4);
            const int64_t some[] = {rows - 1, 0, rows / 2, 0, rows - 1};
            expect_recommendations(model, W, &p, NULL, rows, NULL, &d, 4);
            expect_recommendations(model, W, &p, NULL, rows, &d.view, &d, 10);
            expect_recommendations(model, W, &p, some, 5, &d.view, &d, 1);
            expect_recommendations(model, W, &p, some, 5, &d.view, &d, (int)(cols < 100 ? cols + 3 : 60));
            expect_recommendations(model, W, &p, NULL, rows / 2, NULL, &d, 3);
            const tamis_sparse coo = data_shuffled(&d); /* rows are unsorted in it */
            expect_recommendations(model, W, &p, NULL, rows, &coo, &d, 7);
        }
}

/* Nothing asked, everything seen, a row's columns in any order and twice. */
TEST(recommends_what_is_left) {
    OWN(tamis_model) *const model = model_by_hand(device, TAMIS_ALS, TAMIS_DATA_RATINGS, 2, 6, 3, TAMIS_F32, false);
    int64_t columns[12];
    double scores[12];
    works(tamis_model_recommend(model, NULL, NULL, 0, NULL, 3, NULL, NULL));
    works(tamis_model_recommend(model, NULL, NULL, 2, NULL, 0, NULL, NULL));
    const int32_t offsets[] = {0, 7, 11}, seen_columns[] = {5, 0, 3, 1, 4, 2, 0, 4, 1, 4, 1};
    const tamis_sparse seen = {.rows = 2, .cols = 6, .nnz = 11, .offsets = offsets, .columns = seen_columns};
    works(tamis_model_recommend(model, NULL, NULL, 2, &seen, 6, columns, scores));
    for (int i = 0; i < 6; i++) assert_true(columns[i] == -1 && isnan(scores[i]));
    bool found[6] = {false};
    for (int i = 6; i < 10; i++) found[columns[i]] = true;
    assert_true(found[0] && found[2] && found[3] && found[5]);
    for (int i = 10; i < 12; i++) assert_true(columns[i] == -1 && isnan(scores[i]));
}

/* Of ratings beyond the range the better is still first, and both are shown as the end of the range. */
TEST(ranks_before_it_clamps) {
    OWN(tamis_model) *const model = model_by_hand(device, TAMIS_ALS, TAMIS_DATA_RATINGS, 1, 4, 1, TAMIS_F64, false);
    put(model, &model->row_factors, (const double[]){1}, 1);
    put(model, &model->column_factors, (const double[]){3, 7, -9, 7}, 4);
    int64_t columns[4];
    double scores[4];
    works(tamis_model_recommend(model, NULL, NULL, 1, NULL, 4, columns, scores));
    static const int64_t order[] = {1, 3, 0, 2};
    static const double shown[] = {5, 5, 5, 1};
    for (int i = 0; i < 4; i++) assert_true(columns[i] == order[i] && scores[i] == shown[i]);
}

/* A fitted model: what SDDMM predicts is what is recommended, within rounding. */
TEST(recommendations_are_predictions) {
    enum { N = 9 };
    for (int m = 0; m < tamis_method_count(); m++)
        for (int variant = 0; variant < 4; variant++) {
            const int type = variant % 2;
            tamis_method_description about;
            works(tamis_method_at(m, &about));
            tamis_model_options options = sized_options(about.method, (tamis_type)type, 6, 3);
            options.biases = type == 1;
            options.by_prediction = variant > 1;
            const bool ordered = options.by_prediction || !ml_method_of(about.method)->chance;
            OWN(data) d = data_make(60, 45, 8, 21);
            OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
            OWN(tamis_owned_dense) *const W = model_of_rows(model, &d.view);
            for (int own = 0; own < 2; own++) {
                if (own && model->row_factors.cols == 0) continue;
                const tamis_dense *const given = own ? NULL : tamis_owned_dense_view(W);
                int64_t columns[60 * N], rows[60 * N];
                double scores[60 * N], predictions[60 * N];
                works(tamis_model_recommend(model, given, NULL, 60, &d.view, N, columns, scores));
                for (int64_t t = 0; t < 60 * N; t++) rows[t] = t / N;
                const tamis_sparse S = places_of(60, 45, 60 * N, rows, columns);
                works(tamis_model_predict(model, given, &S, predictions));
                OWN(plain) p = plain_of(model, given);
                const double close = type == 1 ? 1e-12 : 1e-5;
                for (int t = 0; t < 60 * N; t++) {
                    assert_true(fabs(predictions[t] - scores[t]) <= close * (1 + fabs(scores[t])));
                    const double expected = plain_expectation(&p, rows[t], columns[t]);
                    assert_true(fabs(predictions[t] - expected) <= close * (1 + fabs(expected)));
                    if (t % N > 0 && ordered) assert_true(scores[t] <= scores[t - 1]);
                }
            }
        }
}

/* ------------------------------------------------------------------------------------------ other devices */

/* What one model says of some data. */
typedef struct said {
    double predictions[600], scores[30 * 7], weights[4 * 5], rmse;
    int64_t columns[30 * 7], words[4 * 5];
    float W[30 * 5];
} said;
OWN_POINTER(said, free)

static void ask(tamis_model *model, const tamis_sparse *S, said *a) {
    const tamis_dense W = {.data = a->W, .rows = 30, .cols = 5};
    const int64_t rows[] = {29, 3};
    tamis_score score;
    assert_true(S->nnz <= 600);
    works(tamis_model_transform(model, S, &W));
    works(tamis_model_predict(model, &W, S, a->predictions));
    works(tamis_model_predict(model, NULL, S, a->predictions));
    works(tamis_model_recommend(model, NULL, rows, 2, S, 7, a->columns, a->scores));
    works(tamis_model_recommend(model, NULL, NULL, 30, S, 7, a->columns, a->scores));
    works(tamis_model_topics(model, 5, a->words, a->weights));
    works(tamis_model_score(model, &(tamis_held_out){.entries = S, .observed = S}, false, 5, &score));
    a->rmse = score.rmse;
}

/* A model saved here and loaded there: the factors by hand have exact products, so all but W is the same. */
TEST(other_devices_agree) {
    OWN(tamis_model) *const model = model_by_hand(device, TAMIS_ALS, TAMIS_DATA_RATINGS, 30, 200, 4, TAMIS_F32, true);
    OWN(data) d = data_make(30, 200, 12, 9);
    OWN(said) *const here = calloc(1, sizeof *here), *const there = calloc(1, sizeof *there);
    ask(model, &d.view, here);
    int others = 0;
    for (int i = 0; i < tamis_device_count(); i++) {
        const char *name, *why;
        tamis_device *other;
        works(tamis_device_at(i, &name, &why));
        if (strcmp(name, "cpu") == 0 || *why) continue;
        works(tamis_device_open(name, &other));
        tamis_model *const loaded = model_reloaded(other, model);
        ask(loaded, &d.view, there);
        assert_memory_equal(there->predictions, here->predictions, sizeof here->predictions);
        assert_memory_equal(there->columns, here->columns, sizeof here->columns);
        assert_memory_equal(there->scores, here->scores, sizeof here->scores);
        assert_memory_equal(there->words, here->words, sizeof here->words);
        assert_memory_equal(there->weights, here->weights, sizeof here->weights);
        assert_true(there->rmse == here->rmse);
        for (int t = 0; t < 30 * 5; t++)
            assert_true(fabsf(there->W[t] - here->W[t]) <= 1e-3f * (1 + fabsf(here->W[t])));
        free(model_bytes(loaded).data);
        tamis_model_free(loaded);
        tamis_device_close(other);
        others++;
    }
    if (others == 0) print_message("there is no device but the CPU\n");
}

/* ------------------------------------------------------------------------------------------ a pass over the columns */

enum { MANY = 12000, BEST = 20 };

/* Few rows are found by a scan in parts, many by blocks: the same columns, ties included, and the same scores. */
TEST(scans_like_blocks) {
    for (int variant = 0; variant < 4; variant++) {
        OWN(tamis_model) *const model = model_by_hand(device, TAMIS_ALS, TAMIS_DATA_RATINGS, 9, MANY, 3,
                                                      variant & 1 ? TAMIS_F64 : TAMIS_F32, variant & 2);
        OWN(data) seen = data_make(9, MANY, 2000, 7);
        int64_t all[9 * BEST], one[BEST];
        double all_scores[9 * BEST], scores[BEST];
        works(tamis_model_recommend(model, NULL, NULL, 9, &seen.view, BEST, all, all_scores));
        for (int64_t row = 0; row < 9; row++)
            for (int threads = 1; threads < 5; threads += 3) {
                model->options.threads = threads;
                works(tamis_model_recommend(model, NULL, &row, 1, &seen.view, BEST, one, scores));
                for (int i = 0; i < BEST; i++)
                    if (one[i] != all[row * BEST + i] || scores[i] != all_scores[row * BEST + i])
                        fail_msg("variant %d, row %lld, place %d: %lld with %g, of all rows %lld with %g", variant,
                                 (long long)row, i, (long long)one[i], scores[i], (long long)all[row * BEST + i],
                                 all_scores[row * BEST + i]);
            }
    }
}

static double plain_cosine(const double *a, const double *b) {
    double ab = 0, aa = 0, bb = 0;
    for (int k = 0; k < 3; k++) ab += a[k] * b[k], aa += a[k] * a[k], bb += b[k] * b[k];
    return ab / sqrt(aa) / sqrt(bb);
}

/* The nearest are the nearest but for rounding (the cosine's square, of three products in fp32: 10 u), whatever the
   number of threads; the bias has no part in it, nor has a column of zeros. */
TEST(finds_what_is_alike) {
    for (int variant = 0; variant < 4; variant++) {
        const tamis_type type = variant & 1 ? TAMIS_F64 : TAMIS_F32;
        OWN(tamis_model) *const model =
            model_by_hand(device, TAMIS_ALS, TAMIS_DATA_RATINGS, 9, MANY, 3, type, variant & 2);
        double *Y;
        TAMIS_SCOPE;
        works(ml_dense_read_doubles(model, &model->column_factors, &Y));
        for (int k = 0; k < 3; k++) Y[7 * model->width + k] = 0;
        works(ml_dense_write_doubles(model, &model->column_factors, Y));
        const int64_t which[] = {5, 7, MANY - 1};
        int64_t found[3 * BEST], again[3 * BEST];
        double cosines[3 * BEST], others[3 * BEST];
        model->options.threads = 1;
        works(tamis_model_similar(model, false, which, 3, BEST, found, cosines));
        model->options.threads = 4;
        works(tamis_model_similar(model, false, which, 3, BEST, again, others));
        assert_memory_equal(found, again, sizeof found);
        const double bound = 10 * (type == TAMIS_F64 ? 0x1p-53 : 0x1p-24);
        for (int w = 0; w < 3; w++) {
            const int64_t *const near = found + w * BEST;
            const double *const own = Y + which[w] * model->width, last = cosines[w * BEST + BEST - 1];
            int64_t better = 0;
            for (int64_t j = 0; j < MANY && which[w] != 7; j++)
                better += j != 7 && j != which[w] && plain_cosine(own, Y + j * model->width) > last + bound;
            assert_true(better < BEST);
            for (int i = 0; i < BEST; i++) {
                if (which[w] == 7) {
                    assert_true(near[i] == -1 && isnan(cosines[w * BEST + i]));
                    continue;
                }
                const double cosine = cosines[w * BEST + i];
                assert_true(near[i] != which[w] && near[i] != 7);
                assert_true(fabs(cosine - plain_cosine(own, Y + near[i] * model->width)) <= bound);
                assert_true(i == 0 || cosine < cosines[w * BEST + i - 1] ||
                            (cosine <= cosines[w * BEST + i - 1] && near[i] > near[i - 1]));
            }
        }
        REFUSED(ARGUMENT, "^which[2] = 11999, the model has 9 rows$",
                tamis_model_similar(model, true, which, 3, BEST, found, cosines));
        REFUSED(ARGUMENT, "^n = -1 is negative$", tamis_model_similar(model, false, which, 3, -1, found, cosines));
    }
}

TEST_FIXTURE(set_up, tear_down)
