/* One operation on given operands: its arithmetic, its bytes, its floor and its execution. */
#include <tamis/ceilings.h>

#include "cli/problem.h"

#include "cli/edges.h"

#include <math.h>

bool tool_uses_edge(tamis_operation operation) { return operation != TAMIS_OP_SPMM; }

tool_problem tool_problem_of(tamis_operation operation, tamis_edge edge, tamis_type type, int64_t inner,
                             int64_t width) {
    return (tool_problem){.operation = operation,
                          .edge = edge,
                          .type = type,
                          .inner = inner,
                          .width = operation == TAMIS_OP_FUSED && width > 0 ? width : inner,
                          .edge_scale = inner > 0 ? 1.0 / sqrt((double)inner) : 1.0,
                          .edge_slope = 0.01,
                          .edge_epsilon = 1e-10,
                          .alpha = 1};
}

int64_t tool_problem_batch(const tool_problem *problem) { return problem->batch > 1 ? problem->batch : 1; }

static void move(tamis_dense *dense, int64_t member) {
    if (dense->data)
        dense->data = (char *)dense->data + (size_t)(member * dense->batch_stride) * tamis_type_size(dense->type);
    dense->batch_stride = 0;
}

tool_problem tool_problem_member(const tool_problem *problem, int64_t member) {
    tool_problem one = *problem;
    one.batch = 1;
    move(&one.A, member);
    move(&one.B, member);
    move(&one.D, member);
    move(&one.output, member);
    return one;
}

tamis_status tool_problem_floor(const tool_problem *problem, const tool_device *device, int threads,
                                tamis_floor *floor) {
    const tamis_options options = tool_problem_options(problem);
    const tamis_ceilings ceilings = tool_device_ceilings(device);
    const bool whole = device->gpu || threads > 1; /* a GPU is always used as a whole */
    return tamis_floor_find(&problem->S, &options, problem->beta != 0, &ceilings, whole, floor);
}

tool_word tool_problem_name(const tool_problem *problem) {
    const bool edge = tool_uses_edge(problem->operation);
    return tool_word_of("%s%s%s", tamis_operation_name(problem->operation), edge ? " " : "",
                        edge ? tool_edge_name((int)problem->edge) : "");
}

void tool_json_problem(tool_json *json, const tool_problem *problem, const char *matrix) {
    const bool edge = tool_uses_edge(problem->operation);
    tool_json_put(json, tool_str("operation", tamis_operation_name(problem->operation)),
                  tool_str("edge", edge ? tool_edge_name((int)problem->edge) : "none"), tool_str("matrix", matrix),
                  TOOL_OF(problem->S, rows), TOOL_OF(problem->S, cols), TOOL_OF(problem->S, nnz),
                  TOOL_OF(*problem, inner),
                  tool_int("width", problem->operation == TAMIS_OP_SDDMM ? 0 : problem->width),
                  tool_str("type", tamis_type_name(problem->type)));
}

tamis_options tool_problem_options(const tool_problem *problem) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = problem->operation;
    tool_edge_put((int)problem->edge, &options);
    options.type = problem->type;
    options.math = problem->math;
    options.inner = problem->inner;
    options.batch = tool_problem_batch(problem);
    options.width = problem->width;
    options.d_is_b = problem->d_is_b;
    options.edge_scale = problem->edge_scale;
    options.edge_slope = problem->edge_slope;
    options.edge_epsilon = problem->edge_epsilon;
    options.a_layout = problem->A.layout;
    options.b_layout = problem->B.layout;
    options.d_layout = problem->D.layout;
    options.output_layout = problem->operation == TAMIS_OP_SDDMM ? TAMIS_ROW_MAJOR : problem->output.layout;
    return options;
}

tamis_status tool_problem_execute(const tool_problem *problem, const tamis_plan *plan) {
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    execution.alpha = problem->alpha;
    execution.beta = problem->beta;
    switch (problem->operation) {
    case TAMIS_OP_SDDMM: return tamis_plan_sddmm(plan, &problem->A, &problem->B, &problem->output, &execution);
    case TAMIS_OP_SPMM: return tamis_plan_spmm(plan, &problem->B, &problem->output, &execution);
    case TAMIS_OP_FUSED:
        return tamis_plan_fused(plan, &problem->A, &problem->B, &problem->D, &problem->output, &execution);
    }
    return TAMIS_ERROR_ARGUMENT;
}

tamis_status tool_problem_oracle(const tool_problem *problem, double budget, tamis_oracle **oracle) {
    tamis_options options = tool_problem_options(problem);
    options.batch = 1;
    options.trust_input = true;
    return tamis_oracle_create(&problem->S, &problem->A, &problem->B, &problem->D, &options, budget, oracle);
}

/* Makes a batch of consecutive matrices, as a view of the first. */
static tool_dense create(int64_t rows, int64_t cols, int64_t batch, const tool_problem *problem, tamis_layout layout,
                         int64_t padding, int64_t shift) {
    return tool_dense_create(rows * batch, cols, problem->type, layout, padding, shift);
}

static void split(tool_dense *dense, int64_t batch) {
    dense->view.rows /= batch;
    dense->view.batch_stride = batch > 1 ? dense->view.rows * dense->view.stride : 0;
}

tamis_status tool_operands_random(tool_problem *problem, tamis_layout layout, int64_t padding, int64_t shift,
                                  uint64_t seed, tool_operands *operands) {
    const tamis_sparse *S = &problem->S;
    const int64_t batch = tool_problem_batch(problem);
    const bool positive = tool_uses_edge(problem->operation) && problem->edge == TAMIS_EDGE_QUOTIENT;
    const double low = positive ? 0.1 : -1.0;
    *operands = (tool_operands){0};
    tamis_status status = TAMIS_OK;
    if (problem->operation != TAMIS_OP_SPMM) {
        operands->A = create(S->rows, problem->inner, batch, problem, layout, padding, shift);
        status = tamis_fill_uniform(&operands->A.view, seed + 1, low, 1.0);
    }
    if (status == TAMIS_OK) {
        const int64_t cols = problem->operation == TAMIS_OP_SPMM ? problem->width : problem->inner;
        operands->B = create(S->cols, cols, batch, problem, layout, padding, shift);
        status = tamis_fill_uniform(&operands->B.view, seed + 2, low, 1.0);
    }
    if (status == TAMIS_OK && problem->operation == TAMIS_OP_FUSED) {
        operands->D = create(S->cols, problem->width, batch, problem, layout, padding, shift);
        status = tamis_fill_uniform(&operands->D.view, seed + 3, -1.0, 1.0);
    }
    if (problem->operation == TAMIS_OP_SDDMM)
        operands->output = create(S->nnz, 1, batch, problem, TAMIS_ROW_MAJOR, 0, shift);
    else
        operands->output = create(S->rows, problem->width, batch, problem, layout, padding, shift);
    split(&operands->A, batch);
    split(&operands->B, batch);
    split(&operands->D, batch);
    split(&operands->output, batch);
    problem->A = operands->A.view;
    problem->B = operands->B.view;
    problem->D = operands->D.view;
    problem->output = operands->output.view;
    if (status != TAMIS_OK) tool_operands_free(operands);
    return status;
}

void tool_operands_free(tool_operands *operands) {
    tool_dense_free(&operands->A);
    tool_dense_free(&operands->B);
    tool_dense_free(&operands->D);
    tool_dense_free(&operands->output);
}
