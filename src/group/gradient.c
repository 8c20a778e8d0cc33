/*
 * Gradients on a group. S is distributed by rows, so each rank computes the gradients of its own rows of A and of its
 * values of S. The rows of B and D belong to columns of S, so each rank computes partial sums of their gradients, which
 * go back to the owners of the rows. With the transpose A and B change places: ranks fetch rows of A and of the
 * output's gradient, and partial sums of dA go back. tamis_call_run (exchange/call.c) does the steps of a call.
 */
#include "core/backward.h"

#include "base/memory.h"
#include "group/exchange/exchange.h"
#include "group/exchange/lists.h"
#include "group/pieces.h"

struct tamis_group_gradient {
    tamis_row_exchange exchange;
    tamis_options options; /* defaults filled in; the caller's layouts. Its pointers to strings are not kept */
    tamis_piece pattern;
    tamis_gradient *gradient;
    int64_t values_skip; /* offset of the first element in an execution's values, if S was a slice of rows */
};

/* ------------------------------------------------------------------------------------------ making */

/* Makes the local gradient. It reads B and D from X (with S^T: A and the output's gradient), and gives back sums of the
   same rows. */
static tamis_status make_local(tamis_group_gradient *g, const tamis_group_making *m) {
    tamis_row_exchange *const e = &g->exchange;
    TRY(tamis_row_exchange_take_requests(e, m));
    const tamis_shard_description *const is = tamis_row_lists(e);
    tamis_options o = g->options = m->options;
    const int64_t both = o.inner + o.width;
    tamis_row_exchange_set_widths(e, both, o.transpose ? o.inner : both);
    g->values_skip = m->S->offset_base;
    /* outputs have the inputs' layouts; sums that go back are row-major */
    e->in_place = is->ghost_rows == 0 && is->send_rows == 0;
    e->copied[0][1] = is->own_rows;
    e->gives = !e->in_place && !(o.transpose && o.operation == TAMIS_OP_SPMM);
    e->own_sums = e->gives ? is->own_rows : 0;
    o.trust_input = true; /* the shard was made from checked arrays */
    if (!e->in_place && o.transpose) o.a_layout = o.output_layout = TAMIS_ROW_MAJOR;
    if (!e->in_place && !o.transpose) o.b_layout = o.d_layout = TAMIS_ROW_MAJOR;
    TRY(tamis_piece_put(e, &o, &is->local, NULL, &g->pattern));
    TRY(tamis_gradient_make(e->group->device, &g->pattern.S, &o, e->gives, &g->gradient));
    g->options.algorithm = g->options.parameters = NULL;
    g->options.allocator = NULL;
    return tamis_row_exchange_make_buffers(e, false);
}

static tamis_status make(void *memory, tamis_group_making *m) {
    tamis_group_gradient *const g = memory;
    TRY(tamis_row_exchange_create(&g->exchange, m));
    return tamis_row_exchange_finish(&g->exchange, make_local(g, m));
}

static void destroy(void *memory) {
    tamis_group_gradient *const g = memory;
    tamis_gradient_destroy(g->gradient);
    if (g->exchange.group) tamis_piece_release(&g->exchange, &g->pattern);
    tamis_row_exchange_destroy(&g->exchange);
    tamis_release(g);
}

tamis_status tamis_group_gradient_create(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                         const tamis_options *options, tamis_group_gradient **gradient) {
    tamis_group_making m = {
        .kind = TAMIS_GROUP_GRADIENT, .group = group, .S = S, .own_rows = own_rows, .given = options};
    tamis_clear_error();
    return tamis_group_make(&m, sizeof **gradient, make, destroy, (void **)gradient);
}

void tamis_group_gradient_destroy(tamis_group_gradient *gradient) {
    if (gradient) destroy(gradient);
}

/* ------------------------------------------------------------------------------------------ who has what */

typedef struct run {
    const tamis_group_gradient *gradient;
    tamis_operation operation;
    tamis_back_views given, views; /* the caller's operands; the local gradient's */
    tamis_call call;
    int64_t first; /* offset of the first output in a row of sums: 0 */
} run;

/* Lists the matrices to fetch, B and D, and the gradients whose sums go back, dB and dD. With the transpose A and the
   output's gradient are fetched, and sums of dA go back. */
static void share_rows(run *r) {
    const tamis_options *const o = &r->gradient->options;
    const bool spmm = o->operation == TAMIS_OP_SPMM, fused = o->operation == TAMIS_OP_FUSED;
    const int64_t own_rows = tamis_row_lists(&r->gradient->exchange)->own_rows;
    const tamis_back_operands given = tamis_back_operands_of(o, own_rows, own_rows, &r->given);
    tamis_back_views *const x = &r->views;
    const tamis_shared_rows a = {given.a, &x->A, &x->skip_a}, b = {given.b, &x->B, &x->skip_b};
    const tamis_shared_rows d = {given.d, &x->D, &x->skip_d}, e = {given.e, &x->dE, &x->skip_e};
    const tamis_shared_rows da = {given.da, &x->dA, &r->first}, db = {given.db, &x->dB, &r->first};
    const tamis_shared_rows dd = {given.dd, &x->dD, &x->skip_dd};
    tamis_fetch *const f = r->call.fetches;
    tamis_giving *const g = &r->call.giving;
    f->from[0] = !o->transpose ? b : spmm ? e : a;
    if (fused) f->from[1] = o->transpose ? e : d;
    f->count = fused ? 2 : 1;
    f->needs = !spmm || o->transpose || r->given.dS; /* SpMM's dB needs no rows of B */
    g->to[0] = o->transpose ? da : db;
    g->to[1] = dd;
    g->count = o->transpose ? !spmm : 1 + fused;
    g->factor = 1;
    for (int i = 0; i < TAMIS_EXCHANGED && r->gradient->exchange.in_place; i++)
        f->from[i].local = g->to[i].local = NULL;
}

/* ------------------------------------------------------------------------------------------ one call */

static tamis_status check(void *context) {
    run *const r = context;
    tamis_execution *const execution = &r->call.execution;
    if (r->gradient->options.transpose) execution->generation = 0; /* which says nothing of A */
    r->views.skip_values = execution->values ? r->gradient->values_skip : 0;
    r->call.giving.keep = execution->beta;
    TRY(tamis_gradient_check_run(r->gradient->gradient, r->operation, &r->views, execution));
    r->views.checked = true;
    return TAMIS_OK;
}

static tamis_status compute(void *context) {
    const run *const r = context;
    return tamis_gradient_run(r->gradient->gradient, r->operation, &r->views, &r->call.execution);
}

static tamis_status go_back(const tamis_group_gradient *gradient, tamis_operation operation,
                            const tamis_back_views *views, const tamis_execution *execution) {
    tamis_clear_error();
    if (!gradient)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradient = NULL: make one with tamis_group_gradient_create");
    run r = {.gradient = gradient, .operation = operation, .given = *views, .views = *views};
    r.call = (tamis_call){.exchange = (tamis_row_exchange *)(uintptr_t)&gradient->exchange,
                          .mine = tamis_gradient_check_operation(&gradient->options, operation),
                          .given = execution,
                          .context = &r,
                          .check = check,
                          .compute = compute};
    share_rows(&r);
    return tamis_call_run(&r.call);
}

/* ------------------------------------------------------------------------------------------ entry points */

tamis_status tamis_group_gradient_workspace_size(const tamis_group_gradient *gradient, size_t *bytes) {
    tamis_clear_error();
    if (!gradient)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradient = NULL: make one with tamis_group_gradient_create");
    return tamis_gradient_workspace_size(gradient->gradient, bytes);
}

tamis_status tamis_group_sddmm_backward(const tamis_group_gradient *gradient, const tamis_dense *dP,
                                        const tamis_dense *A, const tamis_dense *B, const tamis_dense *dA,
                                        const tamis_dense *dB, const tamis_dense *dS,
                                        const tamis_execution *execution) {
    const tamis_back_views views = {.dP = dP, .A = A, .B = B, .dA = dA, .dB = dB, .dS = dS};
    return go_back(gradient, TAMIS_OP_SDDMM, &views, execution);
}

tamis_status tamis_group_spmm_backward(const tamis_group_gradient *gradient, const tamis_dense *dC,
                                       const tamis_dense *B, const tamis_dense *dB, const tamis_dense *dS,
                                       const tamis_execution *execution) {
    const tamis_back_views views = {.dE = dC, .B = B, .dB = dB, .dS = dS};
    return go_back(gradient, TAMIS_OP_SPMM, &views, execution);
}

tamis_status tamis_group_fused_backward(const tamis_group_gradient *gradient, const tamis_dense *dE,
                                        const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                                        const tamis_dense *dA, const tamis_dense *dB, const tamis_dense *dD,
                                        const tamis_dense *dS, const tamis_execution *execution) {
    const tamis_back_views views = {.dE = dE, .A = A, .B = B, .D = D, .dA = dA, .dB = dB, .dD = dD, .dS = dS};
    return go_back(gradient, TAMIS_OP_FUSED, &views, execution);
}
