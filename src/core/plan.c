/*
 * Making a plan: check, convert to CSR, profile, choose, prepare, allocate. Everything that can fail fails here;
 * executions only check their operands.
 */
#include "core/plan.h"

#include <string.h>

#include "base/c_locale.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "core/destroy.h"
#include "core/options.h"
#include "core/unlisted.h"
#include "select/ceilings.h"
#include "select/measure.h"
#include "sparse/check.h"
#include "sparse/mask_runs.h"
#include "sparse/structure.h"

tamis_status tamis_plan_check_places(const tamis_device *device, const tamis_sparse *S) {
    if (S->format == TAMIS_CSR) TRY(tamis_device_check_place(device, S->offsets, "S.offsets"));
    if (S->nnz == 0) return TAMIS_OK;
    if (S->format == TAMIS_COO) TRY(tamis_device_check_place(device, S->row_indices, "S.row_indices"));
    TRY(tamis_device_check_place(device, S->columns, "S.columns"));
    return tamis_device_check_place(device, S->values, "S.values");
}

tamis_status tamis_plan_check_view(const tamis_device *device, const tamis_sparse *S, const tamis_options *options) {
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "S = NULL: expected a sparse matrix");
    TRY(tamis_sparse_check_unlisted(S, "S"));
    TRY(tamis_device_check_location(device, S->location, "S"));
    if (tamis_is_unlisted(S)) TRY(tamis_unlisted_check(device, options->stream, S, options->trust_input));
    const bool wide =
        options->operation == TAMIS_OP_SPMM && S->value_type == TAMIS_F32 && tamis_type_size(options->type) == 2;
    if (S->values && S->value_type != options->type && !wide)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "S.value_type = %s, but options.type = %s: convert one of them",
                          tamis_type_name(S->value_type), tamis_type_name(options->type));
    return TAMIS_OK;
}

tamis_status tamis_workspace_reserve(int64_t *total, int64_t count, size_t size, int64_t *offset) {
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
    return tamis_workspace_reserve(total, count, size, offset);
}

static bool transposes(const tamis_staging *s) {
    return s->a.at >= 0 || s->b.at >= 0 || s->d.at >= 0 || s->out.at >= 0;
}

/* Lists the operands that kernels cannot use in place, and the bytes of a member of all of them. */
static tamis_status list_staged(tamis_plan *plan) {
    const tamis_options *const o = &plan->options;
    tamis_problem *const p = &plan->problem;
    tamis_staging *const s = &plan->staging;
    const bool sddmm = o->operation == TAMIS_OP_SDDMM, spmm = o->operation == TAMIS_OP_SPMM;
    const bool fused = o->operation == TAMIS_OP_FUSED, permutes = plan->order.permutation != NULL;
    const struct {
        tamis_staged *place;
        int64_t rows, cols;
        tamis_type type;
        bool is_staged;
    } all[] = {
        {&s->a, p->rows, p->inner, o->type, !spmm && (o->a_layout == TAMIS_COLUMN_MAJOR || plan->order.rows)},
        {&s->b, p->cols, spmm ? p->width : p->inner, o->type, o->b_layout == TAMIS_COLUMN_MAJOR},
        {&s->d, p->cols, p->width, o->type, fused && !o->d_is_b && o->d_layout == TAMIS_COLUMN_MAJOR},
        {&s->out, p->rows, p->width, o->output_type, !sddmm && o->output_layout == TAMIS_COLUMN_MAJOR},
        {&s->values, p->nnz, 1, p->value_type, permutes && tamis_plan_needs_values(plan)},
        {&s->samples, p->nnz, 1, o->output_type, permutes && sddmm},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t size = tamis_type_size(all[i].type);
        const int64_t before = p->staged_bytes;
        *all[i].place = (tamis_staged){-1, 0};
        if (!all[i].is_staged) continue;
        TRY(reserve_matrix(&p->staged_bytes, all[i].rows, all[i].cols, size, &all[i].place->at));
        all[i].place->stride = (p->staged_bytes - before) / (int64_t)size;
    }
    return TAMIS_OK;
}

/* Lays out the workspace for as many members of the batch as a call of the backend computes. */
static tamis_status lay_out_workspace(tamis_plan *plan) {
    const tamis_options *const o = &plan->options;
    enum { PLACES = 6 };
    tamis_staging *const s = &plan->staging;
    const int64_t scratch = ((int64_t)plan->sizes.scratch_bytes + 63) / 64 * 64;
    int64_t total = 0, place;
    TRY(tamis_bytes_check(plan->sizes.scratch_bytes, "an algorithm's scratch"));
    s->at_once = tamis_members_at_once(&plan->sizes, &plan->problem);
    TRY(tamis_workspace_reserve(&total, s->at_once, (size_t)plan->problem.staged_bytes, &place));
    tamis_staged *const all[PLACES] = {&s->a, &s->b, &s->d, &s->out, &s->values, &s->samples};
    for (int i = 0; i < PLACES; i++)
        if (all[i]->at >= 0) all[i]->at *= s->at_once;
    s->scratch_batch_stride = plan->sizes.own_scratch ? scratch : 0;
    TRY(tamis_workspace_reserve(&total, plan->sizes.own_scratch ? s->at_once : 1, (size_t)scratch, &s->scratch));
    if (o->operation == TAMIS_OP_SDDMM) { /* tamis_plan_edge uses the workspace from its start */
        int64_t parts = 0, start;
        TRY(tamis_workspace_reserve(&parts, o->batch, (size_t)tamis_edge_scratch(o->edge, plan->problem.nnz), &start));
        total = parts > total ? parts : total;
    }
    s->bytes = total;
    plan->workspace_bytes = (size_t)total;
    return TAMIS_OK;
}

tamis_status tamis_own_workspace_make(const tamis_device *device, void *stream, tamis_memory_source *source,
                                      const char *what, size_t bytes, tamis_own_workspace **own) {
    TRY(tamis_allocate_zeroed(1, sizeof **own, what, (void **)own));
    atomic_init(&(*own)->busy, false);
    (*own)->source = source;
    return device->backend->allocate(device->handle, stream, bytes, "the workspace", &(*own)->memory);
}

void tamis_own_workspace_release(const tamis_device *device, void *stream, tamis_own_workspace *own) {
    if (own) device->backend->release_memory(device->handle, stream, own->memory);
    tamis_release(own);
}

static tamis_status take_workspace(tamis_plan *plan) {
    if (plan->options.no_workspace || plan->workspace_bytes == 0) return TAMIS_OK;
    return tamis_own_workspace_make(plan->device, tamis_kept_stream(&plan->problem), plan->source, "a plan's workspace",
                                    plan->workspace_bytes, &plan->own);
}

tamis_problem tamis_problem_of(const tamis_device *device, const tamis_options *o, const tamis_edge_text *text,
                               tamis_evidence *evidence) {
    evidence->expected_calls = o->expected_calls;
    evidence->cache_l1 = device->description.cache_l1;
    evidence->cache_l2 = device->description.cache_l2;
    evidence->cache_l3 = device->description.cache_l3;
    return (tamis_problem){.operation = o->operation,
                           .edge = o->edge,
                           .type = o->type,
                           .value_type = o->type,
                           .output_type = o->output_type,
                           .inner = o->inner,
                           .width = o->width,
                           .edge_constants = tamis_edge_constants_of(o, text),
                           .batch = o->batch,
                           .keep_softmax = o->keep_softmax,
                           .d_is_b = o->d_is_b,
                           .threads = o->threads,
                           .deterministic = !o->any_order,
                           .math = o->math,
                           .parameters = o->parameters ? o->parameters : "",
                           .evidence = evidence,
                           .backend = device->backend,
                           .device = device->handle,
                           .stream = o->stream};
}

/* Makes the entries of a part the permutation of values and samples, as for a COO. */
static tamis_status take_entries(tamis_plan *plan) {
    const tamis_backend *const backend = plan->device->backend;
    const size_t bytes = tamis_bytes(plan->problem.nnz, sizeof(int64_t));
    void *const handle = plan->device->handle;
    if (bytes == 0) return TAMIS_OK;
    TRY(backend->allocate(handle, tamis_kept_stream(&plan->problem), bytes, "the entries of a part",
                          &plan->order.permutation));
    return backend->copy_in(handle, plan->options.stream, (tamis_place){plan->order.permutation, 0},
                            plan->part->entries, bytes);
}

/* Every backend uses CSR with offsets from 0. For COO, a slice of rows and the transpose the plan makes offsets, and
   also columns if the entries are in another order. SDDMM only needs nonempty rows. */
static tamis_status take_pattern(tamis_plan *plan) {
    const tamis_sparse *const S = &plan->pattern;
    const bool transpose = plan->options.transpose;
    tamis_problem *const problem = &plan->problem;
    problem->rows = transpose ? S->cols : S->rows;
    problem->cols = transpose ? S->rows : S->cols;
    problem->nnz = S->nnz;
    problem->index_type = S->index_type;
    problem->columns = S->columns;
    problem->offsets = S->offsets;
    problem->offset_type = S->offset_type;
    problem->mask = tamis_is_unlisted(S) ? S->mask : NULL;
    if (plan->part) return take_entries(plan);
    /* samples do not depend on rows, but kept softmax states do, and texts that read the row */
    problem->lists_rows =
        problem->operation == TAMIS_OP_SDDMM && !problem->keep_softmax && !tamis_edge_text_reads_row(plan->edge_text);
    if (S->format == TAMIS_CSR && S->offset_base == 0 && !transpose) return TAMIS_OK;
    TRY(plan->device->backend->order_rows(problem, S, transpose, &plan->order));
    if (S->format == TAMIS_COO) problem->unchecked = false;
    problem->offsets = plan->order.offsets;
    problem->offset_type = plan->order.offset_type;
    problem->columns = plan->order.columns;
    if (plan->order.rows) problem->rows = plan->order.row_count;
    return TAMIS_OK;
}

static tamis_status list_columns(tamis_plan *plan) {
    TRY(tamis_unlisted_list(plan->device, plan->options.stream, tamis_kept_stream(&plan->problem),
                            plan->options.threads, &plan->pattern, &plan->columns));
    plan->problem.columns = plan->columns;
    plan->problem.mask = NULL;
    return TAMIS_OK;
}

/* True if the chosen algorithm may need no list of the columns of S, which has a mask. */
static bool may_stay_unlisted(const tamis_plan *plan, const tamis_sparse *S) {
    const tamis_options *const o = &plan->options;
    return plan->device->backend->unlisted && tamis_mask_has_runs(S->mask) && !plan->problem.once && !plan->part &&
           !plan->beside && o->operation == TAMIS_OP_FUSED && tamis_is_softmax(o) && !S->values && !o->transpose &&
           o->effort != TAMIS_EFFORT_MEASURE;
}

static tamis_status make_ready(tamis_plan *plan) {
    const tamis_backend *const backend = plan->device->backend;
    void *const handle = plan->device->handle;
    const tamis_staging *const s = &plan->staging;
    TRY(backend->ready(handle, plan->options.type, transposes(s), plan->order.permutation != NULL));
    if (plan->order.permutation && plan->problem.value_type != plan->options.type)
        TRY(backend->ready(handle, plan->problem.value_type, false, true));
    if (plan->options.output_type == plan->options.type) return TAMIS_OK;
    return backend->ready(handle, plan->options.output_type, s->out.at >= 0, s->samples.at >= 0);
}

/* Checks the pattern now, unless order_rows or profile checks it later anyway. */
static tamis_status check_pattern(tamis_plan *plan, const tamis_sparse *S) {
    const tamis_options *const o = &plan->options;
    const tamis_backend *const backend = plan->device->backend;
    plan->problem.may_guess = plan->problem.once && (!o->algorithm || strcmp(o->algorithm, "auto") == 0);
    if (o->trust_input) return TAMIS_OK;
    plan->problem.unchecked = backend->checks_while_profiling && !o->transpose;
    return plan->problem.unchecked ? TAMIS_OK : backend->validate(plan->device->handle, o->stream, o->threads, S);
}

static tamis_status prepare(tamis_plan *plan) {
    const tamis_options *const o = &plan->options;
    const tamis_device *const device = plan->device;
    const bool waits = plan->edge_text && plan->edge_text->value.arrays > 0; /* for arrays, which executions have */
    if (o->effort == TAMIS_EFFORT_MEASURE && !waits && !plan->problem.once &&
        plan->choice.chosen_by != TAMIS_CHOSEN_NAMED)
        return tamis_choose_measured(&plan->problem, &device->description, plan->beside ? &plan->beside->rival : NULL,
                                     &plan->choice, &plan->prepared);
    return device->backend->prepare(plan->choice.algorithm, &plan->problem, &plan->prepared);
}

/* Number of threads: at most the device's setting, but only as many as have enough rows of B and D to read to be worth
   waking. */
static int worthwhile_threads(const tamis_options *o, int64_t nnz) {
    enum { THREAD_BYTES = 128 << 10 };
    const double row_bytes = (double)(o->inner + o->width + 2) * (double)tamis_type_size(o->type);
    const double worthwhile = (double)nnz * (double)o->batch * row_bytes / THREAD_BYTES;
    return worthwhile < 1 ? 1 : worthwhile < o->threads ? (int)worthwhile : o->threads;
}

static tamis_status make(tamis_plan *plan, const tamis_sparse *S, const tamis_options *options, bool once) {
    const tamis_device *const device = plan->device;
    TRY(tamis_options_read(options, device, &plan->options));
    TRY(tamis_device_check_stream(device, plan->options.stream));
    if (device->backend->check_stream) TRY(device->backend->check_stream(device->handle, plan->options.stream));
    TRY(tamis_plan_check_view(device, S, &plan->options));
    if (options->threads == 0 && device->backend->location == TAMIS_HOST)
        plan->options.threads = worthwhile_threads(&plan->options, S->nnz);
    TRY(tamis_edge_text_make(&plan->options, &plan->edge_text));
    plan->options.edge = tamis_edge_of_text(plan->edge_text, plan->options.edge);
    plan->problem = tamis_problem_of(device, &plan->options, plan->edge_text, &plan->evidence);
    plan->problem.once = once;
    /* a single call that trusts S also trusts its addresses */
    if (!once || !plan->options.trust_input || tamis_device_asks_for_places()) TRY(tamis_plan_check_places(device, S));
    if (tamis_is_unlisted(S) && !plan->options.trust_input)
        TRY(tamis_unlisted_check_offsets(device, plan->options.stream, S));
    plan->pattern = *S;
    if (tamis_is_unlisted(S) && !may_stay_unlisted(plan, S)) TRY(list_columns(plan));
    double start = tamis_clock_seconds();
    if (!tamis_is_unlisted(&plan->pattern)) TRY(check_pattern(plan, &plan->pattern));
    plan->check_seconds = tamis_clock_seconds() - start;

    tamis_ceilings_get(device->backend, device->number, device->description.threads,
                       once ? TAMIS_PROBE_NEVER : TAMIS_PROBE_IF_NEEDED, &plan->evidence.ceilings, plan->evidence.rates,
                       &plan->evidence.rates_source);
    start = tamis_clock_seconds(); /* the probe runs once per machine and does not count as set-up */
    if (S->values) plan->problem.value_type = S->value_type;
    const bool has_values = plan->beside ? plan->beside->has_values : S->values != NULL;
    plan->problem.has_values = has_values && tamis_plan_needs_values(plan) &&
                               (!plan->edge_text || tamis_edge_text_reads(plan->edge_text, TAMIS_STEP_S));
    TRY(take_pattern(plan));
    TRY(list_staged(plan));
    TRY(device->backend->profile(&plan->problem, &plan->evidence));
    TRY(tamis_choose(device->backend, &plan->problem, plan->options.algorithm, once, &plan->choice));
    if (plan->problem.mask && !device->backend->unlisted(plan->choice.algorithm, &plan->problem))
        TRY(list_columns(plan));
    TRY(prepare(plan));
    if (!plan->prepared) return TAMIS_OK; /* the rival is faster */
    device->backend->sizes(plan->prepared, &plan->sizes);
    if (plan->options.effort != TAMIS_EFFORT_MEASURE)
        tamis_turns_make(&plan->problem, &plan->choice, &plan->prepared, &plan->sizes, &plan->turns);
    TRY(lay_out_workspace(plan));
    TRY(take_workspace(plan));
    TRY(make_ready(plan));
    /* executions may use streams that do not wait for this one */
    if (!once) TRY(device->backend->finish(device->handle, plan->options.stream));
    plan->options.algorithm = plan->options.parameters = plan->options.edge_text = NULL;
    plan->options.edge_numbers = NULL;
    plan->unlisted = plan->problem.mask != NULL;
    plan->pattern.mask = plan->problem.mask = NULL; /* the caller's */
    plan->problem.parameters = "";
    tamis_profile_add_empty(&plan->evidence.profile, tamis_plan_rows(plan) - plan->problem.rows);
    plan->setup_seconds = tamis_clock_seconds() - start - plan->choice.measuring_seconds;
    return TAMIS_OK;
}

void tamis_plan_release(tamis_plan *plan) {
    if (!plan) return;
    tamis_memory_source *const before = tamis_memory_source_enter(plan->source);
    void *const kept = tamis_kept_stream(&plan->problem);
    if (plan->prepared) plan->device->backend->release(plan->prepared);
    tamis_turns_free(plan->turns);
    tamis_row_order_release(plan->device, kept, &plan->order);
    plan->device->backend->release_memory(plan->device->handle, kept, plan->columns);
    tamis_own_workspace_release(plan->device, kept, plan->own);
    tamis_memory_source_leave(before);
    tamis_memory_source_destroy(plan->source);
    tamis_release(plan->edge_text);
    tamis_release(plan);
}

/* Makes the plan with the caller's allocator in force, and with the C locale, for the texts that it keeps. */
static tamis_status make_from(tamis_plan *plan, const tamis_sparse *S, const tamis_options *options, bool once) {
    TRY(tamis_memory_source_create(options, plan->device->backend->handles, &plan->source));
    tamis_memory_source *const before = tamis_memory_source_enter(plan->source);
    const locale_t locale = tamis_c_locale_enter();
    const tamis_status status = make(plan, S, options, once);
    tamis_c_locale_leave(locale);
    tamis_memory_source_leave(before);
    plan->options.allocator = NULL; /* copied */
    return status;
}

static tamis_status make_new(tamis_device *device, const tamis_sparse *S, const tamis_part *part,
                             const tamis_beside *beside, const tamis_options *options, bool once, tamis_plan **plan) {
    tamis_status status = TAMIS_OK;
    tamis_plan *made = NULL;
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a plan", (void **)&made));
    made->device = device;
    made->part = part;
    made->beside = beside;
    made->own_values = part && part->own_values;
    tamis_destroy_passed(device);
    TRY_GOTO(failed, make_from(made, S, options, once));
    made->part = NULL;
    made->beside = NULL;
    *plan = made;
    return TAMIS_OK;
failed:
    tamis_plan_release(made);
    return status;
}

tamis_status tamis_plan_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options, bool once,
                             tamis_plan **plan) {
    return make_new(device, S, NULL, NULL, options, once, plan);
}

tamis_status tamis_plan_make_part(tamis_device *device, const tamis_sparse *S, const tamis_part *part,
                                  const tamis_options *options, tamis_plan **plan) {
    return make_new(device, S, part, NULL, options, false, plan);
}

tamis_status tamis_plan_make_beside(tamis_device *device, const tamis_sparse *S, const tamis_beside *beside,
                                    const tamis_options *options, tamis_plan **plan) {
    return make_new(device, S, NULL, beside, options, false, plan);
}

tamis_status tamis_plan_create(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                               tamis_plan **plan) {
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: expected an address for the result");
    *plan = NULL;
    return tamis_plan_make(device, S, options, false, plan);
}

void tamis_plan_destroy(tamis_plan *plan) {
    if (plan) tamis_destroy_wait(plan->device, plan->source);
    tamis_plan_release(plan);
}

static void release_plan(void *plan) { tamis_plan_release(plan); }

void tamis_plan_destroy_async(tamis_plan *plan, void *stream) {
    if (plan) tamis_destroy_later(plan->device, stream, release_plan, plan);
}

tamis_status tamis_plan_workspace_size(const tamis_plan *plan, size_t *bytes) {
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_plan_create");
    if (!bytes) return tamis_fail(TAMIS_ERROR_ARGUMENT, "bytes = NULL: expected an address for the result");
    *bytes = plan->workspace_bytes;
    return TAMIS_OK;
}
