/* cpu-amx: SDDMM and SpMM of bf16 by AMX tile products. */
#include <stdio.h>

#include "base/sizes.h"
#include "base/status.h"
#include "cpu/amx.h"
#include "cpu/methods/amx/build.h"
#include "cpu/predict.h"
#include "cpu/variants.h"

enum { LEAST, TOGETHER, CELLS };

static const tamis_cpu_amx_kernels *kernels_of(void) {
    const tamis_cpu_variant *variant;
    return tamis_cpu_variant_choose(&variant) == TAMIS_OK ? variant->amx : NULL;
}

static bool accepts(const tamis_problem *problem, char *reason, size_t bytes) {
    const char *missing = NULL;
    if (problem->type != TAMIS_BF16 || problem->value_type != TAMIS_BF16) {
        snprintf(reason, bytes, "S's values are %s, the operands %s: AMX multiplies bf16",
                 tamis_type_name(problem->value_type), tamis_type_name(problem->type));
        return false;
    }
    const tamis_cpu_amx_kernels *const kernels = kernels_of();
    if (!kernels)
        missing = tamis_cpu_amx_runs() ? "kernels without AMX were asked for (TAMIS_CPU_ISA)"
                                       : "this processor, or its system, has no AMX with products of bf16";
    else if (!kernels->emulated)
        missing = tamis_cpu_amx_refused();
    if (missing) snprintf(reason, bytes, "%s", missing);
    return !missing;
}

/* ------------------------------------------------------------------------------------------ predicting */

/* Pairs of tiles of a row of B. */
static int64_t slices_of(const tamis_problem *problem) {
    return tamis_cpu_amx_parts(problem->operation == TAMIS_OP_SDDMM ? problem->inner : problem->width);
}

static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    const tamis_ceilings *const ceilings = &problem->evidence->ceilings;
    const tamis_cpu_rates *const rates = tamis_cpu_rates_of(problem);
    const double slices = (double)slices_of(problem), nnz = (double)problem->nnz;
    const double all = (double)tamis_cpu_amx_parts(problem->cols) * slices;
    const double *const sampled = problem->evidence->sampled + TAMIS_CPU_SAMPLED_AMX;
    const tamis_cpu_amx_shares shares = {sampled[0], sampled[1]};
    const double in_cells = nnz > 0 ? shares.nonzeros / nnz : 0;
    /* hyper-threads share the core's tile unit */
    const double cores = tamis_cpu_peak(problem) / (ceilings->fp32_gflops[0] * 1e9);
    const double work =
        shares.cells * slices * 4 * rates->tile_unit.product + (shares.cells + all) * rates->tile_unit.cell;
    tamis_cpu_counts walk = tamis_cpu_count_walk(problem);
    prediction->call_seconds = work / cores + (1 - in_cells) * tamis_cpu_seconds(problem, &walk);
    prediction->setup_seconds = TAMIS_CPU_CELLS_SETUP * nnz * rates->setup / problem->threads;
    snprintf(prediction->reason, sizeof prediction->reason,
             "%.0f %% of the nonzeros are in cells of 32 x 32 that keep %.1f %% of their places", 100 * in_cells,
             shares.cells > 0 ? 100 * shares.nonzeros / shares.cells / 1024 : 0);
}

/* ------------------------------------------------------------------------------------------ preparing */

/* If L2 does not hold B, several panels use each part of it while it is there. */
static void defaults(tamis_prepared *p) {
    const tamis_problem *const problem = &p->problem;
    const int64_t packed = tamis_cpu_amx_parts(problem->cols) * slices_of(problem) * TAMIS_CPU_AMX_TILES;
    p->parameters[LEAST] = TAMIS_CPU_AMX_LEAST;
    p->parameters[CELLS] = 8;
    p->parameters[TOGETHER] = packed > problem->evidence->cache_l2 / 2 ? 4 : 1;
}

static tamis_status prepare(tamis_prepared *p) {
    tamis_cpu_amx_index *const index = p->state;
    const tamis_problem *const problem = &p->problem;
    const bool dots = problem->operation == TAMIS_OP_SDDMM;
    const int64_t slices = slices_of(problem), real = p->kernels->real_bytes, together = p->parameters[TOGETHER];
    int64_t most;
    const tamis_cpu_amx_kernels *const kernels = kernels_of();
    if (!kernels) return tamis_fail(TAMIS_ERROR_INTERNAL, "TAMIS_CPU_ISA changed while a plan was made");
    p->kernel = kernels->kernels[problem->operation];
    index->by_rows = p->kernels->methods[0][problem->operation]; /* the kernels of cpu-nonzeros */
    index->together = (int)together;
    p->together = TAMIS_CPU_AMX_ROWS;
    index->block = p->parameters[CELLS];
    TRY(tamis_cpu_amx_build(p, p->parameters[LEAST], index, &most));
    if (index->starts[index->panels] == 0) return TAMIS_OK;
    p->pack = kernels->pack[problem->operation];
    p->packed_bytes = tamis_cpu_amx_head(p->threads) + tamis_times(index->cells, slices * TAMIS_CPU_AMX_TILES);
    if (dots) /* rows of A, products of a block, and samples */
        p->chunk_bytes = tamis_times(together, slices * TAMIS_CPU_AMX_TILES) +
                         TAMIS_CPU_AMX_ROWS * tamis_cpu_amx_stride(index->block) * real +
                         tamis_cpu_chunk_bytes(p, most);
    else /* dense cells of S, and sums */
        p->chunk_bytes = index->block * TAMIS_CPU_AMX_TILES +
                         tamis_times(together * TAMIS_CPU_AMX_ROWS * TAMIS_CPU_AMX_SIDE * real, slices);
    return TAMIS_OK;
}

const tamis_cpu_method tamis_cpu_amx = {
    .common.description =
        {.name = "cpu-amx",
         .device = "cpu",
         .operations = 1u << TAMIS_OP_SDDMM | 1u << TAMIS_OP_SPMM,
         .source = "ours",
         .needs = "AMX with bf16; 4 bytes, SpMM 132, per cell of 32 x 32 places that has a nonzero, built by the "
                  "plan; a copy of B in the workspace",
         .when = "bf16, and S keeps a tenth and more of its places, or of those in blocks of 32 rows",
         .parameters =
             "least (1 to 1024): nonzeros a cell from which on a panel of 32 rows goes by cells; together (1 to 8): panels that go through B together; cells (1 to 64): that are dense at a time"},
    .common.needs_preparation = true,
    .parameters = {{"least", 1, 1024}, {"together", 1, TAMIS_CPU_AMX_PANELS}, {"cells", 1, 64}},
    .reported = 3,
    .accepts = accepts,
    .predict = predict,
    .defaults = defaults,
    .prepare = prepare,
    .state_bytes = sizeof(tamis_cpu_amx_index),
};
