/*
 * Executing a plan: the operands are checked against it, staged where the plan said so, and handed to the backend once
 * for each member of the batch.
 */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "core/plan.h"
#include "sparse/check.h"

typedef struct operand {
    const char *name;
    const tamis_dense *view;
    int64_t rows, cols;
    tamis_layout layout; /* the plan's */
    const char *option;  /* the field that sets it */
    int64_t staged;      /* place in the workspace, -1 for none */
} operand;

static tamis_status check_operand(const tamis_plan *plan, const operand *x, bool output) {
    if (!x->view) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: a dense matrix is needed", x->name);
    TRY(tamis_dense_check(x->view, x->name, x->rows, x->cols, plan->options.type));
    if (x->view->layout != x->layout)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.layout = %s, but the plan was made for %s: set options.%s", x->name,
                          tamis_layout_name(x->view->layout), tamis_layout_name(x->layout), x->option);
    if (x->view->batch_stride < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.batch_stride = %lld is negative", x->name,
                          (long long)x->view->batch_stride);
    if (output && plan->options.batch > 1 && x->view->batch_stride == 0 && x->rows > 0 && x->cols > 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.batch_stride = 0: the %lld outputs of the batch would overlap",
                          x->name, (long long)plan->options.batch);
    return TAMIS_OK;
}

static char *member_of(const tamis_dense *view, int64_t member) {
    char *const data = view->data;
    return data ? data + member * view->batch_stride * (int64_t)tamis_type_size(view->type) : NULL;
}

/* The operand as the kernels want it: where it lies, or transposed into its place. */
static const void *bring_in(tamis_plan *plan, const operand *x, int64_t member, int64_t *stride) {
    if (x->staged < 0) {
        *stride = tamis_dense_stride(x->view);
        return member_of(x->view, member);
    }
    void *const place = plan->workspace + x->staged;
    *stride = x->cols;
    /* one matrix shared by the whole batch is staged once */
    if (member == 0 || x->view->batch_stride != 0)
        plan->device->backend->stage_in(plan->options.type, plan->options.threads, place, member_of(x->view, member),
                                        tamis_dense_stride(x->view), x->rows, x->cols);
    return place;
}

/* Elements t of `to` from permuted elements of `from`, or the other way round. */
static void permute(void *to, const void *from, const int64_t *permutation, int64_t nnz, size_t size, bool scatter) {
    char *const out = to;
    const char *const in = from;
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t u = permutation[t];
        memcpy(out + (size_t)(scatter ? u : t) * size, in + (size_t)(scatter ? t : u) * size, size);
    }
}

static tamis_status check_scalars(double alpha, double beta) {
    if (isnan(alpha)) return tamis_fail(TAMIS_ERROR_ARGUMENT, "alpha is not a number");
    if (isnan(beta)) return tamis_fail(TAMIS_ERROR_ARGUMENT, "beta is not a number");
    return TAMIS_OK;
}

static tamis_status check_operation(const tamis_plan *plan, tamis_operation operation) {
    if (plan->options.operation == operation) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan was made for %s: it cannot execute %s",
                      tamis_operation_name(plan->options.operation), tamis_operation_name(operation));
}

tamis_status tamis_plan_run(tamis_plan *plan, tamis_operation operation, void *stream, const tamis_dense *A,
                            const tamis_dense *B, const tamis_dense *D, double alpha, double beta, void *p,
                            const tamis_dense *out) {
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_plan_create");
    TRY(check_operation(plan, operation));
    TRY(check_scalars(alpha, beta));
    const tamis_plan_options *const o = &plan->options;
    const tamis_problem *const problem = &plan->problem;
    const bool sddmm = operation == TAMIS_OP_SDDMM, spmm = operation == TAMIS_OP_SPMM;
    const operand a = {"A", A, problem->rows, problem->inner, o->a_layout, "a_layout", plan->staging.a};
    const operand b = {"B",         B,          problem->cols,  spmm ? problem->width : problem->inner,
                       o->b_layout, "b_layout", plan->staging.b};
    const operand d = {"D", D, problem->cols, problem->width, o->d_layout, "d_layout", plan->staging.d};
    const operand c = {spmm ? "C" : "E", out, problem->rows, problem->width, o->output_layout, "output_layout",
                       plan->staging.out};
    if (!spmm) TRY(check_operand(plan, &a, false));
    TRY(check_operand(plan, &b, false));
    if (operation == TAMIS_OP_FUSED) TRY(check_operand(plan, &d, false));
    if (sddmm && !p && problem->nnz > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "p = NULL: where to put the result");
    if (!sddmm) TRY(check_operand(plan, &c, true));

    const size_t size = tamis_type_size(o->type);
    const bool uses_values = plan->values && (spmm || o->edge != TAMIS_EDGE_MASK);
    for (int64_t member = 0; member < o->batch; member++) {
        tamis_operands x = {.alpha = alpha, .beta = beta, .scratch = plan->workspace};
        if (!spmm) x.a = bring_in(plan, &a, member, &x.a_stride);
        x.b = bring_in(plan, &b, member, &x.b_stride);
        if (operation == TAMIS_OP_FUSED) x.d = bring_in(plan, &d, member, &x.d_stride);
        if (uses_values) {
            x.values = (const char *)plan->values + member * plan->values_stride * (int64_t)size;
            if (plan->permutation) {
                permute(plan->workspace + plan->staging.values, x.values, plan->permutation, problem->nnz, size, false);
                x.values = plan->workspace + plan->staging.values;
            }
        }
        char *const samples = sddmm && p ? (char *)p + member * problem->nnz * (int64_t)size : NULL;
        if (sddmm) {
            x.out = plan->permutation ? plan->workspace + plan->staging.samples : samples;
            if (plan->permutation && beta != 0) permute(x.out, samples, plan->permutation, problem->nnz, size, false);
        } else if (plan->staging.out < 0) {
            x.out = member_of(out, member);
            x.out_stride = tamis_dense_stride(out);
        } else {
            x.out = plan->workspace + plan->staging.out;
            x.out_stride = problem->width;
            if (beta != 0)
                plan->device->backend->stage_in(o->type, o->threads, x.out, member_of(out, member),
                                                tamis_dense_stride(out), problem->rows, problem->width);
        }
        TRY(plan->device->backend->execute(plan->prepared, stream, &x));
        if (sddmm && plan->permutation) permute(samples, x.out, plan->permutation, problem->nnz, size, true);
        if (!sddmm && plan->staging.out >= 0)
            plan->device->backend->stage_out(o->type, o->threads, member_of(out, member), tamis_dense_stride(out),
                                             x.out, problem->rows, problem->width);
    }
    return TAMIS_OK;
}

tamis_status tamis_plan_sddmm(tamis_plan *plan, void *stream, const tamis_dense *A, const tamis_dense *B, double alpha,
                              double beta, void *p) {
    tamis_clear_error();
    return tamis_plan_run(plan, TAMIS_OP_SDDMM, stream, A, B, NULL, alpha, beta, p, NULL);
}

tamis_status tamis_plan_spmm(tamis_plan *plan, void *stream, const tamis_dense *B, double alpha, double beta,
                             const tamis_dense *C) {
    tamis_clear_error();
    return tamis_plan_run(plan, TAMIS_OP_SPMM, stream, NULL, B, NULL, alpha, beta, NULL, C);
}

tamis_status tamis_plan_fused(tamis_plan *plan, void *stream, const tamis_dense *A, const tamis_dense *B,
                              const tamis_dense *D, double alpha, double beta, const tamis_dense *E) {
    tamis_clear_error();
    return tamis_plan_run(plan, TAMIS_OP_FUSED, stream, A, B, D, alpha, beta, NULL, E);
}
