/*
 * Making a plan of a group. Between the steps the ranks tell each other whether they succeeded, so that none waits for
 * one that has given up:
 *   1. each checks its arguments; all compare what must be equal, and learn how many rows of B each has
 *   2. each makes its shard; counts of rows that are needed go to their owners
 *   3. each makes room for what it is asked for; the numbers of the rows follow
 *   4. each makes its local plan and its buffers
 */
#include "group/plan.h"
#include "group/ghosts.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "sparse/check.h"

/* What ranks tell each other of their arguments: numbers that must be equal, then numbers of their own. */
enum {
    FACT_COLS,
    FACT_OPERATION,
    FACT_EDGE,
    FACT_TYPE,
    FACT_INNER,
    FACT_WIDTH,
    FACT_BATCH,
    FACT_D_IS_B,
    FACT_TRANSPOSE,
    FACT_OUTPUT_TYPE,
    FACT_MATH,
    FACT_KEEP_SOFTMAX,
    FACT_ANY_ORDER,
    FACT_EXCHANGE,
    FACT_KIND,
    EQUAL_FACTS,
    FACT_OWN_ROWS = EQUAL_FACTS,
    FACT_ROWS,
    FACT_NNZ,
    FACTS
};

static const char *const fact_names[EQUAL_FACTS] = {
    "S.cols",        "options.operation",    "options.edge",      "options.type",      "options.inner",
    "options.width", "options.batch",        "options.d_is_b",    "options.transpose", "options.output_type",
    "options.math",  "options.keep_softmax", "options.any_order", "options.exchange",  "a gradient instead of a plan"};

enum { EDGE_NUMBERS = 3 };

static const char *const edge_names[EDGE_NUMBERS] = {"options.edge_scale", "options.edge_slope",
                                                     "options.edge_epsilon"};

typedef struct facts {
    int64_t whole[FACTS];
    double edge[EDGE_NUMBERS];
} facts;

/* One call of tamis_group_plan_create on one rank. */
typedef struct making {
    tamis_group_plan *plan;
    tamis_group_kind kind;
    const tamis_sparse *S;
    int64_t own_rows;
    const tamis_options *given;
    int64_t *column_starts, *needed, *asked; /* by rank: where columns begin; rows needed of it, and asked for by it */
    int64_t *asked_rows;
} making;

/* ------------------------------------------------------------------------------------------ step 1 */

/* Ranks of one process share the device's. */
static void share_threads(making *m) {
    tamis_options *const o = &m->plan->options;
    const int sharing = m->plan->group->sharing;
    m->plan->divided = 1;
    if (m->given->threads != 0) return;
    if (!tamis_group_on_device(m->plan->group)) m->plan->divided = o->threads < sharing ? o->threads : sharing;
    o->threads = o->threads > sharing ? o->threads / sharing : 1;
}

static tamis_status check(making *m) {
    tamis_options *const o = &m->plan->options;
    TRY(tamis_options_read(m->given, m->plan->group->device, o));
    if (m->kind == TAMIS_GROUP_GRADIENT && o->transpose && o->operation == TAMIS_OP_FUSED &&
        o->edge == TAMIS_EDGE_SOFTMAX)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.transpose = true: groups have no gradient of softmax with it, since each row of S^T "
                          "is on several ranks; distribute the transpose");
    TRY(tamis_sparse_check_host(m->S, "S"));
    if (m->S->format != TAMIS_CSR)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "S.format = %s: expected csr", tamis_format_name(m->S->format));
    if (m->own_rows < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "own_rows = %lld: expected 0 or more", (long long)m->own_rows);
    share_threads(m);
    return TAMIS_OK;
}

static facts facts_of(const making *m) {
    const tamis_options *const o = &m->plan->options;
    return (facts){.whole = {[FACT_COLS] = m->S->cols,
                             [FACT_OPERATION] = (int64_t)o->operation,
                             [FACT_EDGE] = (int64_t)o->edge,
                             [FACT_TYPE] = (int64_t)o->type,
                             [FACT_INNER] = o->inner,
                             [FACT_WIDTH] = o->width,
                             [FACT_BATCH] = o->batch,
                             [FACT_D_IS_B] = o->d_is_b,
                             [FACT_TRANSPOSE] = o->transpose,
                             [FACT_OUTPUT_TYPE] = (int64_t)o->output_type,
                             [FACT_MATH] = (int64_t)o->math,
                             [FACT_KEEP_SOFTMAX] = o->keep_softmax,
                             [FACT_ANY_ORDER] = o->any_order,
                             [FACT_EXCHANGE] = (int64_t)o->exchange,
                             [FACT_KIND] = (int64_t)m->kind,
                             [FACT_OWN_ROWS] = m->own_rows,
                             [FACT_ROWS] = m->S->rows,
                             [FACT_NNZ] = m->S->nnz},
                   .edge = {o->edge_scale, o->edge_slope, o->edge_epsilon}};
}

static tamis_status compare(const facts *first, const facts *other, int rank) {
    for (int i = 0; i < EQUAL_FACTS; i++)
        if (other->whole[i] != first->whole[i])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: %s = %lld, but %lld on rank 0", rank, fact_names[i],
                              (long long)other->whole[i], (long long)first->whole[i]);
    for (int i = 0; i < EDGE_NUMBERS; i++)
        if (other->edge[i] != first->edge[i])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: %s = %.17g, but %.17g on rank 0", rank, edge_names[i],
                              other->edge[i], first->edge[i]);
    return TAMIS_OK;
}

/* What all ranks have together. They all compute the same, and so find the same errors. */
static tamis_status add_up(making *m) {
    const tamis_group *const group = m->plan->group;
    tamis_group_report *const report = &m->plan->report;
    facts first = {{0}, {0}};
    m->column_starts[0] = 0;
    for (int r = 0; r < group->transport.ranks; r++) {
        facts theirs;
        memcpy(&theirs, tamis_group_shared(group, r, sizeof theirs), sizeof theirs);
        if (r == 0) first = theirs;
        TRY(compare(&first, &theirs, r));
        const int64_t *const whole = theirs.whole;
        if (__builtin_add_overflow(m->column_starts[r], whole[FACT_OWN_ROWS], &m->column_starts[r + 1]) ||
            __builtin_add_overflow(report->rows, whole[FACT_ROWS], &report->rows) ||
            __builtin_add_overflow(report->nnz, whole[FACT_NNZ], &report->nnz))
            return tamis_fail(TAMIS_ERROR_OVERFLOW, "the rows or nonzeros of ranks 0 .. %d do not fit 64 bits", r);
        if (whole[FACT_NNZ] > report->nnz_most) report->nnz_most = whole[FACT_NNZ];
    }
    const int64_t total = m->column_starts[group->transport.ranks];
    if (total == first.whole[FACT_COLS]) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "own_rows: all ranks together have %lld rows of B, expected S.cols = %lld",
                      (long long)total, (long long)first.whole[FACT_COLS]);
}

/* ------------------------------------------------------------------------------------------ steps 2 and 3 */

/* What this rank needs, where it receives more than that. */
static tamis_status count_needed(making *m) {
    tamis_group_plan *const plan = m->plan;
    const int rank = plan->group->transport.rank;
    const int64_t *const starts = m->column_starts;
    tamis_ghosts needed;
    int owner = -1;
    TRY(tamis_ghosts_find(m->S, starts[rank], starts[rank + 1], &needed));
    plan->needed_rows = needed.count;
    for (int64_t i = 0, r = 0; i < needed.count; i++) {
        while (needed.columns[i] >= starts[r + 1]) r++;
        plan->needed_sources += owner != r;
        owner = (int)r;
    }
    tamis_ghosts_release(&needed);
    return TAMIS_OK;
}

static tamis_status make_shard(making *m) {
    tamis_group_plan *const plan = m->plan;
    const tamis_transport *const t = &plan->group->transport;
    const tamis_shard_options o = {.rank = t->rank,
                                   .ranks = t->ranks,
                                   .column_starts = m->column_starts,
                                   .all_rows = plan->options.exchange == TAMIS_EXCHANGE_REPLICATE,
                                   .trust_input = plan->options.trust_input};
    TRY(tamis_shard_create(m->S, &o, &plan->shard));
    const int64_t *const starts = tamis_shard_is(plan->shard)->receive_starts;
    plan->needed_rows = tamis_shard_is(plan->shard)->ghost_rows;
    plan->needed_sources = tamis_shard_is(plan->shard)->sources;
    if (o.all_rows) {
        plan->needed_sources = 0;
        TRY(count_needed(m));
    }
    for (int r = 0; r < t->ranks; r++) m->needed[r] = starts[r + 1] - starts[r];
    m->asked[t->rank] = 0;
    return TAMIS_OK;
}

static tamis_status exchange_counts(making *m) {
    tamis_group_plan *const plan = m->plan;
    for (int r = 0; r <= plan->group->transport.ranks; r++)
        plan->send_starts[r] = plan->receive_starts[r] = r * (int64_t)sizeof(int64_t);
    const tamis_transfer transfer = {.send = m->needed,
                                     .send_starts = plan->send_starts,
                                     .receive = m->asked,
                                     .receive_starts = plan->receive_starts};
    return tamis_group_exchange(plan->group, &transfer);
}

static tamis_status make_room_for_requests(making *m) {
    int64_t total = 0;
    m->plan->receive_starts[0] = 0;
    for (int r = 0; r < m->plan->group->transport.ranks; r++) {
        total += m->asked[r];
        m->plan->receive_starts[r + 1] = total * (int64_t)sizeof(int64_t);
    }
    return tamis_allocate(total, sizeof(int64_t), "the numbers of rows to send", (void **)&m->asked_rows);
}

static tamis_status exchange_requests(making *m) {
    tamis_group_plan *const plan = m->plan;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    for (int r = 0; r <= is->ranks; r++) plan->send_starts[r] = is->receive_starts[r] * (int64_t)sizeof(int64_t);
    const tamis_transfer transfer = {.send = is->ghosts,
                                     .send_starts = plan->send_starts,
                                     .receive = m->asked_rows,
                                     .receive_starts = plan->receive_starts};
    return tamis_group_exchange(plan->group, &transfer);
}

/* ------------------------------------------------------------------------------------------ step 4 */

/* What an exchanged row has, in elements: of what is fetched, and of partial sums. */
static tamis_status count_row_bytes(tamis_group_plan *plan) {
    const tamis_options *const o = &plan->options;
    const bool forward = plan->kind != TAMIS_GROUP_GRADIENT,
               softmax = o->operation != TAMIS_OP_SPMM && o->edge == TAMIS_EDGE_SOFTMAX;
    int64_t both, fetched, back;
    if (__builtin_add_overflow(o->inner, o->width, &both) || __builtin_add_overflow(both, 2, &back) ||
        __builtin_mul_overflow(back, o->batch, &fetched) ||
        __builtin_mul_overflow(fetched, (int64_t)sizeof(double), &fetched))
        return tamis_fail(TAMIS_ERROR_OVERFLOW,
                          "options.inner = %lld, width = %lld, batch = %lld: the bytes of a row do not fit 64 bits",
                          (long long)o->inner, (long long)o->width, (long long)o->batch);
    fetched = o->transpose && forward ? o->inner : both;
    if (o->transpose)
        back = forward ? o->width + (softmax ? 2 : 0) : o->inner;
    else
        back = forward ? 0 : both;
    plan->report.row_bytes = fetched * o->batch * (int64_t)tamis_type_size(o->type);
    plan->report.back_bytes = back * o->batch * (int64_t)tamis_type_size(tamis_sum_type(o->type));
    return TAMIS_OK;
}

static tamis_status make_rest(making *m) {
    tamis_group_plan *const plan = m->plan;
    TRY(tamis_shard_set_requests(plan->shard, m->asked, m->asked_rows));
    TRY(count_row_bytes(plan));
    plan->report.cols = m->S->cols;
    plan->overlaps = m->kind == TAMIS_GROUP_PLAN && tamis_group_overlaps(plan);
    TRY(tamis_group_make_pieces(plan, &plan->options));
    return tamis_group_make_buffers(plan);
}

/* What ranks tell each other in the end. */
typedef struct ending {
    int64_t ghosts;
    tamis_group_price price;
    bool known; /* the price is */
} ending;

static ending ending_of(const tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    ending mine = {.ghosts = is->ghost_rows, .price = tamis_group_price_of(plan)};
    mine.known = (mine.price.local > 0 || is->local.nnz == 0) && (mine.price.exchange > 0 || is->ghost_rows == 0);
    return mine;
}

static void raise_to(double *most, double value) {
    if (value > *most) *most = value;
}

static void add_ending(tamis_group_report *report, const ending *theirs) {
    report->ghosts += theirs->ghosts;
    if (theirs->ghosts > report->ghosts_most) report->ghosts_most = theirs->ghosts;
    raise_to(&report->exchange_seconds, theirs->price.exchange);
    raise_to(&report->replicated_seconds, theirs->price.replicated);
    raise_to(&report->together_seconds, theirs->price.together);
    report->alone_seconds += theirs->price.alone;
}

static void fill_report(making *m) {
    const tamis_group *const group = m->plan->group;
    const tamis_shard_description *const is = tamis_shard_is(m->plan->shard);
    tamis_group_report *const report = &m->plan->report;
    report->rank = is->rank;
    report->ranks = is->ranks;
    report->nnz_here = is->local.nnz;
    report->imbalance = report->nnz > 0 ? (double)report->nnz_most * report->ranks / (double)report->nnz : 1;
    report->own_rows = is->own_rows;
    report->ghost_rows = is->ghost_rows;
    report->send_rows = is->send_rows;
    report->sources = is->sources;
    report->targets = is->targets;
    report->overlaps = m->plan->overlaps;
    bool known = true;
    for (int r = 0; r < is->ranks; r++) {
        ending theirs;
        memcpy(&theirs, tamis_group_shared(group, r, sizeof theirs), sizeof theirs);
        add_ending(report, &theirs);
        known = known && theirs.known;
    }
    if (!known) report->together_seconds = report->alone_seconds = 0;
    tamis_group_price_schemes(m->plan);
}

/* ------------------------------------------------------------------------------------------ the whole */

static tamis_status make_lists(making *m) {
    const int64_t ranks = m->plan->group->transport.ranks;
    int64_t **const lists[] = {&m->column_starts, &m->needed, &m->asked, &m->plan->send_starts,
                               &m->plan->receive_starts};
    for (int i = 0; i < 5; i++)
        TRY(tamis_allocate(ranks + 1, sizeof(int64_t), "the lists of a group's plan", (void **)lists[i]));
    return check(m);
}

static tamis_status make(making *m) {
    tamis_group *const group = m->plan->group;
    const tamis_status checked = make_lists(m);
    const facts mine = checked == TAMIS_OK ? facts_of(m) : (facts){{0}, {0}};
    TRY(tamis_group_share(group, checked, &mine, sizeof mine));
    TRY(add_up(m));
    TRY(tamis_group_share(group, make_shard(m), NULL, 0));
    TRY(exchange_counts(m));
    TRY(tamis_group_share(group, make_room_for_requests(m), NULL, 0));
    TRY(exchange_requests(m));
    const tamis_status rest = make_rest(m);
    const ending end = rest == TAMIS_OK ? ending_of(m->plan) : (ending){.ghosts = 0};
    TRY(tamis_group_share(group, rest, &end, sizeof end));
    fill_report(m);
    return TAMIS_OK;
}

static tamis_status begin(making *m, tamis_group_plan **plan) {
    static const char *const names[] = {"plan", "gradient", "rows"};
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected an address for the result", names[m->kind]);
    *plan = NULL;
    return tamis_allocate_zeroed(1, sizeof *m->plan, "a group's plan", (void **)&m->plan);
}

tamis_status tamis_group_plan_make(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                   const tamis_options *options, tamis_group_kind kind, tamis_group_plan **plan) {
    tamis_status status = TAMIS_OK;
    making m = {.kind = kind, .S = S, .own_rows = own_rows, .given = options};
    const facts none = {{0}, {0}};
    const double start = tamis_clock_seconds();
    if (!group) return tamis_fail(TAMIS_ERROR_ARGUMENT, "group = NULL: open one with tamis_group_open_local");
    status = begin(&m, plan);
    if (status != TAMIS_OK) return tamis_group_share(group, status, &none, sizeof none);
    m.plan->group = group;
    m.plan->kind = kind;
    TRY_GOTO(done, make(&m));
    m.plan->options.algorithm = m.plan->options.parameters = NULL;
    m.plan->options.allocator = NULL;
    m.plan->values_skip = S->offset_base;
    m.plan->report.setup_seconds = tamis_clock_seconds() - start;
    *plan = m.plan;
done:
    tamis_release(m.column_starts);
    tamis_release(m.needed);
    tamis_release(m.asked);
    tamis_release(m.asked_rows);
    if (status != TAMIS_OK) tamis_group_plan_destroy(m.plan);
    return status;
}

tamis_status tamis_group_plan_create(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                     const tamis_options *options, tamis_group_plan **plan) {
    tamis_clear_error();
    return tamis_group_plan_make(group, S, own_rows, options, TAMIS_GROUP_PLAN, plan);
}

void tamis_group_plan_destroy(tamis_group_plan *plan) {
    if (!plan) return;
    tamis_group_release_places(plan);
    tamis_shard_destroy(plan->shard);
    tamis_release(plan->send_starts);
    tamis_release(plan->receive_starts);
    tamis_release(plan);
}
