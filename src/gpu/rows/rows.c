/* Host side of rows.simt: SpMM by whole rows; long rows are cut and merged (cuts.h). */
#include <math.h>
#include <stdio.h>

#include "base/papers.h"
#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/model.h"
#include "gpu/rows/cuts.h"
#include "gpu/rows/lanes.h"

enum { TEAM_LANES, SPLIT, GROUP, LOADS, SLICE, LIMIT = TAMIS_LANES_OWN, ORDERED };
enum { SUMS, MERGE }; /* kernels */
enum { LANES_MOST = 32 };
enum { TASK_SUMS = 1 };                          /* of rows.simt */
enum { SHORT = 16, LONG = 64, VERY_LONG = 256 }; /* nonzeros of a row */

typedef struct rows_state {
    int64_t slices; /* of C's columns, along y */
    tamis_gpu_cuts cuts;
} rows_state;

/* ------------------------------------------------------------------------------------------ choosing */

/*
 * Columns of C per slice: even slices of whole cache lines, of about 512 bytes, which leave L1 room for the rows of B
 * that rows of S share. Half of that if long rows differ and it divides them. Wider if the columns are close together
 * anyway (meshes), or rows are so short that visiting each several times costs more.
 */
static int64_t usual_slice(const tamis_problem *problem) {
    const int64_t row = problem->width * (int64_t)tamis_type_size(problem->type);
    const double mean = problem->evidence->profile.mean;
    const bool is_near = problem->evidence->fresh_share < 0.35;
    const bool differ = mean >= VERY_LONG && problem->evidence->profile.variation > 0.5 && row % 256 == 0;
    return tamis_gpu_lanes_slice(problem, mean < SHORT ? 1024 : is_near ? 2048 : differ ? 256 : 512);
}

/* Lanes of a team, and those that one row of C uses: two pieces each if there are many, since an exchanged value then
   serves two loads. A long row has a whole warp, whose further lanes take nonzeros side by side. */
static int64_t team_of(const tamis_problem *problem, int64_t *lanes, int64_t *pieces) {
    enum { LANES_FEWEST = 4 };
    *lanes = tamis_gpu_lanes_usual(problem, usual_slice(problem), pieces);
    return problem->evidence->profile.mean < LONG ? tamis_gpu_max(*lanes, LANES_FEWEST) : LANES_MOST;
}

static int64_t usual_team(const tamis_problem *problem) {
    int64_t lanes, pieces;
    return team_of(problem, &lanes, &pieces);
}

/* Rows of B in flight. Past a row's end the last nonzero is loaded again, so more pay off only if rows are not short.
 */
static int64_t loads_of(const tamis_problem *problem, int64_t split, int64_t pieces) {
    return pieces == 1 || (pieces == 2 && split == 1 && problem->evidence->profile.mean >= SHORT) ? 4 : 2;
}

/* Nonzeros of a team's step. */
static int64_t usual_step(const tamis_problem *problem) {
    int64_t lanes, pieces;
    const int64_t team = team_of(problem, &lanes, &pieces), split = team / lanes;
    return split * loads_of(problem, split, pieces);
}

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *v) {
    int64_t lanes, pieces;
    v[TEAM_LANES] = team_of(problem, &lanes, &pieces);
    v[SPLIT] = v[TEAM_LANES] / lanes;
    v[GROUP] = device->limits.is_cpu ? 64 : 128;
    v[LOADS] = loads_of(problem, v[SPLIT], pieces);
    v[LIMIT] = tamis_gpu_cuts_limit(problem, v[TEAM_LANES]);
    v[SLICE] = usual_slice(problem);
    v[ORDERED] = tamis_gpu_cuts_ordered(problem);
}

static tamis_status check(tamis_prepared *p) {
    int64_t *const v = p->parameters, *const slices = &((rows_state *)p->state)->slices;
    TRY(tamis_gpu_lanes_check(p, usual_slice(&p->problem), slices));
    if (p->device->limits.subgroup != 32) v[GROUP] = v[TEAM_LANES]; /* ONE_TEAM of simt.h */
    const int64_t highest = p->device->limits.groups_most[1];
    const int64_t columns =
        TAMIS_GPU_MERGE_TEAM * tamis_gpu_merge_each(p->problem.width, tamis_gpu_real_size(p->problem.type));
    const int64_t lines = tamis_gpu_ceiling(p->problem.width, columns);
    if (tamis_gpu_max(*slices, lines) > highest)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "width = %lld is more than gpu-rows takes on %s: %lld",
                          (long long)p->problem.width, p->device->limits.name,
                          (long long)(highest * tamis_gpu_min(columns, v[SLICE])));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile_sums(tamis_prepared *p) {
    enum { ITEMS = 896 /* of a multiprocessor */ };
    const int64_t *const v = p->parameters;
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_lanes(&definitions, p, ((rows_state *)p->state)->slices);
    if (tamis_gpu_lanes_packed(p) && tamis_gpu_lanes_pieces(p) == 1 && v[GROUP] <= ITEMS)
        tamis_gpu_define(&definitions, "GROUPS", ITEMS / v[GROUP]);
    tamis_gpu_define(&definitions, "TASK", TASK_SUMS);
    tamis_gpu_define(&definitions, "ORDERED", v[ORDERED]);
    if (tamis_gpu_cuts_counted(p, v[LIMIT])) tamis_gpu_define(&definitions, "COUNTED", 1);
    return tamis_gpu_add_split_kernel(p, SUMS, "rows.simt", "rows_sums", &definitions, 0);
}

static tamis_call_bytes call_bytes(const tamis_problem *problem) {
    return tamis_gpu_cuts_call_bytes(problem, problem->width);
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    const bool cuts = tamis_gpu_cuts_any(p, v[LIMIT]);
    if (!cuts && p->problem.may_guess) v[LIMIT] = 1 << 30; /* the longest row is not known: no row is cut */
    TRY(check(p));
    if (cuts)
        p->scratch_bytes = tamis_bytes(tamis_times(tamis_gpu_cuts_pieces_most(p, v[LIMIT]), p->problem.width),
                                       tamis_gpu_real_size(p->problem.type));
    if (p->problem.rows == 0 || p->problem.width == 0) return TAMIS_OK;
    TRY(compile_sums(p)); /* compiles while the lists are built */
    tamis_gpu_cuts *const lists = &((rows_state *)p->state)->cuts;
    TRY(tamis_gpu_cuts_make(p, v[LIMIT], v[ORDERED], lists));
    return tamis_gpu_cuts_add_merge(p, MERGE, lists, false, 0);
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const rows_state *const s = p->state;
    const int64_t teams = p->parameters[GROUP] / p->parameters[TEAM_LANES];
    const int64_t groups = tamis_gpu_ceiling(s->cuts.pieces + p->problem.rows, teams);
    const tamis_gpu_launch launch = {.groups = {tamis_gpu_min(groups, p->device->limits.groups_most[0]), s->slices},
                                     .group_size = (int)p->parameters[GROUP]};
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    common.wide |= tamis_gpu_lanes_whole(p, x);
    TRY(tamis_gpu_launch_kernel(
        p, stream, SUMS, launch, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("pieces", s->cuts.pieces),
                            tamis_gpu_place("pieces_counted", tamis_gpu_cuts_counted_pieces(p, &s->cuts)),
                            tamis_gpu_integer("limit", p->parameters[LIMIT]),
                            tamis_gpu_memory("piece_rows", s->cuts.piece_rows),
                            tamis_gpu_memory("order", s->cuts.order), tamis_gpu_integer("slice", p->parameters[SLICE]),
                            tamis_gpu_place("partials", x->scratch))));
    return tamis_gpu_cuts_merge(p, stream, MERGE, &common, &s->cuts, x->scratch);
}

static const tamis_gpu_method method = {
    .name = "gpu-rows",
    .parameters = {{"team", 4, 32},
                   {"split", 1, 32},
                   {"group", 32, 1024},
                   {"loads", 1, 8},
                   {"slice", 0, 1 << 20},
                   {"limit", 1, 1 << 30},
                   {"order", 0, 1}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .call_bytes = call_bytes,
    .state_bytes = sizeof(rows_state),
    .batches = true,
    .widens = true,
};

/* ------------------------------------------------------------------------------------------ the table's row */

/*
 * Rows by teams. Cut rows start first, so a piece only adds to the time if it takes longer than all the rest; its
 * partial sums are written and read again. Each row also costs a fixed time per slice of C.
 */
static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    const double size = (double)tamis_type_size(p->type), limit = (double)tamis_gpu_cuts_limit(p, usual_team(p));
    const double width = fmax((double)p->width, 1), slices = ceil(width / (double)usual_slice(p));
    const double bytes = width / slices * size, longest = fmin((double)p->evidence->profile.max, limit);
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const double each = tamis_gpu_lanes_nonzero(p, bytes);
    const double seconds = slices * (double)p->nnz * each, tail = tamis_gpu_chain(p, longest, usual_step(p));
    const bool cuts = (double)p->evidence->profile.max > limit;
    const double sums = cuts ? 2 * (double)p->nnz / limit * width * 4 : 0;
    prediction->call_seconds =
        fmax(tamis_gpu_launched(p, seconds), tail) + (cuts ? f->launch + sums / tamis_gpu_gather_rate(p, sums) : 0);
    prediction->setup_seconds =
        cuts || p->evidence->profile.variation > 0.5 ? f->order + (double)p->rows * f->order_row : 0;
    if (p->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason,
             "whole rows by teams, those of more than %.0f nonzeros in pieces that are merged: the longest has %lld",
             limit, (long long)p->evidence->profile.max);
}

const tamis_gpu_algorithm tamis_gpu_rows = {
    .common.description =
        {
            .name = "gpu-rows",
            .device = "gpu",
            .operations = TAMIS_GPU_SPMM,
            .source = "ours; ideas of " PAPER_ESIMD,
            .needs =
                "lists of cut rows and an order of the rows, built by the plan on the device; scratch for the sums of pieces",
            .when =
                "SpMM of any matrix, above all of rows of different length: graphs, genes, attention masks; wide C, by slices",
            .parameters =
                "team (4 to 32): lanes per row; split (1 to 32): nonzeros side by side in a team; group (32 to 1024): work-items; loads (1 to 8): rows of B in flight; slice: columns of C per team, 0 by the model; limit: nonzeros from which a row is cut; order (0, 1): rows by falling length, of at most 2^31 - 1 rows and nonzeros",
        },
    .methods = {[TAMIS_OP_SPMM] = &method},
    .predict = predict,
};
