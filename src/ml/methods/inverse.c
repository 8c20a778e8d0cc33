/*
 * The inverse by the symmetric sweep operator, a panel K of columns at a time, without pivoting. With D = A_KK^-1, C =
 * A_:K and R = C D, a sweep makes
 *
 *   A_IJ - R_I C_J^T  of other blocks,   A_IK = R_I,   A_KK = -D
 *
 * and after all panels A is minus its inverse. A stays symmetric, so only its upper half is kept and computed: n^3
 * operations, nearly all in tamis_dense_multiply, and 4 n^2 bytes. Each panel's columns are a matrix of their own,
 * which begins at its first byte as OpenCL needs it, and which stays in order: the rows of K are contiguous there. What
 * has n x 128 entries is transposed on the host, and D is computed there.
 */
#include "ml/methods/inverse.h"

#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/methods/cholesky.h"
#include "ml/numbers.h"

/* Rows of G are an odd number of cache lines apart: a power of two would put a column into few sets of a cache. */
enum { PANEL = ML_INVERSE_PANEL, G_STRIDE = PANEL + 8, TILE = 8 };

static void close_device(void *device) { tamis_device_close(device); }

/* Opens the CPU with as many threads as the model has. */
static tamis_status open_cpu(const tamis_model *model, ml_inverse *v) {
    int threads = model->options.threads;
    if (model->location == TAMIS_HOST) TRY(ml_host_threads(model, &threads));
    TRY(tamis_device_open("cpu", &v->at.device));
    TRY(tamis_scope_own(close_device, v->at.device));
    v->at.location = TAMIS_HOST;
    return tamis_device_set_threads(v->at.device, threads);
}

/* Makes D where matrices in double can be computed with. */
static tamis_status choose_device(const tamis_model *model, ml_inverse *v) {
    v->at = (tamis_model){.device = model->device, .location = model->location, .options = {.type = TAMIS_F64}};
    if (model->location == TAMIS_HOST) TRY(open_cpu(model, v));
    TRY(ml_scratch(&v->at, PANEL, PANEL, &v->D));
    const tamis_status status = tamis_dense_fill(v->at.device, NULL, &v->D, 0);
    if (status != TAMIS_ERROR_UNSUPPORTED) return status;
    TRY(open_cpu(model, v));
    return ml_scratch(&v->at, PANEL, PANEL, &v->D);
}

tamis_status ml_inverse_make(const tamis_model *model, int64_t n, ml_inverse *v) {
    static const char *const what = "a panel of an inverse";
    const int64_t panel = tamis_times(n, PANEL);
    *v = (ml_inverse){.n = n, .panels = (n + PANEL - 1) / PANEL};
    TRY(choose_device(model, v));
    TRY(tamis_allocate_zeros(v->panels, "panels of an inverse", v->upper));
    for (int64_t k = 0; k < v->panels; k++) {
        const int64_t width = ml_panel_width(v, k);
        TRY(ml_scratch(&v->at, ml_panel_first(k) + width, width, &v->upper[k]));
    }
    TRY(ml_scratch(&v->at, n, PANEL, &v->C));
    TRY(ml_scratch(&v->at, n, PANEL, &v->R));
    TRY(ml_scratch(&v->at, PANEL, G_STRIDE, &v->G));
    TRY(tamis_allocate_array(panel, what, v->host_C));
    TRY(tamis_allocate_array(panel, what, v->host_R));
    TRY(tamis_allocate_array(tamis_times(PANEL, PANEL), what, v->host_D));
    TRY(tamis_allocate_array(tamis_times(PANEL, PANEL), what, v->host_L));
    return tamis_allocate_zeros(tamis_times(PANEL, G_STRIDE), what, v->host_G);
}

/* Returns the first entries of a packed matrix as one of another shape. */
static tamis_dense shaped(const tamis_dense *X, int64_t rows, int64_t cols) {
    tamis_dense view = *X;
    view.rows = rows;
    view.cols = view.stride = cols;
    return view;
}

/* Writes the transpose of the rows x cols matrix X into Y, whose rows are `stride` apart. */
static void transpose(const double *X, int64_t rows, int64_t cols, double *Y, int64_t stride) {
    for (int64_t i = 0; i < rows; i += TILE)
        for (int64_t j = 0; j < cols; j++)
            for (int64_t l = i; l < rows && l < i + TILE; l++) Y[j * stride + l] = X[l * cols + j];
}

/* The place, in bytes, of the rows of panel k in the columns of panel j. */
static size_t place_of(const ml_inverse *v, int64_t k, int64_t j) {
    return (size_t)(ml_panel_first(k) * ml_panel_width(v, j)) * sizeof(double);
}

static size_t block_bytes(const ml_inverse *v, int64_t k, int64_t j) {
    return (size_t)(ml_panel_width(v, k) * ml_panel_width(v, j)) * sizeof(double);
}

tamis_status ml_inverse_put(ml_inverse *v, int64_t panel) {
    return ml_dense_write(&v->at, &v->upper[panel], v->host_C);
}

/* Columns below the diagonal block are rows of the panels behind. */
tamis_status ml_inverse_get(ml_inverse *v, int64_t panel) {
    const int64_t m = ml_panel_width(v, panel);
    TRY(ml_dense_read(&v->at, &v->upper[panel], v->host_C));
    for (int64_t j = panel + 1; j < v->panels; j++) {
        TRY(tamis_device_download(v->at.device, NULL, v->host_G, v->upper[j].data, place_of(v, panel, j),
                                  block_bytes(v, panel, j)));
        transpose(v->host_G, m, ml_panel_width(v, j), v->host_C + ml_panel_first(j) * m, m);
    }
    return TAMIS_OK;
}

tamis_status ml_inverse_diagonal(ml_inverse *v, double *diagonal) {
    for (int64_t k = 0; k < v->panels; k++) {
        const int64_t m = ml_panel_width(v, k);
        TRY(tamis_device_download(v->at.device, NULL, v->host_D, v->upper[k].data, place_of(v, k, k),
                                  block_bytes(v, k, k)));
        for (int64_t i = 0; i < m; i++) diagonal[ml_panel_first(k) + i] = v->host_D[i * m + i];
    }
    return TAMIS_OK;
}

/* Computes D of an m x m diagonal block, by its Cholesky factor: D = L^-T L^-1. */
static void invert_block(const double *block, int64_t m, double least, double *L, double *D) {
    memcpy(L, block, (size_t)(m * m) * sizeof *L);
    ml_invert_cholesky(L, m, least);
    memset(D, 0, (size_t)(m * m) * sizeof *D);
    for (int64_t k = 0; k < m; k++)
        for (int64_t i = 0; i <= k; i++)
            for (int64_t j = 0; j <= k; j++) D[i * m + j] += L[k * m + i] * L[k * m + j];
}

tamis_status ml_inverse_sweep(ml_inverse *v, int64_t panel, double least) {
    tamis_device *const device = v->at.device;
    const int64_t m = ml_panel_width(v, panel), first = ml_panel_first(panel);
    const tamis_dense C = shaped(&v->C, v->n, m), R = shaped(&v->R, v->n, m), D = shaped(&v->D, m, m);
    TRY(ml_inverse_get(v, panel));
    invert_block(v->host_C + first * m, m, least, v->host_L, v->host_D);
    TRY(ml_dense_write(&v->at, &D, v->host_D));
    TRY(ml_dense_write(&v->at, &C, v->host_C));
    TRY(tamis_dense_multiply(device, NULL, 1, &C, &D, 0, &R));
    TRY(ml_dense_read(&v->at, &R, v->host_R));
    for (int64_t j = 0; j < v->panels; j++) {
        if (j == panel) continue;
        const tamis_dense *const A = &v->upper[j], X = ml_first_rows(&R, A->rows);
        const int64_t at = ml_panel_first(j) * m;
        tamis_dense G = v->G;
        G.rows = m;
        G.cols = A->cols;
        transpose(v->host_C + at, A->cols, m, v->host_G, G_STRIDE);
        TRY(ml_dense_write(&v->at, &v->G, v->host_G));
        TRY(tamis_dense_multiply(device, NULL, -1, &X, &G, 1, A));
        if (j < panel) continue;
        transpose(v->host_R + at, A->cols, m, v->host_G, A->cols);
        TRY(tamis_device_upload(device, NULL, A->data, place_of(v, panel, j), v->host_G, block_bytes(v, panel, j)));
    }
    for (int64_t i = 0; i < m * m; i++) v->host_R[first * m + i] = -v->host_D[i];
    return ml_dense_write(&v->at, &v->upper[panel], v->host_R);
}
