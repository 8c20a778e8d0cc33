/* cpu-panels: processes neighbouring rows together, in panels of whole rows. */
#include <math.h>
#include <stdio.h>

#include "base/papers.h"
#include "base/status.h"
#include "cpu/methods/panels/build.h"
#include "cpu/predict.h"

enum { PREFETCH, ROWS, LEAST };

static bool accepts(const tamis_problem *problem, char *reason, size_t bytes) {
    if (problem->cols > UINT32_MAX ||
        problem->evidence->profile.max > (1 << TAMIS_CPU_PANEL_PLACE_BITS) / TAMIS_CPU_PANEL_ROWS) {
        snprintf(reason, bytes,
                 "%lld columns and a longest row of %lld nonzeros, but panels number 2^32 and 2^26 at most",
                 (long long)problem->cols, (long long)problem->evidence->profile.max);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ predicting */

static tamis_cpu_panel_shares shares_of(const tamis_problem *problem, int64_t rows) {
    const double *const sampled = problem->evidence->sampled + TAMIS_CPU_SAMPLED_PANELS + (rows == 8 ? 3 : 0);
    return (tamis_cpu_panel_shares){sampled[0], sampled[1], sampled[2]};
}

/* A row of B that several rows share is loaded once, but multiplied for each. A run branches, and loads and stores its
   rows' sums: in SpMM each of their vectors. */
static double seconds_of(const tamis_problem *problem, const tamis_cpu_panel_shares *shares) {
    const tamis_cpu_rates *const rates = tamis_cpu_rates_of(problem);
    const double nnz = (double)problem->nnz;
    const double size = problem->type == TAMIS_F64 ? 8 : 4;
    const double vectors = problem->operation == TAMIS_OP_SPMM ? ceil((double)problem->width * size / 64) : 1;
    tamis_cpu_counts counts = tamis_cpu_count_walk(problem);
    const double walk = tamis_cpu_seconds(problem, &counts);
    counts.far *= shares->entries;
    counts.near *= shares->entries;
    counts.products *=
        shares->single +
        (1 - shares->single) * (problem->operation == TAMIS_OP_SPMM ? rates->panels.sums : rates->panels.dots);
    counts.issued += nnz * shares->runs * vectors * rates->panels.run;
    return tamis_cpu_seconds(problem, &counts) + rates->panels.alone * shares->single * walk;
}

/* Chooses 6 or 8 rows by predicted time. */
static int64_t choose_rows(const tamis_problem *problem, tamis_cpu_panel_shares *shares) {
    const tamis_cpu_panel_shares six = shares_of(problem, 6), eight = shares_of(problem, 8);
    const bool less = seconds_of(problem, &six) < seconds_of(problem, &eight);
    *shares = less ? six : eight;
    return less ? 6 : 8;
}

static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    static const double SETUPS = 7.5; /* of a nonzero: it is sorted, counted and written */
    tamis_cpu_panel_shares shares;
    const int64_t rows = choose_rows(problem, &shares);
    prediction->call_seconds = seconds_of(problem, &shares);
    prediction->setup_seconds = SETUPS * (double)problem->nnz * tamis_cpu_rates_of(problem)->setup / problem->threads;
    snprintf(
        prediction->reason, sizeof prediction->reason,
        "panels of %lld rows read %.2f rows of B per nonzero, since %.0f %% of the nonzeros share theirs; runs of %.0f",
        (long long)rows, shares.entries, 100 * (1 - shares.single), shares.entries / shares.runs);
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status prepare(tamis_prepared *p) {
    tamis_cpu_panel_index *const panels = p->state;
    tamis_cpu_panel_shares shares;
    int64_t *const v = p->parameters;
    if (v[ROWS] == 7)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "parameters: rows = 7: cpu-panels has panels of 6 or 8 rows");
    if (v[ROWS] == 0) v[ROWS] = choose_rows(&p->problem, &shares);
    panels->rows = p->together = v[ROWS];
    p->job.prefetch = v[PREFETCH];
    p->rows_kept += panels->rows;
    p->job.chunk = tamis_cpu_panel_most(&p->problem, panels->rows);
    p->chunk_bytes = tamis_cpu_chunk_bytes(p, p->job.chunk);
    const int64_t count = tamis_cpu_panel_count(&p->problem, panels->rows), nnz = p->problem.nnz;
    TRY(tamis_cpu_keep(p, count, sizeof *panels->starts, "the panels", (void **)&panels->starts));
    TRY(tamis_cpu_keep(p, count, TAMIS_CPU_PANEL_RUNS * sizeof *panels->runs, "the runs of panels",
                       (void **)&panels->runs));
    TRY(tamis_cpu_keep(p, nnz > 0 ? nnz : 1, 2 * sizeof *panels->entries, "the entries of panels",
                       (void **)&panels->entries));
    return tamis_cpu_build_panels(&p->problem, p->threads, v[LEAST], panels);
}

const tamis_cpu_method tamis_cpu_panels = {
    .common.description =
        {.name = "cpu-panels",
         .device = "cpu",
         .operations = TAMIS_CPU_ALL,
         .source = "ours; idea of " PAPER_TILING,
         .needs = "8 bytes per nonzero and 592 per panel of 6 or 8 rows, built by the plan",
         .when =
             "neighbouring rows that share columns, and rows of B of 512 bytes and more: weights with up to 80 % zeros",
         .parameters =
             "prefetch (0 to 4096): entries ahead at which rows of B and D are prefetched; rows (6 or 8): of a panel; "
             "least (1 to 1048576): entries of a run, by default as many as pay for its beginning"},
    .common.needs_preparation = true,
    .parameters = {{"prefetch", 0, 4096}, {"rows", 6, 8}, {"least", 1, 1 << 20}},
    .reported = 3,
    .accepts = accepts,
    .predict = predict,
    .prepare = prepare,
    .state_bytes = sizeof(tamis_cpu_panel_index),
};
