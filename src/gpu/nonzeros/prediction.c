/* Predicted time of gpu-nonzeros, the baseline of the papers' methods. */
#include "gpu/nonzeros/prediction.h"

#include <math.h>
#include <stdio.h>

#include "gpu/model.h"
#include "gpu/slices.h"

/* Seconds of a nonzero of SDDMM by gpu-nonzeros: the larger of its instructions and its L1 misses of B, which overlap;
   plus its share of a row of A. */
static double sddmm_each(const tamis_problem *p, double bytes, double table) {
    const tamis_gpu_fitted *const f = tamis_gpu_fitted_for(p);
    const double fresh = p->evidence->fresh_share;
    const double issue = tamis_gpu_nonzero_ps(p, f->nonzeros.issue, bytes) + f->nonzeros.issue_new_ps * fresh;
    const double rows = (f->nonzeros.l1_byte_ps + f->nonzeros.l1_byte_new_ps * fresh) * bytes *
                        (bytes > f->nonzeros.wide_bytes ? f->nonzeros.wide : 1);
    const double beyond = fmax(0, bytes / tamis_gpu_gather_rate(p, table) - bytes / tamis_gpu_gather_rate(p, 1 << 20));
    const double a = f->nonzeros.a_byte_ps * bytes * (double)p->rows / fmax(1, (double)p->nnz);
    return tamis_gpu_issue(p, fmax(issue, rows) + a) + f->nonzeros.beyond_share * fresh * beyond;
}

/* Seconds of a nonzero in all launches together. */
static double nonzeros_each(const tamis_problem *p, int64_t slice) {
    const double slices = tamis_gpu_slices(p, slice), bytes = tamis_gpu_row_bytes(p) / slices;
    return slices * sddmm_each(p, bytes, (double)p->cols * bytes) + tamis_gpu_sums_each(p, slices) +
           tamis_gpu_issue(p, tamis_gpu_value_ps(p, tamis_gpu_fitted_for(p)->nonzeros.value_ps));
}

int64_t tamis_gpu_nonzeros_slice(const tamis_problem *p) {
    enum { WIDEST = TAMIS_GPU_NONZEROS_WIDEST };
    if (p->inner * (int64_t)tamis_type_size(p->type) <= WIDEST) return tamis_gpu_slice_even(p, (int64_t)1 << 40);
    return tamis_gpu_cheapest_slice(p, WIDEST, INT64_MAX, nonzeros_each);
}

void tamis_gpu_predict_nonzeros(const tamis_problem *p, tamis_prediction *prediction) {
    const tamis_gpu_fitted *const f = tamis_gpu_fitted_for(p);
    const double bytes = tamis_gpu_row_bytes(p), table = (double)p->cols * bytes;
    const int64_t slice = p->operation == TAMIS_OP_SDDMM ? tamis_gpu_nonzeros_slice(p) : 0;
    const double each = p->operation == TAMIS_OP_SDDMM ? nonzeros_each(p, slice) : tamis_gpu_row_each(p, bytes);
    const double seconds = (double)p->nnz * each * f->nonzeros.times[p->operation];
    /* SpMM and fused: the chunks that each team walks through, then two merge kernels */
    const double walk =
        f->launch + fmax(seconds, fmin(f->nonzeros.sums, seconds * f->sparse_times + f->nonzeros.sums / 2));
    prediction->call_seconds = p->operation == TAMIS_OP_SDDMM
                                   ? f->nonzeros.begin + seconds + tamis_gpu_launches(p, tamis_gpu_slices(p, slice) - 1)
                                   : walk + f->nonzeros.merge;
    if (p->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason,
             "a row of %.3g bytes a nonzero in %.0f launches; %.0f %% of them new within 2048 nonzeros, those at "
             "%.3g TB/s",
             bytes, tamis_gpu_slices(p, slice), 100 * p->evidence->fresh_share,
             1e-12 * tamis_gpu_gather_rate(p, table / tamis_gpu_slices(p, slice)));
}

void tamis_gpu_predict_relative(const tamis_problem *p, double relative, tamis_prediction *prediction) {
    tamis_gpu_predict_nonzeros(p, prediction);
    prediction->call_seconds *= relative;
    if (p->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason, "a method for comparison: about %.3g times gpu-nonzeros",
             relative);
}
