/* naive: the plain loops of naive_kernels.h over equal shares of the rows, like a plain `omp parallel for`. */
#include <stdio.h>

#include "cpu/method.h"
#include "cpu/predict.h"

/* An entry takes this multiple of cpu-nonzeros' time, without moving its rows. */
static const double slower = 10;

static bool accepts(const tamis_problem *problem, char *reason, size_t bytes) {
    if (problem->type != TAMIS_F32 && problem->type != TAMIS_F64) {
        snprintf(reason, bytes, "the naive loops support only fp32 and fp64, not %s", tamis_type_name(problem->type));
        return false;
    }
    if (problem->operation != TAMIS_OP_SPMM && problem->edge == TAMIS_EDGE_SOFTMAX) {
        snprintf(reason, bytes, "the naive loops do not support softmax, which needs two passes over a row");
        return false;
    }
    if (problem->edge_constants.text) {
        snprintf(reason, bytes, "the naive loops support only the edges with names, not a text");
        return false;
    }
    return true;
}

static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    tamis_cpu_counts counts = tamis_cpu_count_walk(problem);
    counts.issued *= slower;
    prediction->call_seconds = tamis_cpu_seconds(problem, &counts);
    snprintf(prediction->reason, sizeof prediction->reason, "a baseline");
}

static void split(const tamis_prepared *p, tamis_cpu_range *ranges) {
    const int count = tamis_cpu_range_count(p);
    const int64_t rows = p->problem.rows, share = (rows + count - 1) / count;
    for (int i = 0; i < count; i++) {
        const int64_t begin = share * i < rows ? share * i : rows;
        tamis_cpu_whole_rows(&p->problem, begin, begin + share < rows ? begin + share : rows, &ranges[i]);
    }
}

const tamis_cpu_method tamis_cpu_naive = {
    .common.description = {.name = "naive",
                           .device = "cpu",
                           .operations = TAMIS_CPU_ALL,
                           .source = "baseline",
                           .needs = "nothing",
                           .when = "never: a row loop with omp simd, with which others are compared",
                           .parameters = "",
                           .baseline = true},
    .accepts = accepts,
    .predict = predict,
    .split = split,
};
