/* The oracle's gradients: the formulas of <tamis/gradient.h>, one nonzero at a time, in double. */
#include <tamis/reference.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/sizes.h"
#include "base/status.h"
#include "reference/request.h"
#include "sparse/element.h"

/* Operands and results of a backward call. NULL: the operation has no such operand, or the result is not wanted. */
typedef struct call {
    const tamis_dense *dP, *dE, *A, *B, *D;
    double *da, *db, *dd, *ds;
} call;

/* Adds to the gradient by a named array what dp of each nonzero brings. */
static tamis_status differentiate_by(const tamis_request *r, int k) {
    const tamis_dense *const to = r->named[k]->gradient;
    const int64_t first = r->member * to->batch_stride;
    tamis_edge_text *by = NULL;
    const tamis_status made = tamis_edge_text_by(r->text, k, &by);
    for (int64_t n = 0; n < to->rows; n++) {
        const double old = r->given.beta != 0 ? tamis_element_load(to->data, to->type, first + n) : 0;
        tamis_element_store(to->data, to->type, first + n, r->given.beta * old);
    }
    for (int64_t t = 0; t < r->S.nnz && made == TAMIS_OK; t++) {
        const int64_t at = first + tamis_oracle_place_in(r, k, t);
        tamis_edge_result found[TAMIS_PROGRAM_RESULTS] = {{0}};
        tamis_edge_results(&by->all, by, r->options.type, tamis_oracle_value_at(r, t), r->x[t], 0,
                           tamis_oracle_place(r, t), found);
        tamis_element_store(to->data, to->type, at,
                            tamis_element_load(to->data, to->type, at) + r->dp[t] * found[2].is);
    }
    tamis_release(by);
    return made;
}

/* Differentiates by named arrays, if their gradients are wanted, and then as below. */
static tamis_status differentiate_text(const tamis_request *r) {
    for (int k = 0; k < r->text->value.arrays; k++)
        if (r->named[k]->gradient) TRY(differentiate_by(r, k));
    for (int64_t t = 0; t < r->S.nnz; t++) {
        const tamis_edge_point at = tamis_oracle_edge_at(r, t, r->x[t]);
        r->x[t] = r->dp[t] * at.by_x;
        r->dp[t] *= at.by_s;
    }
    return TAMIS_OK;
}

/* Differentiates: r->x becomes dx, and r->dp becomes ds. */
static tamis_status differentiate(const tamis_request *r) {
    double *const x = r->x, *const p = r->p, *const dp = r->dp,
                  *const mean = r->sum; /* row mean of dp, weighted by p */
    if (r->text && r->options.edge != TAMIS_EDGE_SOFTMAX) return differentiate_text(r);
    if (r->options.edge != TAMIS_EDGE_SOFTMAX) {
        for (int64_t t = 0; t < r->S.nnz; t++) {
            const tamis_edge_point at = tamis_oracle_edge_at(r, t, x[t]);
            x[t] = dp[t] * at.by_x;
            dp[t] *= at.by_s;
        }
        return TAMIS_OK;
    }
    for (int64_t i = 0; i < r->rows; i++) mean[i] = 0;
    for (int64_t t = 0; t < r->S.nnz; t++) mean[r->row_of[t]] += p[t] * dp[t];
    for (int64_t t = 0; t < r->S.nnz; t++) {
        dp[t] = p[t] * (dp[t] - mean[r->row_of[t]]);
        if (!r->text) x[t] = r->options.edge_scale * dp[t];
    }
    return r->text ? differentiate_text(r) : TAMIS_OK;
}

/* to_i += factor * X_j: a row of a packed matrix, and a row of one member of X */
static void add_row(const tamis_request *r, double *to, int64_t i, double factor, const tamis_dense *X, int64_t j) {
    for (int64_t k = 0; to && k < X->cols; k++)
        to[i * X->cols + k] += factor * tamis_oracle_dense_at(X, r->member, j, k);
}

/* One batch member of SDDMM or fused. */
static tamis_status run_member(const tamis_request *r, const call *c) {
    const int64_t K = c->A->cols, L = c->D ? c->D->cols : 0, m = r->member, nnz = r->S.nnz;
    double *const da = tamis_oracle_member(c->da, m * r->rows * K), *const db =
                                                                        tamis_oracle_member(c->db, m * r->cols * K);
    double *const dd = tamis_oracle_member(c->dd, m * r->cols * L), *const ds = tamis_oracle_member(c->ds, m * nnz);
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t i = r->row_of[t], j = r->column_of[t];
        r->x[t] = r->p[t] = tamis_oracle_dot(r, c->A, c->B, i, j);
        r->dp[t] =
            r->given.alpha * (c->dE ? tamis_oracle_dot(r, c->dE, c->D, i, j) : tamis_oracle_dense_at(c->dP, m, t, 0));
    }
    tamis_oracle_apply_edge(r);
    TRY(differentiate(r));
    tamis_oracle_scale_old(r, da, r->rows * K);
    tamis_oracle_scale_old(r, db, r->cols * K);
    tamis_oracle_scale_old(r, dd, r->cols * L);
    tamis_oracle_scale_old(r, ds, nnz);
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t i = r->row_of[t], j = r->column_of[t];
        add_row(r, da, i, r->x[t], c->B, j);
        add_row(r, db, j, r->x[t], c->A, i);
        if (c->dE) add_row(r, dd, j, r->given.alpha * r->p[t], c->dE, i);
        if (ds) ds[t] += r->dp[t];
    }
    return TAMIS_OK;
}

static tamis_status run(tamis_request *r, const call *c) {
    TAMIS_SCOPE;
    bool named = false; /* a gradient by a named array */
    if (c->ds && (!tamis_oracle_has_values(r) || r->options.edge == TAMIS_EDGE_MASK))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "ds is not NULL, but the edge does not read S's values");
    const int64_t rows = (c->da ? r->rows : 0) + (c->db ? r->cols : 0);
    const int64_t results = tamis_times(rows, c->A->cols) + (c->dd ? tamis_times(r->cols, c->D->cols) : 0);
    for (int64_t n = 0; n < r->given.edge_operand_count; n++) named |= r->given.edge_operands[n].gradient != NULL;
    TRY(tamis_oracle_start(r, 3, results + (c->ds || named ? r->S.nnz : 0) + named));
    for (; r->member < r->options.batch; r->member++) TRY(run_member(r, c));
    return TAMIS_OK;
}

tamis_status tamis_reference_sddmm_backward(const tamis_sparse *S, const tamis_dense *dP, const tamis_dense *A,
                                            const tamis_dense *B, const tamis_options *options,
                                            const tamis_execution *execution, double *da, double *db, double *ds) {
    const call c = {.dP = dP, .A = A, .B = B, .da = da, .db = db, .ds = ds};
    tamis_request r;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SDDMM, &r));
    TRY(tamis_oracle_check_operand(&r, dP, "dP", S->nnz, 1));
    TRY(tamis_oracle_check_operand(&r, A, "A", r.rows, tamis_oracle_cols(A)));
    TRY(tamis_oracle_check_operand(&r, B, "B", r.cols, A->cols));
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
    TRY(tamis_oracle_check_operand(&r, A, "A", r.rows, tamis_oracle_cols(A)));
    TRY(tamis_oracle_check_operand(&r, B, "B", r.cols, A->cols));
    TRY(tamis_oracle_check_operand(&r, D, "D", r.cols, tamis_oracle_cols(D)));
    TRY(tamis_oracle_check_operand(&r, dE, "dE", r.rows, D->cols));
    return run(&r, &c);
}

tamis_status tamis_reference_spmm_backward(const tamis_sparse *S, const tamis_dense *dC, const tamis_dense *B,
                                           const tamis_options *options, const tamis_execution *execution, double *db,
                                           double *ds) {
    tamis_request r;
    TAMIS_SCOPE;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SPMM, &r));
    TRY(tamis_oracle_check_operand(&r, B, "B", r.cols, tamis_oracle_cols(B)));
    TRY(tamis_oracle_check_operand(&r, dC, "dC", r.rows, B->cols));
    if (ds && !tamis_oracle_has_values(&r))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "ds is not NULL, but S has no values");
    TRY(tamis_oracle_start(&r, 0, (db ? tamis_times(r.cols, B->cols) : 0) + (ds ? S->nnz : 0)));
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
    return TAMIS_OK;
}

tamis_status tamis_reference_edge(const tamis_sparse *S, const tamis_dense *X, const tamis_options *options,
                                  const tamis_execution *execution, double *p) {
    tamis_request r;
    TAMIS_SCOPE;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SDDMM, &r));
    TRY(tamis_oracle_check_operand(&r, X, "X", S->nnz, 1));
    TRY(tamis_oracle_check_output(p, "p", S->nnz));
    TRY(tamis_oracle_start(&r, 1, S->nnz));
    for (; r.member < r.options.batch; r.member++) {
        double *const out = tamis_oracle_member(p, r.member * S->nnz);
        for (int64_t t = 0; t < S->nnz; t++) r.p[t] = tamis_oracle_dense_at(X, r.member, t, 0);
        tamis_oracle_apply_edge(&r);
        tamis_oracle_scale_old(&r, out, S->nnz);
        for (int64_t t = 0; t < S->nnz; t++) out[t] += r.given.alpha * r.p[t];
    }
    return TAMIS_OK;
}
