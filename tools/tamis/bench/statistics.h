/* Samples of a measured time and what is reported of them. */
#ifndef TOOL_STATISTICS_H
#define TOOL_STATISTICS_H

#include <stddef.h>

typedef struct tool_samples {
    double *at;
    size_t count, capacity;
    double sum;
} tool_samples;

void tool_samples_add(tool_samples *samples, double value);
void tool_samples_free(tool_samples *samples);

typedef struct tool_summary {
    double median, min, max, mean;
    double lower, upper; /* quartiles */
    size_t count;
} tool_summary;

/* Sorts the samples. All zero when there is none. */
tool_summary tool_samples_summary(tool_samples *samples);

/* An interval that has the true median with a confidence of 95 %, by the binomial distribution of how many samples lie
   below it; of fewer than six samples all of them. Sorts the samples. NaN when there is none. */
typedef struct tool_interval {
    double low, high;
} tool_interval;

tool_interval tool_samples_interval(tool_samples *samples);

#endif
