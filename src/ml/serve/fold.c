/*
 * Factors of few new rows on the CPU, for services. For one row, plans, conversions and scratch (implicit.c, als.c)
 * take longer than the arithmetic. So this gathers the factors of the row's entries and solves the system by
 * preconditioned conjugate gradients. The preconditioner is G, the part that all rows have in common. A row has few
 * entries compared with all columns, so the preconditioned matrix is near the identity, and few steps suffice.
 *
 * With G^-1 as preconditioner, G p follows as p does: z = G^-1 r, p = z + b p, so G p = r + b G p. A step is two
 * products with the gathered factors and one with G^-1.
 */
#include "ml/serve/fold.h"

#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/numbers.h"

enum { ROWS_MOST = 16, WIDTH_MOST = 512 }; /* beyond this width the inverse takes too long */

bool ml_folds_alone(const tamis_model *model, int64_t rows) {
    return model->location == TAMIS_HOST && rows <= ROWS_MOST && model->width <= WIDTH_MOST;
}

tamis_status ml_fold_make(ml_fold *fold) {
    const int64_t found = ml_longest_row(fold->data), longest = found > 0 ? found : 1;
    TRY(tamis_allocate_array(tamis_times(longest, fold->width), "factors of a row's entries", fold->Y));
    TRY(tamis_allocate_array(3 * longest, "a row's entries", fold->weights));
    TRY(tamis_allocate_array(6 * fold->width, "a row's factors", fold->vectors));
    fold->targets = fold->weights + longest;
    return TAMIS_OK;
}

void ml_fold_take(ml_fold *fold, int64_t row) {
    const tamis_dense *const from = fold->factors;
    const int64_t first = ml_offset(fold->data, row), width = fold->width;
    fold->count = ml_offset(fold->data, row + 1) - first;
    for (int64_t t = 0; t < fold->count; t++) {
        const int64_t at = ml_column(fold->data, first + t) * width;
        double *const to = fold->Y + t * width;
        if (from->type == TAMIS_F64)
            for (int64_t k = 0; k < width; k++) to[k] = ((const double *)from->data)[at + k];
        else
            for (int64_t k = 0; k < width; k++) to[k] = (double)((const float *)from->data)[at + k];
        fold->targets[t] = ml_value(fold->data, first + t);
    }
}

/* ------------------------------------------------------------------------------------------ solving */

static tamis_dense view(const double *numbers, int64_t rows, int64_t cols) {
    return (tamis_dense){
        .data = (void *)(uintptr_t)numbers, .rows = rows, .cols = cols, .stride = cols, .type = TAMIS_F64};
}

static tamis_status multiply(const ml_fold *fold, const double *X, int64_t rows, int64_t inner, const double *G,
                             int64_t cols, double *Y) {
    const tamis_dense left = view(X, rows, inner), right = view(G, inner, cols), result = view(Y, rows, cols);
    return tamis_dense_multiply(fold->model->device, NULL, 1, &left, &right, 0, &result);
}

/* Computes z = G^-1 r and <r, z>. */
static tamis_status precondition(const ml_fold *fold, const double *r, double *z, double *rz) {
    const int64_t n = fold->width;
    if (fold->inverse)
        TRY(multiply(fold, fold->inverse, n, n, r, 1, z));
    else
        for (int64_t k = 0; k < n; k++) z[k] = r[k] / fold->shift;
    *rz = 0;
    for (int64_t k = 0; k < n; k++) *rz += r[k] * z[k];
    return TAMIS_OK;
}

static tamis_status solve(const ml_fold *fold, const tamis_dense *W, int64_t row) {
    const int64_t n = fold->width, count = fold->count;
    double *const x = fold->vectors, *const r = x + n, *const z = r + n, *const p = z + n, *const Gp = p + n;
    double *const Ap = Gp + n, *const dots = fold->targets + (fold->targets - fold->weights);
    const double little = W->type == TAMIS_F64 ? 1e-28 : 1e-16; /* squares */
    double rz, first;
    TRY(multiply(fold, fold->targets, 1, count, fold->Y, n, r));
    TRY(precondition(fold, r, z, &rz));
    first = rz;
    for (int64_t k = 0; k < n; k++) {
        x[k] = 0;
        p[k] = z[k];
        Gp[k] = r[k];
    }
    for (int step = ml_fold_in_steps(n); step > 0 && rz > little * first; step--) {
        double pAp = 0;
        TRY(multiply(fold, fold->Y, count, n, p, 1, dots));
        for (int64_t t = 0; t < count; t++) dots[t] *= fold->weights[t];
        TRY(multiply(fold, dots, 1, count, fold->Y, n, Ap));
        for (int64_t k = 0; k < n; k++) pAp += p[k] * (Ap[k] += Gp[k]);
        const double before = rz, a = rz / pAp;
        for (int64_t k = 0; k < n; k++) {
            x[k] += a * p[k];
            r[k] -= a * Ap[k];
        }
        TRY(precondition(fold, r, z, &rz));
        for (int64_t k = 0; k < n; k++) {
            p[k] = z[k] + rz / before * p[k];
            Gp[k] = r[k] + rz / before * Gp[k];
        }
    }
    for (int64_t k = 0; k < n; k++) ml_put_element(W, row, k, x[k]);
    return TAMIS_OK;
}

tamis_status ml_fold_rows(const tamis_model *model, const tamis_sparse *data, const double *inverse,
                          ml_fold_system *make, const tamis_dense *W) {
    ml_fold fold = {
        .model = model, .data = data, .factors = &model->column_factors, .width = model->width, .inverse = inverse};
    TRY(ml_fold_make(&fold));
    for (int64_t i = 0; i < data->rows; i++) {
        ml_fold_take(&fold, i);
        make(&fold);
        TRY(solve(&fold, W, i));
    }
    return TAMIS_OK;
}
