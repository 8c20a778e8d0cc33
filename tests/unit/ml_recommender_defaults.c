/* The defaults of the methods of ratings: no worse than means and biases, and the same at any scale. */
#define TEST_PATH "test_ml_recommenders"
#include "test_ml_recommenders.h"

static const tamis_method methods[] = {TAMIS_ALS, TAMIS_CCD, TAMIS_SFA};
enum { METHODS = 3 };

/* Ratings about 3 with biases of users and items, a product of rank 2 and as much noise as all of it, in two parts. */
static void draw(int64_t rows, int64_t cols, double share, double size, uint64_t seed, table *fit, table *held) {
    *fit = table_of_rank(rows, cols, 2, share, seed);
    *held = table_of_rank(rows, cols, 2, share, seed);
    for (int64_t i = 0; i < rows * cols; i++) {
        const double extra =
            table_noise(seed, 21, i / cols) + table_noise(seed, 22, i % cols) + 1.5 * table_noise(seed, 23, i);
        fit->at[i] = size * (double)(float)(fit->at[i] + extra);
    }
    table_part(fit, held);
}

/* RMSE of tamis_model_predict, where rows are those of the fit. */
static double error_of(tamis_model *model, const table *fit, const table *held, double *predictions) {
    OWN(tamis_owned_dense) *const W = model_of_rows(model, &fit->S);
    double squares = 0;
    works(tamis_model_predict(model, tamis_owned_dense_view(W), &held->S, predictions));
    for (int64_t n = 0; n < held->nnz; n++) squares += pow(predictions[n] - held->values[n], 2);
    return sqrt(squares / (double)held->nnz);
}

static double baseline(const table *fit, const table *held) {
    OWN(double) *const rows = calloc((size_t)fit->rows, sizeof *rows);
    OWN(double) *const cols = calloc((size_t)fit->cols, sizeof *cols);
    double mean = 0, squares = 0;
    for (int64_t n = 0; n < fit->nnz; n++) mean += fit->values[n] / (double)fit->nnz;
    table_biases(fit, mean, 1, rows, cols);
    for (int64_t i = 0; i < fit->rows * fit->cols; i++)
        if (!isnan(held->at[i])) squares += pow(held->at[i] - mean - rows[i / fit->cols] - cols[i % fit->cols], 2);
    return sqrt(squares / (double)held->nnz);
}

/* Dense and sparse: 60 of 100, 15 and 6 of 100 places. */
TEST(test_defaults) {
    static const double shares[] = {0.6, 0.15, 0.06};
    for (int s = 0; s < 3; s++) {
        OWN(table) fit, held;
        draw(240, 100, shares[s], 1, 91, &fit, &held);
        OWN(double) *const predictions = malloc((size_t)held.nnz * sizeof *predictions);
        const double biased = baseline(&fit, &held);
        for (int n = 0; n < METHODS; n++) {
            tamis_model_options options = default_options(methods[n]);
            options.factors = 8; /* sooner done */
            options.threads = 1;
            OWN(tamis_model) *const model = model_fitted(device, &options, &fit.S);
            const double error = error_of(model, &fit, &held, predictions);
            /* what finds nothing is the baseline, in fp32 */
            if (!(error <= biased * (1 + 1e-5)))
                fail_msg("%s with its defaults, %g of the places: %g, means and biases %g",
                         tamis_method_name(methods[n]), shares[s], error, biased);
        }
    }
}

/* Sets of biases and noise alone, where factors can only follow the noise: `a_row` ratings in a row in the mean. */
static void draw_biases(int64_t rows, int64_t cols, double a_row, double size, uint64_t seed, table *fit, table *held) {
    *fit = table_of_rank(rows, cols, 0, a_row / (double)cols, seed);
    *held = table_of_rank(rows, cols, 0, a_row / (double)cols, seed);
    for (int64_t i = 0; i < rows * cols; i++) {
        const double biases = table_noise(seed, 21, i / cols) + table_noise(seed, 22, i % cols);
        fit->at[i] = (double)(float)(fit->at[i] + size * biases + 1.5 * table_noise(seed, 23, i));
    }
    table_part(fit, held);
}

/* Factors that are fitted over biases predict no worse than these. Before they were compared, ccd was worse on three
   of these sets, by 0.3 to 0.6 %, and sfa on one, by 0.1 %. */
TEST(test_never_below_biases) {
    static const struct {
        int64_t rows, cols;
        double a_row, size;
    } sets[] = {{300, 150, 40, 0.7}, {300, 150, 8, 0.7}, {900, 300, 6, 0.7}, {300, 150, 10, 0}, {150, 100, 6, 0.5}};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        OWN(table) fit, held;
        draw_biases(sets[s].rows, sets[s].cols, sets[s].a_row, sets[s].size, 70 + s, &fit, &held);
        OWN(double) *const predictions = malloc((size_t)held.nnz * sizeof *predictions);
        const double biased = baseline(&fit, &held);
        for (int n = 1; n < METHODS; n++) {
            tamis_model_options options = default_options(methods[n]);
            options.threads = 1;
            OWN(tamis_model) *const model = model_fitted(device, &options, &fit.S);
            const double error = error_of(model, &fit, &held, predictions);
            print_message("%s, set %zu: %.6f, biases %.6f\n", tamis_method_name(methods[n]), s, error, biased);
            /* biases in fp32, a half round apart in sfa */
            if (!(error <= biased * (1 + 1e-4)))
                fail_msg("%s, set %zu, with its defaults: %g, biases alone %g", tamis_method_name(methods[n]), s, error,
                         biased);
        }
    }
}

/* Where there is something to be found, it is, and given options stay. */
TEST(test_biases_alone) {
    OWN(table) fit, held, nothing, unseen;
    draw(240, 100, 0.3, 1, 93, &fit, &held);
    draw_biases(240, 100, 12, 0.5, 94, &nothing, &unseen);
    for (int n = 0; n < METHODS; n++) {
        for (int i = 0; i < 4; i++) {
            tamis_model_options options = default_options(methods[n]);
            options.threads = 1;
            if (i == 1) options.factors = 4;
            if (i == 3) options.regularization = 0.1;
            OWN(tamis_model) *const model = model_fitted(device, &options, i == 0 ? &fit.S : &nothing.S);
            OWN(tamis_model) *const again = model_reloaded(device, model);
            const bool alone = methods[n] != TAMIS_ALS && (i == 1 || i == 2);
            assert_int_equal(model_about(model).biases_alone, alone);
            assert_int_equal(model_about(again).biases_alone, alone);
            if (alone) assert_int_equal(model->options.factors, i == 1 ? 4 : 1);
        }
    }
}

/* A power of two changes no digit of what is divided by the deviation, so predictions are the same ones times it. */
TEST(test_scales) {
    for (int n = 0; n < 2 * METHODS; n++) {
        double *found[2];
        int64_t count = 0;
        for (int i = 0; i < 2; i++) {
            OWN(table) fit, held;
            draw(60, 50, 0.4, i ? 0x1p-14 : 1, 92, &fit, &held);
            tamis_model_options options = options_of(methods[n / 2], n % 2 ? TAMIS_F64 : TAMIS_F32, 6, 8);
            options.threads = 1;
            OWN(tamis_model) *const model = model_fitted(device, &options, &fit.S);
            count = held.nnz;
            found[i] = malloc((size_t)count * sizeof *found[i]);
            (void)error_of(model, &fit, &held, found[i]);
        }
        for (int64_t t = 0; t < count; t++)
            if (found[1][t] != found[0][t] * 0x1p-14)
                fail_msg("%s: %.17g of ratings times 2^-14, %.17g", tamis_method_name(methods[n / 2]), found[1][t],
                         found[0][t]);
        free(found[0]), free(found[1]);
    }
}
