/* Describes a group's plan, as fields and as text. */
#include "base/text_buffer.h"
#include "group/plan.h"

static tamis_status check_plan(const tamis_group_plan *plan) {
    if (plan) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_group_plan_create");
}

const tamis_plan *tamis_group_plan_local(const tamis_group_plan *plan) {
    return plan ? plan->pieces[TAMIS_PIECE_FIRST].plan : NULL;
}

tamis_status tamis_group_plan_describe(const tamis_group_plan *plan, tamis_group_report *report) {
    tamis_clear_error();
    TRY(check_plan(plan));
    if (!report) return tamis_fail(TAMIS_ERROR_ARGUMENT, "report = NULL: expected an address for the result");
    *report = plan->report;
    return TAMIS_OK;
}

static void write_exchange(tamis_text_buffer *w, const tamis_group_plan *plan) {
    const tamis_group_report *const r = &plan->report;
    tamis_text_add(w, "group        rank %d of %d, over %s\n", r->rank, r->ranks, plan->exchange.group->transport.name);
    tamis_text_add(
        w, "whole        %lld x %lld, %lld nonzeros; this rank has %lld, the most has %lld, %.2f times the mean\n",
        (long long)r->rows, (long long)r->cols, (long long)r->nnz, (long long)r->nnz_here, (long long)r->nnz_most,
        r->imbalance);
    tamis_text_add(
        w,
        "exchange     receives %lld rows of at most %lld bytes from %d rank%s, sends %lld to %d; an all-gather "
        "would bring %lld\n",
        (long long)r->ghost_rows, (long long)r->row_bytes, r->sources, r->sources == 1 ? "" : "s",
        (long long)r->send_rows, r->targets, (long long)(r->cols - r->own_rows));
    if (r->back_bytes > 0)
        tamis_text_add(w,
                       "sums         sends %lld rows of %lld bytes back to their owners, adds %lld to its own rows\n",
                       (long long)r->ghost_rows, (long long)r->back_bytes, (long long)r->send_rows);
    if (plan->cover.used) {
        const tamis_shard_description *const others = tamis_row_lists(&plan->cover.rows);
        tamis_text_add(
            w, "cover        receives %lld partial rows from %d rank%s; computes %lld for %d, of %lld nonzeros\n",
            (long long)others->send_rows, others->targets, others->targets == 1 ? "" : "s",
            (long long)others->ghost_rows, others->sources, (long long)others->local.nnz);
    }
    tamis_text_add(w, "all ranks    receive %lld rows, the most %lld\n", (long long)r->ghosts,
                   (long long)r->ghosts_most);
    if (plan->by_rows) {
        const tamis_row_range *const x = plan->ranges, *const before = &x[TAMIS_BEFORE],
                                     *const behind = &x[TAMIS_BEHIND];
        tamis_text_add(
            w, "interior     %lld of %lld rows need no other rank's; %lld own rows of B are copied for the rest\n",
            (long long)x[TAMIS_INTERIOR].S.rows, (long long)tamis_row_lists(&plan->exchange)->local.rows,
            (long long)(before->last_own - before->first_own + behind->last_own - behind->first_own));
    }
    tamis_text_add(w, "buffers      %zu bytes\n", r->buffer_bytes);
}

/* Writes an algorithm's received data on this rank, and its time on the slowest rank. */
static void write_scheme(tamis_text_buffer *w, const tamis_group_scheme *scheme) {
    if (scheme->words < 0) {
        tamis_text_add(w, "%-12s %s\n", scheme->name, scheme->state);
        return;
    }
    const bool bound = scheme->messages < 0;
    tamis_text_add(w, "%-12s %s: this rank receives %s%lld words", scheme->name, scheme->state,
                   bound ? "at least " : "", (long long)scheme->words);
    if (!bound) tamis_text_add(w, " in %lld message%s", (long long)scheme->messages, scheme->messages == 1 ? "" : "s");
    if (scheme->seconds > 0) tamis_text_add(w, "; %.3g ms predicted", 1e3 * scheme->seconds);
    if (scheme->efficiency > 0) tamis_text_add(w, ", an efficiency of %.0f %%", 100 * scheme->efficiency);
    tamis_text_add(w, "\n");
}

/* Writes why this way of exchanging rows was chosen. */
static void write_choice(tamis_text_buffer *w, const tamis_group_plan *plan) {
    const tamis_group_report *const r = &plan->report;
    const double all = (double)(r->cols - r->own_rows);
    if (plan->options.exchange == TAMIS_EXCHANGE_REPLICATE)
        tamis_text_add(w, "chosen       static-split, by options.exchange");
    else if (plan->options.exchange == TAMIS_EXCHANGE_FETCH)
        tamis_text_add(w, "chosen       1d-fetch, by options.exchange");
    else if (plan->cover.used)
        tamis_text_add(w, "chosen       joint-cover%s",
                       plan->options.exchange == TAMIS_EXCHANGE_COVER ? ", by options.exchange"
                                                                      : ": fewer words than 1d-fetch");
    else
        tamis_text_add(w, "chosen       1d-fetch: never more words than static-split");
    if (all > 0)
        tamis_text_add(w, "; this rank needs %.0f %% of the other ranks' rows",
                       100 * (double)plan->exchange.needed_rows / all);
    tamis_text_add(w, "\n");
}

/* Writes the estimates for the plan's algorithm and for others, and if one device would suffice. */
static void write_prices(tamis_text_buffer *w, const tamis_group_plan *plan) {
    const tamis_group_report *const r = &plan->report;
    for (int i = 0; i < TAMIS_GROUP_SCHEMES; i++) write_scheme(w, &plan->schemes[i]);
    write_choice(w, plan);
    if (!(r->together_seconds > 0) || !(r->alone_seconds > 0)) return;
    const double ratio = r->alone_seconds / r->together_seconds;
    tamis_text_add(w, "predicted    %.3g ms together, %.3g ms on one rank alone: ", 1e3 * r->together_seconds,
                   1e3 * r->alone_seconds);
    if (ratio > 1)
        tamis_text_add(w, "%.2f times as fast, an efficiency of %.0f %%\n", ratio, 100 * ratio / r->ranks);
    else
        tamis_text_add(w, "one device is the better choice\n");
}

tamis_status tamis_group_plan_explain(const tamis_group_plan *plan, char *text, size_t bytes, size_t *needed) {
    size_t rest = 0;
    tamis_clear_error();
    TRY(check_plan(plan));
    if (!text && bytes > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "text = NULL, but bytes = %zu", bytes);
    tamis_text_buffer w = {.to = text, .bytes = bytes};
    write_exchange(&w, plan);
    write_prices(&w, plan);
    const size_t length = w.used;
    const bool room = length < bytes;
    TRY(tamis_plan_explain(plan->pieces[TAMIS_PIECE_FIRST].plan, room ? text + length : NULL, room ? bytes - length : 0,
                           &rest));
    if (needed) *needed = length + rest;
    return TAMIS_OK;
}
