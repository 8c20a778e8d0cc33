/*
 * Passes over graphs that are operations of the library too, so that all its algorithms can compute them:
 *
 *   out_i = sum of x_j over the entries of row i              SpMM, S of ones
 *   out_i = sum of y_t * x_j, with a number y_t an entry      SpMM, S of these numbers
 *   out_t = <z_i, x_j>                                        SDDMM, edge mask
 */
#include "core/graph_pass.h"

#include "base/memory.h"
#include "base/status.h"
#include "core/execute.h"

static const struct {
    const char *name;
    tamis_operation operation;
} roles[] = {[TAMIS_SUM_OF_ROWS] = {"sums of rows", TAMIS_OP_SPMM},
             [TAMIS_WEIGHTED_SUM] = {"sums of rows times numbers", TAMIS_OP_SPMM},
             [TAMIS_DOT_PRODUCTS] = {"dot products of rows", TAMIS_OP_SDDMM}};

/* True if an entry has one number for all elements, in the order in which the pass takes the entries. */
static bool has_numbers(const tamis_message_job *job) {
    const bool one = job->edge_data == TAMIS_E_NUMBER || (job->edge_data == TAMIS_E_HEAD && job->heads == 1);
    return one && !job->order.entries;
}

tamis_pass_role tamis_pass_role_of(const tamis_message_job *job) {
    const bool sums = job->kind == TAMIS_PASS_SUM;
    if ((!sums && job->kind != TAMIS_PASS_ENTRIES) || job->mean || job->other_offsets || job->argument.base)
        return TAMIS_OWN_KERNEL;
    if (sums && job->term == TAMIS_TERM_X) return TAMIS_SUM_OF_ROWS;
    if (job->term != TAMIS_TERM_MUL || !has_numbers(job)) return TAMIS_OWN_KERNEL;
    return sums ? TAMIS_WEIGHTED_SUM : TAMIS_DOT_PRODUCTS;
}

tamis_operation tamis_pass_operation(tamis_pass_role role) { return roles[role].operation; }

const tamis_graph_pass *tamis_graph_pass_find(const tamis_graph_pass *list, const tamis_message_job *job,
                                              tamis_pass_role role) {
    for (const tamis_graph_pass *p = list; p; p = p->next)
        if (p->role == role && p->type == job->type && p->all == job->heads * job->width &&
            p->threads == job->threads && p->offsets == job->order.offsets)
            return p;
    return NULL;
}

/* The plan that computes a pass; NULL: the graph's own kernel does. An operation's values and samples are packed. */
static const tamis_plan *plan_of(const tamis_graph_pass *list, const tamis_message_job *job, tamis_pass_role role) {
    if (role == TAMIS_OWN_KERNEL || (role == TAMIS_WEIGHTED_SUM && job->y.stride != 1) ||
        (role == TAMIS_DOT_PRODUCTS && job->out.stride != 1))
        return NULL;
    const tamis_graph_pass *const p = tamis_graph_pass_find(list, job, role);
    return p ? p->plan : NULL;
}

static tamis_status execute(const tamis_plan *plan, const tamis_message_job *job, tamis_pass_role role,
                            void *workspace) {
    tamis_operands x = {.batch = 1,
                        .alpha = job->factor,
                        .b = job->x,
                        .out = job->out,
                        .scratch = {workspace, plan->staging.scratch},
                        .scratch_batch_stride = plan->staging.scratch_batch_stride};
    if (role == TAMIS_WEIGHTED_SUM) x.values.at = job->y.at;
    if (role == TAMIS_DOT_PRODUCTS) {
        x.a = job->z;
        x.out.stride = 0; /* a vector */
    }
    return plan->device->backend->execute(plan->prepared, job->stream, &x);
}

/* On a GPU each execution has its own workspace, in stream order: calls may be in several streams. */
static tamis_status run_plan(const tamis_plan *plan, const tamis_message_job *job, tamis_pass_role role) {
    const tamis_device *const device = plan->device;
    const tamis_backend *const backend = device->backend;
    const bool host = backend->location == TAMIS_HOST;
    tamis_execution given = {.stream = job->stream};
    tamis_borrowed_workspace workspace = {.borrowed = NULL};
    if (host)
        TRY(tamis_workspace_take(device, plan->own, plan->workspace_bytes, "", &given, &workspace));
    else if (plan->workspace_bytes > 0)
        TRY(backend->allocate(device->handle, job->stream, plan->workspace_bytes, "a workspace", &given.workspace));
    const tamis_status status = execute(plan, job, role, given.workspace);
    if (host)
        tamis_workspace_give_back(device, &workspace);
    else if (given.workspace)
        backend->release_memory(device->handle, job->stream, given.workspace);
    return status;
}

tamis_status tamis_graph_pass_run(const tamis_graph_pass *list, const tamis_message_job *job, bool *done) {
    const tamis_pass_role role = tamis_pass_role_of(job);
    const tamis_plan *const plan = plan_of(list, job, role);
    *done = plan != NULL;
    return plan ? run_plan(plan, job, role) : TAMIS_OK;
}

void tamis_graph_passes_release(tamis_graph_pass *list) {
    tamis_graph_pass *next;
    for (tamis_graph_pass *p = list; p; p = next) {
        next = p->next;
        tamis_plan_destroy(p->plan);
        tamis_release(p);
    }
}

static void add_time(tamis_text_buffer *t, const tamis_graph_pass *p, bool of_algorithm) {
    if (of_algorithm)
        tamis_text_add(t, "%s of %s %.3g ms", p->best, tamis_operation_name(roles[p->role].operation),
                       p->best_seconds * 1e3);
    else
        tamis_text_add(t, "the graph's own kernel %.3g ms", p->own_seconds * 1e3);
}

void tamis_graph_passes_explain(const tamis_graph_pass *list, const void *rows, tamis_text_buffer *t) {
    for (const tamis_graph_pass *p = list; p; p = p->next) {
        tamis_text_add(t, "planned      %s of %lld elements, %s, by %s: ", roles[p->role].name, (long long)p->all,
                       tamis_type_name(p->type), p->offsets == rows ? "rows" : "columns");
        add_time(t, p, p->plan != NULL);
        if (p->plan ? p->own_seconds > 0 : p->best_seconds > 0) {
            tamis_text_add(t, "; ");
            add_time(t, p, p->plan == NULL);
        }
        tamis_text_add(t, "; %s\n", p->chosen_by);
    }
}
