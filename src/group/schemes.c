/*
 * Algorithms that distribute the operations, priced for one plan: what a rank receives, in words and messages, the
 * seconds that takes, and the efficiency that follows.
 *
 *   1d-fetch      the rows of B that are needed
 *   static-split  all rows of B (Nisa et al.: Sampled Dense Matrix Multiplication)
 *   1.5d-shift    dense shift with local fusion (Bharadwaj, Buluc, Demmel: arXiv 2203.07673), c ranks to a team: a team
 *                 shares its rows of A and adds up its outputs; blocks of B go round among the teams, and each serves
 *                 SDDMM and SpMM at once. c is the divisor of the ranks that is fastest.
 */
#include "group/schemes.h"

#include <stdio.h>

#include "group/price.h"

/* Predicts the slowest rank's computation from the local plans: the whole, in proportion to the nonzeros. */
static double compute_seconds(const tamis_group_report *r) {
    return r->alone_seconds * r->imbalance / (double)r->ranks;
}

static double efficiency_of(const tamis_group_report *r, double exchange) {
    if (!(r->alone_seconds > 0)) return 0;
    return r->alone_seconds / ((double)r->ranks * (compute_seconds(r) + exchange));
}

static int64_t word_bytes(const tamis_group_plan *plan) { return (int64_t)tamis_type_size(plan->options.type); }

/* Prices `rows` of B (or D) and `sums` of partial rows that come back. */
static void price_rows(const tamis_group_plan *plan, int64_t rows, int64_t sums, int64_t messages, bool used,
                       tamis_group_scheme *scheme) {
    const tamis_group_report *const r = &plan->report;
    const int64_t sum_bytes = (int64_t)tamis_type_size(tamis_sum_type(plan->options.type));
    scheme->words = rows * (r->row_bytes / word_bytes(plan)) + sums * (r->back_bytes / sum_bytes);
    scheme->messages = messages;
    scheme->seconds = used ? r->exchange_seconds : tamis_group_seconds_of_rows(&plan->exchange, rows, sums);
    scheme->efficiency = efficiency_of(r, scheme->seconds);
    if (used && r->together_seconds > 0)
        scheme->efficiency = r->alone_seconds / ((double)r->ranks * r->together_seconds);
}

/* Counts the elements that a rank receives with teams of c: those of A and of the output (SDDMM: samples) of its team's
   other ranks, and the blocks of B that pass by. */
static double shifted_words(const tamis_group_plan *plan, int c) {
    const tamis_group_report *const r = &plan->report;
    const tamis_options *const o = &plan->options;
    const double p = r->ranks, batch = (double)o->batch, rows = (double)r->rows / p;
    const int64_t row_words = r->row_bytes / word_bytes(plan);
    const double blocks = (double)r->cols / p * (double)row_words * (p / c - 1);
    const double a = o->operation == TAMIS_OP_SPMM ? 0 : rows * (double)o->inner * batch;
    const double out =
        o->operation == TAMIS_OP_SDDMM ? (double)r->nnz / p / c * batch : rows * (double)o->width * batch;
    return blocks + (c - 1) * (a + out);
}

static void price_shift(const tamis_group_plan *plan, tamis_group_scheme *scheme) {
    const tamis_group_report *const r = &plan->report;
    const tamis_options *const o = &plan->options;
    const bool both = o->operation != TAMIS_OP_SPMM;
    int best = 1;
    if (o->transpose) {
        snprintf(scheme->state, sizeof scheme->state, "not priced with S transposed");
        return;
    }
    for (int c = 1; c <= r->ranks; c++) {
        if (r->ranks % c != 0) continue;
        const int64_t steps = r->ranks / c - 1 + (both ? 2 : 1) * (int64_t)(c - 1);
        const double words = shifted_words(plan, c);
        const double seconds = tamis_group_seconds(plan->exchange.group, words * (double)word_bytes(plan), steps);
        const bool better = seconds > 0 ? seconds < scheme->seconds : words < (double)scheme->words;
        if (c > 1 && !better) continue;
        best = c;
        *scheme = (tamis_group_scheme){.words = (int64_t)words, .messages = steps, .seconds = seconds};
    }
    scheme->efficiency = efficiency_of(r, scheme->seconds);
    if (both && o->edge == TAMIS_EDGE_SOFTMAX)
        snprintf(scheme->state, sizeof scheme->state, "not possible (softmax needs a whole row at once), teams of %d",
                 best);
    else
        snprintf(scheme->state, sizeof scheme->state, "priced only, with teams of %d", best);
}

static void say(tamis_group_scheme *scheme, const char *name, const char *state) {
    scheme->name = name;
    if (state) snprintf(scheme->state, sizeof scheme->state, "%s", state);
}

void tamis_group_price_schemes(tamis_group_plan *plan) {
    tamis_group_scheme *const schemes = plan->schemes;
    const tamis_group_report *const r = &plan->report;
    const bool all = plan->options.exchange == TAMIS_EXCHANGE_REPLICATE;
    const char *const used = r->overlaps ? "used, while the own part is computed" : "used";
    for (int i = 0; i < TAMIS_GROUP_SCHEMES; i++) schemes[i] = (tamis_group_scheme){.name = NULL};
    const bool fetches = r->row_bytes > 0, sums = r->back_bytes > 0;
    const int others = r->ranks - 1;
    say(&schemes[0], "1d-fetch", all ? "not used" : used);
    price_rows(plan, plan->exchange.needed_rows, r->send_rows,
               (fetches ? plan->exchange.needed_sources : 0) + (sums ? r->targets : 0), !all, &schemes[0]);
    say(&schemes[1], "static-split",
        all    ? used
        : sums ? "not used (Nisa et al.: A is replicated, and all add to all rows)"
               : "not used (Nisa et al.: B is replicated)");
    price_rows(plan, r->cols - r->own_rows, r->own_rows * others, others * (fetches + sums), all, &schemes[1]);
    if (!all) schemes[1].seconds = r->replicated_seconds;
    if (!all) schemes[1].efficiency = efficiency_of(r, r->replicated_seconds);
    price_shift(plan, &schemes[2]);
    say(&schemes[2], "1.5d-shift", NULL);
}
