/*
 * The parts that a row's entries have in a prediction. Factors of a row solve M x = sum of target_t y_t (fold.h), so
 * the score <x, y_j> is the sum over the entries t of target_t <y_t, M^-1 y_j>. M is formed, as few rows are explained.
 * A score of a model of pairs is a sum over the entries by its definition.
 */
#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/data/canonical.h"
#include "ml/fit/place.h"
#include "ml/methods/cholesky.h"
#include "ml/methods/method.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/fold.h"
#include "ml/serve/kept.h"
#include "ml/serve/lists.h"
#include "ml/serve/predict.h"
#include "sparse/check.h"

enum { NUMBERS_MOST = 1 << 22 }; /* scores of a block of entries */

/* Forms the lower triangle of M, after the method has made the row's system. */
static tamis_status make_matrix(const tamis_model *model, const ml_fold *fold, double **M) {
    const int64_t n = fold->width;
    const ml_gram_kept *gram;
    if (model->method->gram) {
        TRY(ml_kept_gram(model, &gram));
        TRY(ml_dense_read_doubles(model, &gram->G, M));
    } else {
        TRY(tamis_allocate_zeros(tamis_times(n, n), "a row's system", *M));
        for (int64_t k = 0; k < n; k++) (*M)[k * n + k] = fold->shift;
    }
    for (int64_t t = 0; t < fold->count; t++)
        for (int64_t i = 0; i < n; i++) {
            const double y = fold->weights[t] * fold->Y[t * n + i];
            for (int64_t j = 0; j <= i; j++) (*M)[i * n + j] += y * fold->Y[t * n + j];
        }
    return TAMIS_OK;
}

/* Sets z to M^-1 y_j, given the inverse L of M's Cholesky factor. */
static void solve(const double *L, const double *y, int64_t n, double *half, double *z) {
    for (int64_t i = 0; i < n; i++) {
        half[i] = z[i] = 0;
        for (int64_t k = 0; k <= i; k++) half[i] += L[i * n + k] * y[k];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k <= i; k++) z[k] += L[i * n + k] * half[i];
}

static tamis_status explain_factors(tamis_model *model, const tamis_sparse *row, int64_t column, double *parts) {
    const int64_t n = model->width;
    const double scale = model->method->about.data == TAMIS_DATA_RATINGS ? model->scale : 1;
    ml_fold fold = {.model = model, .data = row, .width = n};
    tamis_dense factors;
    double *M, *y;
    TRY(ml_dense_here(model, &model->column_factors, &factors));
    fold.factors = &factors;
    TRY(ml_fold_make(&fold));
    ml_fold_take(&fold, 0);
    model->method->system(&fold);
    TRY(make_matrix(model, &fold, &M));
    TRY(tamis_allocate_array(3 * n, "a column's factors", y));
    for (int64_t k = 0; k < n; k++) y[k] = ml_element(&factors, column, k);
    if (ml_biased(model)) y[n - 1] = 1; /* which meets the row's bias */
    ml_invert_cholesky(M, n, 1e-300);
    solve(M, y, n, y + n, y + 2 * n);
    for (int64_t t = 0; t < fold.count; t++) {
        double dot = 0;
        for (int64_t k = 0; k < n; k++) dot += fold.Y[t * n + k] * y[2 * n + k];
        parts[t] = scale * fold.targets[t] * dot;
    }
    return TAMIS_OK;
}

/* Finds what each entry's column gives. */
static tamis_status explain_lists(const tamis_model *model, const tamis_sparse *row, int64_t column, double *parts) {
    const ml_lists *lists;
    TRY(ml_kept_lists(model, &lists));
    for (int64_t t = 0; t < row->nnz; t++) {
        const int64_t given = ml_column(row, t);
        parts[t] = 0;
        for (int64_t k = lists->offsets[given]; k < lists->offsets[given + 1]; k++)
            if (lists->columns[k] == column) parts[t] += ml_value(row, t) * ml_number(lists->weights, lists->type, k);
    }
    return TAMIS_OK;
}

/* Scores each entry alone, as a row. */
static tamis_status explain_pairs(tamis_model *model, const tamis_sparse *row, int64_t column, double *parts) {
    const int64_t fits = NUMBERS_MOST / model->cols, most = fits > 0 ? fits : 1;
    int64_t *offsets;
    TRY(tamis_allocate_array(row->nnz + 1, "entries", offsets));
    for (int64_t t = 0; t <= row->nnz; t++) offsets[t] = t;
    for (int64_t first = 0; first < row->nnz; first += most) {
        tamis_sparse some = *row;
        tamis_dense scores;
        double *numbers;
        TAMIS_SCOPE;
        some.rows = some.nnz = row->nnz - first < most ? row->nnz - first : most;
        some.offsets = offsets;
        some.columns = (const char *)row->columns + (size_t)first * tamis_index_size(row->index_type);
        some.values = (const char *)row->values + (size_t)first * tamis_type_size(row->value_type);
        TRY(ml_scratch(model, some.rows, model->width, &scores));
        TRY(model->method->transform(model, &some, &scores));
        TRY(ml_dense_read_doubles(model, &scores, &numbers));
        for (int64_t t = 0; t < some.rows; t++) parts[first + t] = numbers[t * model->width + column];
    }
    return TAMIS_OK;
}

static tamis_status check(const tamis_model *model, const tamis_sparse *known, int64_t column, int n) {
    TRY(ml_check_fitted(model));
    const bool pairs = model->method->about.pairs && model->method->about.data == TAMIS_DATA_USES;
    if (!model->method->system && !pairs)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "%s has no sum over a row's entries: als, implicit-als and models of "
                          "uses by pairs of columns have",
                          model->method->about.name);
    TRY(tamis_sparse_check_host(known, "known"));
    TRY(ml_check_cols(model, "known", known->cols));
    if (known->rows != 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "known.rows = %lld, expected 1", (long long)known->rows);
    if (column < 0 || column >= model->cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "column = %lld, the model has %lld columns", (long long)column,
                          (long long)model->cols);
    return n < 0 ? tamis_fail(TAMIS_ERROR_ARGUMENT, "n = %d is negative", n) : TAMIS_OK;
}

tamis_status tamis_model_explain(tamis_model *model, const tamis_sparse *known, int64_t column, int n, int64_t *columns,
                                 double *parts) {
    tamis_clear_error();
    tamis_model use;
    tamis_sparse row;
    double *of_entries;
    TAMIS_SCOPE;
    TRY(check(model, known, column, n));
    if (n == 0) return TAMIS_OK;
    if (!columns || !parts) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", columns ? "parts" : "columns");
    TRY(ml_use_begin(model, &use));
    TRY(ml_canonical(model, known, "known", &row));
    if (model->method->prepare) TRY(model->method->prepare(&use, &row, false));
    TRY(tamis_allocate_array(row.nnz, "parts of entries", of_entries));
    TRY(ml_has_lists(model)          ? explain_lists(&use, &row, column, of_entries)
        : model->method->about.pairs ? explain_pairs(&use, &row, column, of_entries)
                                     : explain_factors(&use, &row, column, of_entries));
    ml_best best = {.columns = columns, .scores = parts, .n = n};
    for (int64_t t = 0; t < row.nnz; t++) ml_best_offer(&best, ml_column(&row, t), of_entries[t]);
    ml_best_finish(&best);
    return TAMIS_OK;
}
