/*
 * Plans of calls on graphs. A plan times the graph's own kernel beside the algorithms that the planner of the same
 * operation finds near, on operands of its own. If one of them is faster, the plan of the operation is kept in the
 * graph's list, and passes of that kind are computed by it (graph_pass.c).
 */
#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "core/message.h"

enum { EXPECTED_CALLS = 1000 }; /* the default */

typedef struct own_call {
    const tamis_graph *graph;
    tamis_message_job job;
    tamis_pass_role role;
} own_call;

/* The graph's own kernel, on the operands of a trial. */
static tamis_status run_own(const void *context, const tamis_operands *x) {
    const own_call *const own = context;
    tamis_message_job job = own->job;
    job.x = x->b;
    job.z = x->a;
    job.y = (tamis_matrix){.at = x->values.at, .stride = 1};
    job.out = x->out;
    if (own->role == TAMIS_DOT_PRODUCTS) job.out.stride = 1;
    return own->graph->device->backend->messages->run(&job);
}

static tamis_options options_of(const tamis_graph *g, const tamis_message_job *job, tamis_pass_role role,
                                const tamis_graph_plan_options *how) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.operation = tamis_pass_operation(role);
    o.edge = TAMIS_EDGE_MASK;
    o.type = job->type;
    o.inner = job->heads * job->width;
    o.width = o.inner;
    o.threads = g->threads;
    o.expected_calls = how->expected_calls ? how->expected_calls : EXPECTED_CALLS;
    o.effort = TAMIS_EFFORT_MEASURE;
    o.trust_input = true; /* the graph has checked it */
    o.stream = how->stream;
    o.no_workspace = g->device->backend->location == TAMIS_DEVICE;
    return o;
}

/* Keeps what the choice was and found. */
static void say(tamis_graph_pass *p, const tamis_choice *choice) {
    const tamis_algorithm *best = p->plan->prepared ? choice->algorithm : NULL;
    tamis_text_buffer t = {p->best, sizeof p->best, 0};
    p->own_seconds = choice->rival_seconds;
    p->best_seconds = best ? choice->measured_seconds : 0;
    for (int i = 0; i < choice->candidate_count && !p->plan->prepared; i++) {
        const double seconds = choice->candidates[i].measured_seconds;
        if (!(seconds > 0) || (best && seconds >= p->best_seconds)) continue;
        best = choice->candidates[i].algorithm;
        p->best_seconds = seconds;
    }
    if (best) tamis_text_add(&t, "%s", best->description.name);
    p->chosen_by = choice->measuring_seconds > 0 ? "measured" : "remembered";
}

static tamis_status make(const tamis_graph *g, const tamis_message_job *job, const tamis_graph_plan_options *how,
                         tamis_graph_pass *p) {
    const tamis_message_order *const order = &job->order;
    const tamis_sparse S = {.location = g->device->backend->location,
                            .rows = order->rows,
                            .cols = order->cols,
                            .nnz = order->nnz,
                            .index_type = order->column_type,
                            .offset_type = order->offset_type,
                            .value_type = job->type,
                            .offsets = order->offsets,
                            .columns = order->columns};
    const own_call own = {g, *job, p->role};
    const tamis_beside beside = {{"the graph's own kernel", run_own, &own}, p->role == TAMIS_WEIGHTED_SUM};
    const tamis_options options = options_of(g, job, p->role, how);
    TRY(tamis_plan_make_beside(g->device, &S, &beside, &options, &p->plan));
    say(p, &p->plan->choice);
    if (!p->plan->prepared) {
        tamis_plan_destroy(p->plan);
        p->plan = NULL;
    }
    return TAMIS_OK;
}

/* Plans a pass, unless it has been planned or no operation computes it. */
static tamis_status plan_pass(tamis_graph *g, const tamis_message_job *job, const tamis_graph_plan_options *how) {
    const tamis_pass_role role = tamis_pass_role_of(job);
    tamis_graph_pass *p;
    tamis_status status = TAMIS_OK;
    if (role == TAMIS_OWN_KERNEL || job->order.nnz == 0 || job->heads * job->width == 0 ||
        tamis_graph_pass_find(atomic_load_explicit(&g->planned, memory_order_acquire), job, role))
        return TAMIS_OK;
    TRY(tamis_allocate_zeroed(1, sizeof *p, "a planned pass", (void **)&p));
    p->role = role;
    p->offsets = job->order.offsets;
    p->type = job->type;
    p->all = job->heads * job->width;
    p->threads = job->threads;
    TRY_GOTO(failed, make(g, job, how, p));
    p->next = atomic_load_explicit(&g->planned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&g->planned, &p->next, p, memory_order_release, memory_order_relaxed))
        continue;
    return TAMIS_OK;
failed:
    tamis_graph_passes_release(p);
    return status;
}

tamis_status tamis_graph_plan(tamis_graph *graph, const tamis_message_options *options,
                              const tamis_graph_plan_options *how) {
    static const tamis_graph_plan_options defaults = {.expected_calls = 0};
    tamis_message_job jobs[TAMIS_MESSAGE_PASSES];
    int count = 0;
    tamis_clear_error();
    how = how ? how : &defaults;
    TRY(tamis_message_check_graph(graph, how->stream));
    TRY(TAMIS_RESERVED(how, "how"));
    if (how->expected_calls < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "how.expected_calls = %lld is negative",
                          (long long)how->expected_calls);
    TRY(tamis_message_passes(graph, options, how->stream, jobs, &count));
    for (int i = 0; i < count; i++) TRY(plan_pass(graph, &jobs[i], how));
    return TAMIS_OK;
}
