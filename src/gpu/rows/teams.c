/* Host side of teams.simt: SpMM in one launch, long rows by several teams. */
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/model.h"
#include "gpu/rows/cuts.h"
#include "gpu/rows/lanes.h"
#include "gpu/structure/sort.h"

enum { TEAM_LANES, SPLIT, GROUP, LOADS, SLICE, SHARE = TAMIS_LANES_OWN, ORDER };
enum { SUMS };                                     /* kernels */
enum { TASK_SUMS = 1, TASK_BYTES = 16 };           /* of teams.simt */
enum { SHORT = 12, LONG = 64 };                    /* nonzeros of a row */
enum { BY_TEAMS, BY_LENGTH, BY_QUARTERS, ORDERS }; /* ORDER */

typedef struct teams_state {
    int64_t slices; /* of C's columns, along y */
    int64_t count;  /* of tasks */
    void *tasks;
} teams_state;

/* ------------------------------------------------------------------------------------------ choosing */

static int64_t usual_slice(const tamis_problem *problem) {
    enum { BYTES = 512 };
    return tamis_gpu_lanes_slice(problem, BYTES);
}

/* Rows of about the same length. */
static bool even(const tamis_profile *profile) { return (double)profile->max < 2 * profile->mean; }

/* Work-items of a group: so many that the teams of one, all on the longest row, have no more than `most` nonzeros each.
 */
static int64_t usual_group(const tamis_problem *problem, int64_t lanes, int64_t most) {
    enum { FEWEST = 128, MOST = 512 /* of more, work-items have too few registers */ };
    const tamis_profile *const profile = &problem->evidence->profile;
    int64_t group = FEWEST;
    while (!even(profile) && group < MOST && profile->max * lanes > most * group) group *= 2;
    return group;
}

/* Nonzeros of a team: fewer where there are too few to keep all multiprocessors busy. */
static int64_t usual_share(const tamis_problem *problem, int64_t multiprocessors) {
    enum { FEWEST = 16, MOST = 64, TEAMS = 64 /* of a multiprocessor */ };
    int64_t share = FEWEST;
    while (share < MOST && problem->nnz > share * TEAMS * multiprocessors) share *= 2;
    return share;
}

/* The best of 60 sets of parameters on an H100, on 23 matrices of 11 thousand to 2.6 million nonzeros and C of 32 and
   128 columns. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *v) {
    enum { LANES_FEWEST = 4 };
    const int64_t slice = usual_slice(problem);
    const double mean = problem->evidence->profile.mean;
    int64_t pieces;
    const int64_t lanes = tamis_gpu_lanes_usual(problem, slice, &pieces);
    const bool narrow = pieces == 1;
    v[TEAM_LANES] = lanes > LANES_FEWEST ? lanes : LANES_FEWEST;
    v[SPLIT] = v[TEAM_LANES] / lanes;
    v[GROUP] = device->limits.is_cpu ? 64 : usual_group(problem, v[TEAM_LANES], narrow ? 32 : 64);
    v[LOADS] = mean >= (narrow ? SHORT : LONG) ? 8 : 4;
    v[SLICE] = slice;
    v[SHARE] = narrow ? usual_share(problem, device->limits.multiprocessors) : 64;
    v[ORDER] = BY_LENGTH;
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status launch(const tamis_prepared *p, const char *kernel, int64_t items,
                           const tamis_gpu_named *arguments) {
    const tamis_gpu_kinds kinds = {TAMIS_F32, p->problem.index_type, p->problem.offset_type};
    return tamis_gpu_utility(p->device, p->problem.stream, "teams.simt", kernel, kinds, tamis_gpu_groups(items),
                             arguments);
}

/* Rows in the order in which they are given to teams. */
static tamis_status sort_rows(const tamis_prepared *p, int64_t teams, void **order) {
    enum { CLASSES = 256 };
    static const int64_t steps[ORDERS] = {[BY_LENGTH] = 1, [BY_QUARTERS] = 4};
    tamis_gpu_named arguments[] = {{.name = NULL},
                                   tamis_gpu_integer("rows", p->problem.rows),
                                   tamis_gpu_integer("share", p->parameters[SHARE]),
                                   tamis_gpu_integer("most", teams),
                                   tamis_gpu_integer("steps", steps[p->parameters[ORDER]]),
                                   tamis_gpu_memory("offsets", p->problem.offsets),
                                   {.name = NULL}};
    return tamis_gpu_sort_rows(p, "teams.simt", "teams_classes", CLASSES, arguments, order, p->problem.stream);
}

/* The list of tasks. One number is copied to the host: how many there are. */
static tamis_status make_tasks(tamis_prepared *p, teams_state *s) {
    tamis_status status = TAMIS_OK;
    const int64_t rows = p->problem.rows, teams = p->parameters[GROUP] / p->parameters[TEAM_LANES];
    void *order = NULL, *counts = NULL, *scratch = NULL, *const stream = p->problem.stream;
    TRY_GOTO(done, sort_rows(p, teams, &order));
    TRY_GOTO(done, tamis_gpu_allocate(p->device, stream, (size_t)(rows + 1) * 8, "teams of rows", &counts));
    TRY_GOTO(done, tamis_gpu_allocate(p->device, stream, tamis_gpu_scan_scratch(rows + 1), "prefix sums", &scratch));
    TRY_GOTO(done, launch(p, "teams_count", rows + 1,
                          TAMIS_GPU_ARGUMENTS(
                              tamis_gpu_integer("rows", rows), tamis_gpu_integer("share", p->parameters[SHARE]),
                              tamis_gpu_integer("most", teams), tamis_gpu_memory("offsets", p->problem.offsets),
                              tamis_gpu_memory("order", order), tamis_gpu_memory("counts", counts))));
    TRY_GOTO(done, tamis_gpu_scan(p->device, stream, counts, rows + 1, (tamis_place){scratch, 0}));
    TRY_GOTO(done,
             p->device->runtime->read(p->device, stream, &s->count, (tamis_place){counts, rows * 8}, sizeof s->count));
    TRY_GOTO(done, tamis_gpu_add_kept(p, &s->tasks, s->count, TASK_BYTES, "tasks of teams"));
    TRY_GOTO(done, launch(p, "teams_list", rows,
                          TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", rows),
                                              tamis_gpu_memory("offsets", p->problem.offsets),
                                              tamis_gpu_memory("order", order), tamis_gpu_memory("counts", counts),
                                              tamis_gpu_memory("tasks", s->tasks))));
done:
    tamis_gpu_release(p->device, stream, order);
    tamis_gpu_release(p->device, stream, counts);
    tamis_gpu_release(p->device, stream, scratch);
    return status;
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
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_lanes(&definitions, p, s->slices);
    tamis_gpu_define(&definitions, "TASK", TASK_SUMS);
    TRY(tamis_gpu_add_split_kernel(p, SUMS, "teams.simt", "teams_sums", &definitions, 0)); /* while the list is made */
    return make_tasks(p, s);
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const teams_state *const s = p->state;
    const tamis_gpu_launch launch = {
        .groups = {tamis_gpu_ceiling(s->count, p->parameters[GROUP] / p->parameters[TEAM_LANES]), s->slices},
        .group_size = (int)p->parameters[GROUP]};
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    common.wide |= tamis_gpu_lanes_whole(p, x);
    return tamis_gpu_launch_kernel(p, stream, SUMS, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("tasks_count", s->count),
                                                       tamis_gpu_memory("tasks", s->tasks),
                                                       tamis_gpu_integer("slice", p->parameters[SLICE])));
}

static const tamis_gpu_method method = {
    .name = "gpu-teams",
    .parameters = {{"team", 4, 32},
                   {"split", 1, 32},
                   {"group", 32, 512},
                   {"loads", 1, 8},
                   {"slice", 0, 1 << 20},
                   {"share", 1, 1 << 20},
                   {"order", 0, ORDERS - 1}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(teams_state),
    .batches = true,
    .widens = true,
};

/* ------------------------------------------------------------------------------------------ the table's row */

static bool also(const tamis_problem *problem, char *reason, size_t bytes) {
    enum { NUMBERS_MOST = 0x7fffffff - 64 /* lanes look so far ahead at most */ };
    if (problem->nnz <= NUMBERS_MOST && problem->rows <= NUMBERS_MOST) return true;
    snprintf(reason, bytes, "its tasks count rows and nonzeros in 32 bits");
    return false;
}

/* As gpu-rows without its second launch, and the longest row's share by itself. Rows that are sorted share fewer rows
   of B that lie near; rows that are all long or all of about the same length gain nothing by it. */
static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    const double size = (double)tamis_type_size(p->type), width = fmax((double)p->width, 1);
    const double slices = ceil(width / (double)usual_slice(p)), bytes = width / slices * size;
    const tamis_gpu_fitted *const f = tamis_gpu_fitted_for(p);
    const tamis_profile *const profile = &p->evidence->profile;
    int64_t v[TAMIS_GPU_PARAMETERS];
    defaults(p, p->device, v);
    const int64_t teams = v[GROUP] / v[TEAM_LANES];
    const double each = tamis_gpu_lanes_nonzero(p, bytes);
    const double row = tamis_gpu_issue(p, f->rows.row_ps + f->teams.row_lane_ps * (double)v[TEAM_LANES]);
    const double times = even(profile) || profile->mean >= LONG ? f->teams.even
                         : (double)v[GROUP] > f->teams.group    ? f->teams.large
                                                                : f->teams.times;
    const double chain = even(profile) ? 0 : tamis_gpu_chain(p, (double)profile->max / (double)teams, bytes);
    prediction->call_seconds =
        f->teams.begin + times * slices * ((double)p->nnz * each + (double)p->rows * row) + chain;
    prediction->setup_seconds = f->rows.order + (double)p->rows * f->rows.order_row;
    snprintf(prediction->reason, sizeof prediction->reason,
             "one launch, a row by up to %lld teams of lanes as its length asks for: the longest has %lld nonzeros",
             (long long)teams, (long long)profile->max);
}

const tamis_gpu_algorithm tamis_gpu_teams = {
    .common.description =
        {
            .name = "gpu-teams",
            .device = "gpu",
            .operations = TAMIS_GPU_SPMM,
            .source = "ours",
            .needs = "a list of tasks, built by the plan on the device: 16 bytes for each",
            .when = "SpMM of small and medium matrices, above all of rows of different length",
            .parameters =
                "team (4 to 32): lanes per task; split (1 to 32): nonzeros side by side in a team; group (32 to 512): work-items; loads (1 to 8): rows of B in flight; slice: columns of C per team, 0 by the model; share: nonzeros for which a row has one more team; order: rows of as many teams as they come (0), by falling length in powers of two (1) or quarters of these (2)",
        },
    .methods = {[TAMIS_OP_SPMM] = &method},
    .predict = predict,
    .also = also,
};
