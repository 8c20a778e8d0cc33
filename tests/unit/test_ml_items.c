/*
 * Models of pairs of items, item-knn and ease, against their definitions in double; predicting, recommending, files.
 *   test_ml_items [DEVICE]
 */
#include "support/test.h"

#include "core/device.h"
#include "model_rows.h"

#include "device_fixture.h"

enum { ROWS = 70, COLS = 40 };

static tamis_model_options options_of(tamis_method method, tamis_type type) {
    tamis_model_options options = default_options(method);
    options.type = type;
    options.threads = 2;
    return options;
}

static double *scores_of(tamis_model *model, const tamis_sparse *S) {
    assert_int_equal(model->width, COLS);
    return model_transformed(model, S);
}

static void dense_of(const data *d, double *X) {
    memset(X, 0, ROWS * COLS * sizeof *X);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t t = d->offsets[i]; t < d->offsets[i + 1]; t++) X[i * COLS + d->columns[t]] = d->values[t];
}

/* Scores by the n largest cosines of each column (of equal ones, those with the lower number). */
static void neighbours(const double *X, int n, double *scores) {
    memset(scores, 0, ROWS * COLS * sizeof *scores);
    for (int j = 0; j < COLS; j++) {
        double cosines[COLS];
        for (int i = 0; i < COLS; i++) {
            double both = 0, own = 0, other = 0;
            for (int r = 0; r < ROWS; r++) {
                both += X[r * COLS + i] * X[r * COLS + j];
                own += X[r * COLS + j] * X[r * COLS + j];
                other += X[r * COLS + i] * X[r * COLS + i];
            }
            cosines[i] = i == j || both == 0 ? 0 : both / sqrt(own * other);
        }
        for (int k = 0; k < n; k++) {
            int best = 0;
            for (int i = 1; i < COLS; i++)
                if (cosines[i] > cosines[best]) best = i;
            for (int r = 0; r < ROWS; r++) scores[r * COLS + best] += X[r * COLS + j] * cosines[best];
            cosines[best] = 0;
        }
    }
}

TEST(item_knn_is_right) {
    OWN(data) d = data_make(ROWS, COLS, 9, 11);
    static double X[ROWS * COLS], expected[ROWS * COLS];
    for (int64_t t = 0; t < d.view.nnz; t++) d.values[t] += 0.001 * (double)t; /* no two cosines are equal */
    for (int n = 0; n < 4; n++) {
        tamis_model_options options = options_of(TAMIS_ITEM_KNN, n & 1 ? TAMIS_F64 : TAMIS_F32);
        options.weights = TAMIS_WEIGHTS_LINEAR;
        options.neighbours = n & 2 ? 5 : COLS + 3;
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        OWN(double) *const found = scores_of(model, &d.view);
        dense_of(&d, X);
        neighbours(X, n & 2 ? 5 : COLS, expected);
        model_expect_close("item-knn", found, expected, ROWS * COLS, n & 1 ? 1e-12 : 1e-5);
    }
}

/* Scores by the n largest chances of two steps i -> row -> j, divided by a power of the uses of j; the first step is
   to one of the row's columns. */
static void walks(const double *X, double beta, int n, double *scores) {
    double of_rows[ROWS] = {0}, of_cols[COLS] = {0};
    memset(scores, 0, ROWS * COLS * sizeof *scores);
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < COLS; j++) of_rows[r] += X[r * COLS + j] != 0, of_cols[j] += X[r * COLS + j] != 0;
    for (int i = 0; i < COLS; i++) {
        double steps[COLS] = {0};
        for (int j = 0; j < COLS; j++)
            for (int r = 0; r < ROWS && j != i; r++)
                if (X[r * COLS + i] != 0 && X[r * COLS + j] != 0)
                    steps[j] += 1 / of_cols[i] / of_rows[r] / pow(of_cols[j], beta);
        for (int k = 0; k < n; k++) {
            int best = 0;
            for (int j = 1; j < COLS; j++)
                if (steps[j] > steps[best]) best = j;
            for (int r = 0; r < ROWS; r++)
                if (X[r * COLS + i] != 0) scores[r * COLS + best] += steps[best] / of_rows[r];
            steps[best] = 0;
        }
    }
}

TEST(random_walks_are_right) {
    OWN(data) d = data_make(ROWS, COLS, 9, 17);
    static double X[ROWS * COLS], expected[ROWS * COLS];
    static const double betas[] = {0.4, 0, 1.3, 0.37};
    for (int n = 0; n < 4; n++) {
        tamis_model_options options = options_of(TAMIS_ITEM_KNN, n & 1 ? TAMIS_F64 : TAMIS_F32);
        options.weights = TAMIS_WEIGHTS_RP3BETA;
        assert_true(options.beta == betas[0]);
        options.beta = betas[n];
        options.neighbours = n & 2 ? 3 : COLS; /* no tie is at the end of 3, in double */
        options.type = n & 2 ? TAMIS_F64 : options.type;
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        OWN(tamis_model) *const loaded = model_reloaded(device, model);
        assert_true(loaded->options.beta == betas[n] && loaded->options.weights == TAMIS_WEIGHTS_RP3BETA);
        OWN(double) *const found = scores_of(loaded, &d.view);
        dense_of(&d, X);
        walks(X, betas[n], options.neighbours, expected);
        model_expect_close("random walks", found, expected, ROWS * COLS, options.type == TAMIS_F64 ? 1e-12 : 1e-5);
    }
}

/* Scores by the shares of what is near: pair by pair, from all pairs of a row's entries. order: each row's columns. */
static void steps(const int *order, const int *lengths, int n, double *scores) {
    double near[COLS][COLS] = {0};
    memset(scores, 0, ROWS * COLS * sizeof *scores);
    for (int r = 0; r < ROWS; r++)
        for (int p = 0; p < lengths[r]; p++)
            for (int q = 0; q < lengths[r]; q++)
                if (p != q && abs(p - q) <= 10)
                    near[order[r * COLS + p]][order[r * COLS + q]] += (q > p ? 1 : 0.5) / abs(p - q);
    for (int i = 0; i < COLS; i++) {
        double total = 10;
        for (int j = 0; j < COLS; j++) total += near[i][j];
        for (int k = 0; k < n; k++) {
            int best = 0;
            for (int j = 1; j < COLS; j++)
                if (near[i][j] > near[i][best]) best = j;
            for (int r = 0; r < ROWS; r++)
                for (int p = 0; p < lengths[r]; p++)
                    if (order[r * COLS + p] == i) scores[r * COLS + best] += near[i][best] / total / (lengths[r] - p);
            near[i][best] = 0;
        }
    }
}

/* Positions are any numbers that rise, of any thread count the same bits; a repeated entry counts where it is last. */
TEST(transitions_are_right) {
    OWN(data) d = data_make(ROWS, COLS, 14, 31);
    static int order[ROWS * COLS], lengths[ROWS];
    static double expected[ROWS * COLS];
    tamis_random random = tamis_random_start(31, 4);
    for (int i = 0; i < ROWS; i++) {
        const int64_t begin = d.offsets[i];
        lengths[i] = (int)(d.offsets[i + 1] - begin);
        for (int k = 0; k < lengths[i]; k++) order[i * COLS + k] = (int)d.columns[begin + k];
        for (int k = lengths[i] - 1; k > 0; k--) {
            const int other = (int)tamis_random_below(&random, k + 1), kept = order[i * COLS + k];
            order[i * COLS + k] = order[i * COLS + other];
            order[i * COLS + other] = kept;
        }
        for (int k = 0; k < lengths[i]; k++)
            for (int64_t t = begin; t < d.offsets[i + 1]; t++)
                if (d.columns[t] == order[i * COLS + k]) d.values[t] = 3 * k - 7;
    }
    for (int n = 0; n < 4; n++) {
        tamis_model_options options = options_of(TAMIS_TRANSITIONS, n & 1 ? TAMIS_F64 : TAMIS_F32);
        OWN(double) *first = NULL;
        for (options.threads = 1; options.threads <= 4; options.threads++) {
            OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
            OWN(tamis_model) *const loaded = model_reloaded(device, model);
            OWN(double) *found = scores_of(loaded, &d.view);
            steps(order, lengths, COLS - 1, expected);
            model_expect_close("transitions", found, expected, ROWS * COLS, n & 1 ? 1e-12 : 1e-5);
            if (!first)
                first = found, found = NULL;
            else
                assert_memory_equal(found, first, ROWS * COLS * sizeof *found);
        }
    }
    for (int64_t t = 0; t < d.view.nnz; t++) d.values[t] = 1.7e9 + d.values[t] / 1024; /* alike in fp32 */
    tamis_model_options options = options_of(TAMIS_TRANSITIONS, TAMIS_F32);
    options.neighbours = 7;
    OWN(tamis_model) *const timed = model_fitted(device, &options, &d.view);
    OWN(double) *const found = scores_of(timed, &d.view);
    steps(order, lengths, 7, expected);
    model_expect_close("transitions by times", found, expected, ROWS * COLS, 1e-5);
}

/* Equal positions weigh alike, from 0 on too; popularity counts them. */
TEST(transitions_know_equal_positions) {
    enum { USERS = 30 };
    int64_t offsets[USERS + 1], columns[3 * USERS];
    double values[3 * USERS];
    for (int i = 0; i < USERS; i++) {
        for (int k = 0; k < 3; k++) columns[3 * i + k] = k, values[3 * i + k] = k;
        offsets[i] = 3 * (int64_t)i;
    }
    offsets[USERS] = 3 * USERS;
    const tamis_sparse uses = CSR(USERS, 5, offsets, columns, values);
    const tamis_model_options options = options_of(TAMIS_TRANSITIONS, TAMIS_F64);
    OWN(tamis_model) *const model = model_fitted(device, &options, &uses);
    int64_t some[] = {0, 3, 3}, row[] = {0, 1, 2}, best[5];
    double times[] = {4, 4, 9}, W[2 * 5], scores[5];
    const tamis_sparse tied = CSR(2, 5, some, row, times);
    const tamis_dense lines = {.rows = 2, .cols = 5, .type = TAMIS_F64, .data = W};
    works(tamis_model_transform(model, &tied, &lines));
    /* of 0: 1 follows at once, 2 a place later; of the last, 1 comes before, and 0 before that */
    const double near = USERS * 1.0, far = USERS / 2.0, total = near + far + 10;
    const double from_last = 0.5 * near / (0.5 * near + 0.5 * far + 10);
    assert_true(fabs(W[1] - (near / total / 2 + from_last)) <= 1e-12);
    works(tamis_model_recommend(model, NULL, &(int64_t){1}, 1, &tied, 3, best, scores));
    for (int k = 0; k < 3; k++)
        assert_true(best[k] == k && scores[k] == 0); /* an empty row: the most used, all alike */
}

/* The weights of pairs by Gauss-Jordan elimination of X^T X + lambda, entry by entry. */
static double *ease_weights(const double *X, int64_t rows, int64_t cols, double lambda) {
    OWN(double) *const A = calloc((size_t)(cols * cols), sizeof *A);
    double *const P = calloc((size_t)(cols * cols), sizeof *P);
    for (int64_t i = 0; i < cols; i++) {
        P[i * cols + i] = 1;
        for (int64_t j = 0; j < cols; j++) {
            A[i * cols + j] = i == j ? lambda : 0;
            for (int64_t r = 0; r < rows; r++) A[i * cols + j] += X[r * cols + i] * X[r * cols + j];
        }
    }
    for (int64_t k = 0; k < cols; k++) {
        const double pivot = A[k * cols + k];
        for (int64_t j = 0; j < cols; j++) A[k * cols + j] /= pivot, P[k * cols + j] /= pivot;
        for (int64_t i = 0; i < cols; i++) {
            const double factor = i == k ? 0 : A[i * cols + k];
            for (int64_t j = 0; j < cols && i != k; j++)
                A[i * cols + j] -= factor * A[k * cols + j], P[i * cols + j] -= factor * P[k * cols + j];
        }
    }
    for (int64_t j = 0; j < cols; j++) {
        const double own = P[j * cols + j];
        for (int64_t i = 0; i < cols; i++) P[i * cols + j] = i == j ? 0 : -P[i * cols + j] / own;
    }
    return P;
}

static void ease(const double *X, double lambda, double *scores) {
    OWN(double) *const B = ease_weights(X, ROWS, COLS, lambda);
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < COLS; j++) {
            scores[r * COLS + j] = 0;
            for (int i = 0; i < COLS; i++) scores[r * COLS + j] += X[r * COLS + i] * B[i * COLS + j];
        }
}

TEST(ease_is_right) {
    OWN(data) d = data_make(ROWS, COLS, 9, 12);
    static double X[ROWS * COLS], expected[ROWS * COLS];
    for (int n = 0; n < 4; n++) {
        tamis_model_options options = options_of(TAMIS_EASE, n & 1 ? TAMIS_F64 : TAMIS_F32);
        options.weights = n & 2 ? TAMIS_WEIGHTS_ONES : TAMIS_WEIGHTS_LINEAR;
        options.regularization = n & 2 ? 0 : 7;
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        OWN(double) *const found = scores_of(model, &d.view);
        double trace = 0;
        dense_of(&d, X);
        for (int i = 0; i < ROWS * COLS && n & 2; i++) trace += X[i] = X[i] != 0;
        const double norm = sqrt(trace / COLS) + sqrt(trace / ROWS), lambda = n & 2 ? 0.9 * 2 * norm * norm : 7;
        const tamis_model_description description = model_about(model);
        assert_true(description.rows == 0 && fabs(description.regularization - lambda) <= 1e-9 * lambda);
        ease(X, lambda, expected);
        model_expect_close("ease", found, expected, ROWS * COLS, n & 1 ? 1e-12 : 1e-5);
    }
}

/* Columns of more than one panel of the inverse, the last of them narrow; the same bits for any number of threads. */
TEST(ease_has_panels) {
    enum { MANY = 150 };
    static const int64_t sizes[] = {127, 128, 129, 300};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int64_t cols = sizes[s], count = cols * cols;
        OWN(data) d = data_make(MANY, cols, 12, 21 + s);
        OWN(double) *const X = calloc((size_t)(MANY * cols), sizeof *X);
        for (int64_t i = 0; i < MANY; i++)
            for (int64_t t = d.offsets[i]; t < d.offsets[i + 1]; t++) X[i * cols + d.columns[t]] = d.values[t];
        OWN(double) *const expected = ease_weights(X, MANY, cols, 3);
        OWN(tamis_owned_dense) *first = NULL;
        for (int threads = 1; threads <= 4; threads++) {
            tamis_model_options options = options_of(TAMIS_EASE, TAMIS_F64);
            options.weights = TAMIS_WEIGHTS_LINEAR;
            options.regularization = 3;
            options.threads = threads;
            OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
            OWN(tamis_owned_dense) *weights;
            works(tamis_model_column_factors(model, &weights));
            const double *const found = tamis_owned_dense_view(weights)->data;
            model_expect_close("weights of ease", found, expected, count, 1e-12);
            if (!first)
                first = weights, weights = NULL;
            else
                assert_memory_equal(found, tamis_owned_dense_view(first)->data, (size_t)count * sizeof *found);
        }
    }
}

/* With all others as neighbours, which needs rows that have both of each pair, EASE is exact; the same bits for any
 * number of threads. */
TEST(ease_with_all_neighbours_is_exact) {
    OWN(data) d = data_make(ROWS, COLS, 30, 12);
    static double X[ROWS * COLS], expected[ROWS * COLS];
    dense_of(&d, X);
    ease(X, 7, expected);
    for (int n = 0; n < 4; n++) {
        tamis_model_options options = options_of(TAMIS_EASE, n & 1 ? TAMIS_F64 : TAMIS_F32);
        options.weights = TAMIS_WEIGHTS_LINEAR;
        options.regularization = 7;
        options.neighbours = n & 2 ? COLS - 1 : 2 * COLS;
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        OWN(double) *const found = scores_of(model, &d.view);
        model_expect_close("ease", found, expected, ROWS * COLS, n & 1 ? 1e-12 : 1e-5);
        options.threads = 1;
        OWN(tamis_model) *const other = model_fitted(device, &options, &d.view);
        other->options.threads = 2;
        model_expect_same("one thread", other, model);
    }
}

enum { SOME = 400, WIDE = 9000, NEAR = 12 };

/* Fails unless the weights that column j takes solve the system of its neighbours, which have the largest cosines. */
static void expect_local(const double *X, const double *line, int64_t j, double lambda) {
    OWN(double) *const g = calloc(WIDE, sizeof *g), *const squares = calloc(WIDE, sizeof *squares);
    bool near[WIDE] = {false};
    int count = 0, met = 0;
    double least = INFINITY;
    for (int64_t r = 0; r < SOME; r++)
        for (int64_t i = 0; i < WIDE; i++) {
            g[i] += X[r * WIDE + i] * X[r * WIDE + j];
            squares[i] += X[r * WIDE + i] * X[r * WIDE + i];
        }
    for (; count < NEAR && line[count] >= 0; count++) {
        const int64_t i = (int64_t)line[count];
        near[i] = true;
        least = fmin(least, g[i] * g[i] / squares[i]);
    }
    for (int64_t i = 0; i < WIDE; i++) {
        if (i == j || g[i] == 0) continue;
        met++;
        assert_true(near[i] || (count == NEAR && g[i] * g[i] / squares[i] <= least));
    }
    assert_true(!near[j] && count == (met < NEAR ? met : NEAR));
    for (int a = 0; a < count; a++) {
        const int64_t i = (int64_t)line[a];
        double sum = lambda * line[NEAR + a];
        for (int b = 0; b < count; b++)
            for (int64_t r = 0; r < SOME; r++) sum += X[r * WIDE + i] * X[r * WIDE + (int64_t)line[b]] * line[NEAR + b];
        /* sums of at most NEAR * SOME terms of G times weights, whose sizes are below 25 each */
        assert_true(fabs(sum - g[i]) <= 1e-10 * (1 + fabs(g[i])));
    }
}

/* More columns than are hubs, whose products come from a table: pairs of both kinds. */
TEST(ease_has_neighbourhoods) {
    OWN(data) d = data_make(SOME, WIDE, 50, 4);
    OWN(double) *const X = calloc((size_t)SOME * WIDE, sizeof *X);
    tamis_model_options options = options_of(TAMIS_EASE, TAMIS_F64);
    for (int64_t i = 0; i < SOME; i++)
        for (int64_t t = d.offsets[i]; t < d.offsets[i + 1]; t++) X[i * WIDE + d.columns[t]] = d.values[t];
    options.weights = TAMIS_WEIGHTS_LINEAR;
    options.regularization = 3;
    options.neighbours = NEAR;
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    int64_t count;
    OWN(double) *const kept = model_factors(model, false, &count);
    assert_int_equal(count, WIDE);
    for (int64_t j = 0; j < WIDE; j += 300) expect_local(X, kept + j * 2 * NEAR, j, 3);
}

/* Neighbours are a choice for many columns; scores of held-out entries need no array of all scores. */
TEST(ease_chooses_neighbours) {
    enum { MANY = 40000 };
    int64_t offsets[] = {0, 3, 5, 7}, columns[] = {0, 16383, 39999, 0, 16383, 16383, 39999};
    double values[] = {1, 1, 1, 1, 1, 1, 1};
    tamis_sparse S = CSR(3, 16384, offsets, columns, values);
    columns[2] = 100;
    columns[6] = 16000;
    tamis_model_options options = options_of(TAMIS_EASE, TAMIS_F32);
    options.neighbours = 2;
    OWN(tamis_model) *const few = model_fitted(device, &options, &S);
    assert_int_equal(model_about(few).options.neighbours, 2);
    columns[6] = 39999;
    S.cols = MANY;
    options.neighbours = 0;
    OWN(tamis_model) *model;
    works(tamis_model_create(device, &options, &model));
    REFUSED(UNSUPPORTED,
            "^S.cols = 40000: with neighbours = 0 ease keeps a weight for each pair of at most 32768 columns: use "
            "neighbours = 128$",
            tamis_model_fit(model, &S, NULL));
    options.neighbours = TAMIS_NEIGHBOURS_AUTO;
    OWN(tamis_model) *const many = model_fitted(device, &options, &S);
    assert_int_equal(model_about(many).options.neighbours, 128);
    tamis_score score;
    const tamis_held_out held = {.entries = &S, .observed = &S};
    works(tamis_model_score(many, &held, true, 5, &score));
    assert_true(score.recall == 0 && score.rows == 3); /* what is known is not recommended */
    OWN(tamis_model) *const none = model_made(device, &options);
    const int64_t memory = device->description.memory;
    device->description.memory = 1000;
    const tamis_status status = tamis_model_fit(none, &S, NULL);
    device->description.memory = memory;
    assert_int_equal(status, TAMIS_ERROR_MEMORY);
    assert_non_null(strstr(tamis_last_error(), "S.cols = 40000: ease needs "));
    assert_non_null(strstr(tamis_last_error(), ": use fewer neighbours"));
}

/* What has no room says so before it begins. */
TEST(ease_knows_its_memory) {
    OWN(data) d = data_make(ROWS, 600, 9, 3);
    tamis_model_options options = options_of(TAMIS_EASE, TAMIS_F32);
    OWN(tamis_model) *model;
    works(tamis_model_create(device, &options, &model));
    const int64_t memory = device->description.memory;
    device->description.memory = 3000000;
    assert_int_equal(tamis_model_fit(model, &d.view, NULL), TAMIS_ERROR_MEMORY);
    char message[200];
    snprintf(
        message, sizeof message,
        "S.cols = 600: ease needs 0.00595 GB for weights of pairs of columns, but %s has 0.003 GB: use neighbours or item-knn",
        name);
    assert_string_equal(tamis_last_error(), message);
    device->description.memory = memory;
    works(tamis_model_fit(model, &d.view, NULL));
}

/* What is like a column is what a row that has it alone is recommended, with the scores. */
static void similar_is_right(tamis_model *model) {
    enum { N = 25 };
    int64_t found[COLS * N];
    double weights[COLS * N], scores[COLS * COLS], ones[COLS];
    int64_t offsets[COLS + 1], columns[COLS];
    for (int j = 0; j <= COLS; j++) offsets[j] = j;
    for (int j = 0; j < COLS; j++) columns[j] = j, ones[j] = 1;
    const tamis_sparse each = CSR(COLS, COLS, offsets, columns, ones);
    const tamis_dense W = {.rows = COLS, .cols = COLS, .type = TAMIS_F64, .data = scores};
    works(tamis_model_transform(model, &each, &W));
    works(tamis_model_similar(model, false, NULL, COLS, N, found, weights));
    for (int j = 0; j < COLS; j++) {
        bool taken[COLS] = {false};
        taken[j] = true;
        for (int k = 0; k < N; k++) {
            int best = -1;
            for (int i = 0; i < COLS; i++)
                if (!taken[i] && scores[j * COLS + i] != 0 &&
                    (best < 0 || scores[j * COLS + i] > scores[j * COLS + best]))
                    best = i;
            assert_int_equal(found[j * N + k], best);
            if (best < 0) {
                assert_true(isnan(weights[j * N + k]));
                continue;
            }
            assert_true(weights[j * N + k] == scores[j * COLS + best]);
            taken[best] = true;
        }
    }
}

/* Predictions are the scores, recommendations the largest of them that were not seen; from a file too, and of one row.
 */
TEST(scores_are_used) {
    static const tamis_method methods[] = {TAMIS_ITEM_KNN, TAMIS_EASE, TAMIS_EASE};
    OWN(data) d = data_make(ROWS, COLS, 9, 13);
    for (int m = 0; m < 3; m++) {
        tamis_model_options options = options_of(methods[m], TAMIS_F64);
        if (m == 2) options.neighbours = 30;
        OWN(tamis_model) *const fitted = model_fitted(device, &options, &d.view);
        OWN(tamis_model) *const model = model_reloaded(device, fitted);
        OWN(double) *const before = scores_of(fitted, &d.view), *const scores = scores_of(model, &d.view);
        assert_memory_equal(before, scores, ROWS * COLS * sizeof *scores);
        const tamis_dense W = {.rows = ROWS, .cols = COLS, .type = TAMIS_F64, .data = scores};
        OWN(double) *const predictions = calloc((size_t)d.view.nnz, sizeof *predictions);
        works(tamis_model_predict(model, &W, &d.view, predictions));
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t t = d.offsets[i]; t < d.offsets[i + 1]; t++)
                assert_true(predictions[t] == scores[i * COLS + d.columns[t]]);
        int64_t columns[ROWS * 3];
        double best[ROWS * 3];
        works(tamis_model_recommend(model, &W, NULL, ROWS, &d.view, 3, columns, best));
        for (int64_t i = 0; i < ROWS; i++) {
            bool seen[COLS] = {false};
            if (d.offsets[i] == d.offsets[i + 1]) continue; /* it gets the most popular, see test_ml_uses.c */
            for (int64_t t = d.offsets[i]; t < d.offsets[i + 1]; t++) seen[d.columns[t]] = true;
            for (int k = 0; k < 3; k++) {
                const int64_t j = columns[i * 3 + k];
                assert_true(j >= 0 && !seen[j] && best[i * 3 + k] == scores[i * COLS + j]);
                seen[j] = true;
                for (int64_t other = 0; other < COLS; other++)
                    assert_true(seen[other] || scores[i * COLS + other] <= scores[i * COLS + j]);
            }
        }
        int64_t one[3];
        const int64_t row = 4;
        works(tamis_model_recommend(model, &W, &row, 1, &d.view, 3, one, best));
        assert_memory_equal(one, columns + 4 * 3, sizeof one);
        REFUSED(ARGUMENT,
                m ? "^W and seen are NULL, but the model (ease) keeps no rows: give their uses as seen$"
                  : "^W and seen are NULL, but the model (item-knn) keeps no rows: give their uses as seen$",
                tamis_model_recommend(model, NULL, NULL, 1, NULL, 3, columns, best));
        similar_is_right(model);
    }
}

/*
 * The uses of rows stand for their scores, whatever form the uses have: item-knn gives the same columns and scores.
 * ease multiplies other rows together than transform did, so its scores, of `tolerance`, may order columns that nearly
 * tie in another way: each column has the score that it has there, and each place the score of that place.
 */
static void recommend_both(tamis_model *model, double tolerance, const tamis_sparse *uses, const tamis_sparse *seen,
                           const int64_t *rows, int64_t count, const bool *candidates, int n) {
    const int64_t size = count * n;
    OWN(int64_t) *const expected = malloc((size_t)size * sizeof *expected);
    OWN(int64_t) *const found = malloc((size_t)size * sizeof *found);
    OWN(double) *const scores = malloc((size_t)size * sizeof *scores);
    OWN(double) *const best = malloc((size_t)size * sizeof *best);
    OWN(void) *const all = malloc((size_t)(uses->rows * COLS) * tamis_type_size(model->options.type));
    const tamis_dense W = {.rows = uses->rows, .cols = COLS, .type = model->options.type, .data = all};
    works(tamis_model_transform(model, uses, &W));
    works(tamis_model_recommend_among(model, &W, rows, count, seen, candidates, n, expected, scores));
    works(tamis_model_recommend_among(model, NULL, rows, count, uses, candidates, n, found, best));
    if (tolerance == 0) assert_memory_equal(found, expected, (size_t)size * sizeof *found);
    for (int64_t i = 0; i < size; i++) {
        assert_true((found[i] < 0) == (expected[i] < 0));
        if (found[i] < 0) {
            assert_true(found[i] == -1 && isnan(best[i]));
            continue;
        }
        const int64_t at = (rows ? rows[i / n] : i / n) * COLS + found[i];
        const double own = tamis_element_load(all, model->options.type, at);
        assert_true(fabs(best[i] - scores[i]) <= tolerance && fabs(best[i] - own) <= tolerance);
        for (int64_t other = i - i % n; other < i; other++) assert_true(found[other] != found[i]);
    }
}

TEST(uses_are_enough) {
    static const tamis_method methods[] = {TAMIS_ITEM_KNN, TAMIS_EASE, TAMIS_EASE};
    static const int64_t some[] = {69, 3, 3, 40, 0};
    OWN(data) d = data_make(ROWS, COLS, 6, 15);
    bool candidates[COLS];
    for (int j = 0; j < COLS; j++) candidates[j] = j % 3 != 1;
    for (int64_t t = 0; t < d.view.nnz; t += 7) d.values[t] = -d.values[t]; /* scores below 0 come last */
    tamis_sparse places = d.view;
    places.values = NULL;
    OWN(tamis_owned_sparse) *coo;
    tamis_convert_options to = TAMIS_CONVERT_OPTIONS_INIT;
    to.format = TAMIS_COO;
    to.index_type = TAMIS_I32;
    to.value_type = TAMIS_F64;
    works(tamis_convert(&d.view, &to, &coo));
    for (int m = 0; m < 6; m++) {
        const tamis_type type = m & 1 ? TAMIS_F64 : TAMIS_F32;
        const bool lists = m / 2 != 1;
        tamis_model_options options = options_of(methods[m / 2], type);
        if (lists) options.neighbours = 3; /* few scores: most rows are filled up */
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        /* sums of 40 products of at most 5, weights of ease below 5 */
        const double tolerance = lists ? 0 : 40 * 25 * (type == TAMIS_F64 ? 0x1p-52 : 0x1p-23);
        for (int n = 1; n <= COLS + 2; n += n < 4 ? 1 : 9) {
            recommend_both(model, tolerance, &d.view, &d.view, NULL, ROWS, NULL, n);
            recommend_both(model, tolerance, &d.view, &d.view, some, 5, candidates, n);
            recommend_both(model, tolerance, &places, &d.view, NULL, ROWS, candidates, n);
            recommend_both(model, tolerance, tamis_owned_sparse_view(coo), &d.view, some, 5, NULL, n);
        }
        int64_t columns[2], of_slice[2];
        double best[2];
        const int64_t bad = ROWS, second = 1;
        tamis_sparse slice; /* without the first row */
        works(tamis_slice(&d.view, 1, ROWS - 1, 0, 0, &slice));
        works(tamis_model_recommend(model, NULL, &second, 1, &d.view, 2, columns, best));
        works(tamis_model_recommend(model, NULL, NULL, 1, &slice, 2, of_slice, best));
        assert_true(slice.offset_base > 0 && memcmp(of_slice, columns, sizeof columns) == 0);
        REFUSED(ARGUMENT, "^rows[0] = 70, seen has 70 rows$",
                tamis_model_recommend(model, NULL, &bad, 1, &d.view, 2, columns, best));
        REFUSED(ARGUMENT, "^count = 71, seen has 70 rows$",
                tamis_model_recommend(model, NULL, NULL, ROWS + 1, &d.view, 2, columns, best));
        const int64_t row = 40, t = d.offsets[row], column = d.columns[t];
        char message[200];
        snprintf(message, sizeof message, "^seen has the value inf at row 40, column %lld: expected a finite number$",
                 (long long)column);
        SPOILT(d.values[t], INFINITY, ARGUMENT, message,
               tamis_model_recommend(model, NULL, &row, 1, &d.view, 2, columns, best));
        snprintf(message, sizeof message, "^seen.columns[%lld] = 40: expected 0 .. 39$", (long long)t);
        SPOILT(d.columns[t], COLS, PATTERN, message,
               tamis_model_recommend(model, NULL, &row, 1, &d.view, 2, columns, best));
    }
}

/* Columns of which a row's uses say nothing come with the most popular first, not in the order of their numbers. */
TEST(ties_go_to_the_popular) {
    /* column 5 is near 6 alone; 4 is the most popular, then 3 */
    int64_t offsets[] = {0, 2, 3, 4, 5, 6, 7, 8}, columns[] = {5, 6, 4, 4, 4, 3, 3, 0};
    double values[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const tamis_sparse uses = CSR(7, 7, offsets, columns, values);
    tamis_model_options options = options_of(TAMIS_ITEM_KNN, TAMIS_F64);
    OWN(tamis_model) *const model = model_fitted(device, &options, &uses);
    int64_t one_offsets[] = {0, 1}, one[] = {5}, found[5];
    tamis_sparse known = uses;
    known.rows = known.nnz = 1;
    known.offsets = one_offsets;
    known.columns = one;
    double scores[5];
    works(tamis_model_recommend(model, NULL, NULL, 1, &known, 5, found, scores));
    const int64_t expected[] = {6, 4, 3, 0, 1};
    assert_memory_equal(found, expected, sizeof expected);
    assert_true(scores[0] > 0 && scores[1] == 0 && scores[4] == 0);
}

static bool stop_at(void *context, const tamis_iteration *report) {
    int *const left = context;
    assert_true(report->batch > 0 && report->batch <= report->batches);
    return --*left > 0;
}

/* A fit of one long iteration can be stopped within it; then there is no model. */
TEST(long_fits_can_be_stopped) {
    static const tamis_method methods[] = {TAMIS_ITEM_KNN, TAMIS_EASE, TAMIS_EASE};
    OWN(data) wide = data_make(ROWS, 5000, 9, 3), few = data_make(ROWS, 600, 9, 3);
    for (int m = 0; m < 3; m++)
        for (int calls = 1; calls < 3; calls++) {
            int left = calls;
            tamis_model_options options = options_of(methods[m], TAMIS_F32);
            OWN(tamis_model) *model;
            const data d = m == 2 ? wide : few; /* in blocks of 2,048 columns */
            options.regularization = m ? 5 : 0;
            options.neighbours = m == 1 ? 0 : 4;
            options.callback = stop_at;
            options.callback_context = &left;
            works(tamis_model_create(device, &options, &model));
            assert_int_equal(tamis_model_fit(model, &d.view, NULL), TAMIS_ERROR_CANCELLED);
            assert_int_equal(left, 0);
            assert_non_null(strstr(tamis_last_error(), "% of the fit: there is no model yet"));
            assert_int_equal(tamis_model_topics(model, 1, (int64_t[600]){0}, (double[600]){0}), TAMIS_ERROR_ARGUMENT);
            left = 1000;
            works(tamis_model_fit(model, &d.view, NULL));
        }
}

TEST_ON_DEVICE(set_up, tear_down)
