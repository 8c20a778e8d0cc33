/* gpu-tensor, the host side of sddmm_tensor.cu: ours, panels on tensor cores with fp32 split into three products, or
   rounded to TF32 for one where math allows it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/methods.h"
#include "gpu/model.h"
#include "gpu/panels/panels_build.h"

enum { SIDE = 128, GROUP = 256, SHARED_BYTES = 2 * 2 * SIDE * 36 * 4, WHOLE_CELLS = 1 << 30 };

static bool accepts(const tamis_problem *problem, char *reason, size_t bytes) {
    const tamis_gpu_device *const device = problem->device;
    enum { ARCHITECTURE = 80, SHARED = 72 << 10 };
    const char *why = NULL;
    if (strcmp(device->runtime->name, "cuda") != 0)
        why = "tensor cores are programmed for CUDA only";
    else if (problem->type != TAMIS_F32)
        why = "it splits fp32 numbers for tensor cores: it does not support other types";
    else if (strtol(device->limits.architecture + 3, NULL, 10) < ARCHITECTURE || device->limits.shared_most < SHARED)
        why = "it needs tensor cores for TF32 and 72 KiB of shared memory: compute capability 8.0 and up";
    if (!why) return tamis_gpu_cells_accept(problem, reason, bytes);
    snprintf(reason, bytes, "%s", why);
    return false;
}

/* One product of TF32 in place of three: its half is derived, not measured, from a third of the products, two fifths of
   the instructions and all of the copies. */
static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    const double nnz = (double)p->nnz, fresh = p->evidence->panel_fresh[0], cells = nnz * fresh / 128;
    const bool once = p->math == TAMIS_MATH_TF32;
    const double cell = (14.8 + (once ? 0.313 : 0.626) * (double)p->inner) * 1e-9 * tamis_gpu_scale(p);
    prediction->call_seconds = tamis_gpu_filling(cells * cell + nnz * 2.85e-12 * tamis_gpu_scale(p)) + 6e-6;
    prediction->setup_seconds = 0.6e-3 + nnz * 0.55e-9 * tamis_gpu_scale(p);
    if (p->once) return; /* nobody asks why */
    snprintf(prediction->reason, sizeof prediction->reason,
             "about %.3g cells of 128 x 128 products%s, %.1f %% of them wanted; the cells are sorted once", cells,
             once ? " of inputs rounded to TF32" : "", fresh > 0 ? 100 / (128 * fresh) : 0);
}

/* What a plan knows: the cells, and for compute capability 9.0 what sddmm_wgmma.cu knows of them. */
typedef struct tensor_state {
    tamis_gpu_cells cells;
    bool wgmma;
    int64_t groups, shared_bytes;
    void *records, *row_offsets, *entries; /* see cell_entries.cu */
} tensor_state;

/* ------------------------------------------------------------------------------------------ compute capability 9.0 */

enum { SLICE = 32, TILE = SIDE * 128, WGMMA_GROUP = 384, SPLIT_GROUP = 256, RESIDENT_MOST = 4, RECORD_BYTES = 80 };

static int64_t slices_of(const tamis_problem *problem) { return (problem->inner + SLICE - 1) / SLICE; }

static int64_t scales_bytes(const tamis_problem *problem) { return ((problem->rows + problem->cols) * 4 + 127) / 128 * 128; }

static int split_team(const tamis_problem *problem) {
    return problem->inner <= 32 ? 8 : problem->inner <= 64 ? 16 : 32;
}

/* Sixteen-byte pieces of a row that a lane holds; 0: more than there are registers for, so they are read twice. */
static int64_t split_pieces(const tamis_problem *problem) {
    enum { PIECES_MOST = 4 };
    const int64_t team = split_team(problem), pieces = (slices_of(problem) * SLICE / 4 + team - 1) / team;
    return pieces <= PIECES_MOST ? pieces : 0;
}

/* What the kernel knows of the cells. */
static tamis_status pack_cells(tamis_prepared *p, tensor_state *state) {
    const tamis_problem *const problem = &p->problem;
    const tamis_gpu_kinds kinds = {TAMIS_F32, problem->index_type, problem->offset_type};
    const int64_t count = state->cells.part_count;
    TRY(tamis_gpu_add_kept(p, &state->records, count, RECORD_BYTES, "records of the cells"));
    TRY(tamis_gpu_add_kept(p, &state->row_offsets, count * SIDE, tamis_index_size(problem->index_type), "rows of the cells"));
    TRY(tamis_gpu_add_kept(p, &state->entries, state->cells.entry_count, 2, "entries of the cells, packed"));
    return tamis_gpu_utility(
        p->device, problem->stream, "cell_entries.cu", "cell_entries", kinds, count,
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_integer("cell_count", count), tamis_gpu_memory("parts", state->cells.parts),
            tamis_gpu_memory("cells", state->cells.cells), tamis_gpu_memory("entry", state->cells.entry),
            tamis_gpu_memory("position", state->cells.position), tamis_gpu_memory("records", state->records),
            tamis_gpu_memory("row_offsets", state->row_offsets), tamis_gpu_memory("entries", state->entries)));
}

/* The kernels: the cells are built while they compile. */
static tamis_status compile_wgmma(tamis_prepared *p, tensor_state *state) {
    enum { STAGED = 8 * 16 * 136 * 4, NOTES = 3 * (SIDE * (16 + 4) + 80), GATES = 256, MOST = 227 << 10, SLOTS_MOST = 8 };
    tamis_gpu_definitions definitions = {.used = 0}, split = {.used = 0};
    const int64_t slices = slices_of(&p->problem), resident = slices <= RESIDENT_MOST ? slices : 0;
    const int64_t slot = resident ? TILE : 2 * TILE, left = MOST - resident * TILE - STAGED - NOTES - GATES;
    const int64_t slots = left / slot < SLOTS_MOST ? left / slot : SLOTS_MOST;
    state->shared_bytes = resident * TILE + slots * slot + STAGED + NOTES + GATES;
    tamis_gpu_define_problem(&definitions, p, WGMMA_GROUP, 32);
    tamis_gpu_define(&definitions, "RESIDENT", resident);
    tamis_gpu_define(&definitions, "SLOTS", slots);
    TRY(tamis_gpu_add_kernel(p, 0, "sddmm_wgmma.cu", "sddmm_wgmma", &definitions, state->shared_bytes));
    tamis_gpu_define_problem(&split, p, SPLIT_GROUP, split_team(&p->problem));
    tamis_gpu_define(&split, "PIECES", split_pieces(&p->problem));
    return tamis_gpu_add_kernel(p, 1, "split_rows.cu", "split_rows", &split, 0);
}

static tamis_status prepare_wgmma(tamis_prepared *p, tensor_state *state) {
    const tamis_problem *const problem = &p->problem;
    const int64_t multiprocessors = p->device->limits.multiprocessors;
    TRY(compile_wgmma(p, state));
    TRY(tamis_gpu_cells_build(p, SIDE, SIDE, WHOLE_CELLS, &state->cells));
    state->groups = state->cells.part_count < multiprocessors ? state->cells.part_count : multiprocessors;
    p->scratch_bytes = (size_t)(scales_bytes(problem) + (problem->rows + problem->cols) * slices_of(problem) * 128);
    return pack_cells(p, state);
}

static tamis_status execute_wgmma(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tensor_state *const state = p->state;
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_place scales = x->scratch, split = tamis_gpu_after(x->scratch, scales_bytes(&p->problem));
    const int64_t threads = (common.rows + common.cols) * split_team(&p->problem);
    const tamis_gpu_launch split_launch = {.groups = {(threads + SPLIT_GROUP - 1) / SPLIT_GROUP, 1},
                                           .group_size = SPLIT_GROUP};
    const tamis_gpu_launch launch = {
        .groups = {state->groups, 1}, .group_size = WGMMA_GROUP, .shared_bytes = state->shared_bytes};
    TRY(tamis_gpu_launch_kernel(
        p, stream, 1, split_launch, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_place("scales", scales), tamis_gpu_place("split", split))));
    return tamis_gpu_launch_kernel(
        p, stream, 0, launch, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("cell_count", state->cells.part_count),
                            tamis_gpu_memory("cells", state->cells.cells), tamis_gpu_memory("parts", state->cells.parts), tamis_gpu_memory("lists", state->cells.lists),
                            tamis_gpu_memory("records", state->records), tamis_gpu_memory("row_offsets", state->row_offsets), tamis_gpu_memory("entries", state->entries),
                            tamis_gpu_place("scales", scales), tamis_gpu_place("split", split)));
}

/* ------------------------------------------------------------------------------------------ 8.0 and up */

static bool takes_wgmma(const tamis_prepared *p) {
    return strcmp(p->device->limits.architecture, "sm_90") == 0 && p->problem.math != TAMIS_MATH_TF32 &&
           p->profile.sorted && p->problem.inner > 0 && !getenv("TAMIS_OLD");
}

static tamis_status prepare(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    tensor_state *const state = p->state;
    p->math = p->problem.math;
    if (p->problem.nnz == 0) return TAMIS_OK;
    state->wgmma = takes_wgmma(p);
    if (state->wgmma) return prepare_wgmma(p, state);
    tamis_gpu_define_problem(&definitions, p, GROUP, 32);
    tamis_gpu_define(&definitions, "PRODUCTS", p->math == TAMIS_MATH_TF32 ? 1 : 3);
    TRY(tamis_gpu_add_kernel(p, 0, "sddmm_tensor.cu", "sddmm_tensor", &definitions, SHARED_BYTES));
    return tamis_gpu_cells_build(p, SIDE, SIDE, WHOLE_CELLS, &state->cells);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tensor_state *const state = p->state;
    if (state->wgmma) return execute_wgmma(p, stream, x);
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {
        .groups = {state->cells.part_count, 1}, .group_size = GROUP, .shared_bytes = SHARED_BYTES};
    return tamis_gpu_launch_kernel(p, stream, 0, launch, &common, TAMIS_GPU_CELLS_ARGUMENTS(&state->cells));
}

static const tamis_gpu_method method = {.name = "gpu-tensor",
                                        .prepare = prepare,
                                        .execute = execute,
                                        .state_bytes = sizeof(tensor_state),
                                        .batches = true};

const tamis_gpu_algorithm tamis_gpu_tensor = {
    .common.description =
        {
            .name = "gpu-tensor",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = "ours",
            .needs = "the cells of gpu-panels; CUDA of compute capability 8.0 and up; fp32",
            .when =
                "panels of 128 rows in which one product in fifteen or more is needed: meshes, attention, densities of a few per cent",
            .parameters = "",
        },
    .common.needs_preparation = true,
    .methods = {[TAMIS_OP_SDDMM] = &method},
    .predict = predict,
    .also = accepts,
};
