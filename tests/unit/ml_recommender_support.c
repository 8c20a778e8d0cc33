/* See test_ml_recommenders.h. */
#include "test_ml_recommenders.h"

tamis_device *device;
bool on_cpu = true;

double table_factor(uint64_t seed, bool column, int64_t i, int f) {
    return 2 * tamis_random_uniform_at(seed + (column ? 2 : 1), (uint64_t)i, (uint64_t)f) - 1;
}

void table_arrange(table *t) {
    t->nnz = 0;
    for (int64_t i = 0; i < t->rows; i++) {
        for (int64_t j = 0; j < t->cols; j++) {
            if (isnan(t->at[i * t->cols + j])) continue;
            t->columns[t->nnz] = (int32_t)j;
            t->values[t->nnz++] = t->at[i * t->cols + j];
        }
        t->offsets[i + 1] = t->nnz;
    }
    t->S = CSR(t->rows, t->cols, t->offsets, t->columns, t->values);
}

table table_of_rank(int64_t rows, int64_t cols, int rank, double share, uint64_t seed) {
    const size_t places = (size_t)(rows * cols);
    table t = {.rows = rows,
               .cols = cols,
               .at = malloc(places * sizeof *t.at),
               .offsets = calloc((size_t)rows + 1, sizeof *t.offsets),
               .columns = malloc(places * sizeof *t.columns),
               .values = malloc(places * sizeof *t.values)};
    assert_true(t.at && t.offsets && t.columns && t.values);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            double value = 3;
            for (int f = 0; f < rank; f++) value += table_factor(seed, false, i, f) * table_factor(seed, true, j, f);
            const bool there =
                i % 11 != 3 && j % 13 != 5 && tamis_random_uniform_at(seed, 9, (uint64_t)(i * cols + j)) < share;
            /* exact in fp32, so that either type fits the same data */
            t.at[i * cols + j] = there ? (double)(float)value : NAN;
        }
    table_arrange(&t);
    return t;
}

void table_free(table *t) {
    free(t->at);
    free(t->offsets);
    free(t->columns);
    free(t->values);
}

void table_part(table *fit, table *held) {
    for (int64_t i = 0, n = 0; i < fit->rows * fit->cols; i++) {
        const bool away = !isnan(fit->at[i]) && n++ % 5 == 0;
        held->at[i] = away ? fit->at[i] : NAN;
        if (away) fit->at[i] = NAN;
    }
    table_arrange(fit);
    table_arrange(held);
}

void table_expect_found(const table *all, const table *t, const double *found, double bound) {
    double given = 0, unknown = 0;
    for (int64_t i = 0, n = 0; i < t->rows * t->cols; i++) {
        if (isnan(all->at[i])) continue;
        *(isnan(t->at[i]) ? &unknown : &given) += pow(found[n] - all->values[n], 2);
        n++;
    }
    given = sqrt(given / (double)t->nnz);
    unknown = sqrt(unknown / (double)(all->nnz - t->nnz));
    if (!(given <= bound && unknown <= 3 * bound)) fail_msg("errors %g and %g, bound %g", given, unknown, bound);
}

double table_noise(uint64_t seed, uint64_t what, int64_t i) {
    return 2 * tamis_random_uniform_at(seed, what, (uint64_t)i) - 1;
}

bool table_empty_row(const table *t, int64_t i) { return t->offsets[i] == t->offsets[i + 1]; }

bool table_empty_column(const table *t, int64_t j) {
    for (int64_t i = 0; i < t->rows; i++)
        if (!isnan(t->at[i * t->cols + j])) return false;
    return true;
}

tamis_model_options options_of(tamis_method method, tamis_type type, int64_t factors, int iterations) {
    tamis_model_options options = sized_options(method, type, factors, iterations);
    /* a constant, which the restatements need; ml_recommender_noise.c finds it */
    if (options.regularization == 0) options.regularization = method == TAMIS_IMPLICIT_ALS ? 0.01 : 0.1;
    if (method == TAMIS_SFA) options.column_regularization = 0.1;
    if (method == TAMIS_IMPLICIT_ALS) options.confidence = 1;
    options.weights = TAMIS_WEIGHTS_LINEAR; /* test_ml_uses.c has the others */
    return options;
}

double *factors_of(tamis_model *model, bool columns, int64_t *width) {
    if (width) *width = model->width;
    return model_factors(model, !columns, NULL);
}

double dot(const double *x, const double *y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

double table_scale(const table *t, double centre) {
    double squares = 0;
    for (int64_t n = 0; n < t->nnz; n++) squares += (t->values[n] - centre) * (t->values[n] - centre);
    return sqrt(squares / (double)t->nnz);
}

void table_biases(const table *t, double mean, double scale, double *rows, double *columns) {
    for (int64_t j = 0; j < t->cols; j++) columns[j] = 0;
    for (int half = 0; half < 10; half++) {
        const bool of_rows = half % 2 == 0;
        for (int64_t a = 0; a < (of_rows ? t->rows : t->cols); a++) {
            double sum = 0, count = 10;
            for (int64_t b = 0; b < (of_rows ? t->cols : t->rows); b++) {
                const double rating = of_rows ? t->at[a * t->cols + b] : t->at[b * t->cols + a];
                if (isnan(rating)) continue;
                sum += (rating - mean) / scale - (of_rows ? columns[b] : rows[b]);
                count++;
            }
            *(of_rows ? &rows[a] : &columns[a]) = sum / count;
        }
    }
}

double *split_last(double *factors, int64_t rows, int64_t width) {
    double *const last = malloc((size_t)rows * sizeof *last + 1);
    for (int64_t i = 0; i < rows; i++) {
        last[i] = factors[i * width + width - 1];
        memmove(factors + i * (width - 1), factors + i * width, (size_t)(width - 1) * sizeof *factors);
    }
    return last;
}
