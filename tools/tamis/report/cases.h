/* Measurements brought together: what was measured side by side on one matrix is a case; cases that differ in their
   matrix alone have their setting in common; settings on the same chip share a machine. */
#ifndef TOOL_CASES_H
#define TOOL_CASES_H

#include "results.h"
#include "text.h"

typedef struct tool_machine {
    const char *device, *model;
    const tool_run_record *run; /* NULL: the files have none */
    bool automatic;             /* some case has the plan's own choice */
} tool_machine;

typedef struct tool_setting {
    int machine;
    const char *suite, *operation, *edge, *type;
    int64_t inner, width, batch, threads;
    bool cold;
    char label[200];  /* "SDDMM mask, K = 128", with whatever else differs on the page */
    int first, cases; /* its cases lie side by side */
} tool_setting;

typedef struct tool_case {
    int setting;
    const char *matrix, *class_name, *group;
    bool stand_in;
    const tool_matrix_record *record; /* NULL: the files have none */
    int count;
    const tool_measurement **at;      /* in the order of the file, each contestant once */
    const tool_measurement *chosen;   /* the plan's own choice, else the fastest of ours; NULL: only peers */
    const tool_measurement *fastest;  /* of ours, without parameters of its own */
    const tool_measurement *peer;     /* the fastest */
    const tool_measurement *baseline; /* NULL: none */
} tool_case;

typedef struct tool_cases {
    const tool_results *results;
    int machines, settings, count;
    tool_machine *machine;
    tool_setting *setting;
    tool_case *at;  /* by setting */
    int superseded; /* measurements that a newer run of the same case replaces */
} tool_cases;

void tool_cases_build(const tool_results *results, tool_cases *cases);
void tool_cases_free(tool_cases *cases);

/* Whether it is a method of Tamis that can be recommended: no peer, and not the naive loop. */
bool tool_is_ours(const tool_measurement *one);

/* Whether two measurements are of the same contestant. */
bool tool_same_contestant(const tool_measurement *a, const tool_measurement *b);

/* "cusddmm-sm-l2 tune=2" */
tool_word tool_contestant_name(const tool_measurement *one);

/* The fastest measurement of a peer of that name in the case, or NULL. */
const tool_measurement *tool_case_peer(const tool_case *one, const char *peer);

/* The measurement of that algorithm without parameters of its own, or NULL. */
const tool_measurement *tool_case_algorithm(const tool_case *one, const char *algorithm);

/* The names of all peers of a machine, at most `most`; returns how many. */
int tool_cases_peers(const tool_cases *cases, int machine, const char **names, int most);

/* K: the inner dimension, of SpMM the width of its result. */
int64_t tool_setting_k(const tool_setting *setting);

/* "SDDMM mask"; "SpMM" */
tool_word tool_operation_title(const char *operation, const char *edge);

#endif
