/*
 * Host side of backward_wgmma.cu, backward_wide.cu and backward_narrow.cu: the cells of S and of its transpose, and the
 * launches over them. fp32: two launches, after the rows are split (backward_wide.cu: up to four). 16 bits: three, or
 * four if K and L are long, on unsplit rows. Scratch of a member: statistics of each row of S; partial sums of shared
 * panels, for each launch; for fp32, scales and split rows of A and dE, and of B and D. Also counters of the groups
 * that have stored their partial sums; for 16 bits these precede the members' scratch.
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
#include "sparse/index.h"

enum { BACK, SUMS, SECOND = SUMS /* by columns */, KNOWN, SPLIT_ROWS }; /* kernels */
enum { SIDE = 64, LINE = 128 /* bytes */, TILE = SIDE * LINE, GROUP = 128, MULTIPLIERS = 4 /* warps */ };

/* A launch over cells. */
typedef struct pass {
    int64_t sharing, shared_bytes; /* resident groups of a multiprocessor; bytes of a group */
    int threads;                   /* of a group */
    int64_t part;                  /* bytes of a panel's partial sums */
    int64_t groups;                /* groups that share the cells of a member */
} pass;

/* The cells of S, or of its transpose, and the launches over them, by kernel number. */
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
static bool is_wide(const tamis_problem *p) { return p->type == TAMIS_F32 && (p->inner > SIDE || p->width > SIDE); }
/* True if the sums of rows are a launch of their own; else one launch per direction computes everything. */
static bool in_launches(const tamis_problem *p) { return is_narrow(p) || is_wide(p); }
static bool reads_known(const tamis_problem *p) { return p->type == TAMIS_BF16 || is_wide(p); }
static bool lows(const tamis_problem *p) { return is_wide(p) || tamis_splits(p); }
static int64_t parts(const tamis_problem *p) { return 1 + lows(p); }
static int64_t tiles_of(int64_t columns) { return tamis_gpu_ceiling(columns, SIDE); }
static int products(const tamis_problem *p) { return tamis_splits(p) ? 3 : 1; }

/* ------------------------------------------------------------------------------------------ choosing */

/* Places of entries have the index type; columns and rows of narrow cells have 32 bits. */
static bool fits(const tamis_problem *p) {
    return (p->mask || tamis_index_spans(p->index_type, p->nnz)) &&
           (!is_narrow(p) || (p->rows <= UINT32_MAX && p->cols <= UINT32_MAX));
}

/* A text whose derivative by x is all that is wanted: executions may ask for those by arrays, which are sums over
   entries. */
static bool takes_text(const tamis_problem *p) {
    enum { STEPS_MOST = 64 };
    const tamis_edge_text *const text = p->edge_constants.text;
    return !text || (is_narrow(p) && text->value.arrays == 0 && text->all.count <= STEPS_MOST);
}

static bool takes(const tamis_problem *p) {
    const tamis_profile *const profile = &p->evidence->profile;
    const tamis_tensor_form form = tamis_tensor_of(p->device).form;
    const int64_t most = (is_narrow(p) ? 2 : 1) * (form == TAMIS_TENSOR_WGMMA ? 2 : 1) * SIDE;
    return fits(p) && form != TAMIS_TENSOR_NONE && p->type != TAMIS_F64 && p->edge == TAMIS_EDGE_SOFTMAX &&
           takes_text(p) && p->nnz > 0 && p->inner > 0 && p->inner <= most && p->width > 0 && p->width <= most &&
           profile->sorted && profile->duplicates == 0;
}

/* Seconds of one direction (by rows or by columns) for a member: half of what both take; for fp16 also half of the sums
   of rows, which it cannot take from the forward call. */
static double narrow_seconds(const tamis_problem *p) {
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const double members = fmax((double)p->batch, 1), launches = reads_known(p) && !p->edge_constants.text ? 1 : 1.5;
    const double columns = (double)(tamis_gpu_round_up(p->inner, 16) + tamis_gpu_round_up(p->width, 16));
    const double cell = 2 * (f->narrow_cell.cell_ps + tamis_gpu_text_ps(p)) + f->narrow_cell.column_ps / 2 * columns;
    const double picoseconds = members * tamis_fused_wgmma_cells(p) * cell * launches;
    return (tamis_gpu_launched(p, tamis_tensor_issue(p, picoseconds)) + 2 * f->begin) / members;
}

/* Cells and panels by what a cell of the forward call takes without its columns, which are up to 64 here. */
static double cells_seconds(const tamis_problem *p) {
    enum { CELL = 8, PANEL = 80 };
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const double tiles = (double)(tiles_of(p->inner) + tiles_of(p->width)) / 2; /* 1 unless is_wide */
    const double cell = CELL * f->fused_cell.cell_ps * tiles / (lows(p) ? 1 : 3);
    const int64_t panels = tamis_gpu_round_up(p->rows, SIDE) / SIDE;
    const double picoseconds = tamis_fused_wgmma_cells(p) * cell + (double)panels * PANEL * f->fused_cell.cell_ps;
    return tamis_gpu_launched(p, tamis_tensor_issue(p, picoseconds));
}

static double seconds(const tamis_problem *problem, const tamis_problem *turned) {
    const int64_t lines = parts(problem) * (tiles_of(problem->inner) + tiles_of(problem->width));
    const double split = 2.0 * LINE * (double)lines * (double)(problem->rows + problem->cols);
    if (!takes(problem) || !takes(turned)) return 0;
    if (is_narrow(problem)) return narrow_seconds(problem) + narrow_seconds(turned);
    const double cells = cells_seconds(problem) + cells_seconds(turned);
    const double begin = tamis_gpu_launches(problem, 1); /* of the kernel that splits rows */
    return tamis_gpu_of_member(problem, tamis_gpu_streamed(problem, split) + cells + begin, 2);
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile(tamis_prepared *p, back_state *s, bool by_columns) {
    enum { SHARING = 2, NOTES = 7 * SIDE * 4 + TAMIS_GPU_CELL_RECORD + 16, GATES = 128 };
    const tamis_tensor_chip chip = tamis_tensor_of(p->device);
    const int64_t tiles = 2 * parts(&p->problem) * TILE; /* tiles of a cell, and of the own rows */
    const int64_t two = 3 * tiles + 2 * NOTES + GATES;   /* with two stages */
    const int64_t sharing = tamis_tensor_group_bytes(chip, SHARING) < two ? 1 : SHARING;
    const int64_t stages = (tamis_tensor_group_bytes(chip, sharing) - GATES - tiles) / (tiles + NOTES);
    tamis_gpu_definitions definitions = {.used = 0};
    s->passes[BACK] = (pass){.sharing = sharing,
                             .shared_bytes = (1 + stages) * tiles + stages * NOTES + GATES,
                             .threads = GROUP,
                             .part = (int64_t)(64 + 11) * GROUP * 4};
    tamis_tensor_define(&definitions, p, GROUP);
    tamis_gpu_define(&definitions, "PRODUCTS", products(&p->problem));
    tamis_gpu_define(&definitions, "STAGES", stages);
    tamis_gpu_define(&definitions, "GROUPS", sharing);
    tamis_gpu_define(&definitions, "BY_COLUMNS", by_columns);
    return tamis_gpu_add_kernel(p, BACK, "backward_wgmma.cu", "backward_wgmma", &definitions,
                                s->passes[BACK].shared_bytes);
}

/* Kinds of launches of backward_narrow.cu. */
enum { BY_SUMS, BY_ROWS, BY_COLUMNS, BY_COLUMNS_FIRST, BY_COLUMNS_SECOND };

/* True if dB and dD have a launch each, since a thread has too few registers for the sums of both. */
static bool is_apart(const tamis_problem *p) { return is_wide(p) || tiles_of(p->inner) + tiles_of(p->width) > 4; }

static tamis_status compile_known(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_tensor_define(&definitions, p, GROUP);
    return tamis_gpu_add_kernel(p, KNOWN, "backward_known.cu", "backward_known", &definitions, 0);
}

static void define_narrow(const tamis_prepared *p, int kind, tamis_gpu_definitions *definitions) {
    tamis_tensor_define(definitions, p, GROUP);
    tamis_gpu_define(definitions, "PASS", kind);
    tamis_gpu_define(definitions, "INNER_STEPS", tamis_gpu_ceiling(p->problem.inner, 16));
    tamis_gpu_define(definitions, "WIDTH_STEPS", tamis_gpu_ceiling(p->problem.width, 16));
    tamis_gpu_define(definitions, "INNER_WHOLE", p->problem.inner % SIDE == 0);
    tamis_gpu_define(definitions, "WIDTH_WHOLE", p->problem.width % SIDE == 0);
}

/* Resident groups: as many as registers allow and have shared memory for two stages. */
static tamis_status compile_narrow(tamis_prepared *p, back_state *s, int number, int kind) {
    enum { STAGES_MOST = 3, NOTES = 8 * SIDE };
    const tamis_tensor_chip chip = tamis_tensor_of(p->device);
    const int64_t inner = tiles_of(p->problem.inner), width = tiles_of(p->problem.width);
    const int64_t cell = (inner + width) * TILE + NOTES;
    const int64_t own = (kind == BY_COLUMNS_SECOND ? inner : inner + width) * TILE;
    const int64_t outs[] = {6, 32 * inner, 32 * (inner + width), 32 * inner, 32 * width};
    const bool three = kind == BY_ROWS && inner == 1 && chip.form == TAMIS_TENSOR_WGMMA;
    int64_t sharing = kind == BY_SUMS ? 4 : three ? 3 : 2;
    while (sharing > 1 && tamis_tensor_group_bytes(chip, sharing) < own + 2 * cell) sharing--;
    const int64_t stages = tamis_gpu_min(STAGES_MOST, (tamis_tensor_group_bytes(chip, sharing) - own) / cell);
    tamis_gpu_definitions definitions = {.used = 0};
    s->passes[number] = (pass){
        .sharing = sharing, .shared_bytes = own + stages * cell, .threads = GROUP, .part = outs[kind] * GROUP * 4};
    define_narrow(p, kind, &definitions);
    tamis_gpu_define(&definitions, "STAGES", stages);
    tamis_gpu_define(&definitions, "GROUPS", sharing);
    return tamis_gpu_add_kernel(p, number, "backward_narrow.cu", "backward_narrow", &definitions,
                                s->passes[number].shared_bytes);
}

/* The same for backward_wide.cu: one group per multiprocessor, in two halves. */
static tamis_status compile_wide(tamis_prepared *p, back_state *s, int number, int kind) {
    enum { STAGES_MOST = 3, NOTES = (2 * 4 + 8) * SIDE, MERGED = 35 * 4 * GROUP };
    static const int passes[] = {[BY_SUMS] = 0, [BY_ROWS] = 1, [BY_COLUMNS_FIRST] = 2, [BY_COLUMNS_SECOND] = 3};
    const int64_t inner = tiles_of(p->problem.inner), width = tiles_of(p->problem.width);
    const int64_t cell = 2 * (inner + width) * TILE + NOTES;
    const int64_t own = 2 * (kind == BY_COLUMNS_SECOND ? inner : inner + width) * TILE;
    const int64_t outs = kind == BY_SUMS ? 6 : 32 * (kind == BY_COLUMNS_SECOND ? width : inner);
    const int64_t stages =
        tamis_gpu_min(STAGES_MOST, (tamis_tensor_group_bytes(tamis_tensor_of(p->device), 1) - MERGED - own) / cell);
    tamis_gpu_definitions definitions = {.used = 0};
    s->passes[number] = (pass){.sharing = 1,
                               .shared_bytes = own + stages * cell + MERGED,
                               .threads = 2 * GROUP,
                               .part = (outs + 3) * GROUP * 4};
    tamis_tensor_define(&definitions, p, 2 * GROUP);
    tamis_gpu_define(&definitions, "PASS", passes[kind]);
    tamis_gpu_define(&definitions, "INNER_TILES", inner);
    tamis_gpu_define(&definitions, "WIDTH_TILES", width);
    tamis_gpu_define(&definitions, "STAGES", stages);
    tamis_gpu_define(&definitions, "GROUPS", 1);
    return tamis_gpu_add_kernel(p, number, "backward_wide.cu", "backward_wide", &definitions,
                                s->passes[number].shared_bytes);
}

static tamis_status compile_launch(tamis_prepared *p, back_state *s, int number, int kind) {
    return is_wide(&p->problem) ? compile_wide(p, s, number, kind) : compile_narrow(p, s, number, kind);
}

static tamis_status make_cells(tamis_prepared *p, back_state *s) {
    s->cells.rows = s->cells.columns = SIDE;
    s->cells.masked = true;
    s->cells.aligned = tamis_gpu_cells_align(&p->problem);
    TRY(tamis_gpu_tensor_cells_build(p, &s->cells));
    const bool direct = is_narrow(&p->problem); /* rows are not split first */
    const tamis_gpu_cell_masks masks = {.filled = direct ? INT32_MAX : tamis_gpu_round_up(p->problem.cols, SIDE),
                                        .apart = direct ? 1 : 8,
                                        .numbered = direct,
                                        .masks = &s->masks,
                                        .together = &s->together};
    return tamis_gpu_tensor_cells_mask(p, &s->cells, &masks);
}

static tamis_status prepare_rows(tamis_prepared *p) {
    back_state *const s = p->state;
    if (in_launches(&p->problem)) { /* compiles while the cells are built */
        TRY(compile_launch(p, s, SUMS, BY_SUMS));
        TRY(compile_launch(p, s, BACK, BY_ROWS));
        if (reads_known(&p->problem) && !p->problem.edge_constants.text) TRY(compile_known(p));
    } else {
        TRY(compile(p, s, false));
    }
    if (!is_narrow(&p->problem)) TRY(tamis_split_compile_four(p, SPLIT_ROWS, lows(&p->problem)));
    return make_cells(p, s);
}

static tamis_status prepare_columns(tamis_prepared *p) {
    back_state *const s = p->state;
    if (!in_launches(&p->problem)) {
        TRY(compile(p, s, true));
    } else if (!is_apart(&p->problem)) {
        TRY(compile_launch(p, s, BACK, BY_COLUMNS));
    } else {
        TRY(compile_launch(p, s, BACK, BY_COLUMNS_FIRST));
        TRY(compile_launch(p, s, SECOND, BY_COLUMNS_SECOND));
    }
    return make_cells(p, s);
}

static const tamis_gpu_method by_rows = {.name = "gpu-tensor",
                                         .prepare = prepare_rows,
                                         .state_bytes = sizeof(back_state),
                                         .batches = true,
                                         .texts = true,
                                         .slopes = true};
static const tamis_gpu_method by_columns = {.name = "gpu-tensor",
                                            .prepare = prepare_columns,
                                            .state_bytes = sizeof(back_state),
                                            .batches = true,
                                            .texts = true,
                                            .slopes = true};

/* ------------------------------------------------------------------------------------------ scratch */

/* Byte offsets within a member's scratch. For 16 bits, `arrived` and `largest` are offsets within a member's counters;
   the counters of all members precede the scratch. */
typedef struct places {
    int64_t scales[2], split[2]; /* by direction and kernel */
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
    const int64_t lines = parts(p) * (tiles_of(p->inner) + tiles_of(p->width)); /* lines per row of both matrices */
    const int64_t filled[2] = {tamis_gpu_round_up(p->rows, SIDE), tamis_gpu_round_up(p->cols, SIDE)};
    places at = {.member = 0};
    for (int i = 0; i < 2; i++) {
        const back_state *const s = back->ways[i]->state;
        at.scales[i] = take(&at.member, narrow ? 0 : 2 * filled[i] * 4);
        at.split[i] = take(&at.member, narrow ? 0 : lines * filled[i] * LINE);
        for (int k = 0; k < 2; k++) {
            at.partials[i][k] = take(&at.member, 2 * s->passes[k].groups * s->passes[k].part);
            at.arrived[i][k] = at.counters;
            at.counters += s->passes[k].groups * MULTIPLIERS * 4;
        }
    }
    at.stats = take(&at.member, 3 * filled[0] * 4);
    at.largest = at.counters;
    at.counters += 4;
    if (in_launches(p)) return at;
    const int64_t before = take(&at.member, at.counters);
    for (int i = 0; i < 2; i++) at.arrived[i][BACK] += before;
    at.counters = 0;
    return at;
}

/* Bytes of all counters, after which the members' scratch begins, and of everything. */
static int64_t counters_of(const places *at, int64_t members) { return tamis_gpu_round_up(members * at->counters, 64); }
static int64_t bytes_of(const places *at, int64_t members) { return counters_of(at, members) + members * at->member; }

/* The members of a call share the resident groups of the device. At least two cells per group. */
static void share_cells(tamis_prepared_backward *back) {
    const tamis_problem *const p = &back->ways[0]->problem;
    const int64_t multiprocessors = back->ways[0]->device->limits.multiprocessors;
    const int64_t highest = back->ways[0]->device->limits.groups_most[2];
    int64_t fit = p->batch < highest ? p->batch : highest;
    for (int i = 0; i < 2 && is_narrow(p); i++) { /* members apart are launches apart, which must pay */
        const back_state *const s = back->ways[i]->state;
        const int64_t row = (tiles_of(p->inner) + tiles_of(p->width)) * LINE;
        fit = tamis_gpu_min(fit, tamis_gpu_tensor_members_near(back->ways[i], &s->cells,
                                                               multiprocessors * s->passes[BACK].sharing, row, 4));
    }
    do {
        back->at_once = fit;
        for (int i = 0; i < 4; i++) {
            back_state *const s = back->ways[i / 2]->state;
            pass *const of = &s->passes[i % 2];
            if (of->sharing == 0) continue;
            /* a group needs at least two cells, so that shared panels are few */
            of->groups = tamis_gpu_min(multiprocessors * of->sharing / back->at_once, s->cells.count / 2);
            if (of->groups < 1) of->groups = 1;
        }
        const places at = places_of(back);
        const tamis_prepared_sizes sizes = {.scratch_bytes = (size_t)bytes_of(&at, 1), .own_scratch = true};
        const int64_t members = tamis_members_at_once(&sizes, p);
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

/* backward_narrow.cu finds all nonzeros in the cells, so the transpose's arrays can be freed. */
static bool spares_turned(tamis_prepared_backward *back) {
    tamis_problem *const turned = &back->ways[1]->problem;
    if (!is_narrow(turned)) return false;
    turned->offsets = turned->columns = NULL;
    return true;
}

/* ------------------------------------------------------------------------------------------ executing */

/* The launches over the cells of one direction. `own`: the rows of its panels, `other`: the rows that come with
   cells. */
typedef struct way {
    int number;
    const tamis_matrix *a, *e, *b, *d, *first, *second;
} way;

/* The arguments of a call. */
typedef struct call {
    const tamis_prepared_backward *back;
    void *stream;
    const tamis_backward_operands *x;
    int64_t first, count; /* members */
    places at;
    tamis_place scratch; /* of the first member */
} call;

/* Common arguments of the gradient's kernels. */
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

/* Further arguments of kernels on split rows. */
#define SPLIT_ARGUMENTS(c, p, own)                                                                                     \
    tamis_gpu_integer("own_filled", tamis_gpu_round_up((p)->problem.rows, SIDE)),                                      \
        tamis_gpu_integer("filled", tamis_gpu_round_up((p)->problem.cols, SIDE)),                                      \
        tamis_gpu_place("lines", (c)->scratch), tamis_gpu_integer("own_scales_at", (c)->at.scales[own]),               \
        tamis_gpu_integer("scales_at", (c)->at.scales[1 - (own)]),                                                     \
        tamis_gpu_integer("own_split_at", (c)->at.split[own]),                                                         \
        tamis_gpu_integer("split_at", (c)->at.split[1 - (own)]),                                                       \
        tamis_gpu_place("stats", tamis_gpu_after((c)->scratch, (c)->at.stats))

static tamis_gpu_launch launch_of(const pass *of, bool early) {
    return (tamis_gpu_launch){
        .groups = {of->groups, 1}, .group_size = of->threads, .shared_bytes = of->shared_bytes, .early = early};
}

static tamis_status launch(const call *c, const way *w, const tamis_gpu_common *common) {
    const tamis_prepared *const p = c->back->ways[w->number];
    const back_state *const s = p->state;
    const int own = w->number;
    return tamis_gpu_launch_kernel(
        p, c->stream, BACK, launch_of(&s->passes[BACK], true), common,
        TAMIS_GPU_ARGUMENTS(WAY_ARGUMENTS(w, s, BACK),
                            tamis_gpu_place("partials", tamis_gpu_after(c->scratch, c->at.partials[own][BACK])),
                            tamis_gpu_place("arrived", tamis_gpu_after(c->scratch, c->at.arrived[own][BACK])),
                            SPLIT_ARGUMENTS(c, p, own)));
}

/* True if the statistics of rows come from what the forward call has kept, instead of the first launch. */
static bool are_known(const call *c) {
    return reads_known(&c->back->ways[0]->problem) && c->x->softmax_rows.base && c->x->result.at.base &&
           c->x->alpha != 0;
}

static tamis_status launch_known(const call *c, const tamis_gpu_common *common) {
    const tamis_prepared *const p = c->back->ways[0];
    const tamis_backward_operands *const x = c->x;
    const tamis_gpu_launch rows = {.groups = {tamis_gpu_round_up(p->problem.rows, SIDE) / (GROUP / 8), 1},
                                   .group_size = GROUP};
    return tamis_gpu_launch_kernel(
        p, c->stream, KNOWN, rows, common,
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_place("e", x->e.at), tamis_gpu_integer("e_stride", x->e.stride),
            tamis_gpu_integer("e_batch_stride", x->e.batch_stride), tamis_gpu_place("result", x->result.at),
            tamis_gpu_integer("result_stride", x->result.stride),
            tamis_gpu_integer("result_batch_stride", x->result.batch_stride), tamis_gpu_place("kept", x->softmax_rows),
            tamis_gpu_integer("kept_batch_stride", 2 * p->problem.rows),
            tamis_gpu_place("stats", tamis_gpu_after(c->scratch, c->at.stats))));
}

static tamis_status launch_wide(const call *c, const way *w, int kernel, const tamis_gpu_common *common) {
    const tamis_prepared *const p = c->back->ways[w->number];
    const back_state *const s = p->state;
    const int own = w->number;
    return tamis_gpu_launch_kernel(
        p, c->stream, kernel, launch_of(&s->passes[kernel], own != 0 || kernel != SUMS), common,
        TAMIS_GPU_ARGUMENTS(WAY_ARGUMENTS(w, s, kernel), tamis_gpu_integer("others", p->problem.cols),
                            tamis_gpu_place("partials", tamis_gpu_after(c->scratch, c->at.partials[own][kernel])),
                            tamis_gpu_place("arrived", tamis_gpu_after(c->x->scratch, c->at.arrived[own][kernel])),
                            tamis_gpu_integer("counters", c->at.counters / 4), SPLIT_ARGUMENTS(c, p, own)));
}

/* All launches but the first may begin while the previous one ends. */
static tamis_status launch_part(const call *c, const way *w, int kernel, const tamis_gpu_common *common) {
    const tamis_prepared *const p = c->back->ways[w->number];
    const back_state *const s = p->state;
    const tamis_place counters = c->x->scratch;
    if (is_wide(&p->problem)) return launch_wide(c, w, kernel, common);
    return tamis_gpu_launch_kernel(
        p, c->stream, kernel, launch_of(&s->passes[kernel], w->number != 0 || kernel != SUMS), common,
        TAMIS_GPU_ARGUMENTS(WAY_ARGUMENTS(w, s, kernel), tamis_gpu_integer("others", p->problem.cols),
                            tamis_gpu_place("partials", tamis_gpu_after(c->scratch, c->at.partials[w->number][kernel])),
                            tamis_gpu_place("arrived", tamis_gpu_after(counters, c->at.arrived[w->number][kernel])),
                            tamis_gpu_place("largest", tamis_gpu_after(counters, c->at.largest)),
                            tamis_gpu_integer("counters", c->at.counters / 4),
                            tamis_gpu_place("stats", tamis_gpu_after(c->scratch, c->at.stats))));
}

/* `count` members, each with its own scratch. */
static tamis_gpu_common common_of(const call *c, const way *w) {
    const tamis_operands operands = {.a = *w->a,
                                     .b = *w->b,
                                     .d = *w->d,
                                     .batch = c->count,
                                     .first_member = c->first,
                                     .alpha = c->x->alpha,
                                     .beta = c->x->beta,
                                     .scratch_batch_stride = c->at.member};
    return tamis_gpu_common_of(c->back->ways[w->number], &operands);
}

static tamis_status split_rows(const call *c, const tamis_gpu_common *common) {
    const tamis_prepared *const p = c->back->ways[0];
    const back_state *const states[2] = {c->back->ways[0]->state, c->back->ways[1]->state};
    const int64_t counted = states[0]->passes[BACK].groups + states[1]->passes[BACK].groups;
    const tamis_split_four four = {.filled = tamis_gpu_round_up(p->problem.rows, SIDE),
                                   .b_filled = tamis_gpu_round_up(p->problem.cols, SIDE),
                                   .inner_slices = tiles_of(p->problem.inner),
                                   .width_slices = tiles_of(p->problem.width),
                                   .e = c->x->e.at,
                                   .e_stride = c->x->e.stride,
                                   .e_batch_stride = c->x->e.batch_stride,
                                   .scales = tamis_gpu_after(c->scratch, c->at.scales[0]),
                                   .split = tamis_gpu_after(c->scratch, c->at.split[0]),
                                   .b_scales = tamis_gpu_after(c->scratch, c->at.scales[1]),
                                   .b_split = tamis_gpu_after(c->scratch, c->at.split[1]),
                                   .clears = in_launches(&p->problem) ? 0 : counted * MULTIPLIERS,
                                   .cleared = tamis_gpu_after(c->scratch, c->at.arrived[0][BACK])};
    return tamis_split_launch_four(p, c->stream, SPLIT_ROWS, common, &four);
}

static tamis_status execute_members(const call *c) {
    const tamis_backward_operands *const x = c->x;
    const tamis_matrix none = {.stride = 0};
    const way rows = {0, &x->a, &x->e, &x->b, &x->d, &x->da, &none};
    const way columns = {1, &x->b, &x->d, &x->a, &x->e, &x->db, &x->dd};
    const tamis_gpu_common by_row = common_of(c, &rows), by_column = common_of(c, &columns);
    const bool of_columns = x->db.at.base || x->dd.at.base;
    tamis_gpu_device *const device = c->back->ways[0]->device;
    const tamis_problem *const p = &c->back->ways[0]->problem;
    if (in_launches(p)) {
        const bool apart = is_apart(p);
        TRY(device->runtime->fill(device, c->stream, x->scratch, 0, (size_t)(c->count * c->at.counters)));
        if (is_wide(p)) TRY(split_rows(c, &by_row));
        TRY(are_known(c) ? launch_known(c, &by_row) : launch_part(c, &rows, SUMS, &by_row));
        if (x->da.at.base) TRY(launch_part(c, &rows, BACK, &by_row));
        if (apart && x->dd.at.base) TRY(launch_part(c, &columns, SECOND, &by_column));
        return (apart ? x->db.at.base != NULL : of_columns) ? launch_part(c, &columns, BACK, &by_column) : TAMIS_OK;
    }
    TRY(split_rows(c, &by_row));
    TRY(launch(c, &rows, &by_row)); /* the other launch needs its statistics of rows */
    return of_columns ? launch(c, &columns, &by_column) : TAMIS_OK;
}

static tamis_status execute(const tamis_prepared_backward *back, void *stream, const tamis_backward_operands *x) {
    const tamis_problem *const p = &back->ways[0]->problem;
    const places at = places_of(back);
    for (int64_t first = 0; first < p->batch; first += back->at_once) {
        tamis_backward_operands part = *x;
        tamis_matrix *const all[] = {&part.a, &part.b, &part.d, &part.e, &part.da, &part.db, &part.dd, &part.result};
        for (int i = 0; i < 8; i++) tamis_matrix_advance(all[i], first, p->type);
        part.softmax_rows = tamis_gpu_after(part.softmax_rows, first * 2 * p->rows * (int64_t)sizeof(float));
        const call c = {.back = back,
                        .stream = stream,
                        .x = &part,
                        .first = first,
                        .count = tamis_gpu_min(p->batch - first, back->at_once),
                        .at = at,
                        .scratch = tamis_gpu_after(x->scratch, counters_of(&at, back->at_once))};
        TRY(execute_members(&c));
    }
    return TAMIS_OK;
}

const tamis_backward_functions tamis_backward_wgmma = {.algorithm = "gpu-tensor",
                                                       .unlisted = is_narrow,
                                                       .seconds = seconds,
                                                       .prepare = prepare,
                                                       .spares_turned = spares_turned,
                                                       .scratch_bytes = scratch_bytes,
                                                       .execute = execute,
                                                       .release = release};
