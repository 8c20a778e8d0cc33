#include "gpu/tensor/wgmma.h"

#include <string.h>

#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/model.h"
#include "gpu/structure/panel_index.h"
#include "gpu/structure/sort.h"

enum { SIDE = 128, SLICE = 32, TILE = SIDE * 128, GROUP = 384, SPLIT_GROUP = 256, RECORD_BYTES = 80 };

static const char *const file = "cell_entries.cu";

static int64_t up(int64_t x, int64_t step) { return (x + step - 1) / step * step; }
static int64_t tiled_rows(const tamis_problem *p) { return up(p->rows, SIDE); } /* of A in a slice */
static int64_t tiled(const tamis_problem *p) { return tiled_rows(p) + up(p->cols, SIDE); }

/* Slices whose rows of A stay for a whole panel, and else slices that a loop takes at once, of which there are a
   multiple: an odd number of them gets one of zeros. */
enum { RESIDENT_MOST = 4 };
static int64_t slices_of(const tamis_problem *p) {
    const int64_t slices = (p->inner + SLICE - 1) / SLICE;
    return slices <= RESIDENT_MOST || slices % 3 == 0 ? slices : up(slices, 2);
}
static int64_t at_once(int64_t slices) { return slices % 4 == 0 ? 4 : slices % 3 == 0 ? 3 : 2; }

bool tamis_wgmma_takes(const tamis_problem *problem, bool sorted) {
    const tamis_gpu_device *const device = problem->device;
    return strcmp(device->limits.architecture, "sm_90") == 0 && sorted && problem->inner > 0;
}

/* Rows are split in memory first: read, and written in as many bytes. */
double tamis_wgmma_seconds(const tamis_problem *problem, double cells) {
    const tamis_gpu_fitted *const f = tamis_gpu_fitted_for(problem);
    const double inner = (double)problem->inner, split = 8 * (double)(problem->rows + problem->cols) * inner;
    const double share = problem->math == TAMIS_MATH_TF32 ? f->tensor.tf32 : 1;
    const double picoseconds = cells * (f->wgmma.cell_ps + share * f->wgmma.cell_column_ps * inner) +
                               (double)problem->nnz * f->wgmma.nonzero_ps;
    return tamis_gpu_streamed(problem, split) + tamis_gpu_filling(problem, tamis_gpu_issue(problem, picoseconds)) +
           f->wgmma.begin;
}

/* ------------------------------------------------------------------------------------------ the cells */

static tamis_gpu_kinds kinds_of(const tamis_problem *problem) {
    return (tamis_gpu_kinds){TAMIS_F32, problem->index_type, problem->offset_type};
}

static tamis_status launch(const tamis_prepared *p, const char *kernel, int64_t groups,
                           const tamis_gpu_named *arguments) {
    return tamis_gpu_utility(p->device, p->problem.stream, file, kernel, kinds_of(&p->problem), groups, arguments);
}

static tamis_status keep_cells(tamis_prepared *p, tamis_wgmma *state) {
    TRY(tamis_gpu_add_kept(p, &state->records, state->cells, RECORD_BYTES, "records of the cells"));
    TRY(tamis_gpu_add_kept(p, &state->row_offsets, state->cells * SIDE, tamis_index_size(p->problem.index_type),
                           "rows of the cells"));
    return tamis_gpu_add_kept(p, &state->entries, p->problem.nnz, 2, "entries of the cells");
}

/* Cells of the columns that a panel has, 128 at a time. */
static tamis_status gather_cells(tamis_prepared *p, tamis_wgmma *state) {
    tamis_status status = TAMIS_OK;
    const tamis_problem *const problem = &p->problem;
    const tamis_gpu_tiling tiling = {.x_tile = SIDE, .y_tile = 1, .height = SIDE};
    tamis_gpu_index index;
    TRY(tamis_gpu_index_build(p, &tiling, &index));
    state->cells = index.cell_count;
    TRY_GOTO(done, keep_cells(p, state));
    TRY_GOTO(done, launch(p, "gathered_records", state->cells,
                          TAMIS_GPU_ARGUMENTS(
                              tamis_gpu_memory("cells", index.cells), tamis_gpu_memory("begins", index.begins),
                              tamis_gpu_memory("order", index.order), tamis_gpu_memory("within", index.within),
                              tamis_gpu_memory("starts", index.starts), tamis_gpu_memory("offsets", problem->offsets),
                              tamis_gpu_integer("rows", problem->rows), tamis_gpu_memory("records", state->records),
                              tamis_gpu_memory("row_offsets", state->row_offsets),
                              tamis_gpu_memory("entries", state->entries))));
    state->lists = tamis_gpu_index_keep(p, &index.list, index.count, tamis_index_size(problem->index_type));
done:
    tamis_gpu_index_release(p, &index);
    return status;
}

/* Memory while aligned cells are made. */
typedef struct tiling {
    int64_t panels, tiles;
    void *begins, *counts, *scratch;
} tiling;

static tamis_status fill_tiles(tamis_prepared *p, tamis_wgmma *state, const tiling *t) {
    const tamis_problem *const problem = &p->problem;
    TRY(launch(p, "tile_begins", tamis_gpu_groups(t->panels * SIDE * 32),
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", problem->rows), tamis_gpu_integer("panels", t->panels),
                                   tamis_gpu_integer("tiles", t->tiles), tamis_gpu_memory("offsets", problem->offsets),
                                   tamis_gpu_memory("columns", problem->columns),
                                   tamis_gpu_memory("begins", t->begins))));
    TRY(launch(p, "tile_records", state->cells,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", problem->rows), tamis_gpu_integer("cols", problem->cols),
                                   tamis_gpu_integer("panels", t->panels), tamis_gpu_integer("tiles", t->tiles),
                                   tamis_gpu_memory("offsets", problem->offsets), tamis_gpu_memory("begins", t->begins),
                                   tamis_gpu_memory("records", state->records),
                                   tamis_gpu_memory("row_offsets", state->row_offsets),
                                   tamis_gpu_memory("counts", t->counts))));
    TRY(tamis_gpu_scan(p->device, problem->stream, t->counts, state->cells + 1, (tamis_place){t->scratch, 0}));
    return launch(
        p, "tile_entries", state->cells,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", problem->rows), tamis_gpu_integer("tiles", t->tiles),
                            tamis_gpu_memory("offsets", problem->offsets),
                            tamis_gpu_memory("columns", problem->columns), tamis_gpu_memory("begins", t->begins),
                            tamis_gpu_memory("row_offsets", state->row_offsets), tamis_gpu_memory("counts", t->counts),
                            tamis_gpu_memory("records", state->records), tamis_gpu_memory("entries", state->entries)));
}

/* Cells of 128 neighbouring columns: nothing comes to the host. */
static tamis_status align_cells(tamis_prepared *p, tamis_wgmma *state) {
    tamis_status status = TAMIS_OK;
    const tamis_problem *const problem = &p->problem;
    void *const stream = problem->stream;
    tiling t = {.panels = tiled_rows(problem) / SIDE, .tiles = up(problem->cols, SIDE) / SIDE};
    state->cells = t.panels * t.tiles;
    TRY(keep_cells(p, state));
    TRY_GOTO(done, tamis_gpu_allocate(p->device, stream, (size_t)(t.panels * (t.tiles + 1) * SIDE) * 4,
                                      "where tiles begin in rows", &t.begins));
    TRY_GOTO(done,
             tamis_gpu_allocate(p->device, stream, (size_t)(state->cells + 1) * 8, "entries of the cells", &t.counts));
    TRY_GOTO(done, tamis_gpu_allocate(p->device, stream, tamis_gpu_scan_scratch(state->cells + 1), "prefix sums",
                                      &t.scratch));
    TRY_GOTO(done, fill_tiles(p, state, &t));
done:
    tamis_gpu_release(p->device, stream, t.begins);
    tamis_gpu_release(p->device, stream, t.counts);
    tamis_gpu_release(p->device, stream, t.scratch);
    return status;
}

/* Where panels have nearly all columns anyway, a list of them saves little, and tiles that lie together are copied
   by the bulk. */
static bool dense_enough(const tamis_problem *problem) {
    const double cells = (double)tiled_rows(problem) / SIDE * (double)problem->cols;
    return problem->evidence->panel_fresh[0] * (double)problem->nnz > 0.8 * cells;
}

/* ------------------------------------------------------------------------------------------ the kernels */

static int split_team(const tamis_problem *problem) {
    return problem->inner <= 32 ? 8 : problem->inner <= 64 ? 16 : 32;
}

/* Four numbers each that a lane keeps of a row; 0: more than there are registers for, so the row is read twice. */
static int64_t split_pieces(const tamis_problem *problem) {
    enum { PIECES_MOST = 4 };
    const int64_t step = 4 * split_team(problem), pieces = up(slices_of(problem) * SLICE, step) / step;
    return pieces <= PIECES_MOST ? pieces : 0;
}

static tamis_status compile(tamis_prepared *p, tamis_wgmma *state) {
    enum { /* bytes of shared memory, as the kernel lays it out */
           MOST = 227 << 10,
           STAGED = 8 * 16 * 136 * 4,
           NOTES = 3 * (SIDE * 8 + RECORD_BYTES),
           GATES = 256,
           SLOTS_MOST = 8
    };
    tamis_gpu_definitions definitions = {.used = 0}, split = {.used = 0};
    const int64_t slices = slices_of(&p->problem), resident = slices <= RESIDENT_MOST ? slices : 0;
    const int64_t notes = NOTES + 3 * SIDE * (int64_t)tamis_index_size(p->problem.index_type);
    const int64_t buffers = resident > 2 ? 1 : 2; /* of the panel's rows of A */
    const int64_t slot = resident ? TILE : 2 * TILE, rest = buffers * resident * TILE + STAGED + notes + GATES;
    const int64_t slots = (MOST - rest) / slot < SLOTS_MOST ? (MOST - rest) / slot : SLOTS_MOST;
    state->shared_bytes = rest + slots * slot;
    tamis_gpu_define_problem(&definitions, p, GROUP, 32);
    tamis_gpu_define(&definitions, "PRODUCTS", p->math == TAMIS_MATH_TF32 ? 1 : 3);
    tamis_gpu_define(&definitions, "RESIDENT", resident);
    tamis_gpu_define(&definitions, "SLICES_AT_ONCE", at_once(slices));
    tamis_gpu_define(&definitions, "SLOTS", slots);
    tamis_gpu_define(&definitions, "ALIGNED", state->aligned);
    TRY(tamis_gpu_add_kernel(p, 0, "sddmm_wgmma.cu", "sddmm_wgmma", &definitions, state->shared_bytes));
    tamis_gpu_define_problem(&split, p, SPLIT_GROUP, split_team(&p->problem));
    tamis_gpu_define(&split, "ALIGNED", state->aligned);
    tamis_gpu_define(&split, "PIECES", split_pieces(&p->problem));
    return tamis_gpu_add_kernel(p, 1, "split_rows.cu", "split_rows", &split, 0);
}

tamis_status tamis_wgmma_prepare(tamis_prepared *p, tamis_wgmma *state) {
    const tamis_problem *const problem = &p->problem;
    const int64_t multiprocessors = p->device->limits.multiprocessors;
    state->aligned = dense_enough(problem);
    TRY(compile(p, state)); /* while the cells are made */
    TRY(state->aligned ? align_cells(p, state) : gather_cells(p, state));
    if (state->cells > INT32_MAX)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "gpu-tensor: %lld cells are more than 31 bits count",
                          (long long)state->cells);
    state->groups = state->cells < multiprocessors ? state->cells : multiprocessors;
    p->scratch_bytes = (size_t)(tiled(problem) * (4 + slices_of(problem) * 128)); /* scales, split rows */
    return TAMIS_OK;
}

tamis_status tamis_wgmma_execute(const tamis_prepared *p, void *stream, const tamis_operands *x,
                                 const tamis_wgmma *state) {
    const tamis_problem *const problem = &p->problem;
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_place scales = x->scratch, split = tamis_gpu_after(x->scratch, tiled(problem) * 4);
    const tamis_gpu_named tiles[] = {
        tamis_gpu_integer("slices", slices_of(problem)), tamis_gpu_integer("tiled_rows", tiled_rows(problem)),
        tamis_gpu_integer("tiled", tiled(problem)), tamis_gpu_place("scales", scales), tamis_gpu_place("split", split)};
    const int64_t threads = up((problem->rows + problem->cols) * split_team(problem), SPLIT_GROUP);
    const tamis_gpu_launch by_rows = {.groups = {threads / SPLIT_GROUP, 1}, .group_size = SPLIT_GROUP};
    const tamis_gpu_launch by_cells = {
        .groups = {state->groups, 1}, .group_size = GROUP, .shared_bytes = state->shared_bytes};
    TRY(tamis_gpu_launch_kernel(p, stream, 1, by_rows, &common,
                                TAMIS_GPU_ARGUMENTS(tiles[0], tiles[1], tiles[2], tiles[3], tiles[4])));
    return tamis_gpu_launch_kernel(
        p, stream, 0, by_cells, &common,
        TAMIS_GPU_ARGUMENTS(
            tiles[0], tiles[1], tiles[2], tiles[3], tiles[4], tamis_gpu_integer("cell_count", state->cells),
            tamis_gpu_memory("lists", state->lists), tamis_gpu_memory("records", state->records),
            tamis_gpu_memory("row_offsets", state->row_offsets), tamis_gpu_memory("entries", state->entries)));
}
