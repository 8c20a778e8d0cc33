/* Predicted time of gpu-nonzeros, the baseline of the papers' methods. */
#include "gpu/nonzeros/prediction.h"

#include <math.h>
#include <stdio.h>

#include "gpu/model.h"
#include "gpu/slices.h"

/* Seconds of an entry of SDDMM by gpu-nonzeros: its instructions, and what L1 misses of B. */
static double sddmm_each(const tamis_problem *p, double bytes) {
    enum { WIDE = 2048 }; /* bytes of a row; L1 holds too few longer ones */
    static const double longer = 1.2, missed = 0.5;
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const double taken = bytes > WIDE ? longer * bytes : bytes;
    return tamis_gpu_issue(p, tamis_gpu_nonzero_ps(p, f->dot_ps, taken) +
                                  missed * f->byte_ps * p->evidence->fresh_share * taken);
}

/* Seconds of a nonzero in all launches together. */
static double nonzeros_each(const tamis_problem *p, int64_t slice) {
    const double slices = tamis_gpu_slices(p, slice), bytes = tamis_gpu_row_bytes(p) / slices;
    return slices * sddmm_each(p, bytes) + tamis_gpu_sums_each(p, slices);
}

int64_t tamis_gpu_nonzeros_slice(const tamis_problem *p) {
    enum { WIDEST = TAMIS_GPU_NONZEROS_WIDEST };
    if (p->inner * (int64_t)tamis_type_size(p->type) <= WIDEST) return tamis_gpu_slice_even(p, (int64_t)1 << 40);
    return tamis_gpu_cheapest_slice(p, WIDEST, INT64_MAX, nonzeros_each);
}

void tamis_gpu_predict_nonzeros(const tamis_problem *p, tamis_prediction *prediction) {
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const double bytes = tamis_gpu_row_bytes(p), table = (double)p->cols * bytes;
    const int64_t slice = p->operation == TAMIS_OP_SDDMM ? tamis_gpu_nonzeros_slice(p) : 0;
    const double each = p->operation == TAMIS_OP_SDDMM ? nonzeros_each(p, slice) : tamis_gpu_row_each(p, bytes);
    const double seconds = (double)p->nnz * each;
    prediction->call_seconds = p->operation == TAMIS_OP_SDDMM
                                   ? f->begin + seconds + tamis_gpu_launches(p, tamis_gpu_slices(p, slice) - 1)
                                   : seconds + tamis_gpu_launches(p, 3); /* two merge kernels */
    if (p->once) return;                                                 /* single calls report no reason */
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
