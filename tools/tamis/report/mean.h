/* Geometric means of ratios, with the least and the most and where they were. */
#ifndef TOOL_MEAN_H
#define TOOL_MEAN_H

typedef struct tool_mean {
    double log_sum, least, most;
    int count, wins, ties; /* wins: ratios above 1 that are no ties; ties: within the noise */
    int disturbed;         /* not added: others used the machine meanwhile */
    const void *least_at, *most_at;
} tool_mean;

/* Ratios that are not positive and finite are passed over. */
void tool_mean_add(tool_mean *mean, double ratio, const void *at);

/* NaN when nothing was added. */
double tool_mean_get(const tool_mean *mean);

/* The median of the values, which are sorted in place; NaN when there is none. */
double tool_median(double *values, int count);

#endif
