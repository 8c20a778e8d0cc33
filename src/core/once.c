/* The one-shot calls: a plan without preparation, executed and forgotten. */
#include "base/status.h"
#include "core/plan.h"

static tamis_status run_once(tamis_device *device, const tamis_sparse *S, const tamis_args *args,
                             tamis_plan_options *options, const tamis_dense *A, const tamis_dense *B,
                             const tamis_dense *D, void *p, const tamis_dense *out) {
    tamis_plan *plan = NULL;
    if (A) options->a_layout = A->layout;
    if (D) options->d_layout = D->layout;
    if (out) options->output_layout = out->layout;
    options->b_layout = B->layout;
    options->type = B->type;
    TRY(tamis_plan_make(device, S, options, (tamis_plan_mode){.once = true}, &plan));
    const tamis_status status =
        tamis_plan_run(plan, options->operation, NULL, A, B, D, args ? args->alpha : 1, args ? args->beta : 0, p, out);
    tamis_plan_release(plan);
    return status;
}

static tamis_status need(const tamis_dense *view, const char *name) {
    if (!view) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: a dense matrix is needed", name);
    return TAMIS_OK;
}

tamis_status tamis_sddmm(tamis_device *device, const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                         const tamis_args *args, void *p) {
    tamis_plan_options options;
    tamis_clear_error();
    TRY(need(A, "A"));
    TRY(need(B, "B"));
    TRY(tamis_options_from_args(args, TAMIS_OP_SDDMM, &options));
    options.inner = B->cols;
    return run_once(device, S, args, &options, A, B, NULL, p, NULL);
}

tamis_status tamis_spmm(tamis_device *device, const tamis_sparse *S, const tamis_dense *B, const tamis_args *args,
                        const tamis_dense *C) {
    tamis_plan_options options;
    tamis_clear_error();
    TRY(need(B, "B"));
    TRY(need(C, "C"));
    TRY(tamis_options_from_args(args, TAMIS_OP_SPMM, &options));
    options.width = B->cols;
    return run_once(device, S, args, &options, NULL, B, NULL, NULL, C);
}

tamis_status tamis_fused(tamis_device *device, const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                         const tamis_dense *D, const tamis_args *args, const tamis_dense *E) {
    tamis_plan_options options;
    tamis_clear_error();
    TRY(need(A, "A"));
    TRY(need(B, "B"));
    TRY(need(D, "D"));
    TRY(need(E, "E"));
    TRY(tamis_options_from_args(args, TAMIS_OP_FUSED, &options));
    options.inner = B->cols;
    options.width = D->cols;
    return run_once(device, S, args, &options, A, B, D, NULL, E);
}
