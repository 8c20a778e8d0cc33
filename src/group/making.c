/* The ranks compare their arguments, and exchange their numbers of rows of B. */
#include "group/making.h"

#include <string.h>

#include "base/memory.h"
#include "core/options.h"
#include "group/share.h"
#include "sparse/check.h"

enum { EQUAL_FACTS = 15, EDGE_FACTS = 3 };

/* Record of a rank's arguments: numbers that must be equal on all ranks, then numbers of its own. */
typedef struct facts {
    int64_t equal[EQUAL_FACTS];
    double edge[EDGE_FACTS];
    int64_t own_rows, rows, nnz;
} facts;

/* In the order of facts_of. */
static const char *const equal_names[EQUAL_FACTS] = {
    "S.cols",        "options.operation",    "options.edge",      "options.type",      "options.inner",
    "options.width", "options.batch",        "options.d_is_b",    "options.transpose", "options.output_type",
    "options.math",  "options.keep_softmax", "options.any_order", "options.exchange",  "a gradient instead of a plan"};
static const char *const edge_names[EDGE_FACTS] = {"options.edge_scale", "options.edge_slope", "options.edge_epsilon"};

static facts facts_of(const tamis_group_making *m) {
    const tamis_options *const o = &m->options;
    return (facts){.equal = {m->S->cols, (int64_t)o->operation, (int64_t)o->edge, (int64_t)o->type, o->inner, o->width,
                             o->batch, o->d_is_b, o->transpose, (int64_t)o->output_type, (int64_t)o->math,
                             o->keep_softmax, o->any_order, (int64_t)o->exchange, (int64_t)m->kind},
                   .edge = {o->edge_scale, o->edge_slope, o->edge_epsilon},
                   .own_rows = m->own_rows,
                   .rows = m->S->rows,
                   .nnz = m->S->nnz};
}

/* Divides the device's threads among ranks of one process that share it. */
static void share_threads(tamis_group_making *m) {
    tamis_options *const o = &m->options;
    const int sharing = m->group->sharing;
    m->divided = 1;
    if (m->given->threads != 0) return;
    if (!tamis_group_on_device(m->group)) m->divided = o->threads < sharing ? o->threads : sharing;
    o->threads = o->threads > sharing ? o->threads / sharing : 1;
}

/* Checks that the bytes of an exchanged row (B, sums and the pairs of a softmax) fit 64 bits. */
static tamis_status check_row(const tamis_options *o) {
    int64_t elements;
    if (__builtin_add_overflow(o->inner, o->width, &elements) || __builtin_add_overflow(elements, 2, &elements) ||
        __builtin_mul_overflow(elements, o->batch, &elements) ||
        __builtin_mul_overflow(elements, (int64_t)sizeof(double), &elements))
        return tamis_fail(TAMIS_ERROR_OVERFLOW,
                          "options.inner = %lld, width = %lld, batch = %lld: the bytes of a row do not fit 64 bits",
                          (long long)o->inner, (long long)o->width, (long long)o->batch);
    return TAMIS_OK;
}

static tamis_status check(tamis_group_making *m) {
    tamis_options *const o = &m->options;
    TRY(tamis_options_read(m->given, m->group->device, o));
    if (o->edge == TAMIS_EDGE_TEXT)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.edge = text: groups have the edges with names; write one of these");
    if (m->kind == TAMIS_GROUP_GRADIENT && o->transpose && o->operation == TAMIS_OP_FUSED &&
        o->edge == TAMIS_EDGE_SOFTMAX)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.transpose = true: groups have no gradient of softmax with it, since each row of S^T "
                          "is on several ranks; distribute the transpose");
    TRY(tamis_sparse_check_host(m->S, "S"));
    TRY(tamis_format_check(m->S, TAMIS_CSR));
    if (m->own_rows < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "own_rows = %lld: expected 0 or more", (long long)m->own_rows);
    TRY(check_row(o));
    share_threads(m);
    return tamis_allocate((int64_t)m->group->transport.ranks + 1, sizeof(int64_t), "the rows of B by rank",
                          (void **)&m->column_starts);
}

static tamis_status compare(const facts *first, const facts *other, int rank) {
    for (int i = 0; i < EQUAL_FACTS; i++)
        if (other->equal[i] != first->equal[i])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: %s = %lld, but %lld on rank 0", rank, equal_names[i],
                              (long long)other->equal[i], (long long)first->equal[i]);
    for (int i = 0; i < EDGE_FACTS; i++)
        if (other->edge[i] != first->edge[i])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: %s = %.17g, but %.17g on rank 0", rank, edge_names[i],
                              other->edge[i], first->edge[i]);
    return TAMIS_OK;
}

/* Sums the ranks' sizes. All ranks compute the same, and so find the same errors. */
static tamis_status add_up(tamis_group_making *m) {
    const tamis_group *const group = m->group;
    facts first;
    m->column_starts[0] = 0;
    memcpy(&first, tamis_group_shared(group, 0, sizeof first), sizeof first);
    for (int r = 0; r < group->transport.ranks; r++) {
        facts theirs;
        memcpy(&theirs, tamis_group_shared(group, r, sizeof theirs), sizeof theirs);
        TRY(compare(&first, &theirs, r));
        if (__builtin_add_overflow(m->column_starts[r], theirs.own_rows, &m->column_starts[r + 1]) ||
            __builtin_add_overflow(m->rows, theirs.rows, &m->rows) ||
            __builtin_add_overflow(m->nnz, theirs.nnz, &m->nnz))
            return tamis_fail(TAMIS_ERROR_OVERFLOW, "the rows or nonzeros of ranks 0 .. %d do not fit 64 bits", r);
        if (theirs.nnz > m->nnz_most) m->nnz_most = theirs.nnz;
    }
    const int64_t total = m->column_starts[group->transport.ranks];
    if (total == m->S->cols) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "own_rows: all ranks together have %lld rows of B, expected S.cols = %lld",
                      (long long)total, (long long)m->S->cols);
}

tamis_status tamis_group_agree(tamis_group_making *m) {
    const tamis_status checked = check(m);
    const facts mine = checked == TAMIS_OK ? facts_of(m) : (facts){.rows = 0};
    TRY(tamis_group_share(m->group, checked, &mine, sizeof mine));
    return add_up(m);
}

/* Allocates the object. All ranks return the first error of any. */
static tamis_status begin(const tamis_group_making *m, void **result, size_t bytes, void **made) {
    static const char *const names[] = {"plan", "gradient", "rows"};
    const facts none = {.rows = 0};
    tamis_status status = TAMIS_OK;
    if (result) *result = NULL;
    if (!m->group) return tamis_fail(TAMIS_ERROR_ARGUMENT, "group = NULL: open one with tamis_group_open_local");
    if (!result)
        status = tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected an address for the result", names[m->kind]);
    else
        status = tamis_allocate_zeroed(1, bytes, "a group's plan", made);
    return status == TAMIS_OK ? TAMIS_OK : tamis_group_share(m->group, status, &none, sizeof none);
}

tamis_status tamis_group_make(tamis_group_making *m, size_t bytes, tamis_status (*make)(void *, tamis_group_making *),
                              void (*destroy)(void *), void **result) {
    void *made = NULL;
    TRY(begin(m, result, bytes, &made));
    const tamis_status status = make(made, m);
    if (status == TAMIS_OK)
        *result = made;
    else
        destroy(made);
    tamis_release(m->column_starts);
    tamis_release(m->needed);
    tamis_release(m->asked);
    tamis_release(m->asked_rows);
    return status;
}
