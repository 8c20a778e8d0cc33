/* The oracle's gradients: the formulas of <tamis/gradient.h>, a nonzero at a time, in double. */
#include <tamis/reference.h>

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "reference/request.h"

/* What a backward call has and wants; NULL: that operation has it not, or it is not wanted. */
typedef struct call {
    const tamis_dense *dP, *dE, *A, *B, *D;
    double *da, *db, *dd, *ds;
} call;

/* Arrays of nnz. */
typedef struct samples {
    double *x, *p, *dp;
} samples;

/* x becomes dx, dp becomes ds. */
static tamis_status differentiate(const tamis_request *r, const samples *a) {
    tamis_status status = TAMIS_OK;
    double *mean = NULL; /* of dp over a row, weighted with p */
    if (r->options.edge != TAMIS_EDGE_SOFTMAX) {
        for (int64_t t = 0; t < r->S.nnz; t++) {
            const tamis_edge_point at = tamis_oracle_edge_at(r, t, a->x[t]);
            a->x[t] = a->dp[t] * at.by_x;
            a->dp[t] *= at.by_s;
        }
        return TAMIS_OK;
    }
    TRY_GOTO(done, tamis_allocate_zeroed(r->rows, sizeof *mean, "the oracle's row means", (void **)&mean));
    for (int64_t t = 0; t < r->S.nnz; t++) mean[r->row_of[t]] += a->p[t] * a->dp[t];
    for (int64_t t = 0; t < r->S.nnz; t++) {
        a->dp[t] = a->p[t] * (a->dp[t] - mean[r->row_of[t]]);
        a->x[t] = r->options.edge_scale * a->dp[t];
    }
done:
    tamis_release(mean);
    return status;
}

/* to_i += factor * X_j, rows of a packed matrix and of one member */
static void add_row(const tamis_request *r, double *to, int64_t i, double factor, const tamis_dense *X, int64_t j) {
    for (int64_t k = 0; to && k < X->cols; k++)
        to[i * X->cols + k] += factor * tamis_oracle_dense_at(X, r->member, j, k);
}

/* One member of SDDMM or fused. */
static tamis_status go_back(const tamis_request *r, const call *c, const samples *a) {
    const int64_t K = c->A->cols, L = c->D ? c->D->cols : 0, m = r->member, nnz = r->S.nnz;
    double *const da = tamis_oracle_member(c->da, m * r->rows * K), *const db =
                                                                        tamis_oracle_member(c->db, m * r->cols * K);
    double *const dd = tamis_oracle_member(c->dd, m * r->cols * L), *const ds = tamis_oracle_member(c->ds, m * nnz);
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t i = r->row_of[t], j = r->column_of[t];
        a->x[t] = a->p[t] = tamis_oracle_dot(r, c->A, c->B, i, j);
        a->dp[t] =
            r->given.alpha * (c->dE ? tamis_oracle_dot(r, c->dE, c->D, i, j) : tamis_oracle_dense_at(c->dP, m, t, 0));
    }
    TRY(tamis_oracle_apply_edge(r, a->p));
    TRY(differentiate(r, a));
    tamis_oracle_scale_old(r, da, r->rows * K);
    tamis_oracle_scale_old(r, db, r->cols * K);
    tamis_oracle_scale_old(r, dd, r->cols * L);
    tamis_oracle_scale_old(r, ds, nnz);
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t i = r->row_of[t], j = r->column_of[t];
        add_row(r, da, i, a->x[t], c->B, j);
        add_row(r, db, j, a->x[t], c->A, i);
        if (c->dE) add_row(r, dd, j, r->given.alpha * a->p[t], c->dE, i);
        if (ds) ds[t] += a->dp[t];
    }
    return TAMIS_OK;
}

static tamis_status run(tamis_request *r, const call *c) {
    tamis_status status = TAMIS_OK;
    samples a = {NULL, NULL, NULL};
    if (c->ds && (!tamis_oracle_has_values(r) || r->options.edge == TAMIS_EDGE_MASK))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "ds is not NULL, but the edge does not read S's values");
    TRY_GOTO(done, tamis_oracle_find_places(r));
    TRY_GOTO(done, tamis_allocate(r->S.nnz, sizeof *a.x, "the oracle's samples", (void **)&a.x));
    TRY_GOTO(done, tamis_allocate(r->S.nnz, sizeof *a.p, "the oracle's samples", (void **)&a.p));
    TRY_GOTO(done, tamis_allocate(r->S.nnz, sizeof *a.dp, "the oracle's samples", (void **)&a.dp));
    for (; r->member < r->options.batch; r->member++) TRY_GOTO(done, go_back(r, c, &a));
done:
    tamis_oracle_release(r);
    tamis_release(a.x);
    tamis_release(a.p);
    tamis_release(a.dp);
    return status;
}

tamis_status tamis_reference_sddmm_backward(const tamis_sparse *S, const tamis_dense *dP, const tamis_dense *A,
                                            const tamis_dense *B, const tamis_options *options,
                                            const tamis_execution *execution, double *da, double *db, double *ds) {
    const call c = {.dP = dP, .A = A, .B = B, .da = da, .db = db, .ds = ds};
    tamis_request r;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SDDMM, &r));
    TRY(tamis_oracle_check_matrix(dP, "dP", S->nnz, 1));
    TRY(tamis_oracle_check_matrix(A, "A", r.rows, tamis_oracle_cols(A)));
    TRY(tamis_oracle_check_matrix(B, "B", r.cols, A->cols));
    return run(&r, &c);
}

tamis_status tamis_reference_fused_backward(const tamis_sparse *S, const tamis_dense *dE, const tamis_dense *A,
                                            const tamis_dense *B, const tamis_dense *D, const tamis_options *options,
                                            const tamis_execution *execution, double *da, double *db, double *dd,
                                            double *ds) {
    const call c = {.dE = dE, .A = A, .B = B, .D = D, .da = da, .db = db, .dd = dd, .ds = ds};
    tamis_request r;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_FUSED, &r));
    TRY(tamis_oracle_check_matrix(A, "A", r.rows, tamis_oracle_cols(A)));
    TRY(tamis_oracle_check_matrix(B, "B", r.cols, A->cols));
    TRY(tamis_oracle_check_matrix(D, "D", r.cols, tamis_oracle_cols(D)));
    TRY(tamis_oracle_check_matrix(dE, "dE", r.rows, D->cols));
    return run(&r, &c);
}

tamis_status tamis_reference_spmm_backward(const tamis_sparse *S, const tamis_dense *dC, const tamis_dense *B,
                                           const tamis_options *options, const tamis_execution *execution, double *db,
                                           double *ds) {
    tamis_request r;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SPMM, &r));
    TRY(tamis_oracle_check_matrix(B, "B", r.cols, tamis_oracle_cols(B)));
    TRY(tamis_oracle_check_matrix(dC, "dC", r.rows, B->cols));
    if (ds && !tamis_oracle_has_values(&r))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "ds is not NULL, but S has no values");
    TRY_GOTO(done, tamis_oracle_find_places(&r));
    for (; r.member < r.options.batch; r.member++) {
        double *const b = tamis_oracle_member(db, r.member * r.cols * B->cols), *const s = tamis_oracle_member(
                                                                                    ds, r.member * S->nnz);
        tamis_oracle_scale_old(&r, b, r.cols * B->cols);
        tamis_oracle_scale_old(&r, s, S->nnz);
        for (int64_t t = 0; t < S->nnz; t++) {
            const int64_t i = r.row_of[t], j = r.column_of[t];
            add_row(&r, b, j, r.given.alpha * tamis_oracle_value_at(&r, t), dC, i);
            if (s) s[t] += r.given.alpha * tamis_oracle_dot(&r, dC, B, i, j);
        }
    }
done:
    tamis_oracle_release(&r);
    return status;
}

tamis_status tamis_reference_edge(const tamis_sparse *S, const tamis_dense *X, const tamis_options *options,
                                  const tamis_execution *execution, double *p) {
    tamis_request r;
    double *sampled = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SDDMM, &r));
    TRY(tamis_oracle_check_matrix(X, "X", S->nnz, 1));
    TRY(tamis_oracle_check_output(p, "p", S->nnz));
    TRY_GOTO(done, tamis_oracle_find_places(&r));
    TRY_GOTO(done, tamis_allocate(S->nnz, sizeof *sampled, "the oracle's samples", (void **)&sampled));
    for (; r.member < r.options.batch; r.member++) {
        double *const out = tamis_oracle_member(p, r.member * S->nnz);
        for (int64_t t = 0; t < S->nnz; t++) sampled[t] = tamis_oracle_dense_at(X, r.member, t, 0);
        TRY_GOTO(done, tamis_oracle_apply_edge(&r, sampled));
        tamis_oracle_scale_old(&r, out, S->nnz);
        for (int64_t t = 0; t < S->nnz; t++) out[t] += r.given.alpha * sampled[t];
    }
done:
    tamis_oracle_release(&r);
    tamis_release(sampled);
    return status;
}
