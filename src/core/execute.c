/*
 * Executing a plan: the operands are checked against it, staged where the plan said so, and handed to the backend once
 * for each member of the batch.
 */
#include <math.h>

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
    TRY(tamis_dense_check_at(x->view, x->name, x->rows, x->cols, plan->options.type, plan->device->backend->location));
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

static tamis_place member_of(const tamis_dense *view, int64_t member) {
    const int64_t bytes = member * view->batch_stride * (int64_t)tamis_type_size(view->type);
    return (tamis_place){view->data, view->data ? bytes : 0};
}

static tamis_place in_workspace(const tamis_plan *plan, int64_t offset) {
    return (tamis_place){plan->workspace, offset};
}

static tamis_status transpose(const tamis_plan *plan, void *stream, const operand *x, int64_t member, bool out) {
    const tamis_transposition t = {.type = plan->options.type,
                                   .threads = plan->options.threads,
                                   .packed = in_workspace(plan, x->staged),
                                   .strided = member_of(x->view, member),
                                   .stride = tamis_dense_stride(x->view),
                                   .rows = x->rows,
                                   .cols = x->cols,
                                   .out = out};
    return plan->device->backend->transpose(plan->device->handle, stream, &t);
}

/* The operand as the kernels want it: where it lies, or transposed into its place. */
static tamis_status bring_in(tamis_plan *plan, void *stream, const operand *x, int64_t member, tamis_place *place,
                             int64_t *stride) {
    if (x->staged < 0) {
        *stride = tamis_dense_stride(x->view);
        *place = member_of(x->view, member);
        return TAMIS_OK;
    }
    *place = in_workspace(plan, x->staged);
    *stride = x->cols;
    /* one matrix shared by the whole batch is staged once */
    if (member != 0 && x->view->batch_stride == 0) return TAMIS_OK;
    return transpose(plan, stream, x, member, false);
}

/* Between the caller's order of entries and the plan's. */
static tamis_status permute(const tamis_plan *plan, void *stream, tamis_place packed, tamis_place scattered, bool out) {
    const tamis_permutation p = {.type = plan->options.type,
                                 .nnz = plan->problem.nnz,
                                 .permutation = plan->order.permutation,
                                 .packed = packed,
                                 .scattered = scattered,
                                 .out = out};
    return plan->device->backend->permute(plan->device->handle, stream, &p);
}

static bool needs_values(const tamis_plan *plan) {
    return plan->options.operation == TAMIS_OP_SPMM || plan->options.edge != TAMIS_EDGE_MASK;
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

/* The operands of an execution, for all members of its batch. */
typedef struct run_operands {
    const operand *a, *b, *d, *c;
    void *p;
    double alpha, beta;
} run_operands;

static tamis_status run_member(tamis_plan *plan, void *stream, const run_operands *all, int64_t member) {
    const tamis_plan_options *const o = &plan->options;
    const bool sddmm = o->operation == TAMIS_OP_SDDMM, spmm = o->operation == TAMIS_OP_SPMM;
    const int64_t size = (int64_t)tamis_type_size(o->type);
    tamis_operands x = {.alpha = all->alpha, .beta = all->beta, .scratch = in_workspace(plan, 0)};
    if (!spmm) TRY(bring_in(plan, stream, all->a, member, &x.a, &x.a_stride));
    TRY(bring_in(plan, stream, all->b, member, &x.b, &x.b_stride));
    if (o->operation == TAMIS_OP_FUSED) TRY(bring_in(plan, stream, all->d, member, &x.d, &x.d_stride));
    if (plan->values && needs_values(plan)) {
        const tamis_place given = {(void *)(uintptr_t)plan->values, member * plan->values_stride * size};
        x.values = given;
        if (plan->order.permutation) {
            x.values = in_workspace(plan, plan->staging.values);
            TRY(permute(plan, stream, x.values, given, false));
        }
    }
    const tamis_place samples = {all->p, all->p ? member * plan->problem.nnz * size : 0};
    if (sddmm) {
        x.out = plan->order.permutation ? in_workspace(plan, plan->staging.samples) : samples;
        if (plan->order.permutation && all->beta != 0) TRY(permute(plan, stream, x.out, samples, false));
    } else if (plan->staging.out < 0) {
        x.out = member_of(all->c->view, member);
        x.out_stride = tamis_dense_stride(all->c->view);
    } else {
        x.out = in_workspace(plan, plan->staging.out);
        x.out_stride = plan->problem.width;
        if (all->beta != 0) TRY(transpose(plan, stream, all->c, member, false));
    }
    TRY(plan->device->backend->execute(plan->prepared, stream, &x));
    if (sddmm && plan->order.permutation) TRY(permute(plan, stream, x.out, samples, true));
    if (!sddmm && plan->staging.out >= 0) TRY(transpose(plan, stream, all->c, member, true));
    return TAMIS_OK;
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

    for (int64_t member = 0; member < o->batch; member++) {
        const run_operands all = {.a = &a, .b = &b, .d = &d, .c = &c, .p = p, .alpha = alpha, .beta = beta};
        TRY(run_member(plan, stream, &all, member));
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
