/*
 * Making a plan: check, bring to CSR, profile, choose, prepare, allocate. Everything that can fail fails here;
 * executions only check their operands.
 */
#include "core/plan.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "select/ceilings.h"
#include "sparse/check.h"

static tamis_status check_view(const tamis_device *device, const tamis_sparse *S, const tamis_plan_options *options) {
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "S = NULL: a sparse matrix is needed");
    TRY(tamis_sparse_check(S, "S"));
    TRY(tamis_device_check_location(device, S->location, "S"));
    if (S->values && S->value_type != options->type)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "S.value_type = %s, but options.type = %s: convert one of them",
                          tamis_type_name(S->value_type), tamis_type_name(options->type));
    return TAMIS_OK;
}

static bool needs_values(const tamis_plan *plan) {
    return plan->options.operation == TAMIS_OP_SPMM || plan->options.edge != TAMIS_EDGE_MASK;
}

/* Reserves a 64-byte aligned place behind what is there. */
static tamis_status reserve(int64_t *total, int64_t count, size_t size, int64_t *offset) {
    int64_t bytes;
    if (__builtin_mul_overflow(count, (int64_t)size, &bytes) || __builtin_add_overflow(bytes, 63, &bytes) ||
        __builtin_add_overflow(*total, bytes / 64 * 64, &bytes))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "the workspace for %lld elements of %zu bytes does not fit 64 bits",
                          (long long)count, size);
    *offset = *total;
    *total = bytes;
    return TAMIS_OK;
}

static tamis_status reserve_matrix(int64_t *total, int64_t rows, int64_t cols, size_t size, int64_t *offset) {
    int64_t count;
    if (__builtin_mul_overflow(rows, cols, &count))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%lld x %lld elements do not fit 64 bits", (long long)rows,
                          (long long)cols);
    return reserve(total, count, size, offset);
}

/* Places in the workspace for what executions cannot use where it lies. */
static tamis_status plan_staging(tamis_plan *plan) {
    const tamis_plan_options *const o = &plan->options;
    const tamis_problem *const p = &plan->problem;
    const size_t size = tamis_type_size(o->type);
    const bool spmm = o->operation == TAMIS_OP_SPMM, fused = o->operation == TAMIS_OP_FUSED;
    int64_t total = ((int64_t)plan->sizes.scratch_bytes + 63) / 64 * 64;
    tamis_staging s = {-1, -1, -1, -1, -1, -1, 0};
    if (!spmm && o->a_layout == TAMIS_COLUMN_MAJOR) TRY(reserve_matrix(&total, p->rows, p->inner, size, &s.a));
    if (o->b_layout == TAMIS_COLUMN_MAJOR) TRY(reserve_matrix(&total, p->cols, spmm ? p->width : p->inner, size, &s.b));
    if (fused && o->d_layout == TAMIS_COLUMN_MAJOR) TRY(reserve_matrix(&total, p->cols, p->width, size, &s.d));
    if (o->operation != TAMIS_OP_SDDMM && o->output_layout == TAMIS_COLUMN_MAJOR)
        TRY(reserve_matrix(&total, p->rows, p->width, size, &s.out));
    if (plan->order.permutation) {
        if (needs_values(plan)) TRY(reserve(&total, p->nnz, size, &s.values));
        if (o->operation == TAMIS_OP_SDDMM) TRY(reserve(&total, p->nnz, size, &s.samples));
    }
    s.bytes = total;
    plan->staging = s;
    plan->workspace_bytes = (size_t)total;
    return TAMIS_OK;
}

static tamis_status take_workspace(tamis_plan *plan, const tamis_plan_options *options) {
    if (options->workspace) {
        if (options->workspace_bytes < plan->workspace_bytes)
            return tamis_fail(TAMIS_ERROR_ARGUMENT,
                              "options.workspace_bytes = %zu is less than the %zu that "
                              "tamis_workspace_size says",
                              options->workspace_bytes, plan->workspace_bytes);
        plan->workspace = options->workspace;
        return TAMIS_OK;
    }
    TRY(plan->device->backend->allocate(plan->device->handle, plan->workspace_bytes, "the workspace",
                                        &plan->own_workspace));
    plan->workspace = plan->own_workspace;
    return TAMIS_OK;
}

static void fill_problem(tamis_plan *plan, const tamis_sparse *S) {
    const tamis_plan_options *const o = &plan->options;
    tamis_problem *const p = &plan->problem;
    p->operation = o->operation;
    p->edge = o->edge;
    p->type = o->type;
    p->has_values = S->values != NULL && needs_values(plan);
    p->inner = o->inner;
    p->width = o->width;
    p->edge_scale = o->edge_scale;
    p->edge_slope = o->edge_slope;
    p->edge_epsilon = o->edge_epsilon;
    p->expected_calls = o->expected_calls;
    p->threads = o->threads;
    p->deterministic = o->deterministic;
    p->parameters = o->parameters ? o->parameters : "";
    p->profile = &plan->profile;
    p->ceilings = &plan->ceilings;
    p->device = plan->device->handle;
    p->cache_l1 = plan->device->description.cache_l1;
    p->cache_l2 = plan->device->description.cache_l2;
    p->cache_l3 = plan->device->description.cache_l3;
}

/* Every backend works on CSR: a COO view gets offsets, and columns of its own where its entries are in another order.
 */
static tamis_status take_pattern(tamis_plan *plan) {
    const tamis_sparse *const S = &plan->pattern;
    tamis_problem *const problem = &plan->problem;
    problem->rows = S->rows;
    problem->cols = S->cols;
    problem->nnz = S->nnz;
    problem->index_type = S->index_type;
    problem->columns = S->columns;
    problem->offsets = S->offsets;
    problem->offset_type = S->offset_type;
    if (S->format == TAMIS_CSR) return TAMIS_OK;
    TRY(plan->device->backend->order_rows(plan->device->handle, plan->options.threads, S, &plan->order));
    problem->offsets = plan->order.offsets;
    problem->offset_type = plan->order.offset_type;
    if (plan->order.columns) problem->columns = plan->order.columns;
    return TAMIS_OK;
}

static tamis_status make_ready(tamis_plan *plan) {
    const tamis_staging *const s = &plan->staging;
    const bool transposes = s->a >= 0 || s->b >= 0 || s->d >= 0 || s->out >= 0;
    return plan->device->backend->ready(plan->device->handle, plan->options.type, transposes,
                                        plan->order.permutation != NULL);
}

static tamis_status make(tamis_plan *plan, const tamis_sparse *S, const tamis_plan_options *options,
                         tamis_plan_mode mode) {
    const tamis_device *const device = plan->device;
    TRY(tamis_options_read(options, device, &plan->options));
    /* a one-shot call knows D: its width of 0 means 0 */
    if (plan->options.operation == TAMIS_OP_FUSED && plan->options.width == 0 && !mode.once)
        plan->options.width = plan->options.inner;
    TRY(check_view(device, S, &plan->options));
    if (plan->options.math == TAMIS_MATH_TF32 && plan->options.type != TAMIS_F32)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.math = tf32 needs options.type = fp32, not %s",
                          tamis_type_name(plan->options.type));
    double start = tamis_clock_seconds();
    if (!plan->options.trust_input) TRY(device->backend->validate(device->handle, plan->options.threads, S));
    plan->check_seconds = tamis_clock_seconds() - start;

    tamis_ceilings_get(device->backend, device->number, device->description.threads, !mode.once, &plan->ceilings);
    start = tamis_clock_seconds(); /* the probe runs once a machine and is not this plan's */
    plan->pattern = *S;
    plan->values = S->values;
    plan->values_stride = S->batch_stride;
    fill_problem(plan, S);
    plan->problem.once = mode.once;
    TRY(take_pattern(plan));
    TRY(device->backend->look(&plan->problem, &plan->profile));
    TRY(tamis_choose(device->backend, &plan->problem, plan->options.algorithm, mode.once, &plan->choice));
    TRY(plan->choice.algorithm->prepare(plan->choice.algorithm, &plan->problem, mode.dry, &plan->prepared));
    device->backend->sizes(plan->prepared, &plan->sizes);
    TRY(plan_staging(plan));
    if (!mode.dry) TRY(take_workspace(plan, &plan->options));
    if (!mode.dry) TRY(make_ready(plan));
    plan->options.algorithm = plan->options.parameters = NULL;
    plan->problem.parameters = "";
    plan->setup_seconds = tamis_clock_seconds() - start;
    return TAMIS_OK;
}

void tamis_plan_release(tamis_plan *plan) {
    if (!plan) return;
    const tamis_backend *const backend = plan->device->backend;
    void *const handle = plan->device->handle;
    if (plan->prepared) backend->release(plan->prepared);
    backend->release_memory(handle, plan->order.offsets);
    backend->release_memory(handle, plan->order.columns);
    backend->release_memory(handle, plan->order.permutation);
    backend->release_memory(handle, plan->own_workspace);
    backend->release_memory(handle, plan->own_values);
    tamis_release(plan);
}

tamis_status tamis_plan_make(tamis_device *device, const tamis_sparse *S, const tamis_plan_options *options,
                             tamis_plan_mode mode, tamis_plan **plan) {
    tamis_status status = TAMIS_OK;
    tamis_plan *made = NULL;
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a plan", (void **)&made));
    made->device = device;
    TRY_GOTO(failed, make(made, S, options, mode));
    *plan = made;
    return TAMIS_OK;
failed:
    tamis_plan_release(made);
    return status;
}

tamis_status tamis_plan_create(tamis_device *device, const tamis_sparse *S, const tamis_plan_options *options,
                               tamis_plan **plan) {
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: where to put the result");
    *plan = NULL;
    return tamis_plan_make(device, S, options, (tamis_plan_mode){false, false}, plan);
}

void tamis_plan_destroy(tamis_plan *plan) { tamis_plan_release(plan); }

tamis_status tamis_workspace_size(tamis_device *device, const tamis_sparse *S, const tamis_plan_options *options,
                                  size_t *bytes) {
    tamis_plan *plan = NULL;
    tamis_clear_error();
    if (!bytes) return tamis_fail(TAMIS_ERROR_ARGUMENT, "bytes = NULL: where to put the result");
    TRY(tamis_plan_make(device, S, options, (tamis_plan_mode){false, true}, &plan));
    *bytes = plan->workspace_bytes;
    tamis_plan_release(plan);
    return TAMIS_OK;
}

/* Kernels of a GPU were compiled to read values or not to. What leaves the result as if there were none: ones, and of
   softmax, to which values are a bias, zeros. */
static tamis_status make_own_values(tamis_plan *plan) {
    enum { PIECE = 1 << 14 };
    const tamis_backend *const backend = plan->device->backend;
    const tamis_type type = plan->options.type;
    const size_t size = tamis_type_size(type);
    const int64_t nnz = plan->problem.nnz;
    if (plan->own_values || nnz == 0) return TAMIS_OK;
    const double one = plan->options.operation != TAMIS_OP_SPMM && plan->options.edge == TAMIS_EDGE_SOFTMAX ? 0 : 1;
    const float single = (float)one;
    const uint16_t half = type == TAMIS_F16 ? tamis_f16_from_f32(single) : tamis_bf16_from_f32(single);
    const void *const element = type == TAMIS_F64   ? (const void *)&one
                                : type == TAMIS_F32 ? (const void *)&single
                                                    : (const void *)&half;
    const int64_t count = nnz < PIECE ? nnz : PIECE;
    void *made = NULL;
    char *piece = NULL;
    tamis_status status;
    TRY_GOTO(done, tamis_allocate(count, size, "values of a pattern", (void **)&piece));
    for (int64_t i = 0; i < count; i++) memcpy(piece + (size_t)i * size, element, size);
    TRY_GOTO(done, backend->allocate(plan->device->handle, (size_t)nnz * size, "values of a pattern", &made));
    for (int64_t at = 0; at < nnz; at += count) {
        const tamis_place to = {made, at * (int64_t)size};
        const int64_t left = nnz - at;
        TRY_GOTO(done,
                 backend->copy_in(plan->device->handle, NULL, to, piece, (size_t)(left < count ? left : count) * size));
    }
    plan->own_values = made;
    made = NULL;
done:
    backend->release_memory(plan->device->handle, made);
    tamis_release(piece);
    return status;
}

tamis_status tamis_plan_set_values(tamis_plan *plan, const void *values, int64_t batch_stride) {
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_plan_create");
    if (batch_stride < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "batch_stride = %lld is negative", (long long)batch_stride);
    const bool compiled = needs_values(plan) && plan->device->backend->location == TAMIS_DEVICE;
    if (compiled && values && !plan->problem.has_values)
        return tamis_fail(
            TAMIS_ERROR_ARGUMENT,
            "values is not NULL: on a GPU a plan that was made without values keeps to that; make another plan");
    if (compiled && !values && plan->problem.has_values) {
        TRY(make_own_values(plan));
        values = plan->own_values;
        batch_stride = 0;
    }
    plan->values = values;
    plan->values_stride = batch_stride;
    return TAMIS_OK;
}
