/* Samples of a measured time and their statistics. */
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

/* Summarises the samples, and sorts them. All zero if there are none. */
tool_summary tool_samples_summary(tool_samples *samples);

/* Returns a 95 % confidence interval of the median, by the binomial distribution of the number of samples below it; for
   fewer than six samples, their range. Sorts the samples. NaN if there are none. */
typedef struct tool_interval {
    double low, high;
} tool_interval;

tool_interval tool_samples_interval(tool_samples *samples);

#endif
