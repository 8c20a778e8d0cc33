/* Rows for columns, and why a column is recommended: beside predictions of all pairs, and sums of parts. */
#include "support/test.h"

#include "ml/model.h"
#include "model_rows.h"

#include "device_fixture.h"

enum { ROWS = MODEL_ROWS, COLS = MODEL_COLS };

static tamis_model_options options_of(tamis_method method, tamis_type type) {
    tamis_model_options options = model_case_of(method).options;
    options.type = type;
    options.threads = 2;
    return options;
}

static data data_of(tamis_method method) {
    const model_case c = model_case_of(method);
    return model_data(&c.about, ROWS, COLS, 19);
}

static bool has(const data *d, int64_t row, int64_t column) {
    for (int64_t t = d->offsets[row]; t < d->offsets[row + 1]; t++)
        if (d->columns[t] == column) return true;
    return false;
}

/* The predictions of all pairs, row by row; ratings within the range of those of the fit. */
static double *all_predictions(tamis_model *model) {
    int64_t offsets[ROWS + 1];
    OWN(int64_t) *const columns = malloc(ROWS * COLS * sizeof *columns);
    OWN(double) *const ones = calloc(ROWS * COLS, sizeof *ones);
    double *const predictions = malloc(ROWS * COLS * sizeof *predictions);
    for (int i = 0; i <= ROWS; i++) offsets[i] = (int64_t)i * COLS;
    for (int t = 0; t < ROWS * COLS; t++) columns[t] = t % COLS;
    const tamis_sparse all = CSR(ROWS, COLS, offsets, columns, ones);
    works(tamis_model_predict(model, NULL, &all, predictions));
    return predictions;
}

TEST(rows_are_found_for_columns) {
    static const tamis_method methods[] = {TAMIS_ALS, TAMIS_IMPLICIT_ALS, TAMIS_BPR, TAMIS_CCD};
    for (int c = 0; c < 8; c++) {
        const tamis_type type = c & 1 ? TAMIS_F64 : TAMIS_F32;
        const tamis_model_options options = options_of(methods[c / 2], type);
        OWN(data) d = data_of(methods[c / 2]);
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        OWN(double) *const expected = all_predictions(model);
        enum { N = 9 };
        int64_t rows[COLS * N];
        double scores[COLS * N], close = type == TAMIS_F64 ? 1e-10 : 1e-4;
        for (int seen = 0; seen < 2; seen++) {
            works(tamis_model_recommend_rows(model, NULL, COLS, seen ? &d.view : NULL, N, rows, scores));
            for (int64_t j = 0; j < COLS; j++) {
                bool taken[ROWS] = {false};
                for (int k = 0; k < N; k++) {
                    const int64_t row = rows[j * N + k];
                    if (row < 0) {
                        assert_true(isnan(scores[j * N + k]));
                        continue;
                    }
                    assert_true(row < ROWS && !taken[row] && !(seen && has(&d, row, j)));
                    assert_true(fabs(scores[j * N + k] - expected[row * COLS + j]) <= close);
                    taken[row] = true;
                }
                for (int64_t i = 0; i < ROWS; i++)
                    if (!taken[i] && !(seen && has(&d, i, j)))
                        assert_true(rows[j * N + N - 1] >= 0 &&
                                    expected[i * COLS + j] <= scores[j * N + N - 1] + close);
            }
        }
        int64_t one[N];
        double score[N];
        const int64_t column = 4;
        works(tamis_model_recommend_rows(model, &column, 1, &d.view, N, one, score));
        for (int k = 0; k < N; k++) assert_true((one[k] < 0) == (rows[column * N + k] < 0));
        REFUSED(ARGUMENT, "^columns[0] = -1, the model has ... columns$",
                tamis_model_recommend_rows(model, &(int64_t){-1}, 1, NULL, N, one, score));
        REFUSED(ARGUMENT, "^n = -1 is negative$", tamis_model_recommend_rows(model, &column, 1, NULL, -1, one, score));
        REFUSED(ARGUMENT, "^scores is NULL$", tamis_model_recommend_rows(model, &column, 1, NULL, 1, one, NULL));
    }
    const tamis_model_options options = options_of(TAMIS_EASE, TAMIS_F32);
    OWN(data) d = data_of(TAMIS_EASE);
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    REFUSED(UNSUPPORTED, "^ease stores no row factors$",
            tamis_model_recommend_rows(model, NULL, 1, NULL, 1, (int64_t[1]){0}, (double[1]){0}));
}

/* The score of a column, before it is clamped, less what does not come from the row: <x, y>, scaled. */
static double score_of(const tamis_model *model, const double *x, int64_t column) {
    const tamis_method_data kind = model->method->about.data;
    double sum = 0;
    if (model->method->about.pairs) return x[column];
    for (int64_t k = 0; k < model->width; k++)
        sum += x[k] * (ml_biased(model) && k == model->width - 1 ? 1 : number(&model->column_factors, column, k));
    return kind == TAMIS_DATA_RATINGS ? model->scale * sum : sum;
}

TEST(parts_add_up_to_scores) {
    static const tamis_method methods[] = {TAMIS_ALS, TAMIS_IMPLICIT_ALS, TAMIS_ITEM_KNN, TAMIS_EASE,
                                           TAMIS_TRANSITIONS};
    for (int c = 0; c < 10; c++) {
        const tamis_type type = c & 1 ? TAMIS_F64 : TAMIS_F32;
        const tamis_model_options options = options_of(methods[c / 2], type);
        OWN(data) d = data_of(methods[c / 2]);
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        if (model->location != TAMIS_HOST) return;
        for (int64_t i = 0; i < ROWS; i += 7) {
            int64_t offsets[] = {0, d.offsets[i + 1] - d.offsets[i]}, columns[COLS];
            double parts[COLS];
            const tamis_sparse row = CSR(1, COLS, offsets, d.columns + d.offsets[i], d.values + d.offsets[i]);
            OWN(double) *const x = model_transformed(model, &row);
            for (int64_t j = 0; j < COLS; j += 3) {
                double sum = 0, sizes = 0;
                works(tamis_model_explain(model, &row, j, COLS, columns, parts));
                for (int k = 0; k < COLS; k++) {
                    assert_true((columns[k] < 0) == (k >= offsets[1]) && (columns[k] < 0 || has(&d, i, columns[k])));
                    assert_true(k == 0 || columns[k] < 0 || parts[k] <= parts[k - 1]);
                    if (columns[k] >= 0) sum += parts[k], sizes += fabs(parts[k]);
                }
                const double expected = score_of(model, x, j), close = type == TAMIS_F64 ? 1e-8 : 2e-3;
                if (!(fabs(sum - expected) <= close * (sizes + fabs(expected))))
                    fail_msg("%s: parts of column %lld add up to %.9g, its score is %.9g", model->method->about.name,
                             (long long)j, sum, expected);
            }
            REFUSED(ARGUMENT, "^column = 1000, the model has ",
                    tamis_model_explain(model, &row, 1000, 1, columns, parts));
            REFUSED(ARGUMENT, "^parts is NULL$", tamis_model_explain(model, &row, 1, 1, columns, NULL));
            REFUSED(ARGUMENT, "^known.rows = ..., expected 1$",
                    tamis_model_explain(model, &d.view, 1, 1, columns, parts));
        }
    }
    const tamis_model_options options = options_of(TAMIS_BPR, TAMIS_F32);
    OWN(data) d = data_of(TAMIS_BPR);
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    REFUSED(UNSUPPORTED, "^bpr has no sum over a row's entries",
            tamis_model_explain(model, &d.view, 0, 1, (int64_t[1]){0}, (double[1]){0}));
}

TEST_ON_DEVICE(set_up, tear_down)
