/* Tasks of gpu-teams: a row of S for one team of lanes, or, if it is long, for several neighbouring teams of a group.
   teams.simt builds the list on the device. */
#ifndef TAMIS_GPU_TEAMS_TASKS_H
#define TAMIS_GPU_TEAMS_TASKS_H

#include "gpu/method.h"

enum { TAMIS_TASKS_BY_TEAMS, TAMIS_TASKS_BY_LENGTH, TAMIS_TASKS_BY_QUARTERS, TAMIS_TASKS_ORDERS };

/* How rows are split and sorted. */
typedef struct tamis_gpu_split_rows {
    int64_t teams; /* most teams of a row: all teams of a group */
    int64_t share; /* nonzeros per team: a row gets as many teams as it has shares */
    int64_t
        apart; /* > 0: a row's teams take its blocks of this many nonzeros in turn; 0: each an equal contiguous share */
    int64_t order; /* order of rows with equally many teams: natural, or by falling length in powers of two, or in
                      quarters of these */
} tamis_gpu_split_rows;

/* The split for groups of `group` work-items and teams of `lanes` lanes. */
static inline tamis_gpu_split_rows tamis_gpu_tasks_split(int64_t group, int64_t lanes, int64_t share, int64_t order,
                                                         bool apart) {
    return (tamis_gpu_split_rows){.teams = group / lanes,
                                  .share = apart ? tamis_gpu_max(share, lanes) : share,
                                  .apart = apart ? lanes : 0,
                                  .order = order};
}

typedef struct tamis_gpu_tasks {
    int64_t count;
    void *list; /* {row, first nonzero, end, teams of the row}, 32 bits each; rows of many teams first. `end`: of the
                   team's share, or of the row if blocks are taken in turn */
} tamis_gpu_tasks;

/* True if 32 bits can count this problem's rows and nonzeros. */
bool tamis_gpu_tasks_count(const tamis_problem *problem, char *reason, size_t bytes);

/* True if rows are of similar length. */
bool tamis_gpu_tasks_even(const tamis_profile *profile);

/* Work-items of a group: enough that, with all teams of a group on the longest row, each has at most `most`
   nonzeros. */
int64_t tamis_gpu_tasks_group(const tamis_problem *problem, int64_t lanes, int64_t most);

/* Nonzeros of a team of `lanes` lanes, for problems that more than fill the device: enough that nearly all teams are
   resident at once. 0 for smaller problems. */
int64_t tamis_gpu_tasks_large_share(const tamis_problem *problem, int64_t multiprocessors, int64_t lanes);

/* True if no row is much longer than the mean. */
bool tamis_gpu_tasks_level(const tamis_profile *profile);

/* Wanted resident groups of a multiprocessor (GROUPS of simt.h): as many as leave each work-item `registers` registers,
   with a margin for `ragged` rows (some lanes have less of a row), so that no instance of test_compile spills. One if
   teams of `lanes` have long parts of the longest row, since they then wait for each other. */
int64_t tamis_gpu_tasks_sharing(const tamis_prepared *p, int64_t group, int64_t lanes, int64_t registers, bool ragged);

/* Builds the list, which the plan owns. One number is copied to the host: the number of tasks. */
tamis_status tamis_gpu_tasks_make(tamis_prepared *p, const tamis_gpu_split_rows *split, tamis_gpu_tasks *tasks);

#endif
