/* What a group's plan says of itself, as fields and as text. */
#include "base/text.h"
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

static void write_exchange(tamis_text *w, const tamis_group_plan *plan) {
    const tamis_group_report *const r = &plan->report;
    tamis_text_add(w, "group        rank %d of %d, over %s\n", r->rank, r->ranks, plan->group->transport.name);
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
    tamis_text_add(w, "all ranks    receive %lld rows, the most %lld\n", (long long)r->ghosts,
                   (long long)r->ghosts_most);
    tamis_text_add(w, "buffers      %zu bytes\n", r->buffer_bytes);
}

/* What an algorithm receives on this rank, rows and sums of rows, and takes on the slowest. */
static void write_algorithm(tamis_text *w, const tamis_group_plan *plan, const char *name, const char *what,
                            int64_t rows, int64_t sums, int messages, double seconds) {
    const tamis_type type = plan->options.type;
    const int64_t words = rows * (plan->report.row_bytes / (int64_t)tamis_type_size(type)) +
                          sums * (plan->report.back_bytes / (int64_t)tamis_type_size(tamis_sum_type(type)));
    tamis_text_add(w, "%-12s %s: this rank receives %lld words in %d message%s", name, what, (long long)words, messages,
                   messages == 1 ? "" : "s");
    if (seconds > 0) tamis_text_add(w, "; %.3g ms predicted", 1e3 * seconds);
    tamis_text_add(w, "\n");
}

/* The plan's own algorithm and the baseline, and whether one device would do. */
static void write_prices(tamis_text *w, const tamis_group_plan *plan) {
    const tamis_group_report *const r = &plan->report;
    const bool fetches = r->row_bytes > 0, sums = r->back_bytes > 0;
    const int others = r->ranks - 1;
    write_algorithm(w, plan, "1d-fetch", r->overlaps ? "used, while the own part is computed" : "used", r->ghost_rows,
                    r->send_rows, (fetches ? r->sources : 0) + (sums ? r->targets : 0), r->exchange_seconds);
    write_algorithm(w, plan, "static-split",
                    sums ? "not used (paper 004: A is replicated, and all add to all rows)"
                         : "not used (paper 004: B is replicated)",
                    r->cols - r->own_rows, r->own_rows * others, others * (fetches + sums), r->replicated_seconds);
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
    tamis_text w = {.to = text, .bytes = bytes};
    write_exchange(&w, plan);
    write_prices(&w, plan);
    const size_t length = w.used;
    const bool room = length < bytes;
    TRY(tamis_plan_explain(plan->pieces[TAMIS_PIECE_FIRST].plan, room ? text + length : NULL, room ? bytes - length : 0,
                           &rest));
    if (needed) *needed = length + rest;
    return TAMIS_OK;
}
