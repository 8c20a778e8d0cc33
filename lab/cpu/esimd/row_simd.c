/* Host side of row_simd_kernels.h (esimd-row-simd). */
#include <math.h>
#include <stdio.h>

#include "base/papers.h"
#include "base/status.h"
#include "cpu/method.h"
#include "cpu/predict.h"

enum { VLC, NT };

/* An entry's own reduction, beside what cpu-nonzeros does: seconds of one core. */
static const double reduction = 1.2e-9;

/* Whole rows are assigned to threads as these are free; all wait for the longest, which may begin last. */
static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    const double nnz = (double)problem->nnz;
    tamis_cpu_counts counts = tamis_cpu_count_walk(problem);
    counts.issued += nnz * reduction;
    const double seconds = tamis_cpu_seconds(problem, &counts);
    const double longest = nnz > 0 ? seconds * (double)problem->evidence->profile.max / nnz : 0;
    prediction->call_seconds = seconds + longest * (problem->threads - 1);
    snprintf(prediction->reason, sizeof prediction->reason,
             "one dot product at a time, each with a reduction of its own");
}

/* s.4.2: the smallest power of two up to 16 that best fills the machine's work items. The paper's GPU has 4096 work
   items; here a work item is a thread. */
static int64_t choose_members(const tamis_problem *problem) {
    int64_t best = 1;
    double best_occupancy = 0;
    for (int64_t members = 1; members <= 16; members *= 2) {
        const double waves = (double)problem->rows * (double)members / problem->threads;
        const double occupancy = waves > 0 ? waves / ceil(waves) : 1;
        if (occupancy > best_occupancy * (1 + 1e-9)) {
            best_occupancy = occupancy;
            best = members;
        }
    }
    return best;
}

static void defaults(tamis_prepared *p) {
    p->parameters[VLC] = 32;
    p->parameters[NT] = choose_members(&p->problem);
}

static tamis_status prepare(tamis_prepared *p) {
    if (p->problem.operation != TAMIS_OP_SDDMM) p->parameters[NT] = 1;
    *(int64_t *)p->state = p->parameters[NT];
    p->job.prefetch = 0;
    p->job.chunk = p->parameters[VLC];
    p->job.chunks_sums = true;
    return TAMIS_OK;
}

const tamis_cpu_method tamis_cpu_esimd_row_simd = {
    .common.description = {.name = "esimd-row-simd",
                           .device = "cpu",
                           .operations = TAMIS_CPU_ALL,
                           .source = PAPER_ESIMD ", s.3 and 4",
                           .needs = "nothing",
                           .when = "for comparison: explicit vectors, one dot product at a time",
                           .parameters = "vlc (1 to 2048): nonzeros per chunk; nt (1 to 16): members per row (SDDMM)"},
    .parameters = {{"vlc", 1, TAMIS_CPU_CHUNK}, {"nt", 1, 16}},
    .reported = 2,
    .predict = predict,
    .defaults = defaults,
    .prepare = prepare,
    .blocks = true,
    .state_bytes = sizeof(int64_t), /* NT */
};
