/*
 * Creates a plan of a group. Steps 1 to 3 make the exchange (exchange/lists.h). Then each rank makes its local plans
 * and its buffers, and all ranks share success and cost.
 */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "group/exchange/lists.h"
#include "group/plan.h"
#include "group/price.h"
#include "group/share.h"

/* ------------------------------------------------------------------------------------------ pieces */

/* Makes the local plan of op(S) = S^T, which reads A from X and gives its partial rows back. */
static tamis_status make_transposed(tamis_group_plan *plan, tamis_options *o) {
    if (!plan->exchange.in_place) o->a_layout = TAMIS_ROW_MAJOR;
    if (plan->exchange.gives) {
        o->output_layout = TAMIS_ROW_MAJOR;
        o->output_type = tamis_sum_type(o->type);
        o->keep_softmax = tamis_is_softmax(o);
    }
    return tamis_piece_plan(&plan->exchange, o, &tamis_row_lists(&plan->exchange)->local,
                            &plan->pieces[TAMIS_PIECE_FIRST]);
}

/* Makes the piece that this rank computes for others; it reads the caller's B and the values received. */
static tamis_status make_given(tamis_group_plan *plan, tamis_options o) {
    tamis_cover *const c = &plan->cover;
    tamis_piece *const piece = &plan->pieces[TAMIS_PIECE_GIVEN];
    o.a_layout = o.output_layout = TAMIS_ROW_MAJOR;
    o.output_type = tamis_sum_type(o.type);
    TRY(tamis_cover_make_values(c, &tamis_row_lists(&plan->exchange)->local));
    TRY(tamis_piece_put(&c->rows, &o, &tamis_row_lists(&c->rows)->local, NULL, piece));
    if (c->kind > 1) {
        piece->S.values = c->packed ? c->packed : c->values.rows;
        piece->S.value_type = c->values.type;
    }
    return tamis_plan_create(plan->exchange.group->device, &piece->S, &o, &piece->plan);
}

/* Maps the kept entries, also when split again, to their indices in S. */
static void number_kept(const tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    int64_t *const lists[] = {(int64_t *)(uintptr_t)is->own_entries, (int64_t *)(uintptr_t)is->ghost_entries};
    const int64_t counts[] = {is->own.nnz, is->ghost.nnz};
    for (int i = 0; i < 2; i++)
        for (int64_t t = 0; t < counts[i]; t++) lists[i][t] = plan->cover.entries[lists[i][t]];
}

static tamis_status make_pieces(tamis_group_plan *plan) {
    const tamis_row_exchange *const e = &plan->exchange;
    const tamis_shard_description *const is = tamis_row_lists(e);
    tamis_piece *const first = &plan->pieces[TAMIS_PIECE_FIRST], *const ghost = &plan->pieces[TAMIS_PIECE_GHOST];
    tamis_options o = plan->options, of_x = plan->options;
    o.trust_input = of_x.trust_input = true; /* the shard was made from checked arrays */
    of_x.b_layout = of_x.d_layout = TAMIS_ROW_MAJOR;
    if (o.transpose) return make_transposed(plan, &o);
    if (plan->cover.used) TRY(make_given(plan, o));
    if (plan->cover.rows.own_sums > 0) {
        o.output_layout = of_x.output_layout = TAMIS_ROW_MAJOR;
        o.output_type = of_x.output_type = tamis_sum_type(o.type);
    }
    if (!plan->overlaps && plan->cover.used)
        return tamis_piece_plan_part(e, e->in_place ? &o : &of_x, &is->local, plan->cover.entries, first);
    if (!plan->overlaps) return tamis_piece_plan(e, e->in_place ? &o : &of_x, &is->local, first);
    for (int i = 0; plan->by_rows && i < TAMIS_ROW_RANGES; i++)
        TRY(tamis_piece_plan(e, i == TAMIS_INTERIOR ? &o : &of_x, &plan->ranges[i].S, &plan->pieces[i]));
    if (plan->by_rows) return TAMIS_OK;
    TRY(tamis_shard_split(e->shard));
    if (plan->cover.used) number_kept(plan);
    TRY(tamis_piece_plan_part(e, &o, &is->own, is->own_entries, first));
    return tamis_piece_plan_part(e, &of_x, &is->ghost, is->ghost_entries, ghost);
}

/* Cuts the rows if there is an interior; then only the own rows that the rows around it need are copied to X. */
static tamis_status cut_rows(tamis_group_plan *plan) {
    tamis_row_exchange *const e = &plan->exchange;
    tamis_interior interior;
    plan->by_rows = tamis_group_has_interior(plan, &interior);
    if (!plan->by_rows) return TAMIS_OK;
    TRY(tamis_row_ranges_make(tamis_row_lists(e), &interior, plan->ranges));
    for (int i = 0; i < 2; i++) {
        e->copied[i][0] = plan->ranges[TAMIS_BEFORE + i].first_own;
        e->copied[i][1] = plan->ranges[TAMIS_BEFORE + i].last_own;
    }
    return TAMIS_OK;
}

/* Sets up the exchange: of rows of B and D; with the transpose, of rows of A and of sums of the output. */
static tamis_status set_rows(tamis_group_plan *plan) {
    tamis_row_exchange *const e = &plan->exchange;
    const tamis_options *const o = &plan->options;
    const tamis_shard_description *const is = tamis_row_lists(e);
    const bool once = o->operation == TAMIS_OP_FUSED && o->d_is_b; /* D is B: rows are fetched once */
    if (o->transpose)
        tamis_row_exchange_set_widths(e, o->inner, o->width + (tamis_is_softmax(o) ? 2 : 0));
    else
        tamis_row_exchange_set_widths(e, once ? o->inner : o->inner + o->width, 0);
    plan->report.row_bytes = e->row_bytes;
    plan->report.back_bytes = e->back_bytes;
    e->copied[0][1] = is->own_rows;
    TRY(cut_rows(plan));
    plan->overlaps = plan->by_rows || tamis_group_overlaps(plan);
    e->in_place = (plan->overlaps && !plan->by_rows) || is->ghost_rows == 0;
    e->gives = o->transpose && (is->ghost_rows > 0 || is->send_rows > 0);
    e->own_sums = e->gives ? is->own_rows : 0;
    return TAMIS_OK;
}

static tamis_status make_local(tamis_group_plan *plan, const tamis_group_making *m) {
    TRY(tamis_row_exchange_take_requests(&plan->exchange, m));
    plan->options = m->options;
    plan->divided = m->divided;
    plan->values_skip = m->S->offset_base;
    plan->report.cols = m->S->cols;
    TRY(set_rows(plan));
    /* a 16-bit output is rounded once, after adding the partial rows */
    const int64_t own_sums = plan->options.output_type == tamis_sum_type(plan->options.type) ? 0 : m->S->rows;
    if (plan->cover.used) TRY(tamis_cover_make_buffers(&plan->cover, &plan->options, own_sums));
    TRY(make_pieces(plan));
    plan->options.algorithm = plan->options.parameters = NULL;
    plan->options.allocator = NULL;
    return tamis_row_exchange_make_buffers(&plan->exchange, tamis_is_softmax(&plan->options));
}

/* ------------------------------------------------------------------------------------------ the report */

/* Record that ranks exchange at the end. */
typedef struct ending {
    int64_t ghosts, sums; /* rows received: ghost rows of B, and partial rows of a joint cover */
    tamis_group_price price;
    bool known; /* the price is known */
} ending;

static ending ending_of(const tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    ending mine = {.ghosts = is->ghost_rows, .price = tamis_group_price_of(plan)};
    if (plan->cover.used) mine.sums = tamis_row_lists(&plan->cover.rows)->send_rows;
    mine.known = (mine.price.local > 0 || is->local.nnz == 0) && (mine.price.exchange > 0 || is->ghost_rows == 0);
    return mine;
}

static void raise_to(double *most, double value) {
    if (value > *most) *most = value;
}

static void add_ending(tamis_group_report *report, const ending *theirs) {
    const int64_t rows = theirs->ghosts + theirs->sums;
    report->ghosts += rows;
    if (rows > report->ghosts_most) report->ghosts_most = rows;
    raise_to(&report->exchange_seconds, theirs->price.exchange);
    raise_to(&report->replicated_seconds, theirs->price.replicated);
    raise_to(&report->together_seconds, theirs->price.together);
    report->alone_seconds += theirs->price.alone;
}

static void fill_report(tamis_group_plan *plan, const tamis_group_making *m) {
    const tamis_group *const group = plan->exchange.group;
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    tamis_group_report *const report = &plan->report;
    report->rows = m->rows;
    report->nnz = m->nnz;
    report->nnz_most = m->nnz_most;
    report->rank = is->rank;
    report->ranks = is->ranks;
    report->nnz_here = m->S->nnz;
    report->imbalance = report->nnz > 0 ? (double)report->nnz_most * report->ranks / (double)report->nnz : 1;
    report->own_rows = is->own_rows;
    report->ghost_rows = is->ghost_rows;
    report->send_rows = is->send_rows;
    report->sources = is->sources;
    report->targets = is->targets;
    report->overlaps = plan->overlaps;
    report->buffer_bytes =
        plan->exchange.buffer_bytes + plan->cover.rows.buffer_bytes + plan->cover.values.buffer_bytes;
    bool known = true;
    int64_t sums = 0;
    for (int r = 0; r < is->ranks; r++) {
        ending theirs;
        memcpy(&theirs, tamis_group_shared(group, r, sizeof theirs), sizeof theirs);
        add_ending(report, &theirs);
        sums += theirs.sums;
        known = known && theirs.known;
    }
    if (!known) report->together_seconds = report->alone_seconds = 0;
    plan->exchange.ghosts = report->ghosts - sums;
    plan->cover.rows.ghosts = plan->cover.values.ghosts = sums;
    tamis_group_price_schemes(plan);
}

/* ------------------------------------------------------------------------------------------ the whole */

static tamis_status make(void *memory, tamis_group_making *m) {
    tamis_group_plan *const plan = memory;
    const double start = tamis_clock_seconds();
    TRY(tamis_row_exchange_create(&plan->exchange, m));
    TRY(tamis_cover_make(&plan->cover, &plan->exchange, m));
    const tamis_status mine = make_local(plan, m);
    const ending end = mine == TAMIS_OK ? ending_of(plan) : (ending){.ghosts = 0};
    TRY(tamis_group_share(m->group, mine, &end, sizeof end));
    fill_report(plan, m);
    plan->report.setup_seconds = tamis_clock_seconds() - start;
    return TAMIS_OK;
}

static void destroy(void *memory) {
    tamis_group_plan *const plan = memory;
    for (int i = 0; i < TAMIS_PIECES && plan->exchange.group; i++)
        tamis_piece_release(&plan->exchange, &plan->pieces[i]);
    tamis_row_ranges_release(plan->ranges);
    tamis_cover_destroy(&plan->cover);
    tamis_row_exchange_destroy(&plan->exchange);
    tamis_release(plan);
}

tamis_status tamis_group_plan_create(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                     const tamis_options *options, tamis_group_plan **plan) {
    tamis_group_making m = {.kind = TAMIS_GROUP_PLAN, .group = group, .S = S, .own_rows = own_rows, .given = options};
    tamis_clear_error();
    return tamis_group_make(&m, sizeof **plan, make, destroy, (void **)plan);
}

void tamis_group_plan_destroy(tamis_group_plan *plan) {
    if (plan) destroy(plan);
}
