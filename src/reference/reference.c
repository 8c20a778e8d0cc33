/*
 * The oracle: each operation as the plainest loop, in double, over any view. Nothing here is fast and nothing is
 * clever: it is what every algorithm on every device is tested against.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "sparse/check.h"
#include "sparse/element.h"
#include "sparse/structure.h"

typedef struct request {
    const tamis_sparse *S;
    tamis_args args; /* with defaults filled in */
    int64_t member;  /* of the batch */
} request;

static double dense_at(const tamis_dense *X, int64_t member, int64_t i, int64_t j) {
    const int64_t stride = tamis_dense_stride(X);
    const int64_t at = X->layout == TAMIS_ROW_MAJOR ? i * stride + j : j * stride + i;
    return tamis_element_load(X->data, X->type, member * X->batch_stride + at);
}

static double value_at(const request *r, int64_t t) {
    if (!r->S->values) return 1;
    return tamis_element_load(r->S->values, r->S->value_type, r->member * r->S->batch_stride + t);
}

static double dot(const request *r, const tamis_dense *A, const tamis_dense *B, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < A->cols; k++) sum += dense_at(A, r->member, i, k) * dense_at(B, r->member, j, k);
    return sum;
}

/* The edge's value at nonzero t; for softmax the score, before its row is normalised. */
static double edge_at(const request *r, int64_t t, double x) {
    const tamis_args *const a = &r->args;
    const double s = value_at(r, t), scaled = a->edge_scale * x;
    switch (a->edge) {
    case TAMIS_EDGE_SCALE: return s * x;
    case TAMIS_EDGE_MASK: return x;
    case TAMIS_EDGE_RESIDUAL: return s - x;
    case TAMIS_EDGE_QUOTIENT: return s / (x <= a->edge_epsilon ? a->edge_epsilon : x);
    case TAMIS_EDGE_SIGMOID: return s * (1 / (1 + exp(-scaled)));
    case TAMIS_EDGE_EXP: return s * exp(scaled);
    case TAMIS_EDGE_LEAKY_RELU: return s * (scaled < 0 ? a->edge_slope * scaled : scaled);
    case TAMIS_EDGE_SOFTMAX: return scaled + (r->S->values ? s : 0);
    }
    return 0;
}

/* Row of nonzero t: COO tells, CSR is given the row by whoever walks it. */
static int64_t column_of(const tamis_sparse *S, int64_t t) { return tamis_index_load(S->columns, S->index_type, t); }

/* rows[t] for every nonzero, whatever the format. */
static tamis_status rows_of(const tamis_sparse *S, int64_t **rows) {
    TRY(tamis_allocate(S->nnz, sizeof **rows, "the oracle's row indices", (void **)rows));
    if (S->format == TAMIS_COO) {
        for (int64_t t = 0; t < S->nnz; t++) (*rows)[t] = tamis_index_load(S->row_indices, S->index_type, t);
        return TAMIS_OK;
    }
    for (int64_t i = 0; i < S->rows; i++)
        for (int64_t t = tamis_index_load(S->offsets, S->offset_type, i);
             t < tamis_index_load(S->offsets, S->offset_type, i + 1); t++)
            (*rows)[t] = i;
    return TAMIS_OK;
}

/* sampled[t] for every nonzero of one member of the batch. */
static tamis_status sample(const request *r, const int64_t *rows, const tamis_dense *A, const tamis_dense *B,
                           double *sampled) {
    const tamis_sparse *const S = r->S;
    for (int64_t t = 0; t < S->nnz; t++) sampled[t] = edge_at(r, t, dot(r, A, B, rows[t], column_of(S, t)));
    if (r->args.edge != TAMIS_EDGE_SOFTMAX) return TAMIS_OK;

    double *most = NULL, *sum = NULL;
    tamis_status status = TAMIS_OK;
    TRY_GOTO(done, tamis_allocate(S->rows, sizeof *most, "the oracle's row maxima", (void **)&most));
    TRY_GOTO(done, tamis_allocate(S->rows, sizeof *sum, "the oracle's row sums", (void **)&sum));
    for (int64_t i = 0; i < S->rows; i++) most[i] = -INFINITY, sum[i] = 0;
    for (int64_t t = 0; t < S->nnz; t++) most[rows[t]] = fmax(most[rows[t]], sampled[t]);
    for (int64_t t = 0; t < S->nnz; t++) {
        sampled[t] = exp(sampled[t] - most[rows[t]]);
        sum[rows[t]] += sampled[t];
    }
    for (int64_t t = 0; t < S->nnz; t++) sampled[t] /= sum[rows[t]];
done:
    tamis_release(most);
    tamis_release(sum);
    return status;
}

/* ------------------------------------------------------------------------------------------ checks */

static tamis_status read_request(const tamis_sparse *S, const tamis_args *args, request *r) {
    static const tamis_args defaults = {.alpha = 1};
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "S = NULL: a sparse matrix is needed");
    TRY(tamis_sparse_check_host(S, "S"));
    *r = (request){.S = S, .args = args ? *args : defaults};
    if ((unsigned)r->args.edge > TAMIS_EDGE_SOFTMAX)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "args.edge = %d is no tamis_edge", (int)r->args.edge);
    if (r->args.batch < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "args.batch = %lld is negative", (long long)r->args.batch);
    if (r->args.edge_scale == 0) r->args.edge_scale = 1;
    if (r->args.edge_slope == 0) r->args.edge_slope = 0.01;
    if (r->args.edge_epsilon == 0) r->args.edge_epsilon = 1e-10;
    if (r->args.batch == 0) r->args.batch = 1;
    return r->args.trust_input ? TAMIS_OK : tamis_validate_threads(S, 1);
}

static tamis_status check_matrix(const tamis_dense *X, const char *name, int64_t rows, int64_t cols) {
    if (!X) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: a dense matrix is needed", name);
    return tamis_dense_check(X, name, rows, cols, X->type);
}

static tamis_status check_output(const double *out, const char *name, int64_t entries) {
    if (!out && entries > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: where to put the result", name);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ operations */

tamis_status tamis_reference_sddmm(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                   const tamis_args *args, double *p) {
    request r;
    int64_t *rows = NULL;
    double *sampled = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    TRY(read_request(S, args, &r));
    TRY(check_matrix(A, "A", S->rows, A ? A->cols : 0));
    TRY(check_matrix(B, "B", S->cols, A->cols));
    TRY(check_output(p, "p", S->nnz));
    TRY_GOTO(done, rows_of(S, &rows));
    TRY_GOTO(done, tamis_allocate(S->nnz, sizeof *sampled, "the oracle's samples", (void **)&sampled));
    for (; r.member < r.args.batch; r.member++) {
        TRY_GOTO(done, sample(&r, rows, A, B, sampled));
        double *const out = p ? p + r.member * S->nnz : p;
        for (int64_t t = 0; t < S->nnz; t++)
            out[t] = r.args.alpha * sampled[t] + (r.args.beta != 0 ? r.args.beta * out[t] : 0);
    }
done:
    tamis_release(rows);
    tamis_release(sampled);
    return status;
}

/* c = alpha * (weights on S) X + beta * c for one member of the batch */
static void multiply(const request *r, const int64_t *rows, const double *weights, const tamis_dense *X, double *c) {
    const tamis_sparse *const S = r->S;
    for (int64_t k = 0; k < S->rows * X->cols; k++) c[k] = r->args.beta != 0 ? r->args.beta * c[k] : 0;
    for (int64_t t = 0; t < S->nnz; t++)
        for (int64_t k = 0; k < X->cols; k++)
            c[rows[t] * X->cols + k] += r->args.alpha * weights[t] * dense_at(X, r->member, column_of(S, t), k);
}

tamis_status tamis_reference_spmm(const tamis_sparse *S, const tamis_dense *B, const tamis_args *args, double *c) {
    request r;
    int64_t *rows = NULL;
    double *weights = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    TRY(read_request(S, args, &r));
    TRY(check_matrix(B, "B", S->cols, B ? B->cols : 0));
    TRY(check_output(c, "c", S->rows > 0 ? B->cols : 0));
    TRY_GOTO(done, rows_of(S, &rows));
    TRY_GOTO(done, tamis_allocate(S->nnz, sizeof *weights, "the oracle's weights", (void **)&weights));
    for (; r.member < r.args.batch; r.member++) {
        for (int64_t t = 0; t < S->nnz; t++) weights[t] = value_at(&r, t);
        multiply(&r, rows, weights, B, c ? c + r.member * S->rows * B->cols : c);
    }
done:
    tamis_release(rows);
    tamis_release(weights);
    return status;
}

tamis_status tamis_reference_fused(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                   const tamis_dense *D, const tamis_args *args, double *e) {
    request r;
    int64_t *rows = NULL;
    double *sampled = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    TRY(read_request(S, args, &r));
    TRY(check_matrix(A, "A", S->rows, A ? A->cols : 0));
    TRY(check_matrix(B, "B", S->cols, A->cols));
    TRY(check_matrix(D, "D", S->cols, D ? D->cols : 0));
    TRY(check_output(e, "e", S->rows > 0 ? D->cols : 0));
    TRY_GOTO(done, rows_of(S, &rows));
    TRY_GOTO(done, tamis_allocate(S->nnz, sizeof *sampled, "the oracle's samples", (void **)&sampled));
    for (; r.member < r.args.batch; r.member++) {
        TRY_GOTO(done, sample(&r, rows, A, B, sampled));
        multiply(&r, rows, sampled, D, e ? e + r.member * S->rows * D->cols : e);
    }
done:
    tamis_release(rows);
    tamis_release(sampled);
    return status;
}
