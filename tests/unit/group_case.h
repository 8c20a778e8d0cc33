/* One problem on the ranks of a group, against the oracle: what the tests of threads and of processes share. */
#ifndef TAMIS_TESTS_GROUP_CASE_H
#define TAMIS_TESTS_GROUP_CASE_H

#include <tamis/group.h>

#include "support/part.h"

enum { GROUP_ALL_LAST = PART_OTHERS }; /* the last rank has all rows of S, the first one all of B */

/* Where the operands are said to be: the host, unless a test has devices that compute in the host's memory. */
extern tamis_location group_case_location;

/* How rows are exchanged; negative: in a way that changes from one case to the next. */
extern int group_case_exchange;

extern const part_case group_cases[];
extern const int group_case_count;

/* Runs one case on this rank of a group, as all other ranks do at the same time: twice, with the same bits. NULL, or
   what is wrong, valid until the thread's next call. */
const char *group_case_run(tamis_group *group, const part_case *c, tamis_operation operation, tamis_edge edge,
                           tamis_type type, bool transpose);

/* Every `step`-th, from number `first` on, of all cases with each operation and edge, in types that change from one to
   the next. */
const char *group_case_run_all(tamis_group *group, int first, int step);

#endif
