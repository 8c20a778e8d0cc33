/*
 * The GPU's cost model, shared by all predictors. A method's time is its traffic at the bandwidths that the probe
 * measured, plus its instructions, plus launches: see rates.h.
 */
#include "gpu/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/ceilings/ceilings.h"
#include "gpu/slices.h"

int tamis_gpu_compute_capability(const tamis_gpu_device *device) {
    const char *const architecture = device->limits.architecture;
    return strncmp(architecture, "sm_", 3) == 0 ? (int)strtol(architecture + 3, NULL, 10) : 0;
}

double tamis_gpu_issue(const tamis_problem *p, double picoseconds) {
    const tamis_ceilings *const c = &p->evidence->ceilings;
    const double scale = c->measured && c->l2_gbs[0] > 0 ? tamis_gpu_rates_of(p)->l2_gbs / c->l2_gbs[0] : 1;
    return picoseconds * 1e-12 * scale;
}

double tamis_gpu_nonzero_ps(const tamis_problem *p, double entry_ps, double bytes) {
    static const double halves = 1.5; /* half of a byte's time is arithmetic, and 16 bits have twice the numbers */
    const double all = bytes * tamis_gpu_rates_of(p)->byte_ps + entry_ps;
    return all * (tamis_type_size(p->type) == 2 ? halves : 1);
}

double tamis_gpu_launches(const tamis_problem *p, double count) { return count * tamis_gpu_rates_of(p)->launch; }

double tamis_gpu_of_member(const tamis_problem *p, double alone, double launches) {
    const double members = fmax((double)p->batch, 1);
    return fmax(alone - tamis_gpu_launches(p, launches) * (1 - 1 / members), alone / members);
}

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

double tamis_gpu_launched(const tamis_problem *p, double seconds) { return tamis_gpu_launches(p, 1) + seconds; }

double tamis_gpu_row_each(const tamis_problem *p, double bytes) {
    return tamis_gpu_issue(p, tamis_gpu_nonzero_ps(p, 0, 2 * bytes));
}

double tamis_gpu_chain(const tamis_problem *p, double nonzeros, int64_t at_once) {
    return ceil(nonzeros / (double)at_once) * tamis_gpu_rates_of(p)->step;
}

double tamis_gpu_cells_seconds(const tamis_problem *p) {
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    enum { SORTS = 6 /* times the launches of ordering rows */, NONZERO_PS = 550 };
    return SORTS * f->order + (double)p->nnz * tamis_gpu_issue(p, NONZERO_PS);
}

double tamis_gpu_streamed(const tamis_problem *p, double bytes) {
    const double measured = p->evidence->ceilings.memory_gbs[0];
    return bytes / (1e9 * (measured > 0 ? measured : tamis_gpu_default_ceilings().memory_gbs[0]));
}

double tamis_gpu_softmax_seconds(const tamis_problem *p) {
    enum { KERNELS = 3, PASSES = 3 /* over the scores */ };
    return tamis_gpu_launches(p, KERNELS) +
           tamis_gpu_issue(p, (double)p->nnz * PASSES * tamis_gpu_rates_of(p)->softmax_ps);
}

double tamis_gpu_sums_each(const tamis_problem *p, double slices) {
    return tamis_gpu_streamed(p, 2 * (double)tamis_gpu_real_size(p->type) * (slices - 1));
}

double tamis_gpu_slices(const tamis_problem *p, int64_t slice) {
    return slice > 0 && p->inner > slice ? ceil((double)p->inner / (double)slice) : 1;
}

int64_t tamis_gpu_cheapest_slice(const tamis_problem *p, int64_t widest, int64_t most,
                                 double (*each)(const tamis_problem *p, int64_t slice)) {
    enum { NARROWEST = 512 };
    const int64_t size = (int64_t)tamis_type_size(p->type);
    int64_t chosen = 0;
    double best = 0;
    for (int64_t bytes = (int64_t)1 << 40; bytes >= NARROWEST; bytes = bytes > widest ? widest : bytes / 2) {
        const int64_t slice = tamis_gpu_slice_even(p, bytes);
        if (slice * size > most && bytes > NARROWEST) continue;
        const double seconds = (double)p->nnz * each(p, slice) + tamis_gpu_launches(p, tamis_gpu_slices(p, slice));
        if (chosen && seconds > 0.9 * best) continue;
        chosen = slice;
        best = seconds;
    }
    return chosen;
}
