#include "gpu/tensor/wgmma.h"

#include <string.h>

#include "base/status.h"
#include "gpu/model.h"
#include "gpu/tensor/split.h"

enum { SIDE = 128, TILE = SIDE * 128, GROUP = 384 };

static int64_t up(int64_t x, int64_t step) { return (x + step - 1) / step * step; }
static int64_t slice(const tamis_problem *p) { return tamis_splits(p) ? 32 : 64; } /* numbers of a row in a line */
static int64_t tiled_rows(const tamis_problem *p) { return up(p->rows, SIDE); }    /* of A in a slice */
static int64_t tiled(const tamis_problem *p) { return tiled_rows(p) + up(p->cols, SIDE); }

/* Slices whose rows of A stay for a whole panel, and else slices that a loop takes at once, of which there are a
   multiple: an odd number of them gets one of zeros. */
enum { RESIDENT_MOST = 4 };
static int64_t slices_of(const tamis_problem *p) {
    const int64_t slices = up(p->inner, slice(p)) / slice(p);
    return slices <= RESIDENT_MOST || slices % 3 == 0 ? slices : up(slices, 2);
}
static int64_t at_once(int64_t slices) { return slices % 4 == 0 ? 4 : slices % 3 == 0 ? 3 : 2; }

bool tamis_wgmma_takes(const tamis_problem *problem, const tamis_profile *profile) {
    const tamis_gpu_device *const device = problem->device;
    const bool spmm = problem->operation == TAMIS_OP_SPMM;
    return strcmp(device->limits.architecture, "sm_90") == 0 && profile->sorted &&
           (problem->operation == TAMIS_OP_SDDMM ? problem->inner > 0
            : spmm                               ? problem->width > 0 && problem->nnz > 0 && profile->duplicates == 0
                                                 : tamis_fused_wgmma_takes(problem) && profile->duplicates == 0);
}

/* Rows are split in memory first: read, and written in as many bytes. */
double tamis_wgmma_seconds(const tamis_problem *problem, double cells) {
    const tamis_gpu_fitted *const f = tamis_gpu_fitted_for(problem);
    const double inner = (double)problem->inner, bytes = 2 * (double)tamis_type_size(problem->type);
    const double split = f->wgmma.split * bytes * (double)(problem->rows + problem->cols) * inner;
    const double share = tamis_splits(problem) ? 1 : f->wgmma.highs;
    const double wide = problem->inner > RESIDENT_MOST * slice(problem) ? f->wgmma.wide : 1;
    const double cell = f->wgmma.cell_ps + share * wide * f->wgmma.cell_column_ps * inner;
    const double nonzero = f->wgmma.nonzero_ps + tamis_gpu_value_ps(problem, f->wgmma.value_ps);
    const double picoseconds =
        cells * cell * (tamis_gpu_cells_align(problem) ? 1 : f->wgmma.gathered) + (double)problem->nnz * nonzero;
    return tamis_gpu_streamed(problem, split) + tamis_gpu_filling(problem, tamis_gpu_issue(problem, picoseconds)) +
           f->wgmma.begin;
}

/* ------------------------------------------------------------------------------------------ the kernels */

static tamis_status compile(tamis_prepared *p, tamis_wgmma *state) {
    enum { /* bytes of shared memory, as the kernel lays it out */
           MOST = 227 << 10,
           STAGED = 8 * 16 * 136 * 4,
           NOTES = 3 * (SIDE * 8 + TAMIS_GPU_CELL_RECORD),
           GATES = 256,
           SLOTS_MOST = 8
    };
    tamis_gpu_definitions definitions = {.used = 0};
    const int64_t slices = slices_of(&p->problem), resident = slices <= RESIDENT_MOST ? slices : 0;
    const int64_t notes = NOTES + 3 * SIDE * (int64_t)tamis_index_size(p->problem.index_type);
    const int64_t buffers = resident > 2 ? 1 : 2; /* of the panel's rows of A */
    const int64_t slot = resident ? TILE : 2 * TILE, rest = buffers * resident * TILE + STAGED + notes + GATES;
    const int64_t slots = (MOST - rest) / slot < SLOTS_MOST ? (MOST - rest) / slot : SLOTS_MOST;
    state->shared_bytes = rest + slots * slot;
    tamis_gpu_define_problem(&definitions, p, GROUP, 32);
    tamis_gpu_define(&definitions, "PRODUCTS", tamis_splits(&p->problem) ? 3 : 1);
    tamis_gpu_define(&definitions, "RESIDENT", resident);
    tamis_gpu_define(&definitions, "SLICES_AT_ONCE", at_once(slices));
    tamis_gpu_define(&definitions, "SLOTS", slots);
    tamis_gpu_define(&definitions, "ALIGNED", state->cells.aligned);
    TRY(tamis_gpu_add_kernel(p, 0, "sddmm_wgmma.cu", "sddmm_wgmma", &definitions, state->shared_bytes));
    return tamis_split_compile(p, 1,
                               &(tamis_split){.lows = tamis_splits(&p->problem),
                                              .numbers = slices * slice(&p->problem),
                                              .aligned = state->cells.aligned});
}

tamis_status tamis_wgmma_prepare(tamis_prepared *p, tamis_wgmma *state) {
    const tamis_problem *const problem = &p->problem;
    const int64_t multiprocessors = p->device->limits.multiprocessors;
    state->cells.rows = state->cells.columns = SIDE;
    state->cells.aligned = tamis_gpu_cells_align(problem);
    TRY(compile(p, state)); /* while the cells are made */
    TRY(tamis_gpu_tensor_cells_build(p, &state->cells));
    state->groups = state->cells.count < multiprocessors ? state->cells.count : multiprocessors;
    p->scratch_bytes = (size_t)(tiled(problem) * (4 + slices_of(problem) * 128)); /* scales, split rows */
    return TAMIS_OK;
}

tamis_status tamis_wgmma_execute(const tamis_prepared *p, void *stream, const tamis_operands *x,
                                 const tamis_wgmma *state) {
    const tamis_problem *const problem = &p->problem;
    const tamis_gpu_tensor_cells *const cells = &state->cells;
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const int64_t slices = slices_of(problem);
    const tamis_place split = tamis_gpu_after(x->scratch, tiled(problem) * 4);
    const tamis_split rows = {.a_rows = problem->rows,
                              .b_filled = problem->cols,
                              .length = problem->inner,
                              .numbers = slices * slice(problem),
                              .slices = slices,
                              .tiled_rows = tiled_rows(problem),
                              .tiled = tiled(problem),
                              .scales = x->scratch,
                              .split = split};
    const tamis_gpu_launch by_cells = {
        .groups = {state->groups, 1}, .group_size = GROUP, .shared_bytes = state->shared_bytes, .early = true};
    TRY(tamis_split_launch(p, stream, 1, &common, &rows));
    return tamis_gpu_launch_kernel(
        p, stream, 0, by_cells, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("slices", slices), tamis_gpu_integer("tiled_rows", rows.tiled_rows),
                            tamis_gpu_integer("tiled", rows.tiled), tamis_gpu_place("scales", x->scratch),
                            tamis_gpu_place("split", split), tamis_gpu_integer("cell_count", cells->count),
                            tamis_gpu_memory("lists", cells->lists), tamis_gpu_memory("records", cells->records),
                            tamis_gpu_memory("row_offsets", cells->row_offsets),
                            tamis_gpu_memory("entries", cells->entries)));
}
