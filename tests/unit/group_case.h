/* One problem on the ranks of a group, against the oracle: what the tests of threads and of processes share. */
#ifndef TAMIS_TESTS_GROUP_CASE_H
#define TAMIS_TESTS_GROUP_CASE_H

#include <tamis/group.h>

#include "support/expect.h"

enum {
    GROUP_COLUMN_MAJOR = 1,
    GROUP_PADDED = 2,
    GROUP_BATCH = 4,
    GROUP_SHARED_B = 8, /* by all members of a batch */
    GROUP_WIDE = 16,    /* 64-bit indices */
    GROUP_PATTERN = 32,
    GROUP_BETA = 64,
    GROUP_SAME = 128,     /* D is B */
    GROUP_ALL_LAST = 256, /* the last rank has all rows of S, the first one all of B */
    GROUP_INTEGERS = 512, /* operands whose sums have no rounding: results are exact */
    GROUP_VALUES = 1024   /* the execution brings S's values */
};

typedef struct group_case {
    const char *name;
    int64_t rows, cols, nnz, inner, width;
    enum shape shape;
    unsigned flags;
} group_case;

/* Where the operands are said to be: the host, unless a test has devices that compute in the host's memory. */
extern tamis_location group_case_location;

/* How rows are exchanged; negative: in a way that changes from one case to the next. */
extern int group_case_exchange;

extern const group_case group_cases[];
extern const int group_case_count;

/* Runs one case on this rank of a group, as all other ranks do at the same time: twice, with the same bits. NULL, or
   what is wrong, valid until the thread's next call. */
const char *group_case_run(tamis_group *group, const group_case *c, tamis_operation operation, tamis_edge edge,
                           tamis_type type, bool transpose);

/* Every `step`-th, from number `first` on, of all cases with each operation and edge, in types that change from one to
   the next. */
const char *group_case_run_all(tamis_group *group, int first, int step);

#endif
