/* cpu-panels: processes neighbouring rows together, in panels of whole rows. */
#include <math.h>
#include <stdio.h>

#include "base/papers.h"
#include "base/status.h"
#include "cpu/fitted.h"
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

/* Fitted as src/cpu/fitted.c says; `sums` on 2026-11-26 to twelve matrices at K = 32, 64 and 128. Times are seconds of
   one core. */
static const struct {
    double entry, nonzero; /* in a run, without moving the row and the multiply-adds */
    double sample;         /* its share of a reduction, and storing the sample */
    double run;            /* a branch, and loading and storing sums */
    double row;            /* clearing and writing out its sums */
    double unseen;         /* factor: effects outside the model */
    double local;          /* factor, if neighbouring rows find each other's rows of B in a cache anyway */
    double fused;          /* factor for that operation */
    double bf16;           /* factor for that type, which is widened for each product */
    double single;         /* extra cost of an entry of one row relative to no panels, as a share */
    double setup_nonzero;
    struct {
        double entry;    /* SpMM: the same, unless hidden */
        double run, row; /* the same, per vector of a row */
        double hidden;   /* share of the loads that the multiply-adds of several rows do not hide */
    } sums;
} fit = {.entry = 0.3e-9,
         .nonzero = 0.1e-9,
         .sample = 1e-9,
         .run = 25e-9,
         .row = 15e-9,
         .unseen = 1.05,
         .local = 1.65,
         .fused = 1.12,
         .bf16 = 1.5,
         .single = 0.25,
         .setup_nonzero = 27e-9,
         .sums = {.entry = 0.25e-9, .run = 2e-9, .row = 2.5e-9, .hidden = 0.35}};

/* True if panels gain nothing, as in a mesh: the rows of B that neighbours share are in L1 or L2 anyway. */
static bool is_local(const tamis_problem *problem, double table) {
    return table > 0.75 * (double)problem->evidence->cache_l2 && problem->evidence->fresh_share < 0.25;
}

/* SpMM: reading rows of B is pipelined, so S and C stream meanwhile. */
static double seconds_of_sums(const tamis_problem *problem, const tamis_cpu_panel_shares *shares) {
    const double nnz = (double)problem->nnz, rows = (double)problem->rows, row_bytes = tamis_cpu_row_bytes(problem);
    const double size = (double)tamis_type_size(problem->type), table = (double)problem->cols * row_bytes;
    const double fresh = tamis_cpu_far_share(problem, table), dense = rows * row_bytes;
    const double near_rate = tamis_cpu_gather_rate(problem, fmin(table, 0.5 * (double)problem->evidence->cache_l2));
    const double flops = 2 * row_bytes / size / tamis_cpu_peak(problem);
    const double load = row_bytes * (fresh / tamis_cpu_gather_rate(problem, table) + (1 - fresh) / near_rate);
    const double shared = (shares->entries - shares->single) * load, multiply = (1 - shares->single) * flops;
    const double work =
        shares->single * fmax(load, flops) + fmax(shared, multiply) + fit.sums.hidden * fmin(shared, multiply);
    const double vectors = ceil((double)problem->width * (problem->type == TAMIS_F64 ? 8 : 4) / 64);
    const double begun = shares->entries * fit.sums.entry + shares->runs * vectors * fit.sums.run;
    const double stream = 2 * dense / tamis_cpu_dense_rate(problem, table, dense) + tamis_cpu_stream_seconds(problem);
    return (problem->type == TAMIS_BF16 ? fit.bf16 : 1) * (is_local(problem, table) ? fit.local : 1) *
           (fmax(nnz * work, stream) + (nnz * begun + rows * vectors * fit.sums.row) / problem->threads);
}

/* A row of B that several rows share is loaded once, but multiplied for each: the slower of both, computed separately
   for entries with one row and with several. */
static double seconds_of_dots(const tamis_problem *problem, const tamis_cpu_panel_shares *shares) {
    const double nnz = (double)problem->nnz, rows = (double)problem->rows, row_bytes = tamis_cpu_row_bytes(problem);
    const double size = (double)tamis_type_size(problem->type), table = (double)problem->cols * row_bytes;
    const double fresh = tamis_cpu_far_share(problem, table);
    const double far_rate = tamis_cpu_gather_rate(problem, table);
    const double dense = rows * (double)(problem->inner + problem->width) * size;
    const double flops = 2 * row_bytes / size / tamis_cpu_peak(problem);
    const double load = row_bytes * fresh / far_rate + tamis_cpu_near_seconds(problem, table, row_bytes * (1 - fresh));
    const double beside = fit.nonzero + fit.sample;
    const double shared = (shares->entries - shares->single) * load;
    const double work = shares->single * fmax(load, flops) + fmax(shared, (1 - shares->single) * flops);
    const double bf16 = problem->type == TAMIS_BF16 ? fit.bf16 : 1;
    const double fused = problem->operation == TAMIS_OP_FUSED ? fit.fused : 1;
    return fit.unseen * bf16 * fused * (is_local(problem, table) ? fit.local : 1) *
           (nnz * work + 2 * dense / tamis_cpu_dense_rate(problem, table, dense) + tamis_cpu_stream_seconds(problem) +
            (nnz * (shares->entries * fit.entry + beside + shares->runs * fit.run) + rows * fit.row) /
                problem->threads);
}

/* An entry takes at least as long as a nonzero without panels; an entry of a single row takes longer, since nothing is
   prefetched. For SpMM that applies if rows come from beyond L2; in a mesh panels gain nothing. Nor do they if the
   call's overhead dominates. */
static double seconds_of(const tamis_problem *problem, const tamis_cpu_panel_shares *shares) {
    static const double SHORT_CALL = 1e-6;
    const double table = (double)problem->cols * tamis_cpu_row_bytes(problem);
    const double untiled = tamis_cpu_predict_untiled(problem, tamis_cpu_fit.interleaved);
    const double least = untiled * (shares->entries + fit.single * shares->single);
    if (problem->operation != TAMIS_OP_SPMM) return fmax(seconds_of_dots(problem, shares), least);
    const double seconds = seconds_of_sums(problem, shares);
    if (is_local(problem, table)) return fmax(seconds, untiled);
    return tamis_cpu_far_share(problem, table) > 0 || untiled < SHORT_CALL ? fmax(seconds, least) : seconds;
}

/* Chooses 6 or 8 rows by predicted time. */
static int64_t choose_rows(const tamis_problem *problem, tamis_cpu_panel_shares *shares) {
    const tamis_cpu_panel_shares six = tamis_cpu_profile_panels(problem, 6);
    const tamis_cpu_panel_shares eight = tamis_cpu_profile_panels(problem, 8);
    const bool less = seconds_of(problem, &six) < seconds_of(problem, &eight);
    *shares = less ? six : eight;
    return less ? 6 : 8;
}

static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    tamis_cpu_panel_shares shares;
    const int64_t rows = choose_rows(problem, &shares);
    prediction->call_seconds = seconds_of(problem, &shares);
    prediction->setup_seconds = (double)problem->nnz * fit.setup_nonzero / problem->threads;
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
