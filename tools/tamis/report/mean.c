/* Geometric means, and the median. */
#include "mean.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

void tool_mean_add(tool_mean *mean, double ratio, const void *at) {
    if (!(ratio > 0) || !isfinite(ratio)) return;
    if (mean->count == 0 || ratio < mean->least) mean->least = ratio, mean->least_at = at;
    if (mean->count == 0 || ratio > mean->most) mean->most = ratio, mean->most_at = at;
    mean->log_sum += log(ratio);
    mean->count++;
    mean->wins += ratio > 1;
}

double tool_mean_get(const tool_mean *mean) { return mean->count > 0 ? exp(mean->log_sum / mean->count) : (double)NAN; }

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double tool_median(double *values, int count) {
    if (count <= 0) return (double)NAN;
    qsort(values, (size_t)count, sizeof *values, rising);
    const int middle = count / 2;
    return count % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}
