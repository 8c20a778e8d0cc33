/*
 * The oracle: each operation as the plainest loop, in double, over any view. Nothing here is fast and nothing is
 * clever: it is what every algorithm on every device is tested against.
 */
#include <tamis/reference.h>

#include "base/memory.h"
#include "base/status.h"
#include "reference/request.h"

tamis_status tamis_reference_sddmm(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                   const tamis_options *options, const tamis_execution *execution, double *p) {
    tamis_request r;
    double *sampled = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SDDMM, &r));
    TRY(tamis_oracle_check_matrix(A, "A", r.rows, tamis_oracle_cols(A)));
    TRY(tamis_oracle_check_matrix(B, "B", r.cols, A->cols));
    TRY(tamis_oracle_check_output(p, "p", S->nnz));
    TRY_GOTO(done, tamis_oracle_find_places(&r));
    TRY_GOTO(done, tamis_allocate(S->nnz, sizeof *sampled, "the oracle's samples", (void **)&sampled));
    for (; r.member < r.options.batch; r.member++) {
        TRY_GOTO(done, tamis_oracle_sample(&r, A, B, sampled));
        double *const out = tamis_oracle_member(p, r.member * S->nnz);
        for (int64_t t = 0; t < S->nnz; t++)
            out[t] = r.given.alpha * sampled[t] + (r.given.beta != 0 ? r.given.beta * out[t] : 0);
    }
done:
    tamis_oracle_release(&r);
    tamis_release(sampled);
    return status;
}

/* c = alpha * (weights on op(S)) X + beta * c for one member of the batch */
static void multiply(const tamis_request *r, const double *weights, const tamis_dense *X, double *c) {
    tamis_oracle_scale_old(r, c, r->rows * X->cols);
    for (int64_t t = 0; t < r->S.nnz; t++)
        for (int64_t k = 0; k < X->cols; k++)
            c[r->row_of[t] * X->cols + k] +=
                r->given.alpha * weights[t] * tamis_oracle_dense_at(X, r->member, r->column_of[t], k);
}

tamis_status tamis_reference_spmm(const tamis_sparse *S, const tamis_dense *B, const tamis_options *options,
                                  const tamis_execution *execution, double *c) {
    tamis_request r;
    double *weights = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_SPMM, &r));
    TRY(tamis_oracle_check_matrix(B, "B", r.cols, tamis_oracle_cols(B)));
    TRY(tamis_oracle_check_output(c, "c", r.rows > 0 ? B->cols : 0));
    TRY_GOTO(done, tamis_oracle_find_places(&r));
    TRY_GOTO(done, tamis_allocate(S->nnz, sizeof *weights, "the oracle's weights", (void **)&weights));
    for (; r.member < r.options.batch; r.member++) {
        for (int64_t t = 0; t < S->nnz; t++) weights[t] = tamis_oracle_value_at(&r, t);
        multiply(&r, weights, B, tamis_oracle_member(c, r.member * r.rows * B->cols));
    }
done:
    tamis_oracle_release(&r);
    tamis_release(weights);
    return status;
}

tamis_status tamis_reference_fused(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                   const tamis_dense *D, const tamis_options *options, const tamis_execution *execution,
                                   double *e) {
    tamis_request r;
    double *sampled = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    TRY(tamis_oracle_read(S, options, execution, TAMIS_OP_FUSED, &r));
    TRY(tamis_oracle_check_matrix(A, "A", r.rows, tamis_oracle_cols(A)));
    TRY(tamis_oracle_check_matrix(B, "B", r.cols, A->cols));
    TRY(tamis_oracle_check_matrix(D, "D", r.cols, tamis_oracle_cols(D)));
    TRY(tamis_oracle_check_output(e, "e", r.rows > 0 ? D->cols : 0));
    TRY_GOTO(done, tamis_oracle_find_places(&r));
    TRY_GOTO(done, tamis_allocate(S->nnz, sizeof *sampled, "the oracle's samples", (void **)&sampled));
    for (; r.member < r.options.batch; r.member++) {
        TRY_GOTO(done, tamis_oracle_sample(&r, A, B, sampled));
        multiply(&r, sampled, D, tamis_oracle_member(e, r.member * r.rows * D->cols));
    }
done:
    tamis_oracle_release(&r);
    tamis_release(sampled);
    return status;
}
