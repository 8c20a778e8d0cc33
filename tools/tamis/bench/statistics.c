#include "bench/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "cli/exit.h"

void tool_samples_add(tool_samples *samples, double value) {
    if (samples->count == samples->capacity) {
        samples->capacity = samples->capacity ? samples->capacity * 2 : 64;
        samples->at = tool_grow(samples->at, samples->capacity, sizeof *samples->at);
    }
    samples->at[samples->count++] = value;
    samples->sum += value;
}

void tool_samples_free(tool_samples *samples) {
    free(samples->at);
    *samples = (tool_samples){0};
}

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

tool_interval tool_samples_interval(tool_samples *samples) {
    const double count = (double)samples->count;
    if (samples->count == 0) return (tool_interval){(double)NAN, (double)NAN};
    qsort(samples->at, samples->count, sizeof *samples->at, rising);
    const double rank = floor((count - 1.96 * sqrt(count)) / 2); /* from 1 */
    const size_t outside = rank > 1 ? (size_t)rank - 1 : 0;
    return (tool_interval){samples->at[outside], samples->at[samples->count - 1 - outside]};
}

tool_summary tool_samples_summary(tool_samples *samples) {
    tool_summary summary = {.count = samples->count};
    if (samples->count == 0) return summary;
    qsort(samples->at, samples->count, sizeof *samples->at, rising);
    const size_t middle = samples->count / 2;
    summary.median = samples->count % 2 ? samples->at[middle] : (samples->at[middle - 1] + samples->at[middle]) / 2;
    summary.lower = samples->at[(samples->count - 1) / 4];
    summary.upper = samples->at[samples->count - 1 - (samples->count - 1) / 4];
    summary.min = samples->at[0];
    summary.max = samples->at[samples->count - 1];
    summary.mean = samples->sum / (double)samples->count;
    return summary;
}
