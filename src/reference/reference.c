/*
 * The oracle: each operation as the simplest loop, in double, over any view. Every algorithm on every device is tested
 * against it, so nothing here is fast or clever.
 */
#include "reference/reference.h"

#include "base/scope.h"
#include "base/status.h"
#include "reference/request.h"

tamis_status tamis_oracle_sddmm(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                const tamis_options *options, const tamis_execution *execution, const int64_t *rows,
                                double *p) {
    tamis_request r;
    TAMIS_SCOPE;
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SDDMM, &r));
    r.numbers = rows;
    TRY(tamis_oracle_check_operand(&r, A, "A", r.rows, tamis_oracle_cols(A)));
    TRY(tamis_oracle_check_operand(&r, B, "B", r.cols, A->cols));
    TRY(tamis_oracle_check_output(p, "p", S->nnz));
    TRY(tamis_oracle_start(&r, 1, S->nnz));
    for (; r.member < r.options.batch; r.member++) {
        tamis_oracle_sample(&r, A, B);
        double *const out = tamis_oracle_member(p, r.member * S->nnz);
        for (int64_t t = 0; t < S->nnz; t++)
            out[t] = r.given.alpha * r.p[t] + (r.given.beta != 0 ? r.given.beta * out[t] : 0);
    }
    return TAMIS_OK;
}

tamis_status tamis_reference_sddmm(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                   const tamis_options *options, const tamis_execution *execution, double *p) {
    tamis_clear_error();
    return tamis_oracle_sddmm(S, A, B, options, execution, NULL, p);
}

/* c = alpha * (op(S) with the values r->p) X + beta * c, for one member of the batch */
static void multiply(const tamis_request *r, const tamis_dense *X, double *c) {
    tamis_oracle_scale_old(r, c, r->rows * X->cols);
    for (int64_t t = 0; t < r->S.nnz; t++)
        for (int64_t k = 0; k < X->cols; k++)
            c[r->row_of[t] * X->cols + k] +=
                r->given.alpha * r->p[t] * tamis_oracle_dense_at(X, r->member, r->column_of[t], k);
}

tamis_status tamis_reference_spmm(const tamis_sparse *S, const tamis_dense *B, const tamis_options *options,
                                  const tamis_execution *execution, double *c) {
    tamis_request r;
    TAMIS_SCOPE;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SPMM, &r));
    TRY(tamis_oracle_check_operand(&r, B, "B", r.cols, tamis_oracle_cols(B)));
    TRY(tamis_oracle_check_output(c, "c", r.rows > 0 ? B->cols : 0));
    TRY(tamis_oracle_start(&r, 1, r.rows > 0 ? B->cols : 0));
    for (; r.member < r.options.batch; r.member++) {
        for (int64_t t = 0; t < S->nnz; t++) r.p[t] = tamis_oracle_value_at(&r, t);
        multiply(&r, B, tamis_oracle_member(c, r.member * r.rows * B->cols));
    }
    return TAMIS_OK;
}

tamis_status tamis_oracle_fused(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                                const tamis_options *options, const tamis_execution *execution, const int64_t *rows,
                                double *e) {
    tamis_request r;
    TAMIS_SCOPE;
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_FUSED, &r));
    r.numbers = rows;
    TRY(tamis_oracle_check_operand(&r, A, "A", r.rows, tamis_oracle_cols(A)));
    TRY(tamis_oracle_check_operand(&r, B, "B", r.cols, A->cols));
    TRY(tamis_oracle_check_operand(&r, D, "D", r.cols, tamis_oracle_cols(D)));
    TRY(tamis_oracle_check_output(e, "e", r.rows > 0 ? D->cols : 0));
    TRY(tamis_oracle_start(&r, 1, r.rows > 0 ? D->cols : 0));
    for (; r.member < r.options.batch; r.member++) {
        tamis_oracle_sample(&r, A, B);
        multiply(&r, D, tamis_oracle_member(e, r.member * r.rows * D->cols));
    }
    return TAMIS_OK;
}

tamis_status tamis_reference_fused(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                   const tamis_dense *D, const tamis_options *options, const tamis_execution *execution,
                                   double *e) {
    tamis_clear_error();
    return tamis_oracle_fused(S, A, B, D, options, execution, NULL, e);
}
