/* The one-shot calls: each makes a plan without preparation, executes it and destroys it. */
#include "base/status.h"
#include "core/execute.h"
#include "sparse/check.h"

static tamis_status need(const tamis_dense *view, const char *name) {
    if (!view) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected a dense matrix", name);
    return TAMIS_OK;
}

/* Explains the error if B is K x cols, as in a product of dense matrices. */
static tamis_status check_b(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B) {
    if (!S || A->cols == B->cols || A->cols != B->rows || B->cols != S->cols) return TAMIS_OK;
    return tamis_fail(
        TAMIS_ERROR_ARGUMENT,
        "B is %lld x %lld, expected %lld x %lld: S.cols rows of A.cols numbers. Give a K x cols matrix as "
        "its transpose, with the other layout",
        (long long)B->rows, (long long)B->cols, (long long)S->cols, (long long)A->cols);
}

/* Derives the plan's options from the operands of the call. */
static tamis_status run_once(tamis_device *device, const tamis_sparse *S, tamis_operation operation,
                             const tamis_views *views, const tamis_options *given, const tamis_execution *execution) {
    static const tamis_options initial = TAMIS_OPTIONS_INIT;
    tamis_options options = given ? *given : initial;
    tamis_plan *plan = NULL;
    options.operation = operation;
    options.type = views->B->type;
    options.output_type = views->out->type;
    options.inner = operation == TAMIS_OP_SPMM ? 0 : views->B->cols;
    options.width = operation == TAMIS_OP_SPMM ? views->B->cols : views->D ? views->D->cols : 0;
    options.a_layout = views->A ? views->A->layout : TAMIS_ROW_MAJOR;
    options.b_layout = views->B->layout;
    options.d_layout = views->D ? views->D->layout : TAMIS_ROW_MAJOR;
    options.d_is_b = operation == TAMIS_OP_FUSED && tamis_dense_same(views->B, views->D);
    options.output_layout = operation == TAMIS_OP_SDDMM ? TAMIS_ROW_MAJOR : views->out->layout;
    options.stream = execution ? execution->stream : NULL;
    options.no_workspace = execution && execution->workspace;
    TRY(tamis_plan_make(device, S, &options, true, &plan));
    const tamis_status status = tamis_plan_run(plan, operation, views, execution);
    tamis_plan_release(plan);
    return status;
}

tamis_status tamis_sddmm(tamis_device *device, const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                         const tamis_dense *P, const tamis_options *options, const tamis_execution *execution) {
    const tamis_views views = {.A = A, .B = B, .out = P};
    tamis_clear_error();
    TRY(need(A, "A"));
    TRY(need(B, "B"));
    TRY(need(P, "P"));
    TRY(check_b(S, A, B));
    return run_once(device, S, TAMIS_OP_SDDMM, &views, options, execution);
}

tamis_status tamis_spmm(tamis_device *device, const tamis_sparse *S, const tamis_dense *B, const tamis_dense *C,
                        const tamis_options *options, const tamis_execution *execution) {
    const tamis_views views = {.B = B, .out = C};
    tamis_clear_error();
    TRY(need(B, "B"));
    TRY(need(C, "C"));
    return run_once(device, S, TAMIS_OP_SPMM, &views, options, execution);
}

tamis_status tamis_fused(tamis_device *device, const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                         const tamis_dense *D, const tamis_dense *E, const tamis_options *options,
                         const tamis_execution *execution) {
    const tamis_views views = {.A = A, .B = B, .D = D, .out = E};
    tamis_clear_error();
    TRY(need(A, "A"));
    TRY(need(B, "B"));
    TRY(need(D, "D"));
    TRY(need(E, "E"));
    TRY(check_b(S, A, B));
    return run_once(device, S, TAMIS_OP_FUSED, &views, options, execution);
}
