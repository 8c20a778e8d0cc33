/* Host side of the task lists of teams.simt. */
#include "gpu/teams/tasks.h"

#include <stdio.h>

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/rows/cuts.h"
#include "gpu/structure/sort.h"

enum { TASK_BYTES = 16 };

/* ------------------------------------------------------------------------------------------ choosing */

bool tamis_gpu_tasks_count(const tamis_problem *problem, char *reason, size_t bytes) {
    enum { NUMBERS_MOST = 0x7fffffff - 1024 /* the furthest that teams read ahead */ };
    if (problem->nnz <= NUMBERS_MOST && problem->rows <= NUMBERS_MOST) return true;
    snprintf(reason, bytes, "its tasks count rows and nonzeros in 32 bits");
    return false;
}

bool tamis_gpu_tasks_even(const tamis_profile *profile) { return (double)profile->max < 2 * profile->mean; }

int64_t tamis_gpu_tasks_group(const tamis_problem *problem, int64_t lanes, int64_t most) {
    enum { FEWEST = 128, MOST = 512 /* more work-items would have too few registers */ };
    const tamis_profile *const profile = &problem->evidence->profile;
    int64_t group = FEWEST;
    while (!tamis_gpu_tasks_even(profile) && group < MOST && profile->max * lanes > most * group) group *= 2;
    return group;
}

bool tamis_gpu_tasks_level(const tamis_profile *profile) {
    enum { LEVEL = 8 };
    return (double)profile->max < LEVEL * profile->mean;
}

int64_t tamis_gpu_tasks_large_share(const tamis_problem *problem, int64_t multiprocessors, int64_t lanes) {
    enum { MANY = 8192 /* nonzeros of a multiprocessor */, LEAST = 128, ITEMS = 1024 /* of a multiprocessor */ };
    const double many = tamis_gpu_tasks_level(&problem->evidence->profile) ? MANY : 2 * MANY;
    const double each = (double)problem->nnz / (double)multiprocessors;
    const int64_t teams = ITEMS / lanes;
    int64_t share = LEAST;
    if (each <= many) return 0;
    while ((double)(share * teams) < each) share *= 2;
    return share;
}

int64_t tamis_gpu_tasks_sharing(const tamis_prepared *p, int64_t group, int64_t lanes, int64_t registers, bool ragged) {
    enum { REGISTERS = 65536, MOST = 1024 /* work-items; more gain nothing */, LONG = 128 /* nonzeros */ };
    enum { LONG_INDICES = 8, RAGGED = 10 }; /* registers */
    if (p->profile.max * lanes > LONG * group && !tamis_gpu_tasks_even(&p->profile)) return 1;
    registers += (ragged ? RAGGED : 0) + (p->problem.index_type == TAMIS_I64 ? LONG_INDICES : 0);
    return tamis_gpu_max(tamis_gpu_min(REGISTERS / registers, MOST) / group, 1);
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status launch(const tamis_prepared *p, const char *kernel, int64_t items,
                           const tamis_gpu_named *arguments) {
    const tamis_gpu_kinds kinds = {TAMIS_F32, p->problem.index_type, p->problem.offset_type};
    return tamis_gpu_utility(p->device, p->problem.stream, "teams.simt", kernel, kinds, tamis_gpu_groups(items),
                             arguments);
}

/* Sorts the rows into the order in which teams take them. */
static tamis_status sort_rows(const tamis_prepared *p, const tamis_gpu_split_rows *split, void **order) {
    enum { CLASSES = 256 };
    static const int64_t steps[TAMIS_TASKS_ORDERS] = {[TAMIS_TASKS_BY_LENGTH] = 1, [TAMIS_TASKS_BY_QUARTERS] = 4};
    tamis_gpu_named arguments[] = {{.name = NULL},
                                   tamis_gpu_integer("rows", p->problem.rows),
                                   tamis_gpu_integer("share", split->share),
                                   tamis_gpu_integer("most", split->teams),
                                   tamis_gpu_integer("steps", steps[split->order]),
                                   tamis_gpu_memory("offsets", p->problem.offsets),
                                   {.name = NULL}};
    return tamis_gpu_sort_rows(p, "teams.simt", "teams_classes", CLASSES, arguments, order);
}

tamis_status tamis_gpu_tasks_make(tamis_prepared *p, const tamis_gpu_split_rows *split, tamis_gpu_tasks *tasks) {
    tamis_status status = TAMIS_OK;
    const int64_t rows = p->problem.rows;
    void *order = NULL, *counts = NULL, *scratch = NULL, *const stream = p->problem.stream;
    TRY_GOTO(done, sort_rows(p, split, &order));
    TRY_GOTO(done, tamis_gpu_allocate(p->device, stream, tamis_bytes(rows + 1, 8), "teams of rows", &counts));
    TRY_GOTO(done, tamis_gpu_allocate(p->device, stream, tamis_gpu_scan_scratch(rows + 1), "prefix sums", &scratch));
    TRY_GOTO(done, launch(p, "teams_count", rows + 1,
                          TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", rows), tamis_gpu_integer("share", split->share),
                                              tamis_gpu_integer("most", split->teams),
                                              tamis_gpu_memory("offsets", p->problem.offsets),
                                              tamis_gpu_memory("order", order), tamis_gpu_memory("counts", counts))));
    TRY_GOTO(done, tamis_gpu_scan(p->device, stream, (tamis_place){counts, 0}, rows + 1, (tamis_place){scratch, 0}));
    TRY_GOTO(done, p->device->runtime->read(p->device, stream, &tasks->count, (tamis_place){counts, rows * 8},
                                            sizeof tasks->count));
    TRY_GOTO(done, tamis_gpu_add_kept(p, &tasks->list, tasks->count, TASK_BYTES, "tasks of teams"));
    TRY_GOTO(done, launch(p, "teams_list", rows,
                          TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", rows), tamis_gpu_integer("apart", split->apart),
                                              tamis_gpu_memory("offsets", p->problem.offsets),
                                              tamis_gpu_memory("order", order), tamis_gpu_memory("counts", counts),
                                              tamis_gpu_memory("tasks", tasks->list))));
done:
    tamis_gpu_release(p->device, stream, order);
    tamis_gpu_release(p->device, stream, counts);
    tamis_gpu_release(p->device, stream, scratch);
    return status;
}
