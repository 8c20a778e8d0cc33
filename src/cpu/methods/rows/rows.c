/* cpu-rows: whole rows, which threads take in blocks (dynamic scheduling). */
#include <stdio.h>

#include "cpu/fitted.h"
#include "cpu/method.h"
#include "cpu/predict.h"

static const double handing_out =
    1.01; /* overhead of dynamic scheduling, as a factor; fitted as src/cpu/fitted.c says */

static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    const double seconds = tamis_cpu_predict_untiled(problem, tamis_cpu_fit.interleaved);
    const double wait = tamis_cpu_wait_for_longest(problem, seconds);
    prediction->call_seconds = seconds * handing_out + wait;
    if (problem->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason,
             "like cpu-nonzeros with whole rows: the longest (%lld of %lld nonzeros) can delay the end by %.3g ms",
             (long long)problem->evidence->profile.max, (long long)problem->nnz, wait * 1e3);
}

const tamis_cpu_method tamis_cpu_rows = {
    .common.description = {.name = "cpu-rows",
                           .device = "cpu",
                           .operations = TAMIS_CPU_ALL,
                           .source = "ours",
                           .needs = "nothing",
                           .when = "rows of even length; cores of uneven speed",
                           .parameters = TAMIS_CPU_WALK_TEXT TAMIS_CPU_STREAM_TEXT},
    .parameters = {TAMIS_CPU_WALK_PARAMETERS, {"stream", 0, 1}},
    .reported = 2,
    .predict = predict,
    .defaults = tamis_cpu_walk_defaults,
    .prepare = tamis_cpu_walk_prepare,
    .blocks = true,
};
