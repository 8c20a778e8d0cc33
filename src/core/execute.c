/*
 * Executing a plan. A call of tamis_plan_sddmm, tamis_plan_spmm or tamis_plan_fused takes these steps; one of
 * tamis_sddmm, tamis_spmm or tamis_fused makes a plan first (once.c).
 *
 *   1. prepare_run checks the plan, the fields of the execution, the stream, and each operand against the plan.
 *   2. It also determines the values of S (the execution's, else the view's) and the workspace (the caller's, else
 *      the plan's unless another call uses it, else one for this call).
 *   3. run_members computes all members of the batch at once, or as many as the workspace has places for:
 *      a. bring_in transposes column-major operands into the workspace, and gathers A's rows there if the plan drops
 *         empty rows; bring_values and bring_output permute values and old samples if the plan orders its entries
 *         differently from the caller.
 *      b. The backend computes: tamis_cpu_execute (cpu/execute.c) or tamis_gpu_execute (gpu/plan.c).
 *      c. take_output transposes or permutes the result from the workspace to the caller's array.
 *   4. tamis_workspace_give_back ends the use of the workspace.
 *
 * Executions only read the plan; their own state is in `run`.
 */
#include "core/execute.h"

#include "base/clock.h"
#include "base/status.h"
#include "core/named.h"
#include "core/options.h"
#include "sparse/check.h"
#include "sparse/overlap.h"

typedef tamis_operand operand;

/* One execution. */
typedef struct run {
    const tamis_plan *plan;
    const tamis_prepared *prepared;
    tamis_execution given; /* with defaults, and with the values and workspace in use */
    tamis_operand_list x;
    bool d_is_b;         /* fused: D is the view B, promised or not, and is not staged again */
    int64_t skip_values; /* elements of given.values before the first one used */
    tamis_named named;
    tamis_borrowed_workspace workspace;
} run;

/* ------------------------------------------------------------------------------------------ checks */

tamis_status tamis_d_is_b_check(const tamis_dense *B, const tamis_dense *D) {
    if (tamis_dense_same(B, D)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT,
                      "D.data = %p is not the view B (data = %p): the plan has options.d_is_b, which promises it",
                      D->data, B->data);
}

tamis_operand_list tamis_operands_of(const tamis_options *o, int64_t rows, int64_t cols, int64_t nnz,
                                     const tamis_views *views) {
    const bool sddmm = o->operation == TAMIS_OP_SDDMM, spmm = o->operation == TAMIS_OP_SPMM;
    const tamis_dense *const D = o->d_is_b && !views->D ? views->B : views->D;
    tamis_operand_list x = {
        .a = {"A", TAMIS_PLANNED(o, views->A, rows, o->inner, a_layout, views->skip_a), .optional = spmm},
        .b = {"B", TAMIS_PLANNED(o, views->B, cols, spmm ? o->width : o->inner, b_layout, views->skip_b)},
        .d = {"D", TAMIS_PLANNED(o, D, cols, o->width, d_layout, views->skip_d), .optional = sddmm || spmm},
        .out = {spmm ? "C" : "E", TAMIS_PLANNED(o, views->out, rows, o->width, output_layout, views->skip_out),
                .output = true}};
    if (sddmm)
        x.out = (tamis_operand){
            "P",         views->out, nnz, 1, .output = true, .packed = true, .batch = o->batch, .skip = views->skip_out,
            .staged = -1};
    x.out.type = o->output_type;
    return x;
}

tamis_status tamis_operand_list_check(const tamis_device *device, const tamis_options *o, const tamis_operand_list *x) {
    TRY(tamis_operands_check(device, (const tamis_operand *const[]){&x->a, &x->b, &x->d, &x->out}, 4));
    return o->d_is_b ? tamis_d_is_b_check(x->b.view, x->d.view) : TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ values, workspace */

tamis_status tamis_execution_check_stream(const tamis_device *device, const tamis_execution *execution) {
    if (!execution->stream || device->backend->location == TAMIS_DEVICE) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.stream = %p: %s has none, expected NULL", execution->stream,
                      device->description.name);
}

tamis_status tamis_values_take(const tamis_device *device, const tamis_sparse *S, tamis_type type, int64_t batch,
                               bool needed, tamis_execution *given) {
    const bool own = given->values != NULL;
    if (!own) {
        given->values = S->values;
        given->values_stride = S->batch_stride;
    }
    TRY(tamis_batch_check(own ? "execution.values" : "S.values", batch, given->values_stride, S->offset_base + S->nnz,
                          tamis_type_size(type)));
    if (!own) return TAMIS_OK;
    if (needed && !S->values)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "execution.values is not NULL, but the plan was made with a view without values");
    if ((uintptr_t)given->values % tamis_type_size(type))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.values = %p: expected an address that is a multiple of %zu",
                          given->values, tamis_type_size(type));
    return tamis_device_asks_for_places() && S->nnz > 0
               ? tamis_device_check_place(device, given->values, "execution.values")
               : TAMIS_OK;
}

tamis_status tamis_softmax_rows_check(const tamis_device *device, const tamis_options *options, int64_t rows,
                                      const tamis_execution *given) {
    const size_t size = tamis_type_size(tamis_sum_type(options->type));
    if (!given->softmax_rows) return TAMIS_OK;
    if (!options->keep_softmax)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.softmax_rows = %p: it needs options.keep_softmax",
                          given->softmax_rows);
    if (!device->backend->handles && (uintptr_t)given->softmax_rows % size)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "execution.softmax_rows = %p: expected an address that is a multiple of %zu",
                          given->softmax_rows, size);
    TRY(tamis_batch_check("execution.softmax_rows", options->batch, 2 * rows, 2 * rows, size));
    return tamis_device_asks_for_places() && rows > 0
               ? tamis_device_check_place(device, given->softmax_rows, "execution.softmax_rows")
               : TAMIS_OK;
}

tamis_status tamis_workspace_take(const tamis_device *device, tamis_own_workspace *own, size_t bytes, const char *asked,
                                  tamis_execution *given, tamis_borrowed_workspace *workspace) {
    const tamis_backend *const backend = device->backend;
    *workspace = (tamis_borrowed_workspace){.borrowed = NULL};
    if (given->workspace && !backend->handles && (uintptr_t)given->workspace % 64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.workspace = %p is not aligned to 64 bytes",
                          given->workspace);
    if (bytes == 0) return TAMIS_OK;
    if (given->workspace) {
        if (given->workspace_bytes >= bytes)
            return tamis_device_asks_for_places()
                       ? tamis_device_check_place(device, given->workspace, "execution.workspace")
                       : TAMIS_OK;
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.workspace_bytes = %zu is less than the %zu that %s returns",
                          given->workspace_bytes, bytes, asked);
    }
    if (!own)
        return tamis_fail(
            TAMIS_ERROR_ARGUMENT,
            "execution.workspace = NULL: the plan has options.no_workspace, so each execution must supply %zu bytes",
            bytes);
    given->workspace = own->memory;
    if (backend->location == TAMIS_DEVICE) return TAMIS_OK;
    if (!atomic_exchange(&own->busy, true)) {
        workspace->borrowed = own;
        return TAMIS_OK;
    }
    workspace->source = own->source;
    tamis_memory_source *const before = tamis_memory_source_enter(workspace->source);
    const tamis_status status =
        backend->allocate(device->handle, TAMIS_ALL_STREAMS, bytes, "a workspace", &workspace->owned);
    tamis_memory_source_leave(before);
    TRY(status);
    given->workspace = workspace->owned;
    return TAMIS_OK;
}

void tamis_workspace_give_back(const tamis_device *device, const tamis_borrowed_workspace *workspace) {
    if (workspace->borrowed) atomic_store(&workspace->borrowed->busy, false);
    if (!workspace->owned) return;
    tamis_memory_source *const before = tamis_memory_source_enter(workspace->source);
    device->backend->release_memory(device->handle, TAMIS_ALL_STREAMS, workspace->owned);
    tamis_memory_source_leave(before);
}

/* ------------------------------------------------------------------------------------------ members of a batch */

static tamis_place member_of(const operand *x, int64_t member) {
    const tamis_dense *const view = x->view;
    const int64_t bytes = (x->skip + member * view->batch_stride) * (int64_t)tamis_type_size(view->type);
    return (tamis_place){view->data, view->data ? bytes : 0};
}

static tamis_place in_workspace(const run *r, int64_t offset) { return (tamis_place){r->given.workspace, offset}; }

static bool is_empty(const operand *x) { return x->rows == 0 || x->cols == 0; }

/* A place of the workspace for member `number` of the members under way. */
static tamis_place staged_of(const run *r, const operand *x, int64_t number) {
    return in_workspace(r, x->staged + number * x->staged_stride * (int64_t)tamis_type_size(x->type));
}

static tamis_status transpose(const run *r, const operand *x, int64_t first, int64_t count, bool out) {
    const tamis_plan *const plan = r->plan;
    if (is_empty(x)) return TAMIS_OK; /* its other dimension may be any number */
    const tamis_transposition t = {.type = x->type,
                                   .threads = plan->options.threads,
                                   .packed = staged_of(r, x, 0),
                                   .strided = member_of(x, first),
                                   .stride = tamis_dense_stride(x->view),
                                   .rows = x->rows,
                                   .cols = x->cols,
                                   .members = count,
                                   .packed_step = x->staged_stride,
                                   .strided_step = x->view->batch_stride,
                                   .out = out};
    return plan->device->backend->transpose(plan->device->handle, r->given.stream, &t);
}

/* Gathers the nonempty rows of A into the workspace. */
static tamis_status gather(const run *r, const operand *x, int64_t first, int64_t count) {
    const tamis_plan *const plan = r->plan;
    if (is_empty(x)) return TAMIS_OK;
    for (int64_t i = 0; i < count; i++) {
        const tamis_gathering g = {.type = x->type,
                                   .threads = plan->options.threads,
                                   .layout = x->layout,
                                   .from = member_of(x, first + i),
                                   .to = staged_of(r, x, i),
                                   .stride = tamis_dense_stride(x->view),
                                   .to_stride = x->cols,
                                   .cols = x->cols,
                                   .count = plan->problem.rows,
                                   .rows = plan->order.rows};
        TRY(plan->device->backend->gather(plan->device->handle, r->given.stream, &g));
    }
    return TAMIS_OK;
}

/* The operand in place, or where it is staged in the workspace. */
static tamis_matrix matrix_of(const run *r, const operand *x, int64_t member) {
    if (x->staged >= 0)
        return (tamis_matrix){staged_of(r, x, 0), x->cols, x->view->batch_stride ? x->staged_stride : 0};
    return (tamis_matrix){member_of(x, member), tamis_dense_stride(x->view), x->view->batch_stride};
}

/* Makes an operand available to kernels: in place, or transposed or gathered into the workspace. */
static tamis_status bring_in(const run *r, const operand *x, int64_t member, int64_t count, tamis_matrix *to) {
    const bool shared = x->staged >= 0 && x->view->batch_stride == 0;
    *to = matrix_of(r, x, member);
    if (x->staged < 0) return TAMIS_OK;
    if (shared && member != 0) return TAMIS_OK; /* the whole batch has one, which is staged once */
    if (x == &r->x.a && r->plan->order.rows) return gather(r, x, member, shared ? 1 : count);
    return transpose(r, x, member, shared ? 1 : count, false);
}

/* Copies `count` members between the caller's order of entries and the plan's. */
static tamis_status permute(const run *r, tamis_type type, int64_t count, const tamis_matrix *packed,
                            const tamis_matrix *scattered, bool out) {
    const tamis_plan *const plan = r->plan;
    const tamis_permutation p = {.type = type,
                                 .threads = plan->options.threads,
                                 .nnz = plan->problem.nnz,
                                 .members = count,
                                 .packed_step = packed->batch_stride,
                                 .scattered_step = scattered->batch_stride,
                                 .permutation = plan->order.permutation,
                                 .packed = packed->at,
                                 .scattered = scattered->at,
                                 .out = out};
    return plan->device->backend->permute(plan->device->handle, r->given.stream, &p);
}

static tamis_status bring_values(const run *r, int64_t member, tamis_operands *x) {
    const tamis_plan *const plan = r->plan;
    const tamis_type type = plan->problem.value_type;
    const int64_t stride = r->given.values_stride;
    const int64_t first = r->skip_values + member * stride + plan->pattern.offset_base;
    const tamis_matrix given = {.at = {(void *)(uintptr_t)r->given.values, first * (int64_t)tamis_type_size(type)},
                                .batch_stride = stride};
    if (!r->given.values || !tamis_plan_needs_values(plan)) return TAMIS_OK;
    const bool in_order = !plan->order.permutation || (plan->own_values && r->given.values == plan->pattern.values);
    x->values = given;
    if (in_order) return TAMIS_OK;
    x->values = (tamis_matrix){.at = in_workspace(r, plan->staging.values.at),
                               .batch_stride = stride ? plan->staging.values.stride : 0};
    return permute(r, type, stride ? x->batch : 1, &x->values, &given, false);
}

/* Sets where the kernels write. If beta is not 0, first copies the old content there. */
static tamis_status bring_output(const run *r, int64_t member, tamis_operands *x) {
    const tamis_plan *const plan = r->plan;
    const bool before = r->given.beta != 0;
    x->out = matrix_of(r, &r->x.out, member);
    if (plan->options.operation != TAMIS_OP_SDDMM)
        return before && r->x.out.staged >= 0 ? transpose(r, &r->x.out, member, x->batch, false) : TAMIS_OK;
    x->out.stride = 0; /* a vector */
    if (!plan->order.permutation) return TAMIS_OK;
    const tamis_matrix samples = x->out;
    x->out =
        (tamis_matrix){.at = in_workspace(r, plan->staging.samples.at), .batch_stride = plan->staging.samples.stride};
    return before ? permute(r, r->x.out.type, x->batch, &x->out, &samples, false) : TAMIS_OK;
}

static tamis_status take_output(const run *r, int64_t member, const tamis_operands *x) {
    if (r->plan->options.operation != TAMIS_OP_SDDMM)
        return r->x.out.staged >= 0 ? transpose(r, &r->x.out, member, x->batch, true) : TAMIS_OK;
    if (!r->plan->order.permutation) return TAMIS_OK;
    const tamis_matrix samples = matrix_of(r, &r->x.out, member);
    return permute(r, r->x.out.type, x->batch, &x->out, &samples, true);
}

static tamis_place softmax_rows_of(const run *r, int64_t member) {
    const int64_t size = (int64_t)tamis_type_size(tamis_sum_type(r->plan->options.type));
    void *const given = r->given.softmax_rows;
    return (tamis_place){given, given ? member * 2 * r->plan->problem.rows * size : 0};
}

/* Runs `count` members of the batch from `member` on. */
static tamis_status run_members(const run *r, int64_t member, int64_t count) {
    const tamis_plan *const plan = r->plan;
    const tamis_operation operation = plan->options.operation;
    tamis_operands x = {.batch = count,
                        .first_member = member,
                        .named = r->named.at,
                        .permutation = plan->order.permutation,
                        .alpha = r->given.alpha,
                        .beta = r->given.beta,
                        .scratch = in_workspace(r, plan->staging.scratch),
                        .scratch_batch_stride = plan->staging.scratch_batch_stride,
                        .softmax_rows = softmax_rows_of(r, member)};
    if (operation != TAMIS_OP_SPMM) TRY(bring_in(r, &r->x.a, member, count, &x.a));
    TRY(bring_in(r, &r->x.b, member, count, &x.b));
    if (operation == TAMIS_OP_FUSED && !r->d_is_b) TRY(bring_in(r, &r->x.d, member, count, &x.d));
    if (r->d_is_b) x.d = x.b; /* backends detect it by comparing the two */
    TRY(bring_values(r, member, &x));
    TRY(bring_output(r, member, &x));
    TRY(plan->device->backend->execute(r->prepared, r->given.stream, &x));
    return take_output(r, member, &x);
}

/* True if a member writes nothing: a batch of such members has nothing to do, however many there are. */
static bool writes_nothing(const run *r) {
    const bool no_rows = tamis_plan_rows(r->plan) == 0;
    return (r->x.out.rows == 0 || r->x.out.cols == 0) && (no_rows || !r->given.softmax_rows);
}

/* ------------------------------------------------------------------------------------------ entry points */

tamis_status tamis_plan_check_operation(const tamis_plan *plan, tamis_operation operation) {
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_plan_create");
    if (plan->options.operation == operation) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan was made for %s: it cannot execute %s",
                      tamis_operation_name(plan->options.operation), tamis_operation_name(operation));
}

static void place(tamis_operand *x, const tamis_staged *staged) {
    x->staged = staged->at;
    x->staged_stride = staged->stride;
}

static void describe_operands(const tamis_views *views, run *r) {
    const tamis_problem *const p = &r->plan->problem;
    const tamis_staging *const s = &r->plan->staging;
    r->x = tamis_operands_of(&r->plan->options, tamis_plan_rows(r->plan), p->cols, p->nnz, views);
    place(&r->x.a, &s->a);
    place(&r->x.b, &s->b);
    place(&r->x.d, &s->d);
    place(&r->x.out, &s->out);
    r->skip_values = views->skip_values;
}

static tamis_status take_named(run *r) {
    const tamis_named_request request = tamis_named_of_plan(r->plan);
    return tamis_named_take(&request, &r->given, (const tamis_operand *const[]){&r->x.out}, 1, &r->named);
}

/* Checks everything, and acquires the workspace. */
static tamis_status prepare_run(run *r, const tamis_plan *plan, tamis_operation operation, const tamis_views *views,
                                const tamis_execution *execution) {
    r->plan = plan;
    r->prepared = plan ? plan->prepared : NULL;
    TRY(tamis_plan_check_operation(plan, operation));
    TRY(tamis_execution_read(execution, &r->given));
    TRY(tamis_execution_check_stream(plan->device, &r->given));
    describe_operands(views, r);
    if (!views->checked) TRY(tamis_operand_list_check(plan->device, &plan->options, &r->x));
    TRY(take_named(r));
    r->d_is_b =
        operation == TAMIS_OP_FUSED && views->skip_d == views->skip_b && tamis_dense_same(r->x.b.view, r->x.d.view);
    TRY(tamis_values_take(plan->device, &plan->pattern, plan->problem.value_type, plan->options.batch,
                          tamis_plan_needs_values(plan), &r->given));
    TRY(tamis_softmax_rows_check(plan->device, &plan->options, plan->problem.rows, &r->given));
    return tamis_workspace_take(plan->device, plan->own, plan->workspace_bytes, "tamis_plan_workspace_size", &r->given,
                                &r->workspace);
}

tamis_status tamis_plan_check_run(const tamis_plan *plan, tamis_operation operation, const tamis_views *views,
                                  const tamis_execution *execution) {
    run r = {.plan = NULL};
    TRY(prepare_run(&r, plan, operation, views, execution));
    tamis_workspace_give_back(plan->device, &r.workspace);
    return TAMIS_OK;
}

static tamis_status run_all(const run *r) {
    const int64_t batch = writes_nothing(r) ? 0 : r->plan->options.batch, at_once = r->plan->staging.at_once;
    for (int64_t member = 0; member < batch; member += at_once)
        TRY(run_members(r, member, batch - member < at_once ? batch - member : at_once));
    return TAMIS_OK;
}

/* The first executions take turns between two algorithms, on the host, where an execution ends with its call. */
static tamis_status run_turn(run *r) {
    const tamis_turn turn = tamis_turns_begin(r->plan->turns);
    r->prepared = turn.prepared;
    const double start = turn.counts ? tamis_clock_seconds() : 0;
    const tamis_status status = run_all(r);
    tamis_turns_end(r->plan->turns, &turn, turn.counts && status == TAMIS_OK ? tamis_clock_seconds() - start : 0);
    return status;
}

tamis_status tamis_plan_run(const tamis_plan *plan, tamis_operation operation, const tamis_views *views,
                            const tamis_execution *execution) {
    tamis_status status = TAMIS_OK;
    run r = {.plan = NULL};
    TRY(prepare_run(&r, plan, operation, views, execution));
    status = plan->turns && !writes_nothing(&r) ? run_turn(&r) : run_all(&r);
    tamis_workspace_give_back(plan->device, &r.workspace);
    return status;
}

tamis_status tamis_plan_sddmm(const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B, const tamis_dense *P,
                              const tamis_execution *execution) {
    const tamis_views views = {.A = A, .B = B, .out = P};
    tamis_clear_error();
    return tamis_plan_run(plan, TAMIS_OP_SDDMM, &views, execution);
}

tamis_status tamis_plan_spmm(const tamis_plan *plan, const tamis_dense *B, const tamis_dense *C,
                             const tamis_execution *execution) {
    const tamis_views views = {.B = B, .out = C};
    tamis_clear_error();
    return tamis_plan_run(plan, TAMIS_OP_SPMM, &views, execution);
}

tamis_status tamis_plan_fused(const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                              const tamis_dense *E, const tamis_execution *execution) {
    const tamis_views views = {.A = A, .B = B, .D = D, .out = E};
    tamis_clear_error();
    return tamis_plan_run(plan, TAMIS_OP_FUSED, &views, execution);
}
