/* cpu-nonzeros: equal nonzeros for each thread; rows may be cut. */
#include <stdio.h>

#include "base/papers.h"
#include "cpu/method.h"
#include "cpu/predict.h"

static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    const tamis_cpu_counts counts = tamis_cpu_count_walk(problem);
    prediction->call_seconds = tamis_cpu_seconds(problem, &counts);
    if (problem->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason,
             "%s from a table of %.3g MB, %.0f %% of them new within a window of L2's size; equal numbers of "
             "nonzeros per thread",
             problem->d_is_b ? "rows of B, read once since D is B," : "rows of B",
             1e-6 * tamis_cpu_table_bytes(problem), 100 * problem->evidence->fresh_share);
}

const tamis_cpu_method tamis_cpu_nonzeros = {
    .common.description = {.name = "cpu-nonzeros",
                           .device = "cpu",
                           .operations = TAMIS_CPU_ALL,
                           .source = "ours; idea of " PAPER_PREDS,
                           .needs = "one partial row per thread, for rows split between threads",
                           .when = "rows of uneven length, hubs, and whenever tiling does not pay off",
                           .parameters = TAMIS_CPU_WALK_TEXT TAMIS_CPU_STREAM_TEXT},
    .parameters = {TAMIS_CPU_WALK_PARAMETERS, {"stream", 0, 1}},
    .reported = 2,
    .predict = predict,
    .defaults = tamis_cpu_walk_defaults,
    .prepare = tamis_cpu_walk_prepare,
};
