/* What got faster or slower from one set of results to another, noise taken into account. */
#ifndef TOOL_COMPARE_RULES_H
#define TOOL_COMPARE_RULES_H

#include "mean.h"
#include "results.h"

/* The times of one contestant in one file: of several lines with the same key the median of the medians, and the range
   that covers all of them. */
typedef struct tool_span {
    double median, low, high, min; /* low to high: the quartiles */
    int lines;
} tool_span;

/* One line's span. Without quartiles: from the least time to as far above the median. */
tool_span tool_span_of(const tool_measurement *one);

typedef enum tool_change { TOOL_SAME, TOOL_FASTER, TOOL_SLOWER } tool_change;

/* A change: the ratio of the medians is beyond 1 + threshold (or below its inverse), the ranges do not overlap, and the
   least times point the same way. */
tool_change tool_change_of(const tool_span *a, const tool_span *b, double threshold);

typedef struct tool_pair {
    const tool_measurement *one; /* its first line, for the key */
    tool_span a, b;
    bool passed_a, failed_b;
    double ratio; /* b over a */
    tool_change change;
} tool_pair;

typedef struct tool_comparison_result {
    int count, only_a, only_b, faster, slower, wrong; /* wrong: right in a, outside its tolerance in b */
    tool_pair *pair;                                  /* those in both, the largest changes first */
    tool_mean all;                                    /* of the ratios */
    double drift;                                     /* of peers and the naive loop; NaN where there are none */
    int drift_count;
} tool_comparison_result;

/* Compares the measurements of file number a with those of file number b (from 1). With `drifted` the times of b are
   divided by the drift first. */
void tool_compare_files(const tool_results *results, int a, int b, double threshold, bool drifted,
                        tool_comparison_result *result);
void tool_compare_free(tool_comparison_result *result);

#endif
