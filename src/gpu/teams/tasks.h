/* The tasks of gpu-teams: a row of S for one team of lanes, or for several neighbouring ones of a group where it is
 * long. teams.simt makes the list on the device. */
#ifndef TAMIS_GPU_TEAMS_TASKS_H
#define TAMIS_GPU_TEAMS_TASKS_H

#include "gpu/method.h"

enum { TAMIS_TASKS_BY_TEAMS, TAMIS_TASKS_BY_LENGTH, TAMIS_TASKS_BY_QUARTERS, TAMIS_TASKS_ORDERS };

/* How rows are split and sorted. */
typedef struct tamis_gpu_split_rows {
    int64_t teams; /* of a group: the most that a row gets */
    int64_t share; /* nonzeros for which a row has one more */
    int64_t apart; /* a row's teams take its blocks of so many nonzeros in turn; 0: an equal share in a row each */
    int64_t order; /* rows of as many teams as they come, by falling length in powers of two, or in quarters of these */
} tamis_gpu_split_rows;

/* Of groups of so many work-items, and teams of so many lanes. */
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
                   team's share, or of the row where shares are apart */
} tamis_gpu_tasks;

/* Whether tasks can count this problem's rows and nonzeros. */
bool tamis_gpu_tasks_count(const tamis_problem *problem, char *reason, size_t bytes);

/* Whether rows are of about the same length. */
bool tamis_gpu_tasks_even(const tamis_profile *profile);

/* Work-items of a group: so many that the teams of one, all on the longest row, have no more than `most` nonzeros each.
 */
int64_t tamis_gpu_tasks_group(const tamis_problem *problem, int64_t lanes, int64_t most);

/* Nonzeros of a team of so many lanes where there are more than enough to keep all multiprocessors busy: so many that
   about all teams find place at once. 0 where there are not. */
int64_t tamis_gpu_tasks_large_share(const tamis_problem *problem, int64_t multiprocessors, int64_t lanes);

/* Whether no row is much longer than the others are. */
bool tamis_gpu_tasks_level(const tamis_profile *profile);

/* Groups that shall share a multiprocessor (GROUPS of simt.h): as many as leave each work-item so many registers, and
   more for other types than fp32 and where some lanes have less of a row (`ragged`), so that no instance of
   test_compile spills. One where teams of `lanes` have long parts of the longest row, for then they wait for each
   other. */
int64_t tamis_gpu_tasks_sharing(const tamis_prepared *p, int64_t group, int64_t lanes, int64_t registers, bool ragged);

/* Makes the list, which the plan keeps. One number is copied to the host: how many there are. */
tamis_status tamis_gpu_tasks_make(tamis_prepared *p, const tamis_gpu_split_rows *split, tamis_gpu_tasks *tasks);

#endif
