/* Host side of teams.simt: SpMM in one launch; long rows are divided among several teams. */
#include "gpu/teams/spmm_teams.h"

#include <math.h>

#include "base/status.h"
#include "gpu/model.h"
#include "gpu/rows/lanes.h"
#include "gpu/teams/tasks.h"

enum { TEAM_LANES, SPLIT, GROUP, LOADS, SLICE, SHARE = TAMIS_LANES_OWN, ORDER, APART };
enum { SUMS };                  /* kernels */
enum { TASK_SUMS = 1 };         /* tasks of teams.simt */
enum { SHORT = 12, LONG = 64 }; /* nonzeros of a row */

typedef struct teams_state {
    int64_t slices; /* of C's columns, along y */
    tamis_gpu_tasks tasks;
} teams_state;

/* ------------------------------------------------------------------------------------------ choosing */

static int64_t usual_slice(const tamis_problem *problem) {
    enum { BYTES = 512 };
    return tamis_gpu_lanes_slice(problem, BYTES);
}

/* Nonzeros of a team: of narrow rows, fewer if there are few, so that all multiprocessors are busy. If there are many
   (`large`) and rows are even, a team has a whole row: fewest rows then compete for L1. */
static int64_t usual_share(const tamis_problem *problem, int64_t multiprocessors, int64_t lanes, bool narrow,
                           int64_t large) {
    enum { FEWEST = 16, MOST = 64 };
    enum { TEAMS = 64, ITEMS = 512, ROWS = 32 }; /* of a multiprocessor */
    const int64_t teams = tamis_gpu_max(TEAMS, ITEMS / lanes);
    const tamis_profile *const profile = &problem->evidence->profile;
    int64_t share = large > 0 ? large : narrow ? FEWEST : MOST;
    if (large > 0 && tamis_gpu_tasks_even(profile) && problem->rows >= ROWS * multiprocessors)
        while (share < profile->max) share *= 2;
    while (share < MOST && problem->nnz > share * teams * multiprocessors) share *= 2;
    return share;
}

/* Rows of B in flight. A piece of 16-bit numbers has twice as many sums, so four; where rows differ, the teams of a
   warp wait for the longest, and more groups help instead. */
static int64_t loads_of(const tamis_problem *problem, bool narrow) {
    const tamis_profile *const profile = &problem->evidence->profile;
    if (tamis_type_size(problem->type) == 2 || (narrow && !tamis_gpu_tasks_level(profile))) return 4;
    return profile->mean >= (narrow ? SHORT : LONG) ? 8 : 4;
}

/* The best of 60 parameter sets on an H100, on 23 matrices of 11 thousand to 2.6 million nonzeros and C of 32 and 128
   columns. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *v) {
    enum { LANES_FEWEST = 4, LANES_MOST = 16, ITEMS_FEWEST = 512 /* of a multiprocessor */ };
    const int64_t slice = usual_slice(problem);
    int64_t pieces;
    const int64_t lanes = tamis_gpu_lanes_usual(problem, slice, &pieces);
    const bool narrow = pieces == 1;
    const int64_t multiprocessors = device->limits.multiprocessors;
    v[TEAM_LANES] = lanes > LANES_FEWEST ? lanes : LANES_FEWEST;
    v[SLICE] = slice;
    const int64_t large = tamis_gpu_tasks_large_share(problem, multiprocessors, v[TEAM_LANES]);
    v[SHARE] = usual_share(problem, multiprocessors, v[TEAM_LANES], narrow, large);
    const int64_t tasks = tamis_gpu_max(problem->rows, problem->nnz / v[SHARE]);
    while (lanes <= LANES_FEWEST && v[TEAM_LANES] < LANES_MOST &&
           tasks * v[TEAM_LANES] < ITEMS_FEWEST * multiprocessors)
        v[TEAM_LANES] *= 2;
    v[SPLIT] = v[TEAM_LANES] / lanes;
    v[GROUP] = device->limits.is_cpu ? 64 : tamis_gpu_tasks_group(problem, v[TEAM_LANES], narrow ? 32 : 64);
    v[LOADS] = loads_of(problem, narrow);
    v[ORDER] = TAMIS_TASKS_BY_LENGTH;
    v[APART] = large > 0;
}

/* ------------------------------------------------------------------------------------------ preparing */

/* wide: rows of B are aligned. Elements of others come one by one, each with an address. */
static int64_t groups_of(const tamis_prepared *p, bool wide, bool ragged) {
    enum { BESIDE = 10, PACKED = 4, OTHER_TYPE = 18, ONE_BY_ONE = 40 }; /* registers */
    const int64_t *const v = p->parameters;
    const bool packed = wide && tamis_gpu_lanes_packed(p);
    const int64_t type = packed ? PACKED : p->problem.type == TAMIS_F32 ? 0 : OTHER_TYPE;
    return tamis_gpu_tasks_sharing(p, v[GROUP], v[TEAM_LANES],
                                   BESIDE + type + (wide ? 0 : ONE_BY_ONE) + tamis_gpu_lanes_registers(p, packed),
                                   ragged);
}

static tamis_status prepare(tamis_prepared *p) {
    teams_state *const s = p->state;
    int64_t *const v = p->parameters;
    TRY(tamis_gpu_lanes_check(p, usual_slice(&p->problem), &s->slices));
    TRY(tamis_gpu_check_powers(p, SHARE, SHARE));
    if (s->slices > p->device->limits.groups_most[1])
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "width = %lld is more than gpu-teams takes on %s: %lld",
                          (long long)p->problem.width, p->device->limits.name,
                          (long long)(p->device->limits.groups_most[1] * v[SLICE]));
    if (p->problem.rows == 0 || p->problem.width == 0) return TAMIS_OK;
    const int64_t at_once = v[TEAM_LANES] / v[SPLIT] * tamis_gpu_lanes_piece(&p->problem);
    const bool ragged = p->problem.width % v[SLICE] != 0 || v[SLICE] % at_once != 0;
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_lanes(&definitions, p, s->slices);
    tamis_gpu_define(&definitions, "TASK", TASK_SUMS);
    tamis_gpu_define(&definitions, "APART", v[APART]);
    tamis_gpu_define(&definitions, "GROUPS", groups_of(p, true, ragged));
    tamis_gpu_define(&definitions, "GROUPS_UNALIGNED", groups_of(p, false, ragged));
    TRY(tamis_gpu_add_split_kernel(p, SUMS, "teams.simt", "teams_sums", &definitions,
                                   0)); /* compiles while the list is built */
    const tamis_gpu_split_rows split = tamis_gpu_tasks_split(v[GROUP], v[TEAM_LANES], v[SHARE], v[ORDER], v[APART]);
    return tamis_gpu_tasks_make(p, &split, &s->tasks);
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const teams_state *const s = p->state;
    const tamis_gpu_launch launch = {
        .groups = {tamis_gpu_ceiling(s->tasks.count, p->parameters[GROUP] / p->parameters[TEAM_LANES]), s->slices},
        .group_size = (int)p->parameters[GROUP]};
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    common.wide |= tamis_gpu_lanes_whole(p, x);
    return tamis_gpu_launch_kernel(p, stream, SUMS, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("tasks_count", s->tasks.count),
                                                       tamis_gpu_memory("tasks", s->tasks.list),
                                                       tamis_gpu_integer("slice", p->parameters[SLICE])));
}

const tamis_gpu_method tamis_gpu_spmm_teams = {
    .name = "gpu-teams",
    .parameters = {{"team", 4, 32},
                   {"split", 1, 32},
                   {"group", 32, 512},
                   {"loads", 1, 8},
                   {"slice", 0, 1 << 20},
                   {"share", 1, 1 << 20},
                   {"order", 0, TAMIS_TASKS_ORDERS - 1},
                   {"apart", 0, 1}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(teams_state),
    .batches = true,
    .widens = true,
};

/* ------------------------------------------------------------------------------------------ predicting */

/* As gpu-rows without its second launch, plus the longest row's chain of loads. Sorting rows loses some sharing of
   nearby rows of B; if all rows are long, or of similar length, sorting gains nothing. */
double tamis_gpu_spmm_teams_seconds(const tamis_problem *p, int64_t *teams) {
    static const double NEAR = 0.35; /* share of new columns */
    static const double slower = 1.25;
    enum { GROUP_USUAL = 256 };
    const double size = (double)tamis_type_size(p->type), width = fmax((double)p->width, 1);
    const double slices = ceil(width / (double)usual_slice(p)), bytes = width / slices * size;
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const tamis_profile *const profile = &p->evidence->profile;
    const bool even = tamis_gpu_tasks_even(profile);
    int64_t v[TAMIS_GPU_PARAMETERS];
    defaults(p, p->device, v);
    *teams = v[GROUP] / v[TEAM_LANES];
    const double each = tamis_gpu_lanes_nonzero(p, bytes);
    const bool large = v[APART], whole = large && v[SHARE] >= profile->max, spread = p->evidence->fresh_share > NEAR;
    const double times = (whole && spread) || (large && !whole && v[GROUP] > GROUP_USUAL) ? slower : 1;
    const int64_t step = v[SPLIT] * v[LOADS];
    const double chain = even ? 0 : tamis_gpu_chain(p, (double)profile->max / (double)*teams, step);
    return f->teams_begin + times * slices * (double)p->nnz * each + chain;
}
