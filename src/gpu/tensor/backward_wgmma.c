/*
 * Host side of backward_wgmma.cu and backward_narrow.cu: the cells of S and those of its transpose, and launches over
 * them. fp32: two, after the rows are split. 16 bits: three, of rows where they are. Scratch of a member: numbers of
 * each row of S; partial rows of panels that several groups share, for each launch; of fp32 scales and split rows of A
 * and dE, and of B and D. And the number of groups that have written theirs, of 16 bits before the scratch of members.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/model.h"
#include "gpu/plan.h"
#include "gpu/tensor/form.h"
#include "gpu/tensor/split.h"
#include "gpu/tensor/wgmma.h"

enum { BACK, SPLIT_ROWS, SUMS = SPLIT_ROWS }; /* kernels */
enum { SIDE = 64, LINE = 128 /* bytes */, TILE = SIDE * LINE, GROUP = 128, MULTIPLIERS = 4 /* warps */ };

/* A launch over cells. */
typedef struct pass {
    int64_t sharing, shared_bytes; /* groups on a multiprocessor; bytes of a group */
    int64_t part;                  /* bytes that a group leaves of a panel */
    int64_t groups;                /* that share the cells of a member */
} pass;

/* The cells of S, or of its transpose, and the launches over them, by their kernels' numbers. */
typedef struct back_state {
    tamis_gpu_tensor_cells cells;
    void *masks, *together;
    pass passes[2];
} back_state;

struct tamis_prepared_backward {
    tamis_prepared *ways[2]; /* by rows, by columns */
    int64_t at_once;         /* members of a call */
};

static bool is_narrow(const tamis_problem *p) { return tamis_type_size(p->type) == 2; }
static int64_t parts(const tamis_problem *p) { return 1 + tamis_splits(p); }
static int products(const tamis_problem *p) { return tamis_splits(p) ? 3 : 1; }

/* ------------------------------------------------------------------------------------------ choosing */

static bool takes(const tamis_problem *p) {
    const tamis_profile *const profile = &p->evidence->profile;
    const int64_t most = is_narrow(p) ? 2 * SIDE : SIDE;
    return tamis_tensor_of(p->device).form != TAMIS_TENSOR_NONE && p->type != TAMIS_F64 &&
           p->edge == TAMIS_EDGE_SOFTMAX && p->nnz > 0 && p->inner > 0 && p->inner <= most && p->width > 0 &&
           p->width <= most && profile->sorted && profile->duplicates == 0;
}

/* By rows and by columns, half of what both take. */
static double narrow_seconds(const tamis_problem *p) {
    const tamis_gpu_fitted *const f = tamis_gpu_fitted_for(p);
    const double columns = (double)(tamis_gpu_round_up(p->inner, 16) + tamis_gpu_round_up(p->width, 16));
    const double cell = f->backward_narrow.cell_ps + f->backward_narrow.column_ps * columns;
    const double gathered = tamis_gpu_cells_align(p) ? 1 : f->backward_narrow.gathered;
    return tamis_gpu_filling(p, tamis_tensor_issue(p, tamis_fused_wgmma_cells(p) * cell * gathered)) +
           f->backward_narrow.begin / 2;
}

static double cells_seconds(const tamis_problem *p) {
    const tamis_gpu_fitted *const f = tamis_gpu_fitted_for(p);
    const double gathered = tamis_gpu_cells_align(p) ? 1 : f->backward_wgmma.gathered;
    const double cell = f->backward_wgmma.cell_ps * gathered * (tamis_splits(p) ? 1 : f->backward_wgmma.highs);
    const int64_t panels = tamis_gpu_round_up(p->rows, SIDE) / SIDE;
    const double picoseconds = tamis_fused_wgmma_cells(p) * cell + (double)panels * f->backward_wgmma.panel_ps;
    return tamis_gpu_filling(p, tamis_tensor_issue(p, picoseconds));
}

static double seconds(const tamis_problem *problem, const tamis_problem *turned) {
    const double split = 2.0 * LINE * (double)parts(problem) * 2 * (double)(problem->rows + problem->cols);
    if (!takes(problem) || !takes(turned)) return 0;
    if (is_narrow(problem)) return narrow_seconds(problem) + narrow_seconds(turned);
    return tamis_gpu_streamed(problem, split) + cells_seconds(problem) + cells_seconds(turned) +
           tamis_gpu_fitted_for(problem)->backward_wgmma.begin;
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile(tamis_prepared *p, back_state *s, bool by_columns) {
    enum { SHARING = 2, NOTES = 7 * SIDE * 4 + TAMIS_GPU_CELL_RECORD + 16, GATES = 128 };
    const tamis_tensor_chip chip = tamis_tensor_of(p->device);
    const int64_t tiles = 2 * parts(&p->problem) * TILE; /* of a cell, and of the own rows */
    const int64_t two = 3 * tiles + 2 * NOTES + GATES;   /* with two stages */
    const int64_t sharing = tamis_tensor_group_bytes(chip, SHARING) < two ? 1 : SHARING;
    const int64_t stages = (tamis_tensor_group_bytes(chip, sharing) - GATES - tiles) / (tiles + NOTES);
    tamis_gpu_definitions definitions = {.used = 0};
    s->passes[BACK] = (pass){.sharing = sharing,
                             .shared_bytes = (1 + stages) * tiles + stages * NOTES + GATES,
                             .part = (int64_t)(64 + 11) * GROUP * 4};
    tamis_tensor_define(&definitions, p, GROUP);
    tamis_gpu_define(&definitions, "PRODUCTS", products(&p->problem));
    tamis_gpu_define(&definitions, "STAGES", stages);
    tamis_gpu_define(&definitions, "GROUPS", sharing);
    tamis_gpu_define(&definitions, "BY_COLUMNS", by_columns);
    return tamis_gpu_add_kernel(p, BACK, "backward_wgmma.cu", "backward_wgmma", &definitions,
                                s->passes[BACK].shared_bytes);
}

/* Groups on a multiprocessor: as many as registers allow, of which two stages fit. */
static tamis_status compile_narrow(tamis_prepared *p, back_state *s, int number, int kind) {
    enum { BY_SUMS, BY_ROWS, BY_COLUMNS, STAGES_MOST = 3, NOTES = 8 * SIDE };
    const tamis_tensor_chip chip = tamis_tensor_of(p->device);
    const int64_t inner_steps = tamis_gpu_ceiling(p->problem.inner, 16);
    const int64_t width_steps = tamis_gpu_ceiling(p->problem.width, 16);
    const int64_t inner_tiles = tamis_gpu_ceiling(inner_steps, 4), width_tiles = tamis_gpu_ceiling(width_steps, 4);
    const int64_t tiles = (inner_tiles + width_tiles) * TILE; /* of a cell, and of the own rows */
    const int64_t outs[] = {6, 32 * inner_tiles, 32 * (inner_tiles + width_tiles)};
    const bool three = kind == BY_ROWS && inner_tiles == 1 && chip.form == TAMIS_TENSOR_WGMMA;
    int64_t sharing = kind == BY_SUMS ? 4 : three ? 3 : 2;
    while (sharing > 1 && tamis_tensor_group_bytes(chip, sharing) < tiles + 2 * (tiles + NOTES)) sharing--;
    const int64_t stages =
        tamis_gpu_min(STAGES_MOST, (tamis_tensor_group_bytes(chip, sharing) - tiles) / (tiles + NOTES));
    tamis_gpu_definitions definitions = {.used = 0};
    s->passes[number] =
        (pass){.sharing = sharing, .shared_bytes = tiles + stages * (tiles + NOTES), .part = outs[kind] * GROUP * 4};
    tamis_tensor_define(&definitions, p, GROUP);
    tamis_gpu_define(&definitions, "PASS", kind);
    tamis_gpu_define(&definitions, "INNER_STEPS", inner_steps);
    tamis_gpu_define(&definitions, "WIDTH_STEPS", width_steps);
    tamis_gpu_define(&definitions, "INNER_WHOLE", p->problem.inner % SIDE == 0);
    tamis_gpu_define(&definitions, "WIDTH_WHOLE", p->problem.width % SIDE == 0);
    tamis_gpu_define(&definitions, "STAGES", stages);
    tamis_gpu_define(&definitions, "GROUPS", sharing);
    return tamis_gpu_add_kernel(p, number, "backward_narrow.cu", "backward_narrow", &definitions,
                                s->passes[number].shared_bytes);
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
    if (is_narrow(&p->problem)) { /* while the cells are made */
        TRY(compile_narrow(p, s, SUMS, 0));
        TRY(compile_narrow(p, s, BACK, 1));
    } else {
        TRY(compile(p, s, false));
        TRY(tamis_split_compile_four(p, SPLIT_ROWS, tamis_splits(&p->problem)));
    }
    return make_cells(p, s);
}

static tamis_status prepare_columns(tamis_prepared *p) {
    back_state *const s = p->state;
    TRY(is_narrow(&p->problem) ? compile_narrow(p, s, BACK, 2) : compile(p, s, true));
    return make_cells(p, s);
}

static const tamis_gpu_method by_rows = {
    .name = "gpu-tensor", .prepare = prepare_rows, .state_bytes = sizeof(back_state), .batches = true};
static const tamis_gpu_method by_columns = {
    .name = "gpu-tensor", .prepare = prepare_columns, .state_bytes = sizeof(back_state), .batches = true};

/* ------------------------------------------------------------------------------------------ scratch */

/* Bytes from the beginning of a member's scratch; of `arrived` and `largest`, of 16 bits, from the beginning of a
   member's counters, which together lie before the scratch of all members. */
typedef struct places {
    int64_t scales[2], split[2]; /* of A and dE; of B and D */
    int64_t stats, partials[2][2] /* by way and kernel */, arrived[2][2], largest, counters, member;
} places;

static int64_t take(int64_t *total, int64_t bytes) {
    const int64_t at = *total;
    *total = (at + bytes + 63) / 64 * 64;
    return at;
}

static places places_of(const tamis_prepared_backward *back) {
    const tamis_problem *const p = &back->ways[0]->problem;
    const bool narrow = is_narrow(p);
    const int64_t filled[2] = {tamis_gpu_round_up(p->rows, SIDE), tamis_gpu_round_up(p->cols, SIDE)};
    places at = {.member = 0};
    for (int i = 0; i < 2; i++) {
        const back_state *const s = back->ways[i]->state;
        at.scales[i] = take(&at.member, narrow ? 0 : 2 * filled[i] * 4);
        at.split[i] = take(&at.member, narrow ? 0 : 2 * parts(p) * filled[i] * LINE);
        for (int k = 0; k < 2; k++) {
            at.partials[i][k] = take(&at.member, 2 * s->passes[k].groups * s->passes[k].part);
            at.arrived[i][k] = at.counters;
            at.counters += s->passes[k].groups * MULTIPLIERS * 4;
        }
    }
    at.stats = take(&at.member, 3 * filled[0] * 4);
    at.largest = at.counters;
    at.counters += 4;
    if (narrow) return at;
    const int64_t before = take(&at.member, at.counters);
    for (int i = 0; i < 2; i++) at.arrived[i][BACK] += before;
    at.counters = 0;
    return at;
}

/* Where the scratch of members begins, and what they need in all. */
static int64_t counters_of(const places *at, int64_t members) { return tamis_gpu_round_up(members * at->counters, 64); }
static int64_t bytes_of(const places *at, int64_t members) { return counters_of(at, members) + members * at->member; }

/* The members of a batch that come in one call share the groups that the device has room for. */
static void share_cells(tamis_prepared_backward *back) {
    const tamis_problem *const p = &back->ways[0]->problem;
    const int64_t multiprocessors = back->ways[0]->device->limits.multiprocessors;
    const int64_t highest = back->ways[0]->device->limits.groups_most[2];
    int64_t fit = p->batch < highest ? p->batch : highest;
    do {
        back->at_once = fit;
        for (int i = 0; i < 4; i++) {
            back_state *const s = back->ways[i / 2]->state;
            pass *const of = &s->passes[i % 2];
            if (of->sharing == 0) continue;
            /* panels in parts must be brought together: two cells at least */
            of->groups = tamis_gpu_min(multiprocessors * of->sharing / back->at_once, s->cells.count / 2);
            if (of->groups < 1) of->groups = 1;
        }
        const places at = places_of(back);
        const tamis_prepared_sizes sizes = {.scratch_bytes = (size_t)bytes_of(&at, 1), .own_scratch = true};
        const int64_t members = tamis_members_at_once(&sizes, p->batch);
        fit = members < back->at_once ? members : back->at_once;
    } while (fit < back->at_once);
}

static size_t scratch_bytes(const tamis_prepared_backward *back) {
    const places at = places_of(back);
    return (size_t)bytes_of(&at, back->at_once);
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

/* The launches over the cells of one order. `own` has the rows of their panels, `other` those that come with the cells.
 */
typedef struct way {
    int number;
    const tamis_backward_matrix *a, *e, *b, *d, *first, *second;
} way;

/* All of a call. */
typedef struct call {
    const tamis_prepared_backward *back;
    void *stream;
    const tamis_backward_operands *x;
    int64_t count; /* members */
    places at;
    tamis_place scratch; /* of the first member */
} call;

/* Arguments that both kernels have. */
#define WAY_ARGUMENTS(w, s, k)                                                                                         \
    tamis_gpu_place("e", (w)->e->at), tamis_gpu_integer("e_stride", (w)->e->stride),                                   \
        tamis_gpu_integer("e_batch_stride", (w)->e->batch_stride), tamis_gpu_place("first", (w)->first->at),           \
        tamis_gpu_integer("first_stride", (w)->first->stride),                                                         \
        tamis_gpu_integer("first_batch_stride", (w)->first->batch_stride), tamis_gpu_place("second", (w)->second->at), \
        tamis_gpu_integer("second_stride", (w)->second->stride),                                                       \
        tamis_gpu_integer("second_batch_stride", (w)->second->batch_stride),                                           \
        tamis_gpu_integer("writes", ((w)->first->at.base ? 1 : 0) | ((w)->second->at.base ? 2 : 0)),                   \
        tamis_gpu_integer("each", (s)->cells.count / (s)->passes[k].groups),                                           \
        tamis_gpu_integer("more", (s)->cells.count % (s)->passes[k].groups),                                           \
        tamis_gpu_memory("records", (s)->cells.records), tamis_gpu_memory("lists", (s)->cells.lists),                  \
        tamis_gpu_memory("together", (s)->together), tamis_gpu_memory("masks", (s)->masks)

static tamis_gpu_launch launch_of(const pass *of, bool early) {
    return (tamis_gpu_launch){
        .groups = {of->groups, 1}, .group_size = GROUP, .shared_bytes = of->shared_bytes, .early = early};
}

static tamis_status launch(const call *c, const way *w, const tamis_gpu_common *common) {
    const tamis_prepared *const p = c->back->ways[w->number];
    const back_state *const s = p->state;
    const int own = w->number, other = 1 - own;
    return tamis_gpu_launch_kernel(
        p, c->stream, BACK, launch_of(&s->passes[BACK], true), common,
        TAMIS_GPU_ARGUMENTS(WAY_ARGUMENTS(w, s, BACK),
                            tamis_gpu_place("partials", tamis_gpu_after(c->scratch, c->at.partials[own][BACK])),
                            tamis_gpu_place("arrived", tamis_gpu_after(c->scratch, c->at.arrived[own][BACK])),
                            tamis_gpu_integer("own_filled", tamis_gpu_round_up(p->problem.rows, SIDE)),
                            tamis_gpu_integer("filled", tamis_gpu_round_up(p->problem.cols, SIDE)),
                            tamis_gpu_place("own_scales", tamis_gpu_after(c->scratch, c->at.scales[own])),
                            tamis_gpu_place("scales", tamis_gpu_after(c->scratch, c->at.scales[other])),
                            tamis_gpu_place("own_split", tamis_gpu_after(c->scratch, c->at.split[own])),
                            tamis_gpu_place("split", tamis_gpu_after(c->scratch, c->at.split[other])),
                            tamis_gpu_place("stats", tamis_gpu_after(c->scratch, c->at.stats))));
}

/* All but the first may begin while the one before ends. */
static tamis_status launch_narrow(const call *c, const way *w, int kernel, const tamis_gpu_common *common) {
    const tamis_prepared *const p = c->back->ways[w->number];
    const back_state *const s = p->state;
    const tamis_place counters = c->x->scratch;
    return tamis_gpu_launch_kernel(
        p, c->stream, kernel, launch_of(&s->passes[kernel], kernel != SUMS), common,
        TAMIS_GPU_ARGUMENTS(WAY_ARGUMENTS(w, s, kernel), tamis_gpu_integer("others", p->problem.cols),
                            tamis_gpu_place("partials", tamis_gpu_after(c->scratch, c->at.partials[w->number][kernel])),
                            tamis_gpu_place("arrived", tamis_gpu_after(counters, c->at.arrived[w->number][kernel])),
                            tamis_gpu_place("largest", tamis_gpu_after(counters, c->at.largest)),
                            tamis_gpu_integer("counters", c->at.counters / 4),
                            tamis_gpu_place("stats", tamis_gpu_after(c->scratch, c->at.stats))));
}

/* `count` members, one of which has its own scratch. */
static tamis_gpu_common common_of(const call *c, const way *w) {
    const tamis_operands operands = {
        .a = w->a->at,
        .b = w->b->at,
        .d = w->d->at,
        .a_stride = w->a->stride,
        .b_stride = w->b->stride,
        .d_stride = w->d->stride,
        .batch_stride = {.a = w->a->batch_stride, .b = w->b->batch_stride, .d = w->d->batch_stride},
        .batch = c->count,
        .alpha = c->x->alpha,
        .beta = c->x->beta,
        .scratch_batch_stride = c->at.member};
    return tamis_gpu_common_of(c->back->ways[w->number], &operands);
}

static tamis_status split_rows(const call *c, const tamis_gpu_common *common) {
    const tamis_prepared *const p = c->back->ways[0];
    const back_state *const states[2] = {c->back->ways[0]->state, c->back->ways[1]->state};
    const tamis_split_four four = {.filled = tamis_gpu_round_up(p->problem.rows, SIDE),
                                   .b_filled = tamis_gpu_round_up(p->problem.cols, SIDE),
                                   .e = c->x->e.at,
                                   .e_stride = c->x->e.stride,
                                   .e_batch_stride = c->x->e.batch_stride,
                                   .scales = tamis_gpu_after(c->scratch, c->at.scales[0]),
                                   .split = tamis_gpu_after(c->scratch, c->at.split[0]),
                                   .b_scales = tamis_gpu_after(c->scratch, c->at.scales[1]),
                                   .b_split = tamis_gpu_after(c->scratch, c->at.split[1]),
                                   .clears =
                                       (states[0]->passes[BACK].groups + states[1]->passes[BACK].groups) * MULTIPLIERS,
                                   .cleared = tamis_gpu_after(c->scratch, c->at.arrived[0][BACK])};
    return tamis_split_launch_four(p, c->stream, SPLIT_ROWS, common, &four);
}

static tamis_status execute_members(const call *c) {
    const tamis_backward_operands *const x = c->x;
    const tamis_backward_matrix none = {.stride = 0};
    const way rows = {0, &x->a, &x->e, &x->b, &x->d, &x->da, &none};
    const way columns = {1, &x->b, &x->d, &x->a, &x->e, &x->db, &x->dd};
    const tamis_gpu_common by_row = common_of(c, &rows), by_column = common_of(c, &columns);
    const bool of_columns = x->db.at.base || x->dd.at.base;
    tamis_gpu_device *const device = c->back->ways[0]->device;
    if (is_narrow(&c->back->ways[0]->problem)) {
        TRY(device->runtime->fill(device, c->stream, x->scratch, 0, (size_t)(c->count * c->at.counters)));
        TRY(launch_narrow(c, &rows, SUMS, &by_row));
        if (x->da.at.base) TRY(launch_narrow(c, &rows, BACK, &by_row));
        return of_columns ? launch_narrow(c, &columns, BACK, &by_column) : TAMIS_OK;
    }
    TRY(split_rows(c, &by_row));
    TRY(launch(c, &rows, &by_row)); /* the other launch needs its rows' numbers */
    return of_columns ? launch(c, &columns, &by_column) : TAMIS_OK;
}

static tamis_status execute(const tamis_prepared_backward *back, void *stream, const tamis_backward_operands *x) {
    const tamis_problem *const p = &back->ways[0]->problem;
    const int64_t size = (int64_t)tamis_type_size(p->type);
    const places at = places_of(back);
    for (int64_t first = 0; first < p->batch; first += back->at_once) {
        tamis_backward_operands part = *x;
        tamis_backward_matrix *const all[] = {&part.a, &part.b, &part.d, &part.e, &part.da, &part.db, &part.dd};
        for (int i = 0; i < 7; i++) all[i]->at = tamis_gpu_after(all[i]->at, first * all[i]->batch_stride * size);
        const call c = {.back = back,
                        .stream = stream,
                        .x = &part,
                        .count = tamis_gpu_min(p->batch - first, back->at_once),
                        .at = at,
                        .scratch = tamis_gpu_after(x->scratch, counters_of(&at, back->at_once))};
        TRY(execute_members(&c));
    }
    return TAMIS_OK;
}

const tamis_backward_functions tamis_backward_wgmma = {.algorithm = "gpu-tensor",
                                                       .seconds = seconds,
                                                       .prepare = prepare,
                                                       .scratch_bytes = scratch_bytes,
                                                       .execute = execute,
                                                       .release = release};
