/* Bayesian personalised ranking: its steps one by one in plain double, new rows, and that it finds what there is to be
   found. */
#include "support/test.h"

#include "model_rows.h"

#include "cpu_device.h" /* after the headers whose arguments have the device's name */

enum { ROWS = 60, FEW = 20, MANY = 130, FACTORS = 11 };

static tamis_model_options options_of(tamis_type type, int iterations) {
    tamis_model_options options = sized_options(TAMIS_BPR, type, FACTORS, iterations);
    options.regularization = 0.02;
    options.threads = 2;
    return options;
}

static bool is_used(const data *d, int64_t row, int64_t column) {
    for (int64_t t = d->offsets[row]; t < d->offsets[row + 1]; t++)
        if (d->columns[t] == column) return d->values[t] > 0;
    return false;
}

/* ------------------------------------------------------------------------------------------ one by one */

typedef struct plain_model {
    double x[ROWS][FACTORS + 1], y[FEW][FACTORS + 1], of_x[ROWS], of_y[FEW], loss;
} plain_model;

static void plain_start(tamis_model *model, plain_model *p) {
    OWN(double) *const X = model_factors(model, true, NULL), *const Y = model_factors(model, false, NULL);
    memset(p, 0, sizeof *p);
    memcpy(p->x, X, sizeof p->x);
    memcpy(p->y, Y, sizeof p->y);
}

static double plain_step(plain_model *p, int64_t row, int64_t column, int64_t other, double rate, double lambda) {
    double *const x = p->x[row], *const y = p->y[column], *const z = p->y[other];
    double score = y[FACTORS] - z[FACTORS], differences = 0, squares = 1;
    for (int k = 0; k < FACTORS; k++) {
        score += x[k] * (y[k] - z[k]);
        differences += (y[k] - z[k]) * (y[k] - z[k]);
        squares += x[k] * x[k];
    }
    const double slope = 1 / (1 + exp(score));
    p->of_x[row] += slope * slope * differences / FACTORS;
    p->of_y[column] += slope * slope * squares / (FACTORS + 1);
    p->of_y[other] += slope * slope * squares / (FACTORS + 1);
    const double of_x = rate / sqrt(p->of_x[row] + 1e-6), of_y = rate / sqrt(p->of_y[column] + 1e-6),
                 of_z = rate / sqrt(p->of_y[other] + 1e-6);
    for (int k = 0; k < FACTORS; k++) {
        const double a = x[k], b = y[k], c = z[k];
        x[k] += of_x * (slope * (b - c) - lambda * a);
        y[k] += of_y * (slope * a - lambda * b);
        z[k] += of_z * (-slope * a - lambda * c);
    }
    y[FACTORS] += of_y * slope;
    z[FACTORS] -= of_z * slope;
    return -log(1 / (1 + exp(-score)));
}

/* A pass over few columns, which are one block, with the fit's random numbers. */
static void plain_pass(const data *d, const tamis_model_options *options, uint64_t pass, plain_model *p) {
    const uint64_t seed = tamis_random_at(options->seed, 3, pass);
    int order[FEW], count = 0, steps = 0;
    int64_t uses[ROWS * FEW][2];
    tamis_random random = tamis_random_start(seed, 1);
    for (int j = 0; j < FEW; j++) order[j] = j;
    for (int i = FEW - 1; i > 0; i--) {
        const int64_t other = tamis_random_below(&random, i + 1);
        const int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t t = d->offsets[i]; t < d->offsets[i + 1]; t++)
            if (d->values[t] > 0) uses[count][0] = i, uses[count++][1] = d->columns[t];
    random = tamis_random_start(tamis_random_at(seed, 2, 0), 0);
    p->loss = 0;
    for (int i = 0; i < count; i++) {
        const int64_t other = i + tamis_random_below(&random, count - i);
        const int64_t row = uses[other][0], column = uses[other][1];
        uses[other][0] = uses[i][0], uses[other][1] = uses[i][1];
        int64_t drawn = -1;
        for (int draw = 0; draw < 16 && drawn < 0; draw++) {
            drawn = order[tamis_random_below(&random, FEW)];
            if (is_used(d, row, drawn)) drawn = -1;
        }
        if (drawn < 0) continue;
        p->loss += plain_step(p, row, column, drawn, options->rate, options->regularization);
        steps++;
    }
    p->loss /= steps;
}

/* Steps contract what differs, so that rounding stays near the rounding of one step; 1e-10 and 1e-4 leave a thousand
   times that. */
TEST(steps_are_right) {
    OWN(data) d = data_make(ROWS, FEW, 6, 5);
    for (int64_t t = 0; t < d.view.nnz; t += 9) d.values[t] = t % 2 ? 0 : -2; /* which are no uses */
    for (int wide = 0; wide < 2; wide++) {
        static plain_model p;
        tamis_model_options options = options_of(TAMIS_F64, 0);
        OWN(tamis_model) *const start = model_fitted(device, &options, &d.view);
        plain_start(start, &p);
        for (int pass = 0; pass < 4; pass++) plain_pass(&d, &options, (uint64_t)pass, &p);
        options.iterations = 4;
        options.type = wide ? TAMIS_F64 : TAMIS_F32;
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        OWN(double) *const X = model_factors(model, true, NULL), *const Y = model_factors(model, false, NULL);
        const double tolerance = wide ? 1e-10 : 1e-4;
        model_expect_near("x", X, p.x[0], ROWS * (FACTORS + 1), tolerance);
        model_expect_near("y", Y, p.y[0], FEW * (FACTORS + 1), tolerance);
        assert_true(fabs(model_loss(model) - p.loss) <= tolerance);
    }
}

/* ------------------------------------------------------------------------------------------ using it */

/* Rows and columns of two kinds. */
static data two_kinds(int64_t rows, int64_t cols) {
    data d = data_make(rows, cols, (int)cols / 3, 8);
    int64_t kept = 0, begin = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t end = d.offsets[i + 1];
        for (int64_t t = begin; t < end; t++)
            if (d.columns[t] % 2 == i % 2) d.columns[kept] = d.columns[t], d.values[kept++] = d.values[t];
        begin = end;
        d.offsets[i + 1] = kept;
    }
    d.view.nnz = kept;
    return d;
}

/* What a row is recommended is of its kind, of the fit's rows and of new ones; the factors of a new row do not depend
   on those beside it. */
TEST(it_finds_kinds) {
    OWN(data) d = two_kinds(ROWS, MANY);
    tamis_model_options options = options_of(TAMIS_F32, 30);
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    float W[ROWS][FACTORS + 1], alone[FACTORS + 1];
    const tamis_dense all = {.rows = ROWS, .cols = FACTORS + 1, .type = TAMIS_F32, .data = W};
    works(tamis_model_transform(model, &d.view, &all));
    for (int folded = 0; folded < 2; folded++) {
        int64_t columns[ROWS * 5];
        double scores[ROWS * 5];
        int right = 0, asked = 0;
        works(tamis_model_recommend(model, folded ? &all : NULL, NULL, ROWS, &d.view, 5, columns, scores));
        for (int64_t i = 0; i < ROWS * 5; i++) {
            if (d.offsets[i / 5] == d.offsets[i / 5 + 1]) continue;
            asked++;
            right += columns[i] % 2 == i / 5 % 2;
        }
        assert_true(asked > 200 && right >= asked * 95 / 100);
    }
    const tamis_dense one = {.rows = 1, .cols = FACTORS + 1, .type = TAMIS_F32, .data = alone};
    for (int64_t row = 0; row < ROWS; row += 13) {
        int64_t offsets[2];
        const tamis_sparse part = model_row_of(&d, row, offsets);
        works(tamis_model_transform(model, &part, &one));
        assert_memory_equal(alone, W[row], sizeof alone);
    }
}

/* Lambda is chosen where it is 0, and the file has it; rows without uses, and one that has everything, are fine. */
TEST(lambda_is_chosen) {
    OWN(data) d = two_kinds(400, MANY);
    for (int64_t t = d.offsets[0]; t < d.offsets[1]; t++) d.values[t] = 0;
    tamis_model_options options = options_of(TAMIS_F32, 10);
    options.regularization = 0;
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    const double lambda = model_about(model).regularization;
    assert_true(lambda > 0.001 && lambda < 0.13);
    OWN(data) full = data_make(30, 3, 3, 1); /* every row has all columns, or none */
    options.iterations = 3;
    OWN(tamis_model) *const nothing = model_fitted(device, &options, &full.view);
    assert_true(isnan(model_loss(nothing)));
}

/* The iteration is told, and nothing is left of the model. */
TEST(what_is_not_finite_is_no_model) {
    tamis_model_options options = options_of(TAMIS_F32, 3);
    options.rate = 1e30;
    OWN(data) d = data_make(ROWS, FEW, 6, 5);
    OWN(tamis_model) *const model = model_made(device, &options);
    assert_int_equal(tamis_model_fit(model, &d.view, NULL), TAMIS_ERROR_ARGUMENT);
    assert_string_equal(tamis_last_error(),
                        "iteration 1: the factors of rows are not finite numbers: use a smaller rate; or fp64");
}

TEST_FIXTURE(set_up, tear_down)
