/* Host side of fused_wgmma.cu. Scratch: scales of rows of A and B, these rows split; scales of D's rows, these split;
   partial rows of panels that groups share. */
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/model.h"
#include "gpu/tensor/split.h"
#include "gpu/tensor/wgmma.h"

enum { ATTEND, SPLIT, SPLIT_D, MERGE }; /* kernels */
enum { SIDE = TAMIS_GPU_CELL_ROWS, SLICE = 32, BLOCK = 64, TILE = SIDE * 128, GROUP = 384, MERGE_GROUP = 256 };

typedef struct fused_state {
    tamis_gpu_tensor_cells cells;
    void *masks, *firsts; /* 2 KiB a cell, and a place in S for each of its rows */
    int64_t resident, blocks, slots, shared_bytes;
    int64_t groups; /* that share the cells of a member */
} fused_state;

static int64_t up(int64_t x, int64_t step) { return (x + step - 1) / step * step; }
static int64_t tiled_rows(const tamis_problem *p) { return up(p->rows, SIDE); }
static int64_t filled(const tamis_problem *p) { return up(p->cols, SIDE); }

bool tamis_fused_wgmma_takes(const tamis_problem *problem) {
    return problem->edge == TAMIS_EDGE_SOFTMAX && problem->inner > 0 && problem->inner <= 4 * SLICE &&
           problem->width > 0 && problem->width <= 2 * BLOCK && problem->nnz > 0;
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile(tamis_prepared *p, const fused_state *s, const char *kernel, int number, int group,
                            int64_t shared_bytes) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, group, 32);
    tamis_gpu_define(&definitions, "PRODUCTS", p->math == TAMIS_MATH_TF32 ? 1 : 3);
    tamis_gpu_define(&definitions, "RESIDENT", s->resident);
    tamis_gpu_define(&definitions, "BLOCKS", s->blocks);
    tamis_gpu_define(&definitions, "SLOTS", s->slots);
    tamis_gpu_define(&definitions, "ALIGNED", s->cells.aligned);
    tamis_gpu_define(&definitions, "KEEP_SOFTMAX", p->problem.keep_softmax);
    return tamis_gpu_add_kernel(p, number, "fused_wgmma.cu", kernel, &definitions, shared_bytes);
}

static void choose_memory(fused_state *s) {
    enum { MOST = 227 << 10, NOTES = 3 * (3 * SIDE * 4 + TAMIS_GPU_CELL_RECORD), GATES = 256, SLOTS_MOST = 8 };
    const int64_t rest = s->resident * TILE + NOTES + GATES, slots = (MOST - rest) / TILE;
    s->slots = slots < SLOTS_MOST ? slots : SLOTS_MOST;
    s->shared_bytes = rest + s->slots * TILE;
}

/* Bytes, each a multiple of 16. */
static int64_t scales_bytes(const tamis_problem *p) { return (tiled_rows(p) + filled(p)) * 4; }
static int64_t split_bytes(const tamis_problem *p, const fused_state *s) {
    return (tiled_rows(p) + filled(p)) * s->resident * 128;
}
static int64_t d_scales_bytes(const tamis_problem *p) { return filled(p) * 4; }
static int64_t d_split_bytes(const tamis_problem *p, const fused_state *s) { return filled(p) * s->blocks * 256; }
static int64_t partial_bytes(const fused_state *s) { return 2 * s->groups * SIDE * (BLOCK * s->blocks + 4) * 4; }

static tamis_status make_masks(tamis_prepared *p, fused_state *s) {
    const tamis_gpu_kinds kinds = {TAMIS_F32, p->problem.index_type, p->problem.offset_type};
    TRY(tamis_gpu_add_kept(p, &s->masks, s->cells.count * SIDE, 16, "masks of the cells"));
    TRY(tamis_gpu_add_kept(p, &s->firsts, s->cells.count * SIDE, tamis_index_size(p->problem.index_type),
                           "rows of the masks"));
    return tamis_gpu_utility(p->device, p->problem.stream, "cell_entries.cu", "cell_masks", kinds, s->cells.count,
                             TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("records", s->cells.records),
                                                 tamis_gpu_memory("entries", s->cells.entries),
                                                 tamis_gpu_memory("row_offsets", s->cells.row_offsets),
                                                 tamis_gpu_memory("masks", s->masks),
                                                 tamis_gpu_memory("firsts", s->firsts)));
}

static tamis_status prepare(tamis_prepared *p) {
    const tamis_problem *const problem = &p->problem;
    const int64_t multiprocessors = p->device->limits.multiprocessors;
    fused_state *const s = p->state;
    p->math = problem->math;
    if (problem->rows == 0 || problem->width == 0 || problem->nnz == 0) return TAMIS_OK;
    s->cells.columns = SIDE;
    s->cells.aligned = tamis_gpu_cells_align(problem);
    s->resident = up(problem->inner, SLICE) / SLICE;
    s->blocks = up(problem->width, BLOCK) / BLOCK;
    choose_memory(s);
    TRY(compile(p, s, "fused_wgmma", ATTEND, GROUP, s->shared_bytes)); /* while the cells are made */
    TRY(tamis_split_compile(p, SPLIT, &(tamis_split){.numbers = s->resident * SLICE, .aligned = s->cells.aligned}));
    TRY(tamis_split_compile(p, SPLIT_D,
                            &(tamis_split){.across = true, .aligned = s->cells.aligned, .numbers = s->blocks * BLOCK}));
    TRY(tamis_gpu_tensor_cells_build(p, &s->cells));
    TRY(make_masks(p, s));
    s->groups = multiprocessors / problem->batch > 0 ? multiprocessors / problem->batch : 1;
    if (s->groups > s->cells.count && s->cells.count > 0) s->groups = s->cells.count;
    if (s->groups > 1) TRY(compile(p, s, "fused_merge", MERGE, MERGE_GROUP, 0));
    p->scratch_bytes = (size_t)(scales_bytes(problem) + split_bytes(problem, s) + d_scales_bytes(problem) +
                                d_split_bytes(problem, s) + partial_bytes(s));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    const fused_state *const s = p->state;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    tamis_gpu_common of_d = common; /* D's rows are split as B's of SpMM are */
    const tamis_place split = tamis_gpu_after(x->scratch, scales_bytes(problem));
    const tamis_place d_scales = tamis_gpu_after(split, split_bytes(problem, s));
    const tamis_place d_split = tamis_gpu_after(d_scales, d_scales_bytes(problem));
    const tamis_place partials = tamis_gpu_after(d_split, d_split_bytes(problem, s));
    const tamis_split rows = {.a_rows = problem->rows,
                              .b_filled = filled(problem),
                              .length = problem->inner,
                              .numbers = s->resident * SLICE,
                              .slices = s->resident,
                              .tiled_rows = tiled_rows(problem),
                              .tiled = tiled_rows(problem) + filled(problem),
                              .scales = x->scratch,
                              .split = split};
    const tamis_split d_rows = {.b_filled = filled(problem),
                                .length = problem->width,
                                .numbers = s->blocks * BLOCK,
                                .slices = s->blocks,
                                .scales = d_scales,
                                .split = d_split};
    const tamis_gpu_launch by_cells = {.groups = {s->groups, 1}, .group_size = GROUP, .shared_bytes = s->shared_bytes};
    const int64_t merging = SIDE * 16 * s->blocks / MERGE_GROUP; /* groups for each end, as the kernel has it */
    const tamis_gpu_launch by_ends = {.groups = {(s->groups - 1) * merging, 1}, .group_size = MERGE_GROUP};
    of_d.b = common.d;
    of_d.b_stride = common.d_stride;
    of_d.b_apart = common.d_apart;
    TRY(tamis_split_launch(p, stream, SPLIT, &common, &rows));
    TRY(tamis_split_launch(p, stream, SPLIT_D, &of_d, &d_rows));
    TRY(tamis_gpu_launch_kernel(
        p, stream, ATTEND, by_cells, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("each", s->cells.count / s->groups),
                            tamis_gpu_integer("more", s->cells.count % s->groups),
                            tamis_gpu_memory("records", s->cells.records), tamis_gpu_place("partials", partials),
                            tamis_gpu_integer("tiled_rows", rows.tiled_rows), tamis_gpu_integer("tiled", rows.tiled),
                            tamis_gpu_memory("lists", s->cells.lists), tamis_gpu_memory("masks", s->masks),
                            tamis_gpu_memory("firsts", s->firsts), tamis_gpu_place("scales", x->scratch),
                            tamis_gpu_place("split", split), tamis_gpu_place("d_scales", d_scales),
                            tamis_gpu_place("d_split", d_split))));
    if (s->groups == 1) return TAMIS_OK;
    return tamis_gpu_launch_kernel(p, stream, MERGE, by_ends, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("each", s->cells.count / s->groups),
                                                       tamis_gpu_integer("more", s->cells.count % s->groups),
                                                       tamis_gpu_integer("groups", s->groups),
                                                       tamis_gpu_memory("records", s->cells.records),
                                                       tamis_gpu_place("partials", partials)));
}

const tamis_gpu_method tamis_fused_wgmma = {.name = "gpu-tensor",
                                            .prepare = prepare,
                                            .execute = execute,
                                            .state_bytes = sizeof(fused_state),
                                            .batches = true,
                                            .keeps = true};
