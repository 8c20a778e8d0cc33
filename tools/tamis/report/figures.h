/* What the page says in numbers: speed-ups over peers, the share of the floor, how good the plan's choice was, and
   which method is the fastest for which class of matrices. */
#ifndef TOOL_FIGURES_H
#define TOOL_FIGURES_H

#include "cases.h"
#include "mean.h"

enum { TOOL_OPERATIONS = 3, TOOL_RANGES = 3, TOOL_PEERS = 16 };
extern const char *const tool_operations_order[TOOL_OPERATIONS]; /* names as records have them */
extern const char *const tool_range_names[TOOL_RANGES];

int tool_range_of(int64_t k);

/* Whether a case is of the machine and the operation (NULL: any). */
bool tool_case_of(const tool_cases *cases, const tool_case *one, int machine, const char *operation);

/* Whether noise can make the one time the other: the intervals of their medians have points in common, or, in older
   files, they differ by less than 0.5 %. */
bool tool_is_tied(const tool_measurement *a, const tool_measurement *b);

/* Adds other / ours, which is neither won nor lost where they are tied; a disturbed pair is counted and not added. */
void tool_mean_add_pair(tool_mean *mean, const tool_measurement *other, const tool_measurement *ours,
                        const tool_case *at);

/* The time of the peer (NULL: of the fastest peer of each case) over the time of the chosen method. The places of the
   least and the most are cases. */
tool_mean tool_peer_speedup(const tool_cases *cases, int machine, const char *operation, const char *peer);

/* The same over the baseline, where that is not the chosen method itself. */
tool_mean tool_baseline_speedup(const tool_cases *cases, int machine, const char *operation);

/* The floor over the time of the chosen method. */
tool_mean tool_floor_share(const tool_cases *cases, int machine, const char *operation);

/* The time of the plan's own choice over that of the fastest method of ours, where at least two were measured. */
tool_mean tool_choice_loss(const tool_cases *cases, int machine, const char *operation);

/* The method to take for a class (NULL: matrices without one). */
typedef struct tool_choice {
    const char *algorithm; /* NULL: nothing was measured there */
    const char *close;     /* another one within 5 %, or NULL */
    int cases, contestants;
    double behind;    /* its geometric mean over the fastest of each case: 1.0 and up */
    tool_mean versus; /* over the best peer of each case, or over the baseline */
    const char *versus_name;
} tool_choice;

tool_choice tool_choice_find(const tool_cases *cases, int machine, const char *class_name, const char *operation,
                             int range);

#endif
