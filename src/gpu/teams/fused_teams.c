/* Host side of fused_teams.simt: fused in one launch; long rows are divided among several teams. */
#include "gpu/teams/fused_teams.h"

#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "gpu/model.h"
#include "gpu/rows/lanes.h"
#include "gpu/teams/tasks.h"

enum { TEAM_LANES, BATCH, GROUP, SHARE, ORDER, APART };
enum { SUMS }; /* kernels */
enum { LANES_MOST = 32, REALS_MOST = 16 /* a lane's part of a row */, BATCH_USUAL = 4 };

static int64_t piece_of(const tamis_problem *problem) { return 16 / (int64_t)tamis_type_size(problem->type); }

/* Most pieces of 16 bytes per lane of a row: registers hold BATCH + 1 of B's and D's. */
static int64_t pieces_most_of(const tamis_problem *problem) {
    return (problem->type == TAMIS_F64 ? REALS_MOST / 2 : REALS_MOST) / piece_of(problem);
}

static int64_t across_of(const tamis_problem *problem) { /* pieces of the longer row */
    return tamis_gpu_ceiling(tamis_gpu_max(problem->inner, problem->width), piece_of(problem));
}

/* ------------------------------------------------------------------------------------------ choosing */

static int64_t usual_team(const tamis_problem *problem) {
    enum { LANES_USUAL = 16, PIECES_USUAL = 2 };
    const int64_t across = across_of(problem);
    int64_t team = 4;
    while (team < LANES_USUAL && team < across) team *= 2;
    return across > PIECES_USUAL * team ? LANES_MOST : team;
}

/* Nonzeros of a team: fewer if there are few, so that all multiprocessors are busy, and if row lengths vary much. */
static int64_t usual_share(const tamis_problem *problem, int64_t multiprocessors, bool narrow, int64_t large) {
    enum { SOME = 1024 /* nonzeros of a multiprocessor */ };
    const double each = (double)problem->nnz / (double)multiprocessors;
    const double more = tamis_gpu_tasks_level(&problem->evidence->profile) ? 2 * SOME : 4 * SOME;
    if (large > 0) return large;
    if (narrow && each <= SOME) return 16;
    return each <= (narrow ? more : SOME) ? 32 : 64;
}

/* The best of 50 parameter sets on an H100, on 29 matrices of 11 thousand to 11 million nonzeros and K = L of 32 and
   128. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *v) {
    enum { MOST = 32 /* nonzeros of the longest row's teams */ };
    v[TEAM_LANES] = usual_team(problem);
    v[BATCH] = BATCH_USUAL;
    v[GROUP] = device->limits.is_cpu ? 64 : tamis_gpu_tasks_group(problem, v[TEAM_LANES], MOST);
    const int64_t multiprocessors = device->limits.multiprocessors;
    const int64_t large = tamis_gpu_tasks_large_share(problem, multiprocessors, v[TEAM_LANES]);
    v[SHARE] = usual_share(problem, multiprocessors, across_of(problem) <= v[TEAM_LANES], large);
    v[ORDER] = TAMIS_TASKS_BY_LENGTH;
    v[APART] = large > 0;
}

bool tamis_gpu_fused_teams_takes(const tamis_problem *problem, char *reason, size_t bytes) {
    const int64_t widest = LANES_MOST * pieces_most_of(problem) * piece_of(problem);
    if (problem->inner <= widest && problem->width <= widest) return true;
    snprintf(reason, bytes, "K = %lld, L = %lld: registers hold rows of up to %lld", (long long)problem->inner,
             (long long)problem->width, (long long)widest);
    return false;
}

/* Pieces per lane of a row of `width` elements; rounded to one of two numbers if compilation is slow. */
static int64_t lane_pieces(const tamis_prepared *p, int64_t width) {
    enum { FEW = 2 };
    const int64_t most = pieces_most_of(&p->problem);
    const int64_t pieces = tamis_gpu_ceiling(width, p->parameters[TEAM_LANES] * piece_of(&p->problem));
    if (tamis_gpu_compiles_fast(p)) return tamis_gpu_max(pieces, 1);
    return pieces <= FEW ? tamis_gpu_min(FEW, most) : most;
}

/* True if all lanes have all units of a row of `width` elements. */
static bool is_full(const tamis_prepared *p, int64_t width) {
    return width == lane_pieces(p, width) * p->parameters[TEAM_LANES] * piece_of(&p->problem);
}

/* Before compute capability 9.0 the assembler keeps more values live: the same instances would spill. */
static bool needs_room(const tamis_gpu_device *device) {
    const int capability = tamis_gpu_compute_capability(device);
    return capability > 0 && capability < 90;
}

/* Estimated registers of a work-item: for its rows, and the rest. */
static int64_t registers_of(const tamis_prepared *p) {
    enum { BESIDE = 22, CALLS = 10 };
    const tamis_problem *const problem = &p->problem;
    const tamis_edge edge = problem->edge;
    const int64_t own = lane_pieces(p, problem->inner), others = problem->d_is_b ? 0 : lane_pieces(p, problem->width);
    const int64_t pieces = own + lane_pieces(p, problem->width) + p->parameters[BATCH] * (own + others);
    const bool calls = edge != TAMIS_EDGE_SCALE && edge != TAMIS_EDGE_MASK && edge != TAMIS_EDGE_RESIDUAL;
    const int64_t registers =
        pieces * piece_of(problem) * (problem->type == TAMIS_F64 ? 2 : 1) + BESIDE + (calls ? CALLS : 0);
    return needs_room(p->device) ? 2 * registers + 16 : registers;
}

static tamis_status check(tamis_prepared *p) {
    enum { GROUP_USUAL = 128, REGISTERS = 65536, REGISTERS_MOST = 255 };
    int64_t *const v = p->parameters;
    TRY(tamis_gpu_check_powers(p, TEAM_LANES, SHARE));
    while (v[TEAM_LANES] < LANES_MOST &&
           tamis_gpu_ceiling(across_of(&p->problem), v[TEAM_LANES]) > pieces_most_of(&p->problem))
        v[TEAM_LANES] *= 2;
    if (v[BATCH] > v[TEAM_LANES]) v[BATCH] = v[TEAM_LANES];
    while (v[GROUP] > p->device->limits.group_most) v[GROUP] /= 2;
    while (v[BATCH] > BATCH_USUAL && registers_of(p) > REGISTERS / v[GROUP]) v[BATCH] /= 2;
    while (v[GROUP] > GROUP_USUAL && registers_of(p) > REGISTERS / v[GROUP]) v[GROUP] /= 2;
    while (needs_room(p->device) && v[BATCH] > 1 && registers_of(p) > REGISTERS_MOST) v[BATCH] /= 2;
    if (v[GROUP] < v[TEAM_LANES]) v[GROUP] = v[TEAM_LANES];
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile(tamis_prepared *p) {
    enum { OTHER_TYPE = 18 /* registers */ };
    const int64_t *const v = p->parameters;
    const tamis_problem *const problem = &p->problem;
    const bool quick = tamis_gpu_compiles_fast(p);
    const int64_t registers = registers_of(p) + (problem->type == TAMIS_F32 ? 0 : OTHER_TYPE);
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, (int)v[GROUP], (int)v[TEAM_LANES]);
    tamis_gpu_define(&definitions, "BATCH", v[BATCH]);
    tamis_gpu_define(&definitions, "APART", v[APART]);
    tamis_gpu_define(&definitions, "INNER_PIECES", lane_pieces(p, problem->inner));
    tamis_gpu_define(&definitions, "WIDTH_PIECES", lane_pieces(p, problem->width));
    tamis_gpu_define(&definitions, "WHOLE_UNITS", quick);
    tamis_gpu_define(&definitions, "INNER_FULL", quick ? problem->inner / (v[TEAM_LANES] * p->unit) : 0);
    tamis_gpu_define(&definitions, "WIDTH_FULL", quick ? problem->width / (v[TEAM_LANES] * p->unit) : 0);
    tamis_gpu_define(&definitions, "GROUPS",
                     tamis_gpu_tasks_sharing(p, v[GROUP], v[TEAM_LANES], registers,
                                             !is_full(p, problem->inner) || !is_full(p, problem->width)));
    tamis_gpu_define(&definitions, "SAME", problem->d_is_b);
    tamis_gpu_define(&definitions, "SOFTMAX", problem->edge == TAMIS_EDGE_SOFTMAX);
    if (problem->keep_softmax) tamis_gpu_define(&definitions, "KEEP_SOFTMAX", 1);
    return tamis_gpu_add_split_kernel(p, SUMS, "fused_teams.simt", "fused_teams", &definitions, 0);
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    TRY(check(p));
    if (p->problem.rows == 0 || p->problem.width == 0) return TAMIS_OK;
    TRY(compile(p)); /* compiles while the list is built */
    const tamis_gpu_split_rows split = tamis_gpu_tasks_split(v[GROUP], v[TEAM_LANES], v[SHARE], v[ORDER], v[APART]);
    return tamis_gpu_tasks_make(p, &split, p->state);
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_gpu_tasks *const tasks = p->state;
    const size_t size = tamis_type_size(p->problem.output_type), unit = (size_t)p->unit * size;
    const bool whole = tamis_gpu_aligned(p->device, &x->out, size, unit < 16 ? unit : 16);
    const tamis_gpu_launch launch = {
        .groups = {tamis_gpu_ceiling(tasks->count, p->parameters[GROUP] / p->parameters[TEAM_LANES]), 1},
        .group_size = (int)p->parameters[GROUP]};
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    common.wide |= whole ? 4 : 0;
    return tamis_gpu_launch_kernel(
        p, stream, SUMS, launch, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("tasks_count", tasks->count), tamis_gpu_memory("tasks", tasks->list)));
}

const tamis_gpu_method tamis_gpu_fused_teams = {
    .name = "gpu-teams",
    .parameters = {{"team", 4, 32},
                   {"batch", 4, 8},
                   {"group", 32, 512},
                   {"share", 1, 1 << 20},
                   {"order", 0, TAMIS_TASKS_ORDERS - 1},
                   {"apart", 0, 1}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(tamis_gpu_tasks),
    .batches = true,
    .widens = true,
    .keeps = true,
};

/* ------------------------------------------------------------------------------------------ predicting */

/* Rows of B and D, longer if L1 misses them; and the longest row's chain of loads, unless other rows hide it. */
double tamis_gpu_fused_teams_seconds(const tamis_problem *p, int64_t *teams) {
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const tamis_profile *const profile = &p->evidence->profile;
    const double size = (double)tamis_type_size(p->type), both = (double)(p->inner + p->width) * size;
    const double bytes = p->d_is_b ? (double)p->inner * size : both;
    int64_t v[TAMIS_GPU_PARAMETERS];
    defaults(p, p->device, v);
    *teams = v[GROUP] / v[TEAM_LANES];
    static const double missed = 0.25;
    const double entry = f->fused_ps + (p->edge == TAMIS_EDGE_SOFTMAX ? f->softmax_ps : 0);
    const double taken = bytes * (1 + missed * tamis_gpu_new_rows(p));
    const tamis_gpu_device *const device = p->device;
    const bool hides = tamis_gpu_tasks_even(profile) && p->rows >= device->limits.multiprocessors;
    const double chain = hides ? 0 : tamis_gpu_chain(p, (double)profile->max / (double)*teams, v[BATCH]);
    return f->teams_begin + (double)p->nnz * tamis_gpu_issue(p, tamis_gpu_nonzero_ps(p, entry, taken)) + chain;
}
