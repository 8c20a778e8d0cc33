/*
 * rating-knn against its definition in double: loops over all pairs of columns and all rows.
 *   test_ml_rating_knn [DEVICE]
 */
#include "support/test.h"

#include <unistd.h>

#include "model_rows.h"

#include "device_fixture.h"

enum { ROWS = 70, COLS = 40, ROUNDS = 5 };

typedef struct ratings {
    double z[ROWS][COLS]; /* standardised; NaN: none */
    double of_rows[ROWS], of_cols[COLS];
} ratings;
OWN_POINTER(ratings, free)

/* The damped mean of what is left of row i's ratings, or of column j's. */
static double bias_of_row(const ratings *r, int i) {
    double sum = 0, count = 10;
    for (int j = 0; j < COLS; j++)
        if (!isnan(r->z[i][j])) sum += r->z[i][j] - r->of_cols[j], count++;
    return sum / count;
}
static double bias_of_column(const ratings *r, int j) {
    double sum = 0, count = 10;
    for (int i = 0; i < ROWS; i++)
        if (!isnan(r->z[i][j])) sum += r->z[i][j] - r->of_rows[i], count++;
    return sum / count;
}

static ratings *ratings_of(const data *d, double mean, double scale) {
    ratings *const r = calloc(1, sizeof *r);
    assert_non_null(r);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) r->z[i][j] = NAN;
        for (int64_t t = d->offsets[i]; t < d->offsets[i + 1]; t++)
            r->z[i][d->columns[t]] = (d->values[t] - mean) / scale;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ROWS; i++) r->of_rows[i] = bias_of_row(r, i);
        for (int j = 0; j < COLS; j++) r->of_cols[j] = bias_of_column(r, j);
    }
    for (int i = 0; i < ROWS; i++) r->of_rows[i] = bias_of_row(r, i);
    return r;
}

static double left(const ratings *r, int i, int j) {
    return isnan(r->z[i][j]) ? 0 : r->z[i][j] - r->of_rows[i] - r->of_cols[j];
}

static double similarity(const ratings *r, int a, int b) {
    double both = 0, of_a = 100, of_b = 100;
    for (int i = 0; i < ROWS; i++) {
        both += left(r, i, a) * left(r, i, b);
        of_a += left(r, i, a) * left(r, i, a);
        of_b += left(r, i, b) * left(r, i, b);
    }
    return a == b ? 0 : both / sqrt(of_a * of_b);
}

/* Each column gives its n largest similarities above 0 to those columns. */
static void predict_all(const ratings *r, const tamis_model *model, int n, double *predictions) {
    double given[COLS][COLS] = {0};
    for (int a = 0; a < COLS; a++)
        for (int b = 0; b < COLS; b++) {
            const double s = similarity(r, a, b);
            int larger = 0;
            for (int c = 0; c < COLS; c++) larger += similarity(r, a, c) > s;
            if (s > 0 && larger < n) given[a][b] = s;
        }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            double sum = 0, all = 0.3;
            for (int a = 0; a < COLS; a++)
                if (!isnan(r->z[i][a])) sum += given[a][j] * left(r, i, a), all += given[a][j];
            const double z = r->of_rows[i] + r->of_cols[j] + sum / all;
            predictions[i * COLS + j] = fmin(fmax(model->mean + model->scale * z, model->least), model->most);
        }
}

static data ratings_made(uint64_t seed) {
    const tamis_method_description about = {.data = TAMIS_DATA_RATINGS};
    data d = model_data(&about, ROWS, COLS, seed);
    for (int64_t t = 0; t < d.view.nnz; t++) d.values[t] += 0.001 * (double)t; /* no two similarities are equal */
    return d;
}

/* Leaves the second half of the columns a fifth of their ratings. */
static void make_uneven(data *d) {
    int64_t kept = 0;
    for (int64_t i = 0, t = 0; i < ROWS; i++) {
        const int64_t end = d->offsets[i + 1];
        for (; t < end; t++) {
            if (d->columns[t] >= COLS / 2 && t % 5 > 0) continue;
            d->columns[kept] = d->columns[t];
            d->values[kept++] = d->values[t];
        }
        d->offsets[i + 1] = kept;
    }
    d->view.nnz = kept;
}

/* The model's predictions of all columns. */
static double *all_of(tamis_model *model, const tamis_sparse *S) {
    static int64_t offsets[ROWS + 1], columns[ROWS * COLS];
    for (int64_t i = 0; i <= ROWS; i++) offsets[i] = i * COLS;
    for (int64_t t = 0; t < (int64_t)ROWS * COLS; t++) columns[t] = t % COLS;
    const tamis_sparse all = CSR(ROWS, COLS, offsets, columns, NULL);
    double *const found = calloc(ROWS * COLS, sizeof *found);
    assert_non_null(found);
    OWN(tamis_owned_dense) *const W = model_of_rows(model, S);
    works(tamis_model_predict(model, tamis_owned_dense_view(W), &all, found));
    return found;
}

TEST(predictions_are_right) {
    OWN(data) d = ratings_made(11);
    for (int n = 0; n < 4; n++) {
        tamis_model_options options = default_options(TAMIS_RATING_KNN);
        options.type = n & 1 ? TAMIS_F64 : TAMIS_F32;
        options.neighbours = n & 2 ? 5 : COLS + 3;
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        OWN(ratings) *const r = ratings_of(&d, model->mean, model->scale);
        OWN(double) *const expected = calloc(ROWS * COLS, sizeof *expected), *const found = all_of(model, &d.view);
        predict_all(r, model, options.neighbours, expected);
        model_expect_close("rating-knn", found, expected, ROWS * COLS, n & 1 ? 1e-12 : 1e-5);
    }
}

/* Rows are predicted from what is given of them, whose errors are the score's; some rows at a time where there are many
   columns. */
TEST(rows_are_scored_in_blocks) {
    enum { WIDE = 100000 }; /* some 42 rows at a time */
    OWN(data) d = ratings_made(12);
    d.view.cols = WIDE;
    for (int64_t t = 0; t < d.view.nnz; t++) d.columns[t] *= WIDE / COLS;
    tamis_model_options options = default_options(TAMIS_RATING_KNN);
    options.neighbours = 2;
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    OWN(tamis_owned_dense) *const W = model_of_rows(model, &d.view);
    OWN(double) *const predictions = calloc((size_t)d.view.nnz, sizeof *predictions);
    works(tamis_model_predict(model, tamis_owned_dense_view(W), &d.view, predictions));
    double squares = 0;
    for (int64_t t = 0; t < d.view.nnz; t++) squares += pow(predictions[t] - d.values[t], 2);
    tamis_score score;
    const tamis_held_out held = {.entries = &d.view, .observed = &d.view}, unknown = {.entries = &d.view};
    works(tamis_model_score(model, &held, false, 3, &score));
    /* values are read in fp32, up to 12, of a prediction as near */
    assert_true(fabs(score.rmse - sqrt(squares / (double)d.view.nnz)) <= 12 * 0x1p-22);
    assert_true(score.entries == d.view.nnz && score.mae > 0 && score.mae <= score.rmse);
    REFUSED(ARGUMENT, "^held_out.observed is NULL, but the rows' factors (rating-knn) are computed from it$",
            tamis_model_score(model, &unknown, false, 3, &score));
}

/* The order is by predictions alone, if asked, and their values and what is near need no users. */
TEST(recommendations_are_the_largest) {
    OWN(data) d = ratings_made(13);
    make_uneven(&d);
    for (int by_prediction = 0; by_prediction < 2; by_prediction++) {
        tamis_model_options options = default_options(TAMIS_RATING_KNN);
        options.type = TAMIS_F64;
        options.by_prediction = by_prediction;
        OWN(tamis_model) *const fitted = model_fitted(device, &options, &d.view);
        OWN(tamis_model) *const model = model_reloaded(device, fitted);
        OWN(double) *const all = all_of(model, &d.view);
        int64_t columns[ROWS * 3];
        double scores[ROWS * 3];
        int falls = 0;
        /* the term 5 ln(n + 1/2), below 32, is added to a prediction and subtracted: two roundings */
        const double close = model->scale * 32 * 0x1p-52;
        works(tamis_model_recommend(model, NULL, NULL, ROWS, &d.view, 3, columns, scores));
        for (int64_t i = 0; i < ROWS; i++)
            for (int k = 0; k < 3; k++) {
                const int64_t j = columns[i * 3 + k];
                assert_in_range(j, 0, COLS - 1);
                for (int64_t t = d.offsets[i]; t < d.offsets[i + 1]; t++) assert_true(d.columns[t] != j);
                assert_true(fabs(scores[i * 3 + k] - all[i * COLS + j]) <= (by_prediction ? 0 : close));
                assert_true(scores[i * 3 + k] <= model->most);
                falls += k > 0 && scores[i * 3 + k] > scores[i * 3 + k - 1];
            }
        assert_true((falls == 0) == (by_prediction == 1)); /* else the chance of being seen counts too */
        REFUSED(ARGUMENT, "^W and seen are NULL, but the model (rating-knn) keeps no rows",
                tamis_model_recommend(model, NULL, NULL, 1, NULL, 3, columns, scores));
    }
}

TEST(nearest_columns_are_similar) {
    enum { N = 6 };
    OWN(data) d = ratings_made(14);
    tamis_model_options options = default_options(TAMIS_RATING_KNN);
    options.type = TAMIS_F64;
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    OWN(ratings) *const r = ratings_of(&d, model->mean, model->scale);
    int64_t found[COLS * N];
    double weights[COLS * N];
    works(tamis_model_similar(model, false, NULL, COLS, N, found, weights));
    for (int j = 0; j < COLS; j++)
        for (int k = 0; k < N; k++) {
            const int64_t other = found[j * N + k];
            if (other < 0) continue;
            int larger = 0;
            for (int c = 0; c < COLS; c++) larger += similarity(r, j, c) > weights[j * N + k] + 1e-12;
            assert_true(fabs(weights[j * N + k] - similarity(r, j, (int)other)) <= 1e-12 && larger == k);
        }
    REFUSED(UNSUPPORTED, "^rating-knn has no sum over a row's entries",
            tamis_model_explain(model, &d.view, 0, 1, (int64_t[1]){0}, (double[1]){0}));
}

/* A sum of similarities below 0 could make a divisor of 0; biases are numbers. */
TEST(refuses_files_of_wrong_numbers) {
    OWN(data) d = ratings_made(15);
    tamis_model_options options = default_options(TAMIS_RATING_KNN);
    options.neighbours = 2;
    options.type = TAMIS_F64;
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    if (model->location != TAMIS_HOST) return;
    double *const kept = model->column_factors.data, *const biases = model->states[0].data;
    const struct {
        double *at, number;
        const char *words;
    } cases[] = {{kept + 2, -0.3, ": a similarity of column 0 is -0.3, expected 0 or more"},
                 {kept + 7, NAN, ": the weight of neighbour 1 of column 1 is nan, expected a finite number"},
                 {kept + 4, COLS, ": neighbour 0 of column 1 is 40, expected -1 or a column of 0 to 39"},
                 {biases + 3, INFINITY, "expected a finite number"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[] = "/tmp/tamis-rating-knn-XXXXXX";
        tamis_model *read = NULL;
        const double before = *cases[i].at;
        const int file = mkstemp(path);
        assert_true(file >= 0 && close(file) == 0);
        *cases[i].at = cases[i].number;
        works(tamis_model_save(model, path));
        *cases[i].at = before;
        REFUSED_MADE(read, FORMAT, cases[i].words, tamis_model_load(device, path, &read));
        unlink(path);
    }
}

TEST_ON_DEVICE(set_up, tear_down)
