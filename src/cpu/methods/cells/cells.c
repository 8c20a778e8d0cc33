/* cpu-cells: fused by dense products of 32 rows with all columns that any of them has. */
#include "cpu/methods/cells/cells.h"

#include <stdio.h>

#include "base/status.h"
#include "cpu/methods/cells/build.h"
#include "cpu/methods/cells/table.h"

static bool accepts(const tamis_problem *problem, char *reason, size_t bytes) {
    if (problem->has_values) {
        snprintf(reason, bytes, "S has values, which cells have no place for");
        return false;
    }
    const tamis_edge_text *const text = problem->edge_constants.text;
    if (tamis_edge_text_reads_row(text) || tamis_edge_text_reads_column(text) || (text && text->value.arrays > 0)) {
        snprintf(reason, bytes, "the edge's text reads i, j or an array, which cells have no place for");
        return false;
    }
    if (problem->evidence->profile.max > TAMIS_CPU_CELLS_MOST) {
        snprintf(reason, bytes, "a row has %lld nonzeros, but the scores of 32 rows with %d columns at most are kept",
                 (long long)problem->evidence->profile.max, TAMIS_CPU_CELLS_MOST);
        return false;
    }
    if (problem->cols > UINT32_MAX) {
        snprintf(reason, bytes, "%lld columns, but cells number 2^32 at most", (long long)problem->cols);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ predicting */

double tamis_cpu_cells_seconds(const tamis_problem *problem, double products) {
    enum { ELEMENT = 40 /* of a row of A, which is copied across: over an entry */ };
    const tamis_cpu_rates *const rates = tamis_cpu_rates_of(problem);
    const double cells = problem->evidence->sampled[TAMIS_CPU_SAMPLED_CELLS];
    const double row_bytes = tamis_cpu_row_bytes(problem), far = tamis_cpu_far_share(problem);
    tamis_cpu_counts counts = tamis_cpu_count_walk(problem);
    counts.far = cells * row_bytes * far;
    counts.near = cells * row_bytes * (1 - far);
    counts.products = cells * TAMIS_CPU_CELL_ROWS * 2 * products / rates->cells.peak;
    counts.issued =
        cells * rates->cells.column + ELEMENT * (double)problem->rows * (double)problem->inner * rates->entry;
    return tamis_cpu_seconds(problem, &counts);
}

static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    const double pairs = problem->evidence->sampled[TAMIS_CPU_SAMPLED_CELLS] * TAMIS_CPU_CELL_ROWS;
    prediction->call_seconds = tamis_cpu_cells_seconds(problem, (double)(problem->inner + problem->width));
    prediction->setup_seconds =
        TAMIS_CPU_CELLS_SETUP * (double)problem->nnz * tamis_cpu_rates_of(problem)->setup / problem->threads;
    snprintf(prediction->reason, sizeof prediction->reason, "S keeps %.0f %% of the pairs in cells of 32 rows",
             pairs > 0 ? 100 * (double)problem->nnz / pairs : 0);
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status prepare(tamis_prepared *p) {
    tamis_cpu_cell_index *const index = p->state;
    p->together = TAMIS_CPU_CELL_ROWS;
    TRY(tamis_cpu_cells_build(&p->problem, p->threads, index));
    p->kept[p->kept_count++] = index->starts;
    p->kept[p->kept_count++] = index->cells;
    p->prepared_bytes += (size_t)(index->blocks + 1) * sizeof *index->starts +
                         (size_t)index->starts[index->blocks] * sizeof *index->cells;
    p->chunk_bytes = p->kernels->cells->fused_bytes(p->problem.inner, p->problem.width, index->most);
    return TAMIS_OK;
}

const tamis_cpu_method tamis_cpu_cells = {
    .common.description = {.name = "cpu-cells",
                           .device = "cpu",
                           .operations = 1u << TAMIS_OP_FUSED,
                           .source = "ours",
                           .needs = "8 bytes per column of a block of 32 rows, built by the plan",
                           .when = "S keeps a third and more of what 32 neighbouring rows and their columns have in "
                                   "common: attention with windows, causal masks or blocks",
                           .parameters = ""},
    .common.needs_preparation = true,
    .accepts = accepts,
    .predict = predict,
    .prepare = prepare,
    .state_bytes = sizeof(tamis_cpu_cell_index),
};
