/* Samples and their summary. */
#include "statistics.h"

#include <stdlib.h>

#include "exit.h"

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
