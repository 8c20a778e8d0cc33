/* Uses of implicit-als: what counts become, and what is not finite. */
#include "support/test.h"

#include "model_rows.h"

#include "cpu_device.h" /* after the headers whose arguments have the device's name */

/* ------------------------------------------------------------------------------------------ weights */

/* Okapi BM25 of rows as documents, with the K1 and B of the manual. */
static void bm25(const data *d, const data *of_fit, double *weights) {
    const int64_t rows = of_fit->view.rows, cols = of_fit->view.cols;
    OWN(double) *const having = calloc((size_t)cols, sizeof *having);
    double total = 0;
    for (int64_t t = 0; t < of_fit->view.nnz; t++) {
        having[of_fit->columns[t]]++;
        total += of_fit->values[t];
    }
    for (int64_t i = 0; i < d->view.rows; i++) {
        double length = 0;
        for (int64_t t = d->offsets[i]; t < d->offsets[i + 1]; t++) length += d->values[t];
        for (int64_t t = d->offsets[i]; t < d->offsets[i + 1]; t++) {
            const double n = having[d->columns[t]], idf = log(1 + ((double)rows - n + 0.5) / (n + 0.5));
            const double norm = 0.2 + 0.8 * length / (total / (double)rows);
            weights[t] = idf * d->values[t] * 101 / (100 * norm + d->values[t]);
        }
    }
}

static void weigh(tamis_use_weights how, const data *d, const data *of_fit, double *weights) {
    for (int64_t t = 0; t < d->view.nnz; t++)
        weights[t] = how == TAMIS_WEIGHTS_LOG ? log2(1 + d->values[t]) : how == TAMIS_WEIGHTS_ONES ? 1 : d->values[t];
    if (how == TAMIS_WEIGHTS_BM25) bm25(d, of_fit, weights);
}

/* A fit with weights is a plain one of the weighted numbers, to new rows too, also from a file. */
TEST(weights_are_those_of_the_manual) {
    OWN(data) fitted = data_make(70, 40, 6, 3), fresh = data_make(9, 40, 8, 4);
    for (int64_t t = 0; t < fitted.view.nnz; t++) fitted.values[t] *= t % 5 == 0 ? 1000 : 1;
    OWN(double) *const weights = malloc((size_t)fitted.view.nnz * sizeof *weights);
    OWN(double) *const fresh_plain = malloc((size_t)fresh.view.nnz * sizeof *fresh_plain);
    for (int how = TAMIS_WEIGHTS_LINEAR; how <= TAMIS_WEIGHTS_ONES; how++) {
        tamis_model_options options = sized_options(TAMIS_IMPLICIT_ALS, TAMIS_F64, 5, 4);
        options.threads = 1;
        options.weights = (tamis_use_weights)how;
        OWN(tamis_model) *model = model_fitted(device, &options, &fitted.view), *loaded;
        weigh((tamis_use_weights)how, &fitted, &fitted, weights);
        weigh((tamis_use_weights)how, &fresh, &fitted, fresh_plain);
        tamis_sparse weighted = fitted.view, fresh_weighted = fresh.view;
        weighted.values = weights;
        fresh_weighted.values = fresh_plain;
        options.weights = TAMIS_WEIGHTS_LINEAR;
        OWN(tamis_model) *const expected = model_fitted(device, &options, &weighted);
        assert_true(fabs(model->lambda - expected->lambda) <= 1e-12 * expected->lambda);
        model_expect_near("columns", model->column_factors.data, expected->column_factors.data, 40 * 5, 1e-9);
        loaded = model_reloaded(device, model);
        assert_int_equal(loaded->options.weights, how);
        double found[9 * 5], wanted[9 * 5];
        const tamis_dense W = {.rows = 9, .cols = 5, .type = TAMIS_F64, .data = found},
                          V = {.rows = 9, .cols = 5, .type = TAMIS_F64, .data = wanted};
        works(tamis_model_transform(loaded, &fresh.view, &W));
        works(tamis_model_transform(expected, &fresh_weighted, &V));
        model_expect_near("new rows", found, wanted, 9 * 5, 1e-9);
    }
}

/* ------------------------------------------------------------------------------------------ not finite */

TEST(what_is_not_finite_is_no_model) {
    OWN(data) d = data_make(70, 40, 6, 3);
    for (int64_t t = 0; t < d.view.nnz; t++) d.values[t] *= 1e25;
    tamis_model_options options = default_options(TAMIS_IMPLICIT_ALS);
    options.weights = TAMIS_WEIGHTS_LINEAR;
    options.regularization = 1e-3;
    tamis_model *model;
    works(tamis_model_create(device, &options, &model));
    assert_int_equal(tamis_model_fit(model, &d.view, NULL), TAMIS_ERROR_ARGUMENT);
    assert_non_null(strstr(tamis_last_error(), "iteration 1: the factors of "));
    assert_non_null(strstr(tamis_last_error(), "are not finite numbers: use a larger regularization, less confidence"));
    assert_int_equal(tamis_model_save(model, "/tmp/tamis-weights.model"), TAMIS_ERROR_ARGUMENT);
    tamis_model_free(model);
    options.weights = TAMIS_WEIGHTS_LOG;
    tamis_model_free(model_fitted(device, &options, &d.view));
}

TEST_FIXTURE(set_up, tear_down)
