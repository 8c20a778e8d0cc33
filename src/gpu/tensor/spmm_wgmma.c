/*
 * Host side of spmm_wgmma.cu. Scratch: the scales of B's rows, the rows split, partial sums of shared panels.
 */
#include "base/status.h"
#include "gpu/model.h"
#include "gpu/tensor/form.h"
#include "gpu/tensor/split.h"
#include "gpu/tensor/wgmma.h"

enum { SUMS, SPLIT, MERGE }; /* kernels */
enum { ROWS = 128, COLUMNS = 64, LINE = 64 /* columns of C */, MERGE_GROUP = 256 };

typedef struct spmm_state {
    tamis_gpu_tensor_cells cells;
    int64_t span, spans, stages; /* columns of C of a group; groups along C; stages of the ring */
    int64_t shared_bytes;
    int64_t groups; /* groups that share the cells */
    int group;      /* threads: eight warps multiply, and eight build (four with mma.sync) */
} spmm_state;

static int64_t filled(const tamis_problem *p) { return tamis_gpu_round_up(p->cols, COLUMNS); }
/* Number of products of highs and lows. fp32 values of S beside 16-bit rows of B need lows, too. */
static int products(const tamis_problem *p) {
    return tamis_splits(p) ? 3 : p->type != TAMIS_F32 && p->has_values && p->value_type == TAMIS_F32 ? 2 : 1;
}
static int64_t s_parts(const tamis_problem *p) { return products(p) > 1 ? 2 : 1; }
static int64_t b_parts(const tamis_problem *p) { return products(p) > 2 ? 2 : 1; }

/* Splitting rows of B first: reads them, and writes as many bytes. */
double tamis_spmm_wgmma_seconds(const tamis_problem *problem, double cells) {
    enum { SQUARES = 4 /* of 64 x 64 in a cell */, KERNELS = 3 };
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(problem);
    const double width = (double)tamis_gpu_round_up(problem->width, LINE);
    const double split = 2 * (double)tamis_type_size(problem->type) * (double)problem->cols * width;
    const double spans = (double)tamis_gpu_round_up(problem->width, 2 * LINE) / (2 * LINE);
    const double share = (3 + products(problem)) / 6.0; /* of three products; half of it is S, as before */
    const double cell = share * SQUARES * f->cell.column_ps * width;
    const double picoseconds = cells * cell + spans * (double)problem->nnz * f->cell_nonzero_ps;
    return tamis_gpu_streamed(problem, split) + tamis_gpu_launches(problem, KERNELS) +
           tamis_tensor_issue(problem, picoseconds);
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile(tamis_prepared *p, const spmm_state *s, const char *kernel, int number, int group,
                            int64_t shared_bytes) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_tensor_define(&definitions, p, group);
    tamis_gpu_define(&definitions, "PRODUCTS", products(&p->problem));
    tamis_gpu_define(&definitions, "SPAN", s->span);
    tamis_gpu_define(&definitions, "STAGES", s->stages);
    tamis_gpu_define(&definitions, "ALIGNED", s->cells.aligned);
    return tamis_gpu_add_kernel(p, number, "spmm_wgmma.cu", kernel, &definitions, shared_bytes);
}

/* Stages: as many as fit, but fewer than the panels whose notes are kept. */
static void choose_memory(const tamis_problem *p, int64_t bytes, spmm_state *s) {
    enum { NOTES = 8 * ROWS * 8 + 8 * COLUMNS * 4, GATES = 384, STAGES_MOST = 7 };
    const int64_t stage = s_parts(p) * ROWS * 128 + b_parts(p) * s->span / LINE * COLUMNS * 128;
    s->stages = tamis_gpu_min((bytes - NOTES - GATES) / stage, STAGES_MOST);
    s->shared_bytes = s->stages * stage + NOTES + GATES;
}

/* Bytes, multiples of 16: scales, split rows, partial sums, and their doubt thresholds. */
static int64_t scales_bytes(const tamis_problem *p) { return tamis_gpu_round_up(filled(p) * 4, 16); }
static int64_t split_bytes(const tamis_problem *p, const spmm_state *s) {
    return filled(p) * s->spans * s->span * 2 * b_parts(p);
}
static int64_t partial_bytes(const spmm_state *s) { return 2 * s->groups * s->spans * ROWS * s->span * 4; }
static int64_t doubt_bytes(const spmm_state *s) { return 2 * s->groups * s->spans * ROWS * 4; }

static tamis_status prepare(tamis_prepared *p) {
    const tamis_problem *const problem = &p->problem;
    const int64_t multiprocessors = p->device->limits.multiprocessors;
    const tamis_tensor_chip chip = tamis_tensor_of(p->device);
    spmm_state *const s = p->state;
    p->math = problem->math;
    if (problem->rows == 0 || problem->width == 0 || problem->nnz == 0) return TAMIS_OK;
    s->cells.rows = ROWS;
    s->cells.columns = COLUMNS;
    s->cells.aligned = tamis_gpu_cells_align(problem);
    s->span = problem->width <= LINE ? LINE : 2 * LINE;
    s->spans = tamis_gpu_round_up(problem->width, s->span) / s->span;
    s->group = chip.form == TAMIS_TENSOR_MMA ? 384 : 512;
    choose_memory(problem, tamis_tensor_group_bytes(chip, 1), s);
    if (s->spans > p->device->limits.groups_most[1])
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "width = %lld is more than gpu-tensor takes: %lld",
                          (long long)problem->width, (long long)(p->device->limits.groups_most[1] * s->span));
    TRY(compile(p, s, "spmm_wgmma", SUMS, s->group, s->shared_bytes)); /* compiles while the cells are built */
    TRY(tamis_split_compile(p, SPLIT,
                            &(tamis_split){.lows = products(problem) == 3,
                                           .across = true,
                                           .aligned = s->cells.aligned,
                                           .numbers = s->spans * s->span}));
    TRY(tamis_gpu_tensor_cells_build(p, &s->cells));
    s->groups = multiprocessors / s->spans > 0 ? multiprocessors / s->spans : 1;
    if (s->groups > s->cells.count && s->cells.count > 0) s->groups = s->cells.count;
    if (s->groups > 1) TRY(compile(p, s, "spmm_merge", MERGE, MERGE_GROUP, 0));
    p->scratch_bytes = (size_t)(scales_bytes(problem) + split_bytes(problem, s) + partial_bytes(s) + doubt_bytes(s));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    const spmm_state *const s = p->state;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_place split = tamis_gpu_after(x->scratch, scales_bytes(problem));
    const tamis_place partials = tamis_gpu_after(split, split_bytes(problem, s));
    const tamis_place doubts = tamis_gpu_after(partials, partial_bytes(s));
    const tamis_split rows = {.b_filled = filled(problem),
                              .length = problem->width,
                              .numbers = s->spans * s->span,
                              .slices = s->spans * s->span / LINE,
                              .scales = x->scratch,
                              .split = split};
    const tamis_gpu_launch by_cells = {
        .groups = {s->groups, s->spans}, .group_size = s->group, .shared_bytes = s->shared_bytes, .early = true};
    const int64_t merging = ROWS * s->span / (4 * MERGE_GROUP); /* groups for each boundary, as in the kernel */
    const tamis_gpu_launch by_ends = {
        .groups = {(s->groups - 1) * merging, s->spans}, .group_size = MERGE_GROUP, .early = true};
    TRY(tamis_split_launch(p, stream, SPLIT, &common, &rows));
    TRY(tamis_gpu_launch_kernel(
        p, stream, SUMS, by_cells, &common,
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_integer("each", s->cells.count / s->groups),
            tamis_gpu_integer("more", s->cells.count % s->groups), tamis_gpu_integer("blocks", rows.slices),
            tamis_gpu_memory("lists", s->cells.lists), tamis_gpu_memory("records", s->cells.records),
            tamis_gpu_memory("row_offsets", s->cells.row_offsets), tamis_gpu_memory("entries", s->cells.entries),
            tamis_gpu_place("scales", x->scratch), tamis_gpu_place("split", split),
            tamis_gpu_place("partials", partials), tamis_gpu_place("doubts", doubts))));
    if (s->groups == 1) return TAMIS_OK;
    return tamis_gpu_launch_kernel(p, stream, MERGE, by_ends, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("each", s->cells.count / s->groups),
                                                       tamis_gpu_integer("more", s->cells.count % s->groups),
                                                       tamis_gpu_memory("records", s->cells.records),
                                                       tamis_gpu_place("partials", partials),
                                                       tamis_gpu_place("doubts", doubts)));
}

const tamis_gpu_method tamis_spmm_wgmma = {
    .name = "gpu-tensor", .prepare = prepare, .execute = execute, .state_bytes = sizeof(spmm_state), .batches = true};
