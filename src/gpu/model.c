/*
 * The cost model of the GPU: what all predictors share. Each of our methods is a sum of what it moves, at rates that
 * the probe has measured, and of what a nonzero costs beside that: picoseconds over the whole device, fitted to
 * measurements on an H200 (docs/performance.md) and scaled by the rate of the L2 cache where a device is slower or
 * faster.
 */
#include "gpu/model.h"

#include <math.h>

#include "gpu/slices.h"

static const double fitted_l2 = 8000; /* GB/s of the device that the constants were fitted on */

const double tamis_gpu_launch_seconds = 5e-6;

double tamis_gpu_scale(const tamis_problem *p) {
    return p->evidence->ceilings.measured && p->evidence->ceilings.l2_gbs[0] > 0
               ? fitted_l2 / p->evidence->ceilings.l2_gbs[0]
               : 1;
}

/* Bytes a second of random rows out of a table of that many bytes. */
double tamis_gpu_gather_rate(const tamis_problem *p, double bytes) {
    const tamis_ceilings *const c = &p->evidence->ceilings;
    for (int i = 0; i < 6; i++)
        if (bytes <= (double)c->gather_bytes[i]) {
            if (i == 0) return 1e9 * c->gather_gbs[0][0];
            const double low = log((double)c->gather_bytes[i - 1]), high = log((double)c->gather_bytes[i]);
            const double share = (log(bytes) - low) / (high - low);
            return 1e9 * (c->gather_gbs[0][i - 1] * (1 - share) + c->gather_gbs[0][i] * share);
        }
    return 1e9 * c->gather_gbs[0][5];
}

double tamis_gpu_row_bytes(const tamis_problem *p) {
    return (double)(p->inner + p->width) * (double)tamis_type_size(p->type);
}

/* Too few nonzeros leave multiprocessors idle: `alone` is what the share of one team takes by itself. */
double tamis_gpu_filling_of(double seconds, double alone) {
    return tamis_gpu_launch_seconds + fmax(seconds, fmin(alone, seconds * 4 + alone / 2));
}

double tamis_gpu_filling(double seconds) { return tamis_gpu_launch_seconds + fmax(seconds, fmin(4e-6, seconds * 4)); }

/* Seconds a nonzero whose row is read once, before what an operation adds to it: a share that is the same everywhere,
   and what a row costs that no cache near by has. */
double tamis_gpu_row_each(const tamis_problem *p, double bytes) {
    const double near = (3.3 + 0.0722 * bytes) * 1e-12 * tamis_gpu_scale(p),
                 seen = 0.0702 * bytes * 1e-12 * tamis_gpu_scale(p);
    const double beyond = fmax(0, bytes / tamis_gpu_gather_rate(p, (double)p->cols * bytes) - seen);
    return near + 0.68 * p->evidence->fresh_share * beyond;
}

/* Seconds a nonzero that sums under way take, written and read once for each slice but one. */
double tamis_gpu_sums_each(const tamis_problem *p, double slices) {
    const double bytes = 2 * (double)tamis_gpu_real_size(p->type) * (slices - 1);
    return bytes / (1e9 * (p->evidence->ceilings.memory_gbs[0] > 0 ? p->evidence->ceilings.memory_gbs[0] : 4000));
}

double tamis_gpu_slices(const tamis_problem *p, int64_t slice) {
    return slice > 0 && p->inner > slice ? ceil((double)p->inner / (double)slice) : 1;
}

/* The slice that is cheapest where a nonzero takes each(p, slice): all of K, or of `widest` bytes, or of halves down to
   512; of no more than `most` bytes, but that narrowest one. Narrower ones must pay. */
int64_t tamis_gpu_cheapest_slice(const tamis_problem *p, int64_t widest, int64_t most,
                                 double (*each)(const tamis_problem *p, int64_t slice)) {
    enum { NARROWEST = 512 };
    const int64_t size = (int64_t)tamis_type_size(p->type);
    int64_t chosen = 0;
    double best = 0;
    for (int64_t bytes = (int64_t)1 << 40; bytes >= NARROWEST; bytes = bytes > widest ? widest : bytes / 2) {
        const int64_t slice = tamis_gpu_slice_even(p, bytes);
        if (slice * size > most && bytes > NARROWEST) continue;
        const double seconds = (double)p->nnz * each(p, slice) + tamis_gpu_slices(p, slice) * tamis_gpu_launch_seconds;
        if (chosen && seconds > 0.9 * best) continue;
        chosen = slice;
        best = seconds;
    }
    return chosen;
}
