/*
 * Gradients, composed of plans.
 *
 * SDDMM and fused: T is the CSR of op(S), and U is the CSR of its transpose. Each is made once. Plans over T sample x =
 * <A_i, B_j> and dp = <dE_i, D_j>. One pass over the nonzeros turns x and dp into p, dx and ds. Then plans over T
 * multiply dx B, and plans over U multiply dx^T A and p^T dE. All arrays between the steps are in T's order.
 *
 * SpMM needs two plans over S itself.
 *
 * If the backend has fused's backward call in one piece and it is predicted to be faster, it replaces the plans
 * (gradient_whole.c). gradient_back.c runs the steps.
 */
#include "core/gradient_plans.h"

#include "backend/dense.h"
#include "base/memory.h"
#include "base/status.h"
#include "core/destroy.h"
#include "core/options.h"
#include "core/unlisted.h"
#include "sparse/element.h"
#include "sparse/mask_runs.h"

/* ------------------------------------------------------------------------------------------ making: plans */

static tamis_options part_of(const tamis_gradient *g, tamis_operation operation) {
    tamis_options o = g->options;
    o.operation = operation;
    o.edge = operation == TAMIS_OP_SPMM ? TAMIS_EDGE_SCALE : TAMIS_EDGE_MASK;
    o.output_type = o.type;
    o.transpose = false;
    o.trust_input = true;
    o.no_workspace = true;
    o.keep_softmax = o.d_is_b = false;
    o.algorithm = o.parameters = o.edge_text = NULL;
    return o;
}

static tamis_status make_sampler(tamis_gradient *g, int which, const tamis_sparse *pattern, int64_t inner,
                                 tamis_layout a_layout, tamis_layout b_layout, tamis_type output_type) {
    tamis_options o = part_of(g, TAMIS_OP_SDDMM);
    tamis_sparse only = *pattern;
    only.values = NULL;
    o.inner = inner;
    o.a_layout = a_layout;
    o.b_layout = b_layout;
    o.output_type = output_type;
    return tamis_plan_make(g->device, &only, &o, false, &g->plans[which]);
}

static tamis_status make_multiplier(tamis_gradient *g, int which, const tamis_sparse *pattern, bool transpose,
                                    int64_t width, tamis_layout b_layout, tamis_layout output_layout) {
    tamis_options o = part_of(g, TAMIS_OP_SPMM);
    o.transpose = transpose;
    o.output_type = output_type_of(g, which);
    o.width = width;
    o.b_layout = b_layout;
    o.output_layout = output_layout;
    return tamis_plan_make(g->device, pattern, &o, false, &g->plans[which]);
}

static tamis_status make_spmm_plans(tamis_gradient *g) {
    const tamis_options *const o = &g->options;
    TRY(make_multiplier(g, TO_B, &g->S, !o->transpose, o->width, o->output_layout, o->b_layout));
    if (!g->S.values) return TAMIS_OK;
    /* <dC_i, B_j> at (i, j) of S^T is <B_j, dC_i> at (j, i) of S */
    return make_sampler(g, OUTER, &g->S, o->width, o->transpose ? o->b_layout : o->output_layout,
                        o->transpose ? o->output_layout : o->b_layout, g->S.value_type);
}

static tamis_status make_sampled_plans(tamis_gradient *g) {
    const tamis_options *const o = &g->options;
    const bool fused = o->operation == TAMIS_OP_FUSED;
    const bool alike = o->width == o->inner && o->a_layout == o->output_layout && o->b_layout == o->d_layout;
    if (fused || g->edge_text || tamis_edge_dx_needs_x(o->edge) || (has_values(g) && tamis_edge_ds_needs_x(o->edge)))
        TRY(make_sampler(g, SAMPLE, &g->T, o->inner, o->a_layout, o->b_layout, between_type(o)));
    TRY(make_multiplier(g, TO_A, &g->T, false, o->inner, o->b_layout, o->a_layout));
    TRY(make_multiplier(g, TO_B, &g->U, false, o->inner, o->a_layout, o->b_layout));
    if (!fused) return TAMIS_OK;
    if (alike) {
        g->plans[OUTER] = g->plans[SAMPLE];
        g->plans[TO_D] = g->plans[TO_B];
        return TAMIS_OK;
    }
    TRY(make_sampler(g, OUTER, &g->T, o->width, o->output_layout, o->d_layout, between_type(o)));
    return make_multiplier(g, TO_D, &g->U, false, o->width, o->output_layout, o->d_layout);
}

static bool names(const tamis_gradient *g, int kind) {
    const tamis_program *const p = &g->edge_text->value;
    for (int k = 0; k < p->arrays; k++)
        if (p->array[k].kind == kind) return true;
    return false;
}

static tamis_status make_ones(tamis_gradient *g) {
    const int64_t count = g->rows > g->cols ? g->rows : g->cols;
    const size_t size = tamis_type_size(g->options.type);
    void *const handle = g->device->handle, *ones = NULL;
    tamis_status status = TAMIS_OK;
    TRY(tamis_allocate(count > 0 ? count : 1, size, "ones", &ones));
    for (int64_t k = 0; k < count; k++) tamis_element_store(ones, g->options.type, k, 1);
    TRY_GOTO(done, g->device->backend->allocate(handle, TAMIS_ALL_STREAMS, tamis_bytes(count > 0 ? count : 1, size),
                                                "ones for sums of a gradient", &g->ones));
    TRY_GOTO(done, g->device->backend->copy_in(handle, g->options.stream, (tamis_place){g->ones, 0}, ones,
                                               tamis_bytes(count, size)));
    TRY_GOTO(done, g->device->backend->finish(handle, g->options.stream));
done:
    tamis_release(ones);
    return status;
}

/* Gradients by named arrays need derivatives, and sums of entries by row, by column or of all. */
static tamis_status make_named(tamis_gradient *g) {
    if (!g->edge_text) return TAMIS_OK;
    for (int k = 0; k < g->edge_text->value.arrays; k++) TRY(tamis_edge_text_by(g->edge_text, k, &g->by[k]));
    if (names(g, TAMIS_STEP_ROW) || names(g, TAMIS_STEP_COL)) TRY(make_ones(g));
    if (names(g, TAMIS_STEP_ROW)) TRY(make_multiplier(g, TO_ROW, &g->T, false, 1, TAMIS_ROW_MAJOR, TAMIS_ROW_MAJOR));
    if (names(g, TAMIS_STEP_COL)) TRY(make_multiplier(g, TO_COL, &g->U, false, 1, TAMIS_ROW_MAJOR, TAMIS_ROW_MAJOR));
    return names(g, TAMIS_STEP_HEAD) ? g->device->backend->dense->ready(g->device->handle, between_type(&g->options))
                                     : TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ making: patterns */

static tamis_sparse csr_of(const tamis_gradient *g, const tamis_row_order *order, int64_t rows, int64_t cols) {
    return (tamis_sparse){.format = TAMIS_CSR,
                          .location = g->S.location,
                          .rows = rows,
                          .cols = cols,
                          .nnz = g->S.nnz,
                          .index_type = g->S.index_type,
                          .offset_type = order->offset_type,
                          .value_type = between_type(&g->options),
                          .offsets = order->offsets,
                          .columns = order->columns,
                          .values = g->placeholder};
}

static tamis_status take_patterns(tamis_gradient *g) {
    const tamis_backend *const backend = g->device->backend;
    const tamis_problem problem = {
        .device = g->device->handle, .stream = g->options.stream, .threads = g->options.threads};
    const bool as_it_is = g->S.format == TAMIS_CSR && g->S.offset_base == 0 && !g->options.transpose;
    if (as_it_is)
        g->order = (tamis_row_order){.offset_type = g->S.offset_type};
    else
        TRY(backend->order_rows(&problem, &g->S, g->options.transpose, &g->order));
    g->T = csr_of(g, &g->order, g->rows, g->cols);
    if (as_it_is) {
        g->T.offsets = g->S.offsets;
        g->T.columns = g->S.columns;
    }
    tamis_sparse pattern = g->T;
    pattern.values = NULL;
    TRY(backend->order_rows(&problem, &pattern, true, &g->turned_order));
    g->U = csr_of(g, &g->turned_order, g->cols, g->rows);
    return TAMIS_OK;
}

static tamis_status make_whole(tamis_gradient *g) {
    const tamis_whole_request request = {.device = g->device,
                                         .options = &g->options,
                                         .text = g->edge_text,
                                         .T = &g->T,
                                         .U = &g->U,
                                         .has_values = has_values(g),
                                         .partial = g->partial,
                                         .algorithm = g->options.algorithm};
    return tamis_whole_gradient_make(&request, &g->whole);
}

/* In one piece a gradient may need no list of the columns of a mask, and the transpose of a mask is one as well. */
static tamis_status try_unlisted(tamis_gradient *g) {
    const tamis_row_order order = {.offset_type = g->S.offset_type};
    if (!tamis_is_unlisted(&g->S)) return TAMIS_OK;
    if (!g->options.transpose && tamis_mask_has_runs(g->S.mask)) {
        g->T = csr_of(g, &order, g->rows, g->cols);
        g->U = csr_of(g, &order, g->cols, g->rows);
        g->T.offsets = g->S.offsets;
        g->T.mask = g->U.mask = g->S.mask;
        TRY(make_whole(g));
        g->T.mask = g->U.mask = NULL;
    }
    if (g->whole) return TAMIS_OK;
    return tamis_unlisted_list(g->device, g->options.stream, TAMIS_ALL_STREAMS, g->options.threads, &g->S, &g->columns);
}

/* ------------------------------------------------------------------------------------------ making: the rest */

static tamis_status lay_out(tamis_gradient *g) {
    const tamis_options *const o = &g->options;
    const size_t size = tamis_type_size(between_type(o));
    int64_t total = 0, count;
    if (__builtin_mul_overflow(g->S.nnz, o->batch, &count))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%lld samples of each of %lld members do not fit 64 bits",
                          (long long)g->S.nnz, (long long)o->batch);
    for (int i = 0; i < PLANS; i++)
        if (g->plans[i] && (int64_t)g->plans[i]->workspace_bytes > total) total = (int64_t)g->plans[i]->workspace_bytes;
    if (g->whole) total = (int64_t)g->device->backend->back->scratch_bytes(g->whole);
    total = (total + 63) / 64 * 64;
    if (by_samples(g) && !g->whole) {
        TRY(tamis_workspace_reserve(&total, count, size, &g->x)); /* dx replaces x, and p replaces dp */
        if (o->operation == TAMIS_OP_FUSED) TRY(tamis_workspace_reserve(&total, count, size, &g->dp));
        TRY(tamis_workspace_reserve(&total, count, size, &g->turned));
        TRY(tamis_workspace_reserve(&total, o->batch, (size_t)tamis_edge_scratch(o->edge, g->S.nnz), &g->parts));
        if (g->edge_text && g->edge_text->value.softmax) TRY(tamis_workspace_reserve(&total, count, size, &g->scores));
        if (g->edge_text && g->edge_text->value.arrays > 0) {
            TRY(tamis_workspace_reserve(&total, count, size, &g->named));
            TRY(tamis_workspace_reserve(&total, o->batch, size, &g->sums));
            TRY(tamis_workspace_reserve(&total, TAMIS_DENSE_CHUNKS, sizeof(double), &g->adds));
        }
    }
    g->workspace_bytes = (size_t)total;
    if (o->no_workspace || total == 0) return TAMIS_OK;
    return tamis_own_workspace_make(g->device, TAMIS_ALL_STREAMS, g->source, "a gradient's workspace",
                                    g->workspace_bytes, &g->own);
}

static tamis_status check(tamis_gradient *g, const tamis_sparse *S, const tamis_options *options) {
    const tamis_backend *const backend = g->device->backend;
    tamis_options *const o = &g->options;
    TRY(tamis_options_read(options, g->device, o));
    TRY(tamis_edge_text_make(o, &g->edge_text));
    o->edge = tamis_edge_of_text(g->edge_text, o->edge);
    if (o->operation != TAMIS_OP_SDDMM && o->output_type != o->type)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.output_type = %s: the gradient of %s's output is an operand of options.type = %s",
                          tamis_type_name(o->output_type), tamis_operation_name(o->operation),
                          tamis_type_name(o->type));
    TRY(tamis_device_check_stream(g->device, o->stream));
    if (backend->check_stream) TRY(backend->check_stream(g->device->handle, o->stream));
    TRY(tamis_plan_check_view(g->device, S, o));
    TRY(tamis_plan_check_places(g->device, S));
    if (!o->trust_input)
        TRY(tamis_is_unlisted(S) ? tamis_unlisted_check_offsets(g->device, o->stream, S)
                                 : backend->validate(g->device->handle, o->stream, o->threads, S));
    g->S = *S;
    g->rows = o->transpose ? S->cols : S->rows;
    g->cols = o->transpose ? S->rows : S->cols;
    return TAMIS_OK;
}

static tamis_status make_steps(tamis_gradient *g) {
    const tamis_backend *const backend = g->device->backend;
    TRY(make_sampled_plans(g));
    TRY(make_named(g));
    TRY(backend->ready(g->device->handle, between_type(&g->options), false, true));
    tamis_edge_job job = {.device = g->device->handle,
                          .type = g->options.type,
                          .edge = g->options.edge,
                          .constants = tamis_edge_constants_of(&g->options, g->edge_text),
                          .offset_type = g->T.offset_type,
                          .index_type = g->T.index_type};
    if (g->edge_text) {
        job.edge = TAMIS_EDGE_TEXT;
        TRY(backend->edges->ready(&job, false));
        job.edge = g->options.edge; /* softmax is another pass */
        if (job.edge == TAMIS_EDGE_TEXT) return TAMIS_OK;
    }
    return backend->edges->ready(&job, g->options.keep_softmax);
}

static void release_permutation(const tamis_gradient *g, tamis_row_order *order) {
    g->device->backend->release_memory(g->device->handle, TAMIS_ALL_STREAMS, order->permutation);
    order->permutation = NULL;
}

/* Releases the arrays that a gradient in one piece does not read, after the kernels that have read them. */
static void release_unread(tamis_gradient *g) {
    const tamis_backward_functions *const back = g->device->backend->back;
    if (!g->whole || !back->spares_turned || !back->spares_turned(g->whole)) return;
    tamis_row_order_release(g->device, TAMIS_ALL_STREAMS, &g->turned_order);
    g->turned_order = (tamis_row_order){.offset_type = g->turned_order.offset_type};
    g->U.offsets = g->U.columns = NULL;
}

static tamis_status make(tamis_gradient *g, const tamis_sparse *S, const tamis_options *options) {
    const tamis_backend *const backend = g->device->backend;
    TRY(check(g, S, options));
    TRY(backend->allocate(g->device->handle, TAMIS_ALL_STREAMS, 64, "a placeholder for values", &g->placeholder));
    TRY(try_unlisted(g));
    if (by_samples(g)) {
        if (!g->whole) {
            TRY(take_patterns(g));
            TRY(make_whole(g));
        }
        if (!g->whole) TRY(make_steps(g));
        if (g->whole) { /* nothing is transposed */
            release_permutation(g, &g->order);
            release_permutation(g, &g->turned_order);
        }
    } else {
        TRY(make_spmm_plans(g));
    }
    TRY(lay_out(g));
    g->options.algorithm = g->options.parameters = g->options.edge_text = NULL;
    g->options.edge_numbers = NULL;
    g->S.mask = NULL; /* the caller's */
    TRY(backend->finish(g->device->handle, g->options.stream));
    release_unread(g);
    return TAMIS_OK;
}

static void release(void *object) {
    tamis_gradient *const g = object;
    if (!g) return;
    tamis_memory_source *const before = tamis_memory_source_enter(g->source);
    const tamis_backend *const backend = g->device->backend;
    if (g->whole) backend->back->release(g->whole);
    for (int i = 0; i < PLANS; i++) {
        const bool shared =
            (i == TO_D && g->plans[TO_D] == g->plans[TO_B]) || (i == OUTER && g->plans[OUTER] == g->plans[SAMPLE]);
        if (!shared) tamis_plan_release(g->plans[i]);
    }
    tamis_row_order_release(g->device, TAMIS_ALL_STREAMS, &g->order);
    tamis_row_order_release(g->device, TAMIS_ALL_STREAMS, &g->turned_order);
    backend->release_memory(g->device->handle, TAMIS_ALL_STREAMS, g->columns);
    backend->release_memory(g->device->handle, TAMIS_ALL_STREAMS, g->placeholder);
    backend->release_memory(g->device->handle, TAMIS_ALL_STREAMS, g->ones);
    tamis_own_workspace_release(g->device, TAMIS_ALL_STREAMS, g->own);
    tamis_memory_source_leave(before);
    tamis_memory_source_destroy(g->source);
    tamis_release(g->edge_text);
    for (int k = 0; k < TAMIS_PROGRAM_ARRAYS; k++) tamis_release(g->by[k]);
    tamis_release(g);
}

void tamis_gradient_destroy(tamis_gradient *gradient) {
    if (gradient) tamis_destroy_wait(gradient->device, gradient->source);
    release(gradient);
}

void tamis_gradient_destroy_async(tamis_gradient *gradient, void *stream) {
    if (gradient) tamis_destroy_later(gradient->device, stream, release, gradient);
}

/* Makes the gradient with the caller's allocator in force. The plans make their own sources from the same table. */
static tamis_status make_from(tamis_gradient *g, const tamis_sparse *S, const tamis_options *options) {
    TRY(tamis_memory_source_create(options, g->device->backend->handles, &g->source));
    tamis_memory_source *const before = tamis_memory_source_enter(g->source);
    const tamis_status status = make(g, S, options);
    tamis_memory_source_leave(before);
    g->options.allocator = NULL; /* copied */
    return status;
}

tamis_status tamis_gradient_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                 bool partial, tamis_gradient **gradient) {
    tamis_status status = TAMIS_OK;
    tamis_gradient *made = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a gradient", (void **)&made));
    made->device = device;
    made->partial = partial;
    tamis_destroy_passed(device);
    TRY_GOTO(failed, make_from(made, S, options));
    *gradient = made;
    return TAMIS_OK;
failed:
    release(made);
    return status;
}

tamis_status tamis_gradient_create(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                   tamis_gradient **gradient) {
    tamis_clear_error();
    if (!gradient) return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradient = NULL: expected an address for the result");
    *gradient = NULL;
    TRY(tamis_device_check(device));
    return tamis_gradient_make(device, S, options, false, gradient);
}

const char *tamis_gradient_algorithm(const tamis_gradient *gradient) {
    if (!gradient) return NULL;
    return gradient->whole ? gradient->device->backend->back->algorithm : "steps";
}

tamis_status tamis_gradient_workspace_size(const tamis_gradient *gradient, size_t *bytes) {
    tamis_clear_error();
    if (!gradient) return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradient = NULL: make one with tamis_gradient_create");
    if (!bytes) return tamis_fail(TAMIS_ERROR_ARGUMENT, "bytes = NULL: expected an address for the result");
    *bytes = gradient->workspace_bytes;
    return TAMIS_OK;
}
