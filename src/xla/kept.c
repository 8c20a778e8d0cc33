#include "xla/kept.h"
#include "base/memory.h"
#include "base/status.h"
#include <pthread.h>
#include <string.h>

enum { MOST_PATTERNS = 8, MOST_PLANS = 64 }; /* the pattern used longest ago goes first, with its plans */
enum { EXPECTED_CALLS = 1000 };              /* of a plan that is kept */

struct kept_pattern {
    call_pattern own; /* copies of the arrays */
    kept_plan *plans;
    int count, users;
    kept_pattern *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept_pattern *kept; /* the one used last is first */

tamis_sparse tamis_xla_sparse(const call *c) {
    const call_operand *values = c->form.has_values ? &c->operands[c->matrices] : NULL;
    return (tamis_sparse){
        .format = TAMIS_CSR,
        .location = c->operands[0].view.location,
        .rows = c->pattern.rows,
        .cols = c->pattern.cols,
        .nnz = c->pattern.nnz,
        .offset_type = c->pattern.offset_type,
        .index_type = c->pattern.index_type,
        .offsets = c->pattern.offsets,
        .columns = c->pattern.columns,
        .values = values ? values->view.data : NULL,
        .value_type = values ? values->view.type : c->operands[0].view.type,
        .batch_stride = values ? values->view.batch_stride : 0,
    };
}

tamis_options tamis_xla_options(const call *c) {
    const call_form *f = &c->form;
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = (tamis_operation)f->operation;
    options.edge = (tamis_edge)f->edge;
    options.type = (tamis_type)f->type;
    options.inner = f->inner;
    options.width = f->width;
    options.edge_scale = f->scale;
    options.edge_slope = f->slope;
    options.edge_epsilon = f->epsilon;
    options.transpose = f->transpose != 0;
    options.math = (tamis_math)f->math;
    options.keep_softmax = f->keep != 0;
    options.batch = f->batch;
    return options;
}

/* ---------------------------------------------------------------------------------------------- plans */

static bool same_form(const call_form *a, const call_form *b) {
    return a->operation == b->operation && a->backward == b->backward && a->edge == b->edge && a->math == b->math &&
           a->transpose == b->transpose && a->keep == b->keep && a->has_values == b->has_values && a->type == b->type &&
           a->inner == b->inner && a->width == b->width && a->batch == b->batch && a->scale == b->scale &&
           a->slope == b->slope && a->epsilon == b->epsilon;
}

static void free_plans(kept_pattern *pattern) {
    while (pattern->plans) {
        kept_plan *plan = pattern->plans;
        pattern->plans = plan->next;
        tamis_plan_destroy(plan->plan);
        tamis_gradient_destroy(plan->gradient);
        tamis_release(plan);
    }
    pattern->count = 0;
}

static tamis_status make_plan(tamis_device *device, const call *c, kept_pattern *pattern, kept_plan **made) {
    tamis_status status = TAMIS_OK;
    kept_plan *plan = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *plan, "a plan for XLA", (void **)&plan));
    plan->form = c->form;
    tamis_sparse S = tamis_xla_sparse(c);
    S.offsets = pattern->own.offsets;
    S.columns = pattern->own.columns;
    tamis_options options = tamis_xla_options(c);
    options.expected_calls = EXPECTED_CALLS;
    options.trust_input = pattern->count > 0; /* the first plan has checked the copy */
    TRY_GOTO(fail, c->form.backward ? tamis_gradient_create(device, &S, &options, &plan->gradient)
                                    : tamis_plan_create(device, &S, &options, &plan->plan));
    plan->next = pattern->plans;
    pattern->plans = plan;
    pattern->count++;
    *made = plan;
    return TAMIS_OK;
fail:
    tamis_release(plan);
    return status;
}

static tamis_status plan_of(tamis_device *device, const call *c, kept_pattern *pattern, kept_plan **plan) {
    for (*plan = pattern->plans; *plan; *plan = (*plan)->next)
        if (same_form(&(*plan)->form, &c->form)) return TAMIS_OK;
    if (pattern->count >= MOST_PLANS && pattern->users == 1) free_plans(pattern);
    return make_plan(device, c, pattern, plan);
}

/* ---------------------------------------------------------------------------------------------- patterns */

static size_t bytes_of_offsets(const call_pattern *p) {
    return (size_t)(p->rows + 1) * tamis_index_size(p->offset_type);
}

static size_t bytes_of_columns(const call_pattern *p) { return (size_t)p->nnz * tamis_index_size(p->index_type); }

static bool same(const call_pattern *a, const call_pattern *b) {
    return a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz && a->offset_type == b->offset_type &&
           a->index_type == b->index_type && memcmp(a->offsets, b->offsets, bytes_of_offsets(a)) == 0 &&
           memcmp(a->columns, b->columns, bytes_of_columns(a)) == 0;
}

static void free_pattern(kept_pattern *pattern) {
    free_plans(pattern);
    tamis_release((void *)(uintptr_t)pattern->own.offsets);
    tamis_release((void *)(uintptr_t)pattern->own.columns);
    tamis_release(pattern);
}

static tamis_status copy_of(const void *from, size_t bytes, const void **copy) {
    void *memory = NULL;
    TRY(tamis_allocate((int64_t)bytes + 1, 1, "a copy of a pattern",
                       &memory)); /* of no entries too it has an address */
    memcpy(memory, from, bytes);
    *copy = memory;
    return TAMIS_OK;
}

static tamis_status make_pattern(const call_pattern *given, kept_pattern **made) {
    tamis_status status = TAMIS_OK;
    kept_pattern *pattern = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *pattern, "a pattern for XLA", (void **)&pattern));
    pattern->own = *given;
    pattern->own.offsets = pattern->own.columns = NULL;
    TRY_GOTO(fail, copy_of(given->offsets, bytes_of_offsets(given), &pattern->own.offsets));
    TRY_GOTO(fail, copy_of(given->columns, bytes_of_columns(given), &pattern->own.columns));
    *made = pattern;
    return TAMIS_OK;
fail:
    free_pattern(pattern);
    return status;
}

/* Frees what was used longest ago, beyond the most that are kept. */
static void shorten(void) {
    int count = 0;
    for (kept_pattern **at = &kept; *at;) {
        kept_pattern *pattern = *at;
        if (++count > MOST_PATTERNS && pattern->users == 0) {
            *at = pattern->next;
            free_pattern(pattern);
        } else
            at = &pattern->next;
    }
}

static tamis_status find(const call_pattern *given, kept_pattern **found) {
    for (kept_pattern **at = &kept; *at; at = &(*at)->next)
        if (same(&(*at)->own, given)) {
            *found = *at;
            *at = (*found)->next;
            (*found)->next = kept;
            kept = *found;
            return TAMIS_OK;
        }
    TRY(make_pattern(given, found));
    (*found)->next = kept;
    kept = *found;
    return TAMIS_OK;
}

tamis_status tamis_xla_keep(tamis_device *device, const call *c, kept_pattern **pattern, const kept_plan **plan) {
    kept_plan *found = NULL;
    pthread_mutex_lock(&lock);
    tamis_status status = find(&c->pattern, pattern);
    if (status == TAMIS_OK) {
        (*pattern)->users++;
        status = plan_of(device, c, *pattern, &found);
        if (status != TAMIS_OK && --(*pattern)->users == 0 && !(*pattern)->plans) { /* its arrays are wrong */
            kept = (*pattern)->next;
            free_pattern(*pattern);
        }
    }
    if (status == TAMIS_OK) shorten();
    *plan = found;
    pthread_mutex_unlock(&lock);
    return status;
}

void tamis_xla_let_go(kept_pattern *pattern) {
    pthread_mutex_lock(&lock);
    pattern->users--;
    pthread_mutex_unlock(&lock);
}
