/* The cost model: see predict.h. */
#include "cpu/predict.h"

#include <math.h>

#include "cpu/variants.h"
#include "sparse/index.h"

/* A cache holds a table for the next reads, unless it fills more than this share of it. */
static const double kept_share = 0.75;

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

/* Random columns leave some out: few entries in a large matrix name few rows. */
double tamis_cpu_table_bytes(const tamis_problem *problem) {
    const double cols = (double)problem->cols, nnz = (double)problem->nnz;
    const double named = nnz < 4 * cols ? cols * -expm1(-nnz / fmax(cols, 1)) : cols;
    return named * tamis_cpu_row_bytes(problem) * (problem->d_is_b ? 0.5 : 1);
}

double tamis_cpu_peak(const tamis_problem *problem) {
    const tamis_ceilings *const c = &problem->evidence->ceilings;
    const double *const rates = problem->type == TAMIS_F64 ? c->fp64_gflops : c->fp32_gflops;
    return at_threads(rates, problem->threads, c->threads) * 1e9;
}

double tamis_cpu_pairs_of(tamis_type type) {
    const tamis_cpu_variant *variant = NULL;
    if (tamis_cpu_variant_choose(&variant) != TAMIS_OK || !variant->kernels[type]->pairs) return 0;
    return variant->amx && !variant->amx->emulated ? 2 : 1;
}

double tamis_cpu_products(const tamis_problem *problem) {
    const tamis_cpu_rates *const rates = tamis_cpu_rates_of(problem);
    double dots = problem->operation == TAMIS_OP_SPMM ? 0 : (double)problem->inner * rates->dots.products;
    double sums = problem->operation == TAMIS_OP_SDDMM ? 0 : (double)problem->width * rates->sums.products;
    const double pairs = problem->evidence->sampled[TAMIS_CPU_SAMPLED_PAIRS];
    if (pairs > 0) {
        const double multiple = pairs > 1 ? rates->amx : 2;
        dots /= multiple;
        /* weights that are samples, or fp32 values, are not bf16 */
        if (problem->operation == TAMIS_OP_SPMM && problem->value_type == problem->type) sums /= multiple;
    }
    return 2 * (double)problem->nnz * (dots + sums);
}

double tamis_cpu_far_share(const tamis_problem *problem) {
    const bool fits = tamis_cpu_table_bytes(problem) <= kept_share * (double)problem->evidence->cache_l2;
    return fits ? 0 : problem->evidence->fresh_share;
}

double tamis_cpu_streamed(const tamis_problem *problem) {
    const double size = (double)tamis_type_size(problem->type);
    const double entry = (double)tamis_index_size(problem->index_type) + size * (problem->has_values ? 1 : 0) +
                         (problem->operation == TAMIS_OP_SDDMM ? size : 0);
    return (double)problem->nnz * entry + (double)problem->rows * (double)(problem->inner + 2 * problem->width) * size;
}

/* Bytes per second of S, A and the output: out of the cache that holds them together with the table. */
static double stream_rate(const tamis_problem *problem, double bytes) {
    const tamis_ceilings *const c = &problem->evidence->ceilings;
    const double all = bytes + tamis_cpu_table_bytes(problem);
    const double *const rates = all <= kept_share * (double)problem->evidence->cache_l2 * problem->threads ? c->l2_gbs
                                : all <= (double)problem->evidence->cache_l3                               ? c->l3_gbs
                                                                             : c->memory_gbs;
    return at_threads(rates, problem->threads, c->threads) * 1e9;
}

/* Moving near rows, moving the others, and computing overlap, but not wholly. What is found in L1 is read by the
   instructions that compute. */
double tamis_cpu_seconds(const tamis_problem *problem, const tamis_cpu_counts *counts) {
    const tamis_cpu_rates *const rates = tamis_cpu_rates_of(problem);
    const double near = counts->near / tamis_cpu_gather_rate(problem, counts->near_table);
    const double far = counts->far / tamis_cpu_gather_rate(problem, counts->table) +
                       counts->streamed / stream_rate(problem, counts->streamed);
    const double computing = counts->products / tamis_cpu_peak(problem) + counts->issued / problem->threads;
    const double longest = fmax(fmax(near, far), computing);
    return rates->call * problem->threads + longest + rates->unhidden * (near + far + computing - longest);
}

tamis_cpu_counts tamis_cpu_count_walk(const tamis_problem *problem) {
    const tamis_cpu_rates *const rates = tamis_cpu_rates_of(problem);
    const double nnz = (double)problem->nnz, row_bytes = tamis_cpu_row_bytes(problem);
    const double table = tamis_cpu_table_bytes(problem), l2 = (double)problem->evidence->cache_l2;
    const tamis_cpu_walk_rates *const walk = problem->operation == TAMIS_OP_SPMM ? &rates->sums : &rates->dots;
    /* what a row misses is in the cache that holds the rows of B between its first column and its last, if the rows
       before it have read them, as in a mesh; where most misses are new to them, too, rows jump, and it is anywhere */
    const double span = problem->evidence->profile.mean_span, band = span > 0 ? fmin(table, span * row_bytes) : table;
    const double jumping = fmax(0, 2 * problem->evidence->fresh_share - 1);
    const double around = pow(band, 1 - jumping) * pow(table, jumping);
    /* fused beyond L3 first goes through B, then through D (tamis_cpu_choose_chunk) */
    const bool halves = problem->operation == TAMIS_OP_FUSED && table > (double)problem->evidence->cache_l3;
    /* if D is B, its rows are read again from L1, which the products hide */
    const double read = nnz * row_bytes * (problem->d_is_b ? 0.5 : 1), far = tamis_cpu_far_share(problem);
    const double out_of_l1 = fmax(far, fmin(1, problem->evidence->sampled[TAMIS_CPU_SAMPLED_FRESH]));
    return (tamis_cpu_counts){.far = read * far,
                              .table = halves ? around / 2 : around,
                              .near = read * (out_of_l1 - far),
                              .near_table = fmin(table, 0.5 * l2),
                              .streamed = tamis_cpu_streamed(problem),
                              .products = tamis_cpu_products(problem),
                              .issued = nnz * rates->entry + (double)problem->rows * walk->row};
}
