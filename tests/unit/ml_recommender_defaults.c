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
