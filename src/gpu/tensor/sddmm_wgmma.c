#include "gpu/tensor/wgmma.h"

#include <math.h>

#include "base/status.h"
#include "gpu/model.h"
#include "gpu/tensor/form.h"
#include "gpu/tensor/split.h"

enum { LINE = 128 /* bytes */, LARGE = 128, SMALL = 64 /* rows and columns of a cell */ };

static int64_t slice(const tamis_problem *p) { return tamis_splits(p) ? 32 : 64; } /* numbers of a row in a line */
static int64_t tiled_rows(const tamis_problem *p) {
    return tamis_gpu_round_up(p->rows, LARGE);
} /* rows of A in a slice */
static int64_t tiled(const tamis_problem *p) { return tiled_rows(p) + tamis_gpu_round_up(p->cols, LARGE); }

/* Slices of K; with up to RESIDENT_MOST slices, the rows of A stay for a whole panel. */
enum { RESIDENT_MOST = 4 };
static int64_t slices_of(const tamis_problem *p) { return tamis_gpu_round_up(p->inner, slice(p)) / slice(p); }

bool tamis_wgmma_takes(const tamis_problem *problem, const tamis_profile *profile) {
    const tamis_tensor_form form = tamis_tensor_of(problem->device).form;
    const bool spmm = problem->operation == TAMIS_OP_SPMM;
    return form != TAMIS_TENSOR_NONE && profile->sorted &&
           (problem->operation == TAMIS_OP_SDDMM ? problem->inner > 0
            : spmm                               ? problem->width > 0 && problem->nnz > 0 && profile->duplicates == 0
                                                 : tamis_fused_wgmma_takes(problem) && profile->duplicates == 0);
}

/* ------------------------------------------------------------------------------------------ predicting */

/* Seconds with cells of `side`. Splitting rows first reads them and writes lines; of numbers that are not split, a line
   holds twice as many. */
static double seconds_of(const tamis_problem *p, int64_t side, double cells) {
    enum { GATHERED = 4 }; /* factor of large cells whose columns are not contiguous */
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const bool small = side == SMALL;
    const double inner = (double)(slices_of(p) * slice(p));
    const double bytes = (double)p->inner * (double)tamis_type_size(p->type) + (double)(slices_of(p) * LINE);
    const double split = bytes * (double)(p->rows + p->cols);
    const double scores = small ? 1 : 4, rows = small ? 1 : 2; /* in small cells */
    const double cell = scores * f->cell.cell_ps + rows * f->cell.column_ps * inner / (tamis_splits(p) ? 1 : 3);
    const double picoseconds =
        cells * cell * (small || tamis_gpu_cells_align(p) ? 1 : GATHERED) + (double)p->nnz * f->cell_nonzero_ps;
    return tamis_gpu_streamed(p, split) + tamis_gpu_launched(p, tamis_tensor_issue(p, picoseconds));
}

/* Chooses the cell size. Small cells suit patterns whose panels of 128 rows share few more columns than panels of 64.
   Aligned cells are full either way. */
tamis_wgmma_cells tamis_wgmma_predict(const tamis_problem *p) {
    tamis_wgmma_cells large = {.side = LARGE, .count = tamis_gpu_cells_about(p, LARGE)};
    tamis_wgmma_cells small = {.side = SMALL, .count = tamis_gpu_cells_about(p, SMALL)};
    large.seconds = seconds_of(p, LARGE, large.count);
    small.seconds = seconds_of(p, SMALL, small.count);
    if (tamis_tensor_of(p->device).form == TAMIS_TENSOR_MMA) return small; /* the large ones' registers would spill */
    return tamis_gpu_cells_align(p) || large.seconds <= small.seconds ? large : small;
}

/* ------------------------------------------------------------------------------------------ the kernels */

/*
 * How a kernel is built. Cells of 128: one group per multiprocessor, of twelve warps; of twenty if K is so short that
 * writing dominates. Cells of 64: groups of five warps, as many as registers and shared memory allow. All registers, of
 * copying and of multiplying warps, must be free when the group begins.
 */
typedef struct shape {
    int64_t resident, across, sharing, buffers, entries, slots, shared_bytes;
    int copiers, less, more;
    bool spare, late;
} shape;

/* True if aligned cells have so many entries on average that a larger buffer for them pays off. */
static bool is_crowded(const tamis_problem *p) {
    return (double)p->nnz >
           5000.0 / (LARGE * LARGE) * (double)tiled_rows(p) * (double)tamis_gpu_round_up(p->cols, LARGE);
}

static shape shape_of(const tamis_problem *p, int64_t side, bool aligned) {
    enum { /* bytes of shared memory, as the kernel lays it out */
           GATES = 256,
           CELLS = 2,
           SLOTS_LEAST = 2,
           SLOTS_MOST = 8,
           MMA_SHARING = 3, /* resident groups: with more, threads have too few registers */
           LARGE_PITCH = 136
    };
    const int64_t slices = slices_of(p), resident = slices <= RESIDENT_MOST ? slices : 0, tile = side * LINE;
    const bool large = side == LARGE, many = large && aligned && resident == 1;
    shape s = {.resident = resident,
               .across = many ? 2 : 1,
               .sharing = large                            ? 1
                          : resident == 1 || resident == 2 ? 4
                                                           : 3,
               .buffers = large && resident <= 2 ? 2 : 1,
               .entries = !large                     ? 1024
                          : aligned && is_crowded(p) ? 9216
                                                     : 5632,
               .copiers = large ? 128 : 32,
               .less = !large    ? 0
                       : many    ? 32
                       : aligned ? 40
                                 : 56,
               .more = !large    ? 0
                       : many    ? 112
                       : aligned ? 232
                                 : 224,
               .spare = large && !many,
               .late = large && aligned && !many};
    const int64_t note = side * (8 + (int64_t)tamis_index_size(p->index_type)) + TAMIS_GPU_CELL_RECORD + 2 * s.entries;
    const int64_t staged = side * (large ? LARGE_PITCH : side) * 4, slot = resident ? tile : 2 * tile;
    const int64_t rest = s.buffers * resident * tile + staged + CELLS * note + GATES;
    const tamis_tensor_chip chip = tamis_tensor_of(p->device);
    if (chip.form == TAMIS_TENSOR_MMA && s.sharing > MMA_SHARING) s.sharing = MMA_SHARING;
    while (s.sharing > 1 && tamis_tensor_group_bytes(chip, s.sharing) < rest + SLOTS_LEAST * slot) s.sharing--;
    s.slots = tamis_gpu_min((tamis_tensor_group_bytes(chip, s.sharing) - rest) / slot, SLOTS_MOST);
    s.shared_bytes = rest + s.slots * slot;
    return s;
}

static tamis_status compile(tamis_prepared *p, tamis_wgmma *state) {
    tamis_gpu_definitions definitions = {.used = 0};
    const int64_t side = state->cells.rows, slices = slices_of(&p->problem);
    const shape s = shape_of(&p->problem, side, state->cells.aligned);
    state->shared_bytes = s.shared_bytes;
    state->sharing = s.sharing;
    state->group = (int)(2 * side * s.across) + s.copiers;
    tamis_tensor_define(&definitions, p, state->group);
    tamis_gpu_define(&definitions, "PRODUCTS", tamis_splits(&p->problem) ? 3 : 1);
    tamis_gpu_define(&definitions, "SIDE", side);
    tamis_gpu_define(&definitions, "ALIGNED", state->cells.aligned);
    tamis_gpu_define(&definitions, "RESIDENT", s.resident);
    tamis_gpu_define(&definitions, "A_BUFFERS", s.buffers);
    tamis_gpu_define(&definitions, "SLOTS", s.slots);
    tamis_gpu_define(&definitions, "ENTRIES", s.entries);
    tamis_gpu_define(&definitions, "GROUPS", s.sharing);
    tamis_gpu_define(&definitions, "ACROSS", s.across);
    tamis_gpu_define(&definitions, "SPARE", s.spare);
    tamis_gpu_define(&definitions, "LATE", s.late);
    tamis_gpu_define(&definitions, "LESS", s.less);
    tamis_gpu_define(&definitions, "MORE", s.more);
    TRY(tamis_gpu_add_kernel(p, 0, "sddmm_wgmma.cu", "sddmm_wgmma", &definitions, state->shared_bytes));
    return tamis_split_compile(p, 1,
                               &(tamis_split){.lows = tamis_splits(&p->problem),
                                              .numbers = slices * slice(&p->problem),
                                              .aligned = state->cells.aligned});
}

/* Launches as many groups as are resident. Each takes equally many runs of cells, so short that the groups find each
   other's rows of B in L2. */
static void share_cells(const tamis_prepared *p, tamis_wgmma *state) {
    const int64_t most = p->device->limits.multiprocessors * state->sharing, count = state->cells.count;
    const int64_t run = state->cells.rows == LARGE ? 8 : 2;
    state->groups = count < most ? count : most;
    const int64_t rounds = count / (most * run);
    state->runs = (state->groups > 1 ? state->groups : 1) * (rounds > 1 ? rounds : 1);
}

tamis_status tamis_wgmma_prepare(tamis_prepared *p, tamis_wgmma *state) {
    const tamis_problem *const problem = &p->problem;
    state->cells.rows = state->cells.columns = tamis_wgmma_predict(problem).side;
    state->cells.aligned = tamis_gpu_cells_align(problem);
    TRY(compile(p, state)); /* compiles while the cells are built */
    TRY(tamis_gpu_tensor_cells_build(p, &state->cells));
    share_cells(p, state);
    p->scratch_bytes = (size_t)(tiled(problem) * (4 + slices_of(problem) * LINE)); /* scales, split rows */
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
        .groups = {state->groups, 1}, .group_size = state->group, .shared_bytes = state->shared_bytes, .early = true};
    TRY(tamis_split_launch(p, stream, 1, &common, &rows));
    return tamis_gpu_launch_kernel(
        p, stream, 0, by_cells, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("slices", slices), tamis_gpu_integer("tiled_rows", rows.tiled_rows),
                            tamis_gpu_integer("tiled", rows.tiled), tamis_gpu_place("scales", x->scratch),
                            tamis_gpu_place("split", split), tamis_gpu_integer("run_count", state->runs),
                            tamis_gpu_integer("each", cells->count / state->runs),
                            tamis_gpu_integer("more", cells->count % state->runs),
                            tamis_gpu_memory("lists", cells->lists), tamis_gpu_memory("records", cells->records),
                            tamis_gpu_memory("row_offsets", cells->row_offsets),
                            tamis_gpu_memory("entries", cells->entries)));
}
