/* Backward calls: their checks, and the execution of gradient.c's plans. */
#include "core/gradient_plans.h"

#include "backend/dense.h"
#include "base/status.h"
#include "core/named.h"
#include "core/options.h"

/* ------------------------------------------------------------------------------------------ checks */

/* One backward call. */
typedef struct back {
    const tamis_gradient *g;
    tamis_execution given; /* with the values and workspace in use */
    tamis_borrowed_workspace workspace;
    tamis_back_views x;
    tamis_named named; /* of a text */
} back;

tamis_back_operands tamis_back_operands_of(const tamis_options *o, int64_t rows, int64_t cols,
                                           const tamis_back_views *x) {
    const bool spmm = o->operation == TAMIS_OP_SPMM, fused = o->operation == TAMIS_OP_FUSED;
    const int64_t b_cols = spmm ? o->width : o->inner;
#define GRADIENT .output = true, .optional = true
    return (tamis_back_operands){
        .a = {"A", TAMIS_PLANNED(o, x->A, rows, o->inner, a_layout, x->skip_a), .optional = spmm},
        .b = {"B", TAMIS_PLANNED(o, x->B, cols, b_cols, b_layout, x->skip_b)},
        .d = {"D", TAMIS_PLANNED(o, x->D, cols, o->width, d_layout, x->skip_d), .optional = !fused},
        .e = {spmm ? "dC" : "dE", TAMIS_PLANNED(o, x->dE, rows, o->width, output_layout, x->skip_e),
              .optional = !spmm && !fused},
        .da = {"dA", TAMIS_PLANNED(o, x->dA, rows, o->inner, a_layout, 0), GRADIENT},
        .db = {"dB", TAMIS_PLANNED(o, x->dB, cols, b_cols, b_layout, 0), GRADIENT},
        .dd = {"dD", TAMIS_PLANNED(o, x->dD, cols, o->width, d_layout, x->skip_dd), GRADIENT}};
#undef GRADIENT
}

/* The result of the forward call, which only a gradient in one piece reads. */
static tamis_operand result_of(const back *b) {
    const tamis_options *const o = &b->g->options;
    return (tamis_operand){.name = "execution.result",
                           .view = b->g->whole ? b->given.result : NULL,
                           .rows = b->g->rows,
                           .cols = o->width,
                           .type = o->type,
                           .layout = TAMIS_ROW_MAJOR,
                           .option = "output_layout",
                           .optional = true,
                           .batch = o->batch};
}

static tamis_status check_values_wanted(const back *b) {
    if (!b->x.dS) return TAMIS_OK;
    if (!b->g->S.values)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "dS is not NULL, but S has no values: they have no gradient");
    if (has_values(b->g)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT,
                      "dS is not NULL, but the mask edge does not read S's values: they have no gradient");
}

static tamis_status check_views(back *b) {
    const tamis_gradient *const g = b->g;
    const tamis_options *const o = &g->options;
    tamis_back_operands x = tamis_back_operands_of(o, g->rows, g->cols, &b->x);
    tamis_operand dp = {.name = "dP",
                        .view = b->x.dP,
                        .rows = g->S.nnz,
                        .cols = 1,
                        .type = o->output_type,
                        .optional = o->operation != TAMIS_OP_SDDMM,
                        .packed = true,
                        .batch = o->batch};
    tamis_operand ds = dp;
    ds.name = "dS";
    ds.view = b->x.dS;
    ds.type = g->S.value_type;
    ds.output = ds.optional = true;
    x.da.type = output_type_of(g, TO_A);
    x.db.type = output_type_of(g, TO_B);
    x.dd.type = output_type_of(g, TO_D);
    const tamis_operand *const all[] = {&dp, &x.a, &x.b, &x.d, &x.e, &x.da, &x.db, &x.dd, &ds};
    const tamis_named_request named = {.device = g->device,
                                       .text = g->edge_text,
                                       .options = o,
                                       .rows = g->rows,
                                       .cols = g->cols,
                                       .nnz = g->S.nnz,
                                       .scattered = g->order.permutation != NULL,
                                       .gradients = true};
    TRY(check_values_wanted(b));
    TRY(tamis_operands_check(g->device, all, 9));
    return tamis_named_take(&named, &b->given, all, 9, &b->named);
}

tamis_status tamis_gradient_check_operation(const tamis_options *o, tamis_operation operation) {
    if (o->operation == operation) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradient was made for %s: it cannot differentiate %s",
                      tamis_operation_name(o->operation), tamis_operation_name(operation));
}

/* Checks everything, and acquires the workspace. */
static tamis_status begin(back *b, tamis_operation operation, const tamis_execution *execution) {
    const tamis_gradient *const g = b->g;
    if (!g) return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradient = NULL: make one with tamis_gradient_create");
    TRY(tamis_gradient_check_operation(&g->options, operation));
    TRY(tamis_execution_read(execution, &b->given));
    TRY(tamis_execution_check_stream(g->device, &b->given));
    if (!b->x.checked) TRY(check_views(b));
    const tamis_operand result = result_of(b);
    TRY(tamis_operand_check(g->device, &result));
    TRY(tamis_values_take(g->device, &g->S, g->S.values ? g->S.value_type : g->options.type, g->options.batch,
                          tamis_needs_values(g->options.operation, g->options.edge), &b->given));
    TRY(tamis_softmax_rows_check(g->device, &g->options, g->rows, &b->given));
    return tamis_workspace_take(g->device, g->own, g->workspace_bytes, "tamis_gradient_workspace_size", &b->given,
                                &b->workspace);
}

/* ------------------------------------------------------------------------------------------ steps */

static int64_t elements_to(int64_t offset, tamis_type type) { return offset / (int64_t)tamis_type_size(type); }

/* The execution for a plan within this call. */
static tamis_execution execution_of(const back *b, double alpha, double beta) {
    tamis_execution x = TAMIS_EXECUTION_INIT;
    x.stream = b->given.stream;
    x.alpha = alpha;
    x.beta = beta;
    x.workspace = b->given.workspace;
    x.workspace_bytes = b->g->workspace_bytes;
    return x;
}

/* Samples <A_i, B_j> of the operands in `views` at the nonzeros of T, into place `to` of the workspace. */
static tamis_status sample(const back *b, int plan, tamis_views views, int64_t to) {
    const tamis_gradient *const g = b->g;
    const tamis_type type = between_type(&g->options);
    const tamis_execution execution = execution_of(b, 1, 0);
    const tamis_dense samples = {.data = b->given.workspace,
                                 .rows = g->S.nnz,
                                 .cols = 1,
                                 .type = type,
                                 .location = g->S.location,
                                 .batch_stride = g->S.nnz};
    views.out = &samples;
    views.skip_out = elements_to(to, type);
    return tamis_plan_run(g->plans[plan], TAMIS_OP_SDDMM, &views, &execution);
}

/* out = alpha * W B + beta * out, with B and out from `views`; W is T or U with weights from the workspace. */
static tamis_status multiply(const back *b, int plan, int64_t weights, tamis_views views, double alpha) {
    const tamis_gradient *const g = b->g;
    tamis_execution execution = execution_of(b, alpha, is_partial(g, plan) ? 0 : b->given.beta);
    views.skip_values = elements_to(weights, between_type(&g->options));
    execution.values = b->given.workspace;
    execution.values_stride = g->S.nnz;
    return tamis_plan_run(g->plans[plan], TAMIS_OP_SPMM, &views, &execution);
}

/* Permutes weights from the order of T to the order of U. */
static tamis_status turn(const back *b, int64_t weights) {
    const tamis_gradient *const g = b->g;
    const tamis_type type = between_type(&g->options);
    if (!g->turned_order.permutation) return TAMIS_OK;
    const tamis_permutation p = {.type = type,
                                 .threads = g->options.threads,
                                 .nnz = g->S.nnz,
                                 .members = g->options.batch,
                                 .packed_step = g->S.nnz,
                                 .scattered_step = g->S.nnz,
                                 .permutation = g->turned_order.permutation,
                                 .packed = {b->given.workspace, g->turned},
                                 .scattered = {b->given.workspace, weights},
                                 .out = false};
    return g->device->backend->permute(g->device->handle, b->given.stream, &p);
}

/* Arrays of a job: inside the workspace, in T's order; or outside, in the caller's order. */
static tamis_edge_array inside(const back *b, int64_t offset, tamis_type type) {
    return (tamis_edge_array){{b->given.workspace, offset}, b->g->S.nnz, type, false};
}

static tamis_edge_array outside(const back *b, const tamis_dense *X) {
    return (tamis_edge_array){{X->data, 0}, X->batch_stride, X->type, b->g->order.permutation != NULL};
}

static tamis_edge_array values_of(const back *b) {
    const tamis_gradient *const g = b->g;
    const int64_t skip = (b->x.skip_values + g->S.offset_base) * (int64_t)tamis_type_size(g->options.type);
    if (!has_values(g)) return (tamis_edge_array){.batch_stride = 0};
    return (tamis_edge_array){tamis_place_at(b->given.values, (size_t)skip), b->given.values_stride, g->options.type,
                              g->order.permutation != NULL};
}

/* Inputs and outputs of the pass over the nonzeros. */
typedef struct needs {
    bool x, dp, p, dx, ds;
    bool named; /* a gradient by a named array */
} needs;

static needs needs_of(const back *b) {
    const tamis_edge edge = b->g->options.edge;
    needs n = {.p = b->x.dD != NULL, .dx = b->x.dA || b->x.dB, .ds = b->x.dS != NULL};
    for (int k = 0; b->g->edge_text && k < b->g->edge_text->value.arrays; k++) n.named |= b->named.gradient[k] != NULL;
    n.dp = n.dx || n.ds || n.named;
    n.x = n.p || (n.dp && b->g->edge_text) || (n.dx && tamis_edge_dx_needs_x(edge)) ||
          (n.ds && tamis_edge_ds_needs_x(edge));
    return n;
}

static tamis_status run_job(const back *b, const tamis_edge_job *job) {
    return job->nnz > 0 ? b->g->device->backend->edges->run(job) : TAMIS_OK;
}

/* Sums the gradient by an array, which has an element for each entry at `g->named`, over all entries of each member. */
static tamis_status sum_entries(const back *b, const tamis_dense *to) {
    const tamis_gradient *const g = b->g;
    const tamis_dense_functions *const dense = g->device->backend->dense;
    const tamis_type type = between_type(&g->options);
    const int64_t size = (int64_t)tamis_type_size(type), nnz = g->S.nnz, few = nnz / TAMIS_DENSE_CHUNK_ROWS;
    tamis_dense_job job = {.device = g->device->handle,
                           .stream = b->given.stream,
                           .threads = g->options.threads,
                           .type = type,
                           .rows = nnz,
                           .cols = 1,
                           .last = 1,
                           .chunks = few < 1                    ? 1
                                     : few < TAMIS_DENSE_CHUNKS ? few
                                                                : TAMIS_DENSE_CHUNKS,
                           .x.stride = 1,
                           .out.stride = 1,
                           .workspace = {b->given.workspace, g->adds}};
    for (int64_t member = 0; member < g->options.batch; member++) {
        job.x.at = (tamis_place){b->given.workspace, g->named + member * nnz * size};
        job.out.at = (tamis_place){b->given.workspace, g->sums + member * size};
        TRY(dense->column_sums(&job));
    }
    job.kind = TAMIS_MAP_COMBINE;
    job.rows = g->options.batch;
    job.chunks = 1;
    job.c = 1;
    job.d = b->given.beta;
    job.x.at = (tamis_place){b->given.workspace, g->sums};
    job.z = (tamis_matrix){{to->data, 0}, g->options.batch > 1 ? to->batch_stride : 1, 0};
    return dense->map(&job);
}

/* Computes the gradient by named array k from dp. */
static tamis_status differentiate_by(const back *b, const tamis_edge_job *like, int k) {
    const tamis_gradient *const g = b->g;
    const tamis_dense *const to = b->named.gradient[k];
    const tamis_type type = between_type(&g->options);
    const int kind = g->edge_text->value.array[k].kind;
    tamis_edge_job job = *like;
    job.constants.text = g->by[k];
    job.p = job.dx = (tamis_edge_array){.batch_stride = 0};
    job.ds = kind == TAMIS_STEP_ENTRY ? outside(b, to) : inside(b, g->named, type);
    job.ds_keep = kind == TAMIS_STEP_ENTRY ? b->given.beta : 0;
    TRY(run_job(b, &job));
    if (kind == TAMIS_STEP_ENTRY) return TAMIS_OK;
    if (kind == TAMIS_STEP_HEAD) return sum_entries(b, to);
    const bool by_row = kind == TAMIS_STEP_ROW;
    tamis_dense sums = *to, ones = {.data = g->ones,
                                    .rows = by_row ? g->cols : g->rows,
                                    .cols = 1,
                                    .type = g->options.type,
                                    .location = g->S.location};
    sums.layout = TAMIS_ROW_MAJOR;
    sums.stride = 1;
    const tamis_views views = {.B = &ones, .out = &sums};
    if (!by_row) TRY(turn(b, g->named));
    return multiply(b, by_row ? TO_ROW : TO_COL, by_row ? g->named : g->turned, views, 1);
}

/* A text: first softmax's scores and the gradient by them, then gradients by arrays, which need x and dp, then what
   replaces these. */
static tamis_status differentiate_text(const back *b, const tamis_edge_job *given) {
    const tamis_gradient *const g = b->g;
    const tamis_type type = between_type(&g->options);
    const bool further = given->dx.at.base || given->ds.at.base;
    tamis_edge_job job = *given;
    job.edge = TAMIS_EDGE_TEXT;
    if (g->edge_text->value.softmax) {
        tamis_edge_job scores = job, softmax = *given;
        scores.dp = scores.dx = scores.ds = softmax.values = softmax.ds = (tamis_edge_array){.batch_stride = 0};
        scores.p = softmax.x = inside(b, g->scores, type);
        scores.p_factor = softmax.constants.scale = 1;
        softmax.constants.text = NULL;
        if (given->dp.at.base) softmax.dx = softmax.x;
        TRY(run_job(b, &scores));
        TRY(run_job(b, &softmax));
        job.p = (tamis_edge_array){.batch_stride = 0};
        job.dp = softmax.x;
        job.dp_factor = 1;
    }
    for (int k = 0; k < g->edge_text->value.arrays; k++)
        if (b->named.gradient[k]) TRY(differentiate_by(b, &job, k));
    return further || job.p.at.base ? run_job(b, &job) : TAMIS_OK;
}

static tamis_status differentiate(const back *b, const needs *n) {
    const tamis_gradient *const g = b->g;
    const tamis_options *const o = &g->options;
    const tamis_type between = between_type(o);
    tamis_edge_job job = {.device = g->device->handle,
                          .stream = b->given.stream,
                          .threads = o->threads,
                          .type = o->type,
                          .edge = o->edge,
                          .constants = tamis_edge_constants_of(o, g->edge_text),
                          .rows = g->rows,
                          .nnz = g->S.nnz,
                          .batch = o->batch,
                          .offsets = g->T.offsets,
                          .columns = g->T.columns,
                          .offset_type = g->T.offset_type,
                          .index_type = g->T.index_type,
                          .named = b->named.at,
                          .permutation = g->order.permutation,
                          .softmax_rows = {b->given.softmax_rows, 0},
                          .values = values_of(b),
                          .dp_factor = b->given.alpha,
                          .p_factor = 1,
                          .ds_keep = b->given.beta,
                          .parts = {b->given.workspace, g->parts}};
    if (n->x) job.x = inside(b, g->x, between);
    if (n->dp) job.dp = b->x.dP ? outside(b, b->x.dP) : inside(b, g->dp, between);
    if (n->p) job.p = inside(b, g->dp, between);
    if (n->dx) job.dx = inside(b, g->x, between);
    if (n->ds) job.ds = outside(b, b->x.dS);
    return g->edge_text ? differentiate_text(b, &job) : run_job(b, &job);
}

/* Runs the steps of SDDMM and fused. */
static tamis_status go_back(const back *b) {
    const tamis_gradient *const g = b->g;
    const tamis_back_views *const x = &b->x;
    const needs n = needs_of(b);
    const tamis_views products = {.A = x->A, .skip_a = x->skip_a, .B = x->B, .skip_b = x->skip_b};
    const tamis_views outer = {.A = x->dE, .skip_a = x->skip_e, .B = x->D, .skip_b = x->skip_d};
    const tamis_views to_a = {.B = x->B, .skip_b = x->skip_b, .out = x->dA};
    const tamis_views to_b = {.B = x->A, .skip_b = x->skip_a, .out = x->dB};
    const tamis_views to_d = {.B = x->dE, .skip_b = x->skip_e, .out = x->dD, .skip_out = x->skip_dd};
    if (n.x) TRY(sample(b, SAMPLE, products, g->x));
    if (n.dp && x->dE) TRY(sample(b, OUTER, outer, g->dp));
    if (n.p || n.dx || n.ds || n.named) TRY(differentiate(b, &n));
    if (x->dA) TRY(multiply(b, TO_A, g->x, to_a, 1));
    if (x->dB) {
        TRY(turn(b, g->x));
        TRY(multiply(b, TO_B, g->turned, to_b, 1));
    }
    if (!x->dD) return TAMIS_OK;
    TRY(turn(b, g->dp));
    return multiply(b, TO_D, g->turned, to_d, b->given.alpha);
}

static tamis_status go_back_spmm(const back *b) {
    const tamis_gradient *const g = b->g;
    const tamis_back_views *const x = &b->x;
    tamis_execution execution = execution_of(b, b->given.alpha, b->given.beta);
    const bool transpose = g->options.transpose;
    const tamis_views samples = {.A = transpose ? x->B : x->dE,
                                 .skip_a = transpose ? x->skip_b : x->skip_e,
                                 .B = transpose ? x->dE : x->B,
                                 .skip_b = transpose ? x->skip_e : x->skip_b,
                                 .out = x->dS};
    const tamis_views product = {.B = x->dE, .skip_b = x->skip_e, .out = x->dB, .skip_values = x->skip_values};
    if (x->dS) TRY(tamis_plan_run(g->plans[OUTER], TAMIS_OP_SDDMM, &samples, &execution));
    if (!x->dB) return TAMIS_OK;
    if (is_partial(g, TO_B)) execution.beta = 0;
    execution.values = b->given.values;
    execution.values_stride = b->given.values_stride;
    return tamis_plan_run(g->plans[TO_B], TAMIS_OP_SPMM, &product, &execution);
}

tamis_status tamis_gradient_run(const tamis_gradient *gradient, tamis_operation operation,
                                const tamis_back_views *views, const tamis_execution *execution) {
    back b = {.g = gradient, .x = *views};
    TRY(begin(&b, operation, execution));
    const tamis_status status = b.g->whole ? tamis_whole_gradient_run(b.g->device, b.g->whole, views, &b.given)
                                : operation == TAMIS_OP_SPMM ? go_back_spmm(&b)
                                                             : go_back(&b);
    tamis_workspace_give_back(b.g->device, &b.workspace);
    return status;
}

tamis_status tamis_gradient_check_run(const tamis_gradient *gradient, tamis_operation operation,
                                      const tamis_back_views *views, const tamis_execution *execution) {
    back b = {.g = gradient, .x = *views};
    TRY(begin(&b, operation, execution));
    tamis_workspace_give_back(b.g->device, &b.workspace);
    return TAMIS_OK;
}

tamis_status tamis_sddmm_backward(const tamis_gradient *gradient, const tamis_dense *dP, const tamis_dense *A,
                                  const tamis_dense *B, const tamis_dense *dA, const tamis_dense *dB,
                                  const tamis_dense *dS, const tamis_execution *execution) {
    const tamis_back_views views = {.dP = dP, .A = A, .B = B, .dA = dA, .dB = dB, .dS = dS};
    tamis_clear_error();
    return tamis_gradient_run(gradient, TAMIS_OP_SDDMM, &views, execution);
}

tamis_status tamis_spmm_backward(const tamis_gradient *gradient, const tamis_dense *dC, const tamis_dense *B,
                                 const tamis_dense *dB, const tamis_dense *dS, const tamis_execution *execution) {
    const tamis_back_views views = {.dE = dC, .B = B, .dB = dB, .dS = dS};
    tamis_clear_error();
    return tamis_gradient_run(gradient, TAMIS_OP_SPMM, &views, execution);
}

tamis_status tamis_fused_backward(const tamis_gradient *gradient, const tamis_dense *dE, const tamis_dense *A,
                                  const tamis_dense *B, const tamis_dense *D, const tamis_dense *dA,
                                  const tamis_dense *dB, const tamis_dense *dD, const tamis_dense *dS,
                                  const tamis_execution *execution) {
    const tamis_back_views views = {.dE = dE, .A = A, .B = B, .D = D, .dA = dA, .dB = dB, .dD = dD, .dS = dS};
    tamis_clear_error();
    return tamis_gradient_run(gradient, TAMIS_OP_FUSED, &views, execution);
}
