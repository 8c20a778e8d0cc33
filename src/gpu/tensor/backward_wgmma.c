/*
 * Host side of backward_wgmma.cu: the cells of S and those of its transpose, and two launches after the rows are split.
 * Scratch of a member: scales and split rows of A and dE; of B and D; the largest score, the inverse sum and delta of
 * each row; partial rows of panels that several groups share, and the number of groups that have written theirs, for
 * both launches.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/model.h"
#include "gpu/plan.h"
#include "gpu/tensor/split.h"
#include "gpu/tensor/wgmma.h"

enum { BACK, SPLIT_ROWS }; /* kernels */
enum { SIDE = 64, LINE = 128 /* bytes */, TILE = SIDE * LINE, GROUP = 128, MULTIPLIERS = 4 /* warps */ };
enum {
    SHARING = 2,
    PART = (64 + 11) * MULTIPLIERS * 32 * 4
}; /* groups on a multiprocessor; bytes of a partial panel */

/* The state of one of the two launches. */
typedef struct back_state {
    tamis_gpu_tensor_cells cells;
    void *masks, *together;
    int64_t shared_bytes;
    int64_t groups; /* that share the cells of a member */
} back_state;

struct tamis_prepared_backward {
    tamis_prepared *ways[2]; /* by rows, by columns */
    int64_t at_once;         /* members of a call */
};

static int64_t parts(const tamis_problem *p) { return 1 + tamis_splits(p); }
static int products(const tamis_problem *p) { return tamis_splits(p) ? 3 : p->type == TAMIS_F32 ? 1 : 2; }

/* ------------------------------------------------------------------------------------------ choosing */

static bool takes(const tamis_problem *p) {
    const tamis_gpu_device *const device = p->device;
    const tamis_profile *const profile = &p->evidence->profile;
    return strcmp(device->runtime->name, "cuda") == 0 && strcmp(device->limits.architecture, "sm_90") == 0 &&
           p->type != TAMIS_F64 && p->edge == TAMIS_EDGE_SOFTMAX && p->nnz > 0 && p->inner > 0 && p->inner <= SIDE &&
           p->width > 0 && p->width <= SIDE && profile->sorted && profile->duplicates == 0;
}

static double cells_seconds(const tamis_problem *p) {
    const tamis_gpu_fitted *const f = tamis_gpu_fitted_for(p);
    const double gathered = tamis_gpu_cells_align(p) ? 1 : f->backward_wgmma.gathered;
    const double cell = f->backward_wgmma.cell_ps * gathered * (tamis_splits(p) ? 1 : f->backward_wgmma.highs);
    const int64_t panels = tamis_gpu_round_up(p->rows, SIDE) / SIDE;
    const double picoseconds = tamis_fused_wgmma_cells(p) * cell + (double)panels * f->backward_wgmma.panel_ps;
    return tamis_gpu_filling(p, tamis_gpu_issue(p, picoseconds));
}

static double seconds(const tamis_problem *problem, const tamis_problem *turned) {
    const double split = 2.0 * LINE * (double)parts(problem) * 2 * (double)(problem->rows + problem->cols);
    if (!takes(problem) || !takes(turned)) return 0;
    return tamis_gpu_streamed(problem, split) + cells_seconds(problem) + cells_seconds(turned) +
           tamis_gpu_fitted_for(problem)->backward_wgmma.begin;
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile(tamis_prepared *p, back_state *s, bool by_columns) {
    enum { MOST = 228 << 10, RESERVED = 1 << 10, NOTES = 7 * SIDE * 4 + TAMIS_GPU_CELL_RECORD + 16, GATES = 128 };
    const int64_t tiles = 2 * parts(&p->problem) * TILE; /* of a cell, and of the own rows */
    const int64_t stages = (MOST / SHARING - RESERVED - GATES - tiles) / (tiles + NOTES);
    tamis_gpu_definitions definitions = {.used = 0};
    s->shared_bytes = (1 + stages) * tiles + stages * NOTES + GATES;
    tamis_gpu_define_problem(&definitions, p, GROUP, 32);
    tamis_gpu_define(&definitions, "PRODUCTS", products(&p->problem));
    tamis_gpu_define(&definitions, "STAGES", stages);
    tamis_gpu_define(&definitions, "GROUPS", SHARING);
    tamis_gpu_define(&definitions, "BY_COLUMNS", by_columns);
    return tamis_gpu_add_kernel(p, BACK, "backward_wgmma.cu", "backward_wgmma", &definitions, s->shared_bytes);
}

static tamis_status make_cells(tamis_prepared *p, back_state *s) {
    s->cells.rows = s->cells.columns = SIDE;
    s->cells.aligned = tamis_gpu_cells_align(&p->problem);
    TRY(tamis_gpu_tensor_cells_build(p, &s->cells));
    const tamis_gpu_cell_masks masks = {
        .filled = tamis_gpu_round_up(p->problem.cols, SIDE), .masks = &s->masks, .together = &s->together};
    return tamis_gpu_tensor_cells_mask(p, &s->cells, &masks);
}

static tamis_status prepare_rows(tamis_prepared *p) {
    back_state *const s = p->state;
    TRY(compile(p, s, false)); /* while the cells are made */
    TRY(tamis_split_compile_four(p, SPLIT_ROWS, tamis_splits(&p->problem)));
    return make_cells(p, s);
}

static tamis_status prepare_columns(tamis_prepared *p) {
    back_state *const s = p->state;
    TRY(compile(p, s, true));
    return make_cells(p, s);
}

static const tamis_gpu_method by_rows = {
    .name = "gpu-tensor", .prepare = prepare_rows, .state_bytes = sizeof(back_state), .batches = true};
static const tamis_gpu_method by_columns = {
    .name = "gpu-tensor", .prepare = prepare_columns, .state_bytes = sizeof(back_state), .batches = true};

/* ------------------------------------------------------------------------------------------ scratch */

/* Bytes from the beginning of a member's scratch. */
typedef struct places {
    int64_t scales[2], split[2]; /* of A and dE; of B and D */
    int64_t stats, partials[2], arrived, member;
} places;

static int64_t take(int64_t *total, int64_t bytes) {
    const int64_t at = *total;
    *total = (at + bytes + 63) / 64 * 64;
    return at;
}

static places places_of(const tamis_prepared_backward *back) {
    const tamis_problem *const p = &back->ways[0]->problem;
    const int64_t filled[2] = {tamis_gpu_round_up(p->rows, SIDE), tamis_gpu_round_up(p->cols, SIDE)};
    const back_state *const states[2] = {back->ways[0]->state, back->ways[1]->state};
    places at = {.member = 0};
    for (int i = 0; i < 2; i++) {
        at.scales[i] = take(&at.member, 2 * filled[i] * 4);
        at.split[i] = take(&at.member, 2 * parts(p) * filled[i] * LINE);
        at.partials[i] = take(&at.member, 2 * states[i]->groups * PART);
    }
    at.stats = take(&at.member, 3 * filled[0] * 4);
    at.arrived = take(&at.member, (states[0]->groups + states[1]->groups) * MULTIPLIERS * 4);
    return at;
}

/* The members of a batch that come in one call share the groups that the device has room for. */
static void share_cells(tamis_prepared_backward *back) {
    const tamis_problem *const p = &back->ways[0]->problem;
    const int64_t most = back->ways[0]->device->limits.multiprocessors * SHARING;
    const int64_t highest = back->ways[0]->device->limits.groups_most[2];
    int64_t fit = p->batch < highest ? p->batch : highest;
    do {
        back->at_once = fit;
        for (int i = 0; i < 2; i++) {
            back_state *const s = back->ways[i]->state;
            const int64_t groups = most / back->at_once;
            /* panels in parts must be brought together: two cells at least */
            s->groups = groups < s->cells.count / 2 ? groups : s->cells.count / 2;
            if (s->groups < 1) s->groups = 1;
        }
        const tamis_prepared_sizes sizes = {.scratch_bytes = (size_t)places_of(back).member, .own_scratch = true};
        const int64_t members = tamis_members_at_once(&sizes, p->batch);
        fit = members < back->at_once ? members : back->at_once;
    } while (fit < back->at_once);
}

static size_t scratch_bytes(const tamis_prepared_backward *back) {
    return (size_t)(places_of(back).member * back->at_once);
}

static void release(tamis_prepared_backward *back) {
    if (!back) return;
    for (int i = 0; i < 2; i++) tamis_gpu_prepared_release(back->ways[i]);
    tamis_release(back);
}

static tamis_status prepare(const tamis_problem *problem, const tamis_problem *turned,
                            tamis_prepared_backward **prepared) {
    static const tamis_gpu_method *const methods[2] = {&by_rows, &by_columns};
    const tamis_problem *const problems[2] = {problem, turned};
    tamis_prepared_backward *back = NULL;
    tamis_status status = TAMIS_OK;
    TRY(tamis_allocate_zeroed(1, sizeof *back, "a gradient", (void **)&back));
    TRY_GOTO(failed, tamis_gpu_prepare_two(methods, problems, back->ways));
    share_cells(back);
    *prepared = back;
    return TAMIS_OK;
failed:
    release(back);
    return status;
}

/* ------------------------------------------------------------------------------------------ executing */

/* One of the two launches. `own` has the rows of its panels, `other` those that come with the cells. */
typedef struct way {
    int number;
    const tamis_backward_matrix *a, *e, *b, *d, *first, *second;
} way;

static tamis_status launch(const tamis_prepared_backward *back, void *stream, const way *w,
                           const tamis_gpu_common *common, tamis_place scratch, const places *at) {
    const tamis_prepared *const p = back->ways[w->number];
    const back_state *const s = p->state;
    const int own = w->number, other = 1 - own;
    const int64_t groups_before = own == 0 ? 0 : ((const back_state *)back->ways[0]->state)->groups;
    const tamis_gpu_launch by_cells = {
        .groups = {s->groups, 1}, .group_size = GROUP, .shared_bytes = s->shared_bytes, .early = true};
    const int writes = (w->first->at.base ? 1 : 0) | (w->second->at.base ? 2 : 0);
    return tamis_gpu_launch_kernel(
        p, stream, BACK, by_cells, common,
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_place("e", w->e->at), tamis_gpu_integer("e_stride", w->e->stride),
            tamis_gpu_integer("e_batch_stride", w->e->batch_stride), tamis_gpu_place("first", w->first->at),
            tamis_gpu_integer("first_stride", w->first->stride),
            tamis_gpu_integer("first_batch_stride", w->first->batch_stride), tamis_gpu_place("second", w->second->at),
            tamis_gpu_integer("second_stride", w->second->stride),
            tamis_gpu_integer("second_batch_stride", w->second->batch_stride), tamis_gpu_integer("writes", writes),
            tamis_gpu_integer("each", s->cells.count / s->groups),
            tamis_gpu_integer("more", s->cells.count % s->groups), tamis_gpu_memory("records", s->cells.records),
            tamis_gpu_place("partials", tamis_gpu_after(scratch, at->partials[own])),
            tamis_gpu_place("arrived", tamis_gpu_after(scratch, at->arrived + groups_before * MULTIPLIERS * 4)),
            tamis_gpu_integer("own_filled", tamis_gpu_round_up(p->problem.rows, SIDE)),
            tamis_gpu_integer("filled", tamis_gpu_round_up(p->problem.cols, SIDE)),
            tamis_gpu_memory("lists", s->cells.lists), tamis_gpu_memory("together", s->together),
            tamis_gpu_memory("masks", s->masks),
            tamis_gpu_place("own_scales", tamis_gpu_after(scratch, at->scales[own])),
            tamis_gpu_place("scales", tamis_gpu_after(scratch, at->scales[other])),
            tamis_gpu_place("own_split", tamis_gpu_after(scratch, at->split[own])),
            tamis_gpu_place("split", tamis_gpu_after(scratch, at->split[other])),
            tamis_gpu_place("stats", tamis_gpu_after(scratch, at->stats))));
}

/* `count` members, one of which has its own scratch. */
static tamis_gpu_common common_of(const tamis_prepared_backward *back, const way *w, const tamis_backward_operands *x,
                                  int64_t count, int64_t member_bytes) {
    const tamis_operands operands = {
        .a = w->a->at,
        .b = w->b->at,
        .d = w->d->at,
        .a_stride = w->a->stride,
        .b_stride = w->b->stride,
        .d_stride = w->d->stride,
        .batch_stride = {.a = w->a->batch_stride, .b = w->b->batch_stride, .d = w->d->batch_stride},
        .batch = count,
        .alpha = x->alpha,
        .beta = x->beta,
        .scratch_batch_stride = member_bytes};
    return tamis_gpu_common_of(back->ways[w->number], &operands);
}

static tamis_status execute_members(const tamis_prepared_backward *back, void *stream, const tamis_backward_operands *x,
                                    int64_t count) {
    const tamis_prepared *const p = back->ways[0];
    const places at = places_of(back);
    const back_state *const states[2] = {back->ways[0]->state, back->ways[1]->state};
    const tamis_backward_matrix none = {.stride = 0};
    const way rows = {0, &x->a, &x->e, &x->b, &x->d, &x->da, &none};
    const way columns = {1, &x->b, &x->d, &x->a, &x->e, &x->db, &x->dd};
    const tamis_gpu_common by_row = common_of(back, &rows, x, count, at.member);
    const tamis_gpu_common by_column = common_of(back, &columns, x, count, at.member);
    const tamis_split_four four = {.filled = tamis_gpu_round_up(p->problem.rows, SIDE),
                                   .b_filled = tamis_gpu_round_up(p->problem.cols, SIDE),
                                   .e = x->e.at,
                                   .e_stride = x->e.stride,
                                   .e_batch_stride = x->e.batch_stride,
                                   .scales = tamis_gpu_after(x->scratch, at.scales[0]),
                                   .split = tamis_gpu_after(x->scratch, at.split[0]),
                                   .b_scales = tamis_gpu_after(x->scratch, at.scales[1]),
                                   .b_split = tamis_gpu_after(x->scratch, at.split[1]),
                                   .clears = (states[0]->groups + states[1]->groups) * MULTIPLIERS,
                                   .cleared = tamis_gpu_after(x->scratch, at.arrived)};
    TRY(tamis_split_launch_four(p, stream, SPLIT_ROWS, &by_row, &four));
    TRY(launch(back, stream, &rows, &by_row, x->scratch, &at)); /* the other launch needs its rows' numbers */
    if (!x->db.at.base && !x->dd.at.base) return TAMIS_OK;
    return launch(back, stream, &columns, &by_column, x->scratch, &at);
}

static tamis_status execute(const tamis_prepared_backward *back, void *stream, const tamis_backward_operands *x) {
    const tamis_problem *const p = &back->ways[0]->problem;
    const int64_t size = (int64_t)tamis_type_size(p->type);
    for (int64_t first = 0; first < p->batch; first += back->at_once) {
        tamis_backward_operands part = *x;
        tamis_backward_matrix *const all[] = {&part.a, &part.b, &part.d, &part.e, &part.da, &part.db, &part.dd};
        for (int i = 0; i < 7; i++) all[i]->at = tamis_gpu_after(all[i]->at, first * all[i]->batch_stride * size);
        const int64_t left = p->batch - first;
        TRY(execute_members(back, stream, &part, left < back->at_once ? left : back->at_once));
    }
    return TAMIS_OK;
}

const tamis_backward_functions tamis_backward_wgmma = {.algorithm = "gpu-tensor",
                                                       .seconds = seconds,
                                                       .prepare = prepare,
                                                       .scratch_bytes = scratch_bytes,
                                                       .execute = execute,
                                                       .release = release};
