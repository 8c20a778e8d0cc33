/*
 * Host side of fused_wgmma.cu, and of fused_narrow.cu and fused_large.cu, which take operands of 16 bits without values
 * of S. Scratch of all: partial sums of shared panels, and counters of the groups that have stored theirs.
 * fused_wgmma.cu has before them: the scales of the rows of A and B, and these rows split; the scales of D's rows, and
 * these rows split.
 */
#include <math.h>

#include "base/status.h"
#include "gpu/model.h"
#include "gpu/tensor/form.h"
#include "gpu/tensor/split.h"
#include "gpu/tensor/wgmma.h"

enum { ATTEND, SPLIT, CLEAR = SPLIT }; /* kernels */
enum {
    SIDE = 64,
    BLOCK = 64,
    LINE = 128 /* bytes */,
    TILE = SIDE * LINE,
    GROUP = 160,
    MULTIPLIERS = 4 /* warps */,
    LARGE_ROWS = 128
};

typedef struct fused_state {
    tamis_gpu_tensor_cells cells;
    void *masks, *row_masks, *firsts; /* masks: a bit per place of a cell, twice; firsts: a place in S per row */
    void *together;                   /* first columns of cells with contiguous columns */
    int64_t resident, blocks, slots, shared_bytes;
    int64_t sharing; /* resident groups of a multiprocessor */
    int64_t groups;  /* groups that share the cells of a member */
    int64_t part;    /* bytes of a panel's partial sums */
    int group;       /* threads */
    int64_t warps;   /* that multiply */
} fused_state;

/* 16-bit operands without values of S are read unsplit, by fused_narrow.cu; fused_wgmma.cu takes the rest. */
static bool is_narrow(const tamis_problem *p) { return tamis_type_size(p->type) == 2 && !p->has_values; }

static int products(const tamis_problem *p) { return tamis_splits(p) ? 3 : p->type == TAMIS_F32 ? 1 : 2; }
static int64_t slice(const tamis_problem *p) {
    return tamis_splits(p) ? 32 : 64;
} /* numbers of a row in a line of A or B */
static int64_t d_lines(const tamis_problem *p, const fused_state *s) { return s->blocks * (1 + tamis_splits(p)); }
static int64_t longest(const tamis_problem *p, const fused_state *s) { /* row length in whole lines */
    const int64_t inner = s->resident * slice(p), width = s->blocks * BLOCK;
    return inner > width ? inner : width;
}
static int64_t tiled_rows(const tamis_problem *p) { return tamis_gpu_round_up(p->rows, SIDE); }
static int64_t filled(const tamis_problem *p) { return tamis_gpu_round_up(p->cols, SIDE); }

/* A text's steps are compiled for each of a thread's 32 or 64 scores; its entries' arrays are not at hand. */
static bool takes_text(const tamis_edge_text *text) {
    enum { STEPS_MOST = 48 };
    return !text || (text->value.count <= STEPS_MOST && !tamis_edge_text_reads(text, TAMIS_STEP_ENTRY));
}

bool tamis_fused_wgmma_takes(const tamis_problem *problem) {
    const bool longest = is_narrow(problem) && tamis_tensor_of(problem->device).form == TAMIS_TENSOR_WGMMA;
    const int64_t most = (longest ? 4 : 2) * BLOCK;
    /* narrow cells keep columns and rows in 32 bits */
    if (is_narrow(problem) && (problem->rows > UINT32_MAX || problem->cols > UINT32_MAX)) return false;
    return problem->edge == TAMIS_EDGE_SOFTMAX && takes_text(problem->edge_constants.text) && problem->inner > 0 &&
           problem->inner <= most && problem->width > 0 && problem->width <= most && problem->nnz > 0;
}

double tamis_fused_wgmma_cells(const tamis_problem *p) {
    const int64_t panels = tamis_gpu_round_up(p->rows, SIDE) / SIDE, most = panels * (filled(p) / SIDE);
    return fmin((double)most, tamis_gpu_cells_about(p, SIDE) + (double)panels / 2);
}

/* Columns of fused_large.cu's cells. */
static int64_t large_side(const tamis_problem *p) {
    return p->inner <= 2 * BLOCK && p->width <= 2 * BLOCK ? 128 : SIDE;
}

static double large_cells(const tamis_problem *p) {
    const double panels = (double)tamis_gpu_ceiling(p->rows, LARGE_ROWS),
                 across = (double)tamis_gpu_ceiling(p->cols, large_side(p));
    return fmin(panels * across,
                tamis_gpu_cells_about(p, LARGE_ROWS) * LARGE_ROWS / (double)large_side(p) + panels / 2);
}

/* Picoseconds of a text's instructions in a cell of 64 x 64: a multiprocessor issues 128 at a time. It is derived, not
   measured. */
double tamis_gpu_text_ps(const tamis_problem *p) {
    enum { FUNCTION = 12 /* instructions */ };
    const double instruction_ps = 140;
    const tamis_edge_text *const text = p->edge_constants.text;
    double ps = 0;
    for (int t = 0; text && t < text->value.count; t++)
        if (text->value.steps[t].kind >= TAMIS_STEP_LEAVES)
            ps += instruction_ps * (text->value.steps[t].kind >= TAMIS_STEP_POW ? FUNCTION : 1);
    return ps;
}

/* Picoseconds of all cells; each has as many scores as `scores` cells of 64 x 64, and rows as `rows` of them. */
static double cells_ps(const tamis_problem *p, double cells, double scores, double rows) {
    const tamis_gpu_cell_rates *const f = &tamis_gpu_rates_of(p)->narrow_cell;
    const double columns = (double)(tamis_gpu_round_up(p->inner, 16) + tamis_gpu_round_up(p->width, 16));
    return cells * (scores * (f->cell_ps + tamis_gpu_text_ps(p)) + rows * f->column_ps * columns);
}
static double large_ps(const tamis_problem *p) { /* cells of 128 x 128: four times the scores, twice the rows */
    return cells_ps(p, large_cells(p) * (double)large_side(p) / LARGE_ROWS, 4, 2);
}
static double narrow_ps(const tamis_problem *p) { return cells_ps(p, tamis_fused_wgmma_cells(p), 1, 1); }

static bool is_large(const tamis_problem *p) {
    return is_narrow(p) && tamis_tensor_of(p->device).form == TAMIS_TENSOR_WGMMA && large_ps(p) < narrow_ps(p);
}

static double unsplit_seconds(const tamis_problem *p, double *cells) {
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const bool large = is_large(p);
    *cells = large ? large_cells(p) : tamis_fused_wgmma_cells(p);
    return tamis_gpu_launched(p, tamis_tensor_issue(p, large ? large_ps(p) : narrow_ps(p))) + f->begin;
}

/* Splitting rows of A, B and D first: reads them, and writes as many bytes. */
double tamis_fused_wgmma_seconds(const tamis_problem *p, double *cells) {
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    if (is_narrow(p)) return unsplit_seconds(p, cells);
    *cells = tamis_fused_wgmma_cells(p);
    const double inner = (double)tamis_gpu_round_up(p->inner, slice(p)),
                 width = (double)tamis_gpu_round_up(p->width, BLOCK);
    const double bytes = 2 * (double)tamis_type_size(p->type);
    const double split = bytes * ((double)(p->rows + p->cols) * inner + (double)p->cols * width);
    const double cell =
        f->fused_cell.cell_ps + f->fused_cell.column_ps * inner + f->fused_column_ps * width + tamis_gpu_text_ps(p);
    const double picoseconds = *cells * cell / (tamis_splits(p) ? 1 : 3); /* one product of three */
    return tamis_gpu_streamed(p, split) + tamis_gpu_launches(p, 3) + tamis_tensor_issue(p, picoseconds);
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile(tamis_prepared *p, const fused_state *s) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_tensor_define(&definitions, p, GROUP);
    tamis_gpu_define(&definitions, "PRODUCTS", products(&p->problem));
    tamis_gpu_define(&definitions, "RESIDENT", s->resident);
    tamis_gpu_define(&definitions, "BLOCKS", s->blocks);
    tamis_gpu_define(&definitions, "SLOTS", s->slots);
    tamis_gpu_define(&definitions, "GROUPS", s->sharing);
    tamis_gpu_define(&definitions, "KEEP_SOFTMAX", p->problem.keep_softmax);
    return tamis_gpu_add_kernel(p, ATTEND, "fused_wgmma.cu", "fused_wgmma", &definitions, s->shared_bytes);
}

static tamis_status compile_narrow(tamis_prepared *p, fused_state *s) {
    enum { STAGES_MOST = 3, COPIERS = 128, GATES = 256 };
    const bool large = s->cells.rows == LARGE_ROWS;
    const tamis_tensor_chip chip = tamis_tensor_of(p->device);
    const int64_t inner_steps = tamis_gpu_ceiling(p->problem.inner, 16);
    const int64_t width_steps = tamis_gpu_ceiling(p->problem.width, 16);
    const int64_t own = s->cells.rows * s->resident * LINE + (large ? GATES : 0);
    const int64_t cell = s->cells.columns * (s->resident + s->blocks) * LINE;
    const char *const file = large ? "fused_large.cu" : "fused_narrow.cu";
    tamis_gpu_definitions definitions = {.used = 0};
    s->sharing = large ? 1 : s->blocks == 1 ? 3 : 2; /* with four, threads have too few registers */
    while (s->sharing > 1 && tamis_tensor_group_bytes(chip, s->sharing) < own + 2 * cell) s->sharing--;
    const int64_t stages = tamis_gpu_min(STAGES_MOST, (tamis_tensor_group_bytes(chip, s->sharing) - own) / cell);
    s->shared_bytes = own + stages * cell;
    s->warps = s->cells.rows / 16;
    s->group = (int)s->warps * 32 + (large ? COPIERS : 0);
    s->part = (32 * s->blocks + 4) * s->warps * 32 * 4;
    tamis_tensor_define(&definitions, p, s->group);
    tamis_gpu_define(&definitions, "INNER_STEPS", inner_steps);
    tamis_gpu_define(&definitions, "WIDTH_STEPS", width_steps);
    tamis_gpu_define(&definitions, "INNER_WHOLE", p->problem.inner % SIDE == 0);
    tamis_gpu_define(&definitions, "WIDTH_WHOLE", p->problem.width % SIDE == 0);
    tamis_gpu_define(&definitions, "STAGES", stages);
    tamis_gpu_define(&definitions, "GROUPS", s->sharing);
    tamis_gpu_define(&definitions, "KEEP_SOFTMAX", p->problem.keep_softmax);
    if (large) tamis_gpu_define(&definitions, "SIDE", s->cells.columns);
    TRY(tamis_gpu_add_kernel(p, ATTEND, file, large ? "fused_large" : "fused_narrow", &definitions, s->shared_bytes));
    return tamis_gpu_add_kernel(p, CLEAR, file, "fused_clear", &definitions, 0);
}

/* Three groups per multiprocessor, with 136 registers per thread, if results have 64 columns and the form is wgmma;
   else two, if enough of the ring fits. */
static void choose_memory(tamis_tensor_chip chip, fused_state *s) {
    enum { NOTES = 3 * (3 * SIDE * 4 + TAMIS_GPU_CELL_RECORD + 16), GATES = 256, SLOTS_LEAST = 4 };
    const int64_t rest = s->resident * TILE + NOTES + GATES;
    s->sharing = chip.form == TAMIS_TENSOR_WGMMA && s->blocks == 1 && s->resident <= 2 ? 3 : 2;
    while (s->sharing > 1 && tamis_tensor_group_bytes(chip, s->sharing) < rest + SLOTS_LEAST * TILE) s->sharing--;
    s->slots = (tamis_tensor_group_bytes(chip, s->sharing) - rest) / TILE;
    s->shared_bytes = rest + s->slots * TILE;
    s->part = (32 * s->blocks + 6) * MULTIPLIERS * 32 * 4;
    s->group = GROUP;
    s->warps = MULTIPLIERS;
}

/* Bytes, multiples of 16. */
static int64_t scales_bytes(const tamis_problem *p) { return (tiled_rows(p) + filled(p)) * 4; }
static int64_t split_bytes(const tamis_problem *p, const fused_state *s) {
    return (tiled_rows(p) + filled(p)) * s->resident * LINE;
}
static int64_t d_scales_bytes(const tamis_problem *p) { return filled(p) * 4; }
static int64_t d_split_bytes(const tamis_problem *p, const fused_state *s) { return filled(p) * d_lines(p, s) * LINE; }
static int64_t partial_bytes(const fused_state *s) { return 2 * s->groups * s->part; }
static int64_t counters(const fused_state *s) { return s->groups * s->warps; } /* of four bytes */

static size_t scratch_bytes(const tamis_problem *p, const fused_state *s) {
    if (is_narrow(p)) return (size_t)(partial_bytes(s) + counters(s) * 4);
    return (size_t)(scales_bytes(p) + split_bytes(p, s) + d_scales_bytes(p) + d_split_bytes(p, s) + partial_bytes(s) +
                    counters(s) * 4);
}

/* The members of a call share the resident groups of the device. At least two cells per group. */
static void share_cells(const tamis_prepared *p, fused_state *s) {
    const int64_t most = p->device->limits.multiprocessors * s->sharing;
    const int64_t row = (s->resident + s->blocks) * LINE;
    int64_t members, fit = p->problem.batch;
    if (is_narrow(&p->problem)) fit = tamis_gpu_tensor_members_near(p, &s->cells, most, row, 1.1);
    do {
        members = fit;
        s->groups = most / members;
        /* a group needs at least two cells, so that shared panels are few */
        if (s->groups > s->cells.count / 2) s->groups = s->cells.count / 2;
        if (s->groups < 1) s->groups = 1;
        const tamis_prepared_sizes sizes = {.scratch_bytes = scratch_bytes(&p->problem, s), .own_scratch = true};
        fit = tamis_members_at_once(&sizes, &p->problem);
    } while (fit < members);
}

static tamis_status prepare(tamis_prepared *p) {
    const tamis_problem *const problem = &p->problem;
    fused_state *const s = p->state;
    p->math = problem->math;
    if (problem->rows == 0 || problem->width == 0 || problem->nnz == 0) return TAMIS_OK;
    const bool large = is_large(problem);
    s->cells.rows = large ? LARGE_ROWS : SIDE;
    s->cells.columns = large ? large_side(problem) : SIDE;
    s->cells.masked = true;
    s->cells.aligned = tamis_gpu_cells_align(problem);
    s->resident = tamis_gpu_round_up(problem->inner, slice(problem)) / slice(problem);
    s->blocks = tamis_gpu_round_up(problem->width, BLOCK) / BLOCK;
    if (is_narrow(problem)) { /* compiles while the cells are built */
        TRY(compile_narrow(p, s));
    } else {
        choose_memory(tamis_tensor_of(p->device), s);
        TRY(compile(p, s));
        TRY(tamis_split_compile_three(p, SPLIT,
                                      &(tamis_split){.numbers = longest(problem, s), .lows = tamis_splits(problem)}));
    }
    TRY(tamis_gpu_tensor_cells_build(p, &s->cells));
    const tamis_gpu_cell_masks masks = {.filled = is_narrow(problem) ? INT32_MAX : filled(problem),
                                        .apart = is_narrow(problem) ? 1 : 8,
                                        .numbered = is_narrow(problem),
                                        .masks = &s->masks,
                                        .together = &s->together,
                                        .row_masks = is_narrow(problem) ? NULL : &s->row_masks,
                                        .firsts = is_narrow(problem) ? NULL : &s->firsts};
    TRY(tamis_gpu_tensor_cells_mask(p, &s->cells, &masks));
    share_cells(p, s);
    p->scratch_bytes = scratch_bytes(problem, s);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ executing */

/* Describes the operands' tiles; returns which of them fused_large.cu can copy so: 1 A, 2 B, 4 D. */
static int describe_tiles(const tamis_prepared *p, const tamis_operands *x, tamis_gpu_tiles tiles[3]) {
    const int64_t most = (int64_t)1 << 38; /* numbers between members that the hardware takes */
    const uint32_t side = (uint32_t)((const fused_state *)p->state)->cells.columns;
    const tamis_problem *const s = &p->problem;
    const tamis_gpu_runtime *const runtime = p->device->runtime;
    int tiled = 0;
    tiles[0] = (tamis_gpu_tiles){&x->a, s->inner, s->rows, x->batch, side, {0}};
    tiles[1] = (tamis_gpu_tiles){&x->b, s->inner, s->cols, x->batch, side, {0}};
    tiles[2] = (tamis_gpu_tiles){&x->d, s->width, s->cols, x->batch, side, {0}};
    for (int i = 0; i < 3 && runtime->describe_tiles; i++) {
        tamis_gpu_tiles *const t = &tiles[i];
        if (t->rows <= INT32_MAX && t->of->batch_stride >= 0 && t->of->batch_stride < most &&
            tamis_gpu_aligned(p->device, t->of, tamis_type_size(s->type), 16) && runtime->describe_tiles(p->device, t))
            tiled |= 1 << i;
    }
    return tiled;
}

static tamis_status execute_narrow(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const fused_state *const s = p->state;
    const bool large = s->cells.rows == LARGE_ROWS;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_place arrived = tamis_gpu_after(x->scratch, partial_bytes(s));
    const tamis_gpu_launch clear = {.groups = {1, 1}, .group_size = s->group};
    tamis_gpu_tiles tiles[3];
    const int tiled = large ? describe_tiles(p, x, tiles) : 0;
    const tamis_gpu_launch by_cells = {
        .groups = {s->groups, 1}, .group_size = s->group, .shared_bytes = s->shared_bytes, .early = true};
    TRY(tamis_gpu_launch_kernel(
        p, stream, CLEAR, clear, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_place("arrived", arrived), tamis_gpu_integer("clears", counters(s)))));
    const tamis_gpu_named own[] = {tamis_gpu_integer("others", p->problem.cols),
                                   tamis_gpu_integer("each", s->cells.count / s->groups),
                                   tamis_gpu_integer("more", s->cells.count % s->groups),
                                   tamis_gpu_memory("records", s->cells.records),
                                   tamis_gpu_place("partials", x->scratch),
                                   tamis_gpu_place("arrived", arrived),
                                   tamis_gpu_memory("lists", s->cells.lists),
                                   tamis_gpu_memory("together", s->together),
                                   tamis_gpu_memory("masks", s->masks),
                                   tamis_gpu_integer(large ? "tiled" : NULL, tiled), /* the end of fused_narrow.cu's */
                                   tamis_gpu_tiles_of("a_tiles", &tiles[0]),
                                   tamis_gpu_tiles_of("b_tiles", &tiles[1]),
                                   tamis_gpu_tiles_of("d_tiles", &tiles[2]),
                                   {.name = NULL}};
    return tamis_gpu_launch_kernel(p, stream, ATTEND, by_cells, &common, own);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    const fused_state *const s = p->state;
    if (is_narrow(problem)) return execute_narrow(p, stream, x);
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_place split = tamis_gpu_after(x->scratch, scales_bytes(problem));
    const tamis_place d_scales = tamis_gpu_after(split, split_bytes(problem, s));
    const tamis_place d_split = tamis_gpu_after(d_scales, d_scales_bytes(problem));
    const tamis_place partials = tamis_gpu_after(d_split, d_split_bytes(problem, s));
    const tamis_place arrived = tamis_gpu_after(partials, partial_bytes(s));
    const tamis_split rows = {.a_rows = problem->rows,
                              .b_filled = filled(problem),
                              .length = problem->inner,
                              .numbers = longest(problem, s),
                              .slices = s->resident,
                              .tiled_rows = tiled_rows(problem),
                              .tiled = tiled_rows(problem) + filled(problem),
                              .scales = x->scratch,
                              .split = split};
    const tamis_split_third d_rows = {
        .slices = s->blocks, .scales = d_scales, .split = d_split, .clears = counters(s), .cleared = arrived};
    const tamis_gpu_launch by_cells = {
        .groups = {s->groups, 1}, .group_size = s->group, .shared_bytes = s->shared_bytes, .early = true};
    TRY(tamis_split_launch_three(p, stream, SPLIT, &common, &rows, &d_rows));
    return tamis_gpu_launch_kernel(
        p, stream, ATTEND, by_cells, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("each", s->cells.count / s->groups),
                            tamis_gpu_integer("more", s->cells.count % s->groups),
                            tamis_gpu_memory("records", s->cells.records), tamis_gpu_place("partials", partials),
                            tamis_gpu_integer("arrived_at", partial_bytes(s) / 4),
                            tamis_gpu_integer("tiled_rows", rows.tiled_rows), tamis_gpu_integer("tiled", rows.tiled),
                            tamis_gpu_memory("lists", s->cells.lists), tamis_gpu_memory("together", s->together),
                            tamis_gpu_memory("masks", s->masks), tamis_gpu_memory("row_masks", s->row_masks),
                            tamis_gpu_memory("firsts", s->firsts), tamis_gpu_place("lines", x->scratch),
                            tamis_gpu_integer("split_at", scales_bytes(problem)),
                            tamis_gpu_integer("d_scales_at", d_scales.bytes - x->scratch.bytes),
                            tamis_gpu_integer("d_split_at", d_split.bytes - x->scratch.bytes)));
}

const tamis_gpu_method tamis_fused_wgmma = {.name = "gpu-tensor",
                                            .unlisted = is_narrow,
                                            .prepare = prepare,
                                            .execute = execute,
                                            .state_bytes = sizeof(fused_state),
                                            .batches = true,
                                            .keeps = true,
                                            .texts = true};
