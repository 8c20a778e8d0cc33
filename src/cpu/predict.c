/* The cost model: bandwidth of random rows of dense operands, and the time of a call without tiles. */
#include "cpu/predict.h"

#include <math.h>

#include "cpu/fitted.h"
#include "cpu/variants.h"
#include "sparse/index.h"

/* The rate of `threads` cores, from the measured rates of one core and of all: it scales linearly up to the rate of
   all, as memory bandwidth does. */
static double at_threads(const double rate[2], int threads, int all) {
    if (threads <= 1 || all <= 1) return rate[0];
    return threads >= all ? rate[1] : fmin(rate[0] * threads, rate[1]);
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

double tamis_cpu_peak(const tamis_problem *problem) {
    const tamis_ceilings *const c = &problem->evidence->ceilings;
    const double *const rates = problem->type == TAMIS_F64 ? c->fp64_gflops : c->fp32_gflops;
    return at_threads(rates, problem->threads, c->threads) * 1e9;
}

double tamis_cpu_arithmetic_seconds(const tamis_problem *problem) {
    double dots = problem->operation == TAMIS_OP_SPMM ? 0 : (double)problem->inner;
    double sums = problem->operation == TAMIS_OP_SDDMM ? 0 : (double)problem->width;
    const tamis_cpu_variant *variant = NULL;
    if (tamis_cpu_variant_choose(&variant) == TAMIS_OK && variant->kernels[problem->type]->pairs) {
        const bool amx = variant->amx && !variant->amx->emulated;
        dots /= amx ? tamis_cpu_fit.pairs.with_amx : tamis_cpu_fit.pairs.dots;
        /* weights that are samples, or fp32 values, are not bf16 */
        const bool values = problem->operation == TAMIS_OP_SPMM && problem->value_type == problem->type;
        if (values) sums /= amx ? tamis_cpu_fit.pairs.with_amx : tamis_cpu_fit.pairs.sums;
    }
    const double widened = problem->type == TAMIS_F16 ? tamis_cpu_fit.fp16 : 1;
    return widened * 2 * (double)problem->nnz * (dots + sums) / tamis_cpu_peak(problem);
}

/* The table fits L2, which S and C use as well, or its rows are still there. */
double tamis_cpu_near_seconds(const tamis_problem *problem, double table, double bytes) {
    const double l2 = (double)problem->evidence->cache_l2;
    const double crowded = table > 0.375 * l2 && table <= 0.75 * l2 ? tamis_cpu_fit.crowded : 1;
    return crowded * bytes / tamis_cpu_gather_rate(problem, 0.5 * l2);
}

double tamis_cpu_far_share(const tamis_problem *problem, double table) {
    return table <= 0.75 * (double)problem->evidence->cache_l2 ? 0 : problem->evidence->fresh_share;
}

double tamis_cpu_dense_rate(const tamis_problem *problem, double table, double dense) {
    const tamis_ceilings *const c = &problem->evidence->ceilings;
    const bool in_l3 = table + dense < (double)problem->evidence->cache_l3;
    return at_threads(in_l3 ? c->l3_gbs : c->memory_gbs, problem->threads, c->threads) * 1e9;
}

double tamis_cpu_predict_untiled(const tamis_problem *problem, double per_nonzero) {
    const tamis_ceilings *const c = &problem->evidence->ceilings;
    const double nnz = (double)problem->nnz, rows = (double)problem->rows, row_bytes = tamis_cpu_row_bytes(problem);
    const double size = (double)tamis_type_size(problem->type);
    const double near_rate = tamis_cpu_gather_rate(problem, 0.5 * (double)problem->evidence->cache_l2);
    /* if D is B, its rows are read once from afar and once from L1 */
    const double read = problem->d_is_b ? 0.5 * row_bytes : row_bytes, again = row_bytes - read;
    const double table = (double)problem->cols * read;
    /* fused beyond L3 first goes through B, then through D (tamis_cpu_choose_chunk) */
    const bool halves = problem->operation == TAMIS_OP_FUSED && table > (double)problem->evidence->cache_l3;
    const double far_rate = tamis_cpu_gather_rate(problem, halves ? table / 2 : table);
    const double l1_rate = tamis_cpu_gather_rate(problem, 0.5 * (double)problem->evidence->cache_l1);
    const double memory = at_threads(c->memory_gbs, problem->threads, c->threads) * 1e9;
    const double dense = rows * (double)(problem->inner + problem->width) * size;
    const double flops = tamis_cpu_arithmetic_seconds(problem);
    const double beside = nnz * per_nonzero / problem->threads;
    if (problem->operation == TAMIS_OP_SPMM) {
        /* reading rows of B is pipelined: near rows and everything else overlap */
        const double fresh = tamis_cpu_far_share(problem, table);
        const double near = tamis_cpu_near_seconds(problem, table, nnz * read * (1 - fresh)),
                     far = nnz * read * fresh / far_rate;
        const double rest =
            dense / tamis_cpu_dense_rate(problem, table, dense) + tamis_cpu_stream_seconds(problem) + beside;
        return fmax(far + fmax(near, rest), flops) + rows * tamis_cpu_fit.short_row / problem->threads;
    }
    const double fresh = problem->evidence->fresh_share;
    const double moved = nnz * read * (fresh / far_rate + (1 - fresh) / near_rate) + nnz * again / l1_rate +
                         dense / memory + tamis_cpu_stream_seconds(problem);
    return fmax(moved, flops) + beside + rows * tamis_cpu_fit.row / problem->threads;
}

double tamis_cpu_wait_for_longest(const tamis_problem *problem, double seconds) {
    if (problem->threads <= 1 || problem->nnz == 0) return 0;
    return seconds * (double)problem->evidence->profile.max / (double)problem->nnz * (problem->threads - 1);
}
