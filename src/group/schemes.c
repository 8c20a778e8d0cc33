/*
 * Estimates of distributed algorithms for one plan: the words and messages that a rank receives, the time, and the
 * parallel efficiency.
 *
 *   1d-fetch      the rows of B that are needed
 *   static-split  all rows of B (Nisa et al.: Sampled Dense Matrix Multiplication)
 *   joint-cover   of a nonzero that needs another rank's row, that row or a partial row of the output (SHIRO: arXiv
 *                 2512.20178), whichever makes the fewest bytes
 */
#include "group/price.h"

#include <stdio.h>

/* Predicts the slowest rank's computation from the local plans: the total, in proportion to its nonzeros. */
static double compute_seconds(const tamis_group_report *r) {
    return r->alone_seconds * r->imbalance / (double)r->ranks;
}

/* used: by the plan, whose time together is known if it is not 0. */
static double efficiency_of(const tamis_group_report *r, double exchange, bool used) {
    if (!(r->alone_seconds > 0)) return 0;
    if (used && r->together_seconds > 0) return r->alone_seconds / ((double)r->ranks * r->together_seconds);
    return r->alone_seconds / ((double)r->ranks * (compute_seconds(r) + exchange));
}

static int64_t word_bytes(const tamis_group_plan *plan) { return (int64_t)tamis_type_size(plan->options.type); }

/* Estimates the exchange of `rows` rows of B (or D) and `sums` partial rows sent back. */
static void price_rows(const tamis_group_plan *plan, int64_t rows, int64_t sums, int64_t messages, bool used,
                       tamis_group_scheme *scheme) {
    const tamis_group_report *const r = &plan->report;
    const int64_t sum_bytes = (int64_t)tamis_type_size(tamis_sum_type(plan->options.type));
    scheme->words = rows * (r->row_bytes / word_bytes(plan)) + sums * (r->back_bytes / sum_bytes);
    scheme->messages = messages;
    scheme->seconds = used ? r->exchange_seconds : tamis_group_seconds_of_rows(&plan->exchange, rows, sums);
    scheme->efficiency = efficiency_of(r, scheme->seconds, used);
}

/* Estimates the rows of B and the partial rows of a joint cover; unless `counted`, from a bound of the bytes. */
static void price_cover(const tamis_group_plan *plan, tamis_group_scheme *scheme) {
    const tamis_group_report *const r = &plan->report;
    const tamis_cover *const c = &plan->cover;
    if (c->declined) {
        snprintf(scheme->state, sizeof scheme->state, "%s", c->declined);
        scheme->words = -1;
        return;
    }
    snprintf(scheme->state, sizeof scheme->state, "%s", c->used ? "used" : "not used");
    scheme->words = (int64_t)(c->bytes / (double)word_bytes(plan));
    scheme->messages = c->counted ? c->messages : -1;
    scheme->seconds = c->seconds;
    scheme->efficiency = efficiency_of(r, c->seconds, c->used);
}

static void say(tamis_group_scheme *scheme, const char *name, const char *state) {
    scheme->name = name;
    if (state) snprintf(scheme->state, sizeof scheme->state, "%s", state);
}

void tamis_group_price_schemes(tamis_group_plan *plan) {
    tamis_group_scheme *const schemes = plan->schemes;
    const tamis_group_report *const r = &plan->report;
    const bool all = plan->options.exchange == TAMIS_EXCHANGE_REPLICATE;
    const bool fetch = !all && !plan->cover.used;
    const char *const used = r->overlaps ? "used, while the own part is computed" : "used";
    for (int i = 0; i < TAMIS_GROUP_SCHEMES; i++) schemes[i] = (tamis_group_scheme){.name = NULL};
    const bool fetches = r->row_bytes > 0, sums = r->back_bytes > 0;
    const int others = r->ranks - 1;
    say(&schemes[0], "1d-fetch", fetch ? used : "not used");
    price_rows(plan, plan->exchange.needed_rows, r->send_rows,
               (fetches ? plan->exchange.needed_sources : 0) + (sums ? r->targets : 0), fetch, &schemes[0]);
    say(&schemes[1], "static-split",
        all    ? used
        : sums ? "not used (Nisa et al.: A is replicated, and all add to all rows)"
               : "not used (Nisa et al.: B is replicated)");
    price_rows(plan, r->cols - r->own_rows, r->own_rows * others, others * (fetches + sums), all, &schemes[1]);
    if (!all) schemes[1].seconds = r->replicated_seconds;
    if (!all) schemes[1].efficiency = efficiency_of(r, r->replicated_seconds, false);
    price_cover(plan, &schemes[2]);
    say(&schemes[2], "joint-cover", NULL);
}
