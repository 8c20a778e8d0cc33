/* Parts of the cost model: how fast rows of the dense operands can be read, and how long a call without tiles takes. */
#include <math.h>

#include "cpu/fitted.h"
#include "cpu/plan.h"
#include "cpu/variants.h"

/* The rate of `threads` cores, from the two that were measured: of one core, and of all. */
static double at_threads(const double rate[2], int threads, int all) {
    if (threads <= 1 || all <= 1) return rate[0];
    if (threads >= all) return rate[1];
    return rate[0] + (rate[1] - rate[0]) * (threads - 1) / (all - 1);
}

double tamis_cpu_gather_rate(const tamis_problem *problem, double bytes) {
    const tamis_ceilings *const c = &problem->evidence->ceilings;
    double lower = at_threads(c->gather_gbs[0], 1, 1), lower_bytes = 1;
    for (int i = 0; i < 6; i++) {
        const double rates[2] = {c->gather_gbs[0][i], c->gather_gbs[1][i]};
        const double rate = at_threads(rates, problem->threads, c->threads);
        if (i == 0) lower = rate;
        if (bytes <= (double)c->gather_bytes[i]) {
            if (i == 0) return rate * 1e9;
            const double share = log(bytes / lower_bytes) / log((double)c->gather_bytes[i] / lower_bytes);
            return (lower + (rate - lower) * share) * 1e9;
        }
        lower = rate;
        lower_bytes = (double)c->gather_bytes[i];
    }
    return lower * 1e9;
}

double tamis_cpu_row_bytes(const tamis_problem *problem) {
    const double size = (double)tamis_type_size(problem->type);
    switch (problem->operation) {
    case TAMIS_OP_SDDMM: return (double)problem->inner * size;
    case TAMIS_OP_SPMM: return (double)problem->width * size;
    case TAMIS_OP_FUSED: return (double)(problem->inner + problem->width) * size;
    }
    return 0;
}

double tamis_cpu_stream_seconds(const tamis_problem *problem) {
    const tamis_ceilings *const c = &problem->evidence->ceilings;
    const double size = (double)tamis_type_size(problem->type);
    const double index_bytes = (double)tamis_index_size(problem->index_type) + size * (problem->has_values ? 1 : 0);
    const double bytes = index_bytes + (problem->operation == TAMIS_OP_SDDMM ? size : 0);
    return (double)problem->nnz * bytes / (at_threads(c->memory_gbs, problem->threads, c->threads) * 1e9);
}

/* The multiply-adds of all nonzeros. */
static double arithmetic_seconds(const tamis_problem *problem) {
    const tamis_ceilings *const c = &problem->evidence->ceilings;
    const double peak =
        at_threads(problem->type == TAMIS_F64 ? c->fp64_gflops : c->fp32_gflops, problem->threads, c->threads) * 1e9;
    double dots = problem->operation == TAMIS_OP_SPMM ? 0 : (double)problem->inner;
    double sums = problem->operation == TAMIS_OP_SDDMM ? 0 : (double)problem->width;
    const tamis_cpu_variant *variant = NULL;
    if (tamis_cpu_variant_choose(&variant) == TAMIS_OK && variant->kernels[problem->type]->pairs) {
        dots /= tamis_cpu_fit.pairs.dots;
        /* weights that are samples, or values of fp32, are no bf16 */
        const bool values = problem->operation == TAMIS_OP_SPMM && problem->value_type == problem->type;
        if (values) sums /= tamis_cpu_fit.pairs.sums;
    }
    return 2 * (double)problem->nnz * (dots + sums) / peak;
}

double tamis_cpu_predict_untiled(const tamis_problem *problem, double per_nonzero) {
    const tamis_ceilings *const c = &problem->evidence->ceilings;
    const double nnz = (double)problem->nnz, rows = (double)problem->rows, row_bytes = tamis_cpu_row_bytes(problem);
    const double fresh = problem->evidence->fresh_share;
    const double near_rate = tamis_cpu_gather_rate(problem, 0.5 * (double)problem->evidence->cache_l2);
    /* where D is B, its rows are read once from afar and once from L1 */
    const double read = problem->d_is_b ? 0.5 * row_bytes : row_bytes, again = row_bytes - read;
    const double far_rate = tamis_cpu_gather_rate(problem, (double)problem->cols * read);
    const double l1_rate = tamis_cpu_gather_rate(problem, 0.5 * (double)problem->evidence->cache_l1);
    const double memory = at_threads(c->memory_gbs, problem->threads, c->threads) * 1e9;
    const double dense = rows * (double)(problem->inner + problem->width) * (double)tamis_type_size(problem->type);
    const double moved = nnz * read * (fresh / far_rate + (1 - fresh) / near_rate) + nnz * again / l1_rate +
                         dense / memory + tamis_cpu_stream_seconds(problem);
    return fmax(moved, arithmetic_seconds(problem)) + nnz * per_nonzero / problem->threads +
           rows * tamis_cpu_fit.row / problem->threads;
}
