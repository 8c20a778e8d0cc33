/* Applies the edge of an SDDMM plan to samples that the caller already has. */
#include <tamis/gradient.h>

#include "backend/edge.h"
#include "base/status.h"
#include "core/execute.h"
#include "core/named.h"
#include "core/options.h"

static tamis_status check(const tamis_plan *plan, const tamis_dense *X, const tamis_dense *P,
                          tamis_execution *execution, tamis_named *named) {
    const tamis_options *const o = &plan->options;
    const tamis_named_request request = tamis_named_of_plan(plan);
    tamis_operand x = {.name = "X",
                       .view = X,
                       .rows = plan->problem.nnz,
                       .cols = 1,
                       .type = o->output_type,
                       .packed = true,
                       .batch = o->batch};
    if (execution->softmax_rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "execution.softmax_rows = %p: tamis_plan_edge does not write them, expected NULL",
                          execution->softmax_rows);
    TRY(tamis_execution_check_stream(plan->device, execution));
    TRY(tamis_operand_check(plan->device, &x));
    x.name = "P";
    x.view = P;
    x.output = true;
    TRY(tamis_operand_check(plan->device, &x));
    TRY(tamis_named_take(&request, execution, (const tamis_operand *const[]){&x}, 1, named));
    return tamis_values_take(plan->device, &plan->pattern, o->type, o->batch, tamis_plan_needs_values(plan), execution);
}

/* Describes samples in the caller's order. */
static tamis_edge_array array_of(const tamis_plan *plan, const tamis_dense *X) {
    return (tamis_edge_array){{X->data, 0}, X->batch_stride, X->type, plan->order.permutation != NULL};
}

static tamis_edge_array values_of(const tamis_plan *plan, const tamis_execution *execution) {
    const int64_t skip = plan->pattern.offset_base * (int64_t)tamis_type_size(plan->options.type);
    if (!tamis_plan_needs_values(plan) || !execution->values) return (tamis_edge_array){.batch_stride = 0};
    return (tamis_edge_array){tamis_place_at(execution->values, (size_t)skip), execution->values_stride,
                              plan->options.type, plan->order.permutation != NULL};
}

tamis_status tamis_plan_edge(const tamis_plan *plan, const tamis_dense *X, const tamis_dense *P,
                             const tamis_execution *execution) {
    tamis_execution given;
    tamis_borrowed_workspace workspace = {.borrowed = NULL};
    tamis_named named;
    tamis_clear_error();
    TRY(tamis_plan_check_operation(plan, TAMIS_OP_SDDMM));
    TRY(tamis_execution_read(execution, &given));
    TRY(check(plan, X, P, &given, &named));
    if (plan->edge_text && plan->edge_text->value.softmax)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "tamis_plan_edge: the plan's edge is the softmax of a text: make one "
                          "plan of the text without softmax, and one of the edge softmax");
    const tamis_problem *const problem = &plan->problem;
    const tamis_backend *const backend = plan->device->backend;
    if (problem->nnz == 0) return TAMIS_OK;
    if (problem->edge == TAMIS_EDGE_SOFTMAX)
        TRY(tamis_workspace_take(plan->device, plan->own, plan->workspace_bytes, "tamis_plan_workspace_size", &given,
                                 &workspace));
    const tamis_edge_job job = {.device = plan->device->handle,
                                .stream = given.stream,
                                .threads = plan->options.threads,
                                .type = problem->type,
                                .edge = problem->edge,
                                .constants = problem->edge_constants,
                                .rows = problem->rows,
                                .nnz = problem->nnz,
                                .batch = plan->options.batch,
                                .offsets = problem->offsets,
                                .columns = problem->columns,
                                .offset_type = problem->offset_type,
                                .index_type = problem->index_type,
                                .named = named.at,
                                .permutation = plan->order.permutation,
                                .values = values_of(plan, &given),
                                .x = array_of(plan, X),
                                .p = array_of(plan, P),
                                .p_factor = given.alpha,
                                .p_keep = given.beta,
                                .parts = {given.workspace, 0}};
    const tamis_status status = backend->edges->run(&job);
    tamis_workspace_give_back(plan->device, &workspace);
    return status;
}
