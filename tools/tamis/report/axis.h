/* Axes: from values to places, and where the ticks go. */
#ifndef TOOL_AXIS_H
#define TOOL_AXIS_H

#include <stdbool.h>

enum { TOOL_TICKS = 12 };

typedef struct tool_axis {
    bool logarithmic;
    double low, high; /* values at the ends */
    double from, to;  /* places of the ends */
    int ticks;
    double tick[TOOL_TICKS];
} tool_axis;

/* An axis from 0 to at least `high`, with about `wanted` ticks at round numbers. */
tool_axis tool_axis_linear(double high, double from, double to, int wanted);

/* A logarithmic axis that holds low and high (both positive), with at most `wanted` ticks: at 1, 2, 5 of each decade
   where these are few enough, else at powers of ten. */
tool_axis tool_axis_log(double low, double high, double from, double to, int wanted);

/* The place of a value; what lies outside is put at the end. */
double tool_axis_at(const tool_axis *axis, double value);

#endif
