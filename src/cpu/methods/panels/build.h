/* Building the index of cpu-panels, and looking at a few panels of it for a prediction. */
#ifndef TAMIS_CPU_METHODS_PANELS_BUILD_H
#define TAMIS_CPU_METHODS_PANELS_BUILD_H

#include "cpu/method.h"
#include "cpu/methods/panels/index.h"

/*
 * What panels of `rows` rows (6 or 8: two groups of half as many, within which any rows may share a column) would read:
 * rows of B per nonzero, and runs per nonzero.
 */
typedef struct tamis_cpu_panel_shares {
    double entries, runs;
    double single; /* share of the nonzeros that no other row shares */
} tamis_cpu_panel_shares;

tamis_cpu_panel_shares tamis_cpu_profile_panels(const tamis_problem *problem, int64_t rows);

int64_t tamis_cpu_panel_count(const tamis_problem *problem, int64_t rows);

/* The most nonzeros of a panel. */
int64_t tamis_cpu_panel_most(const tamis_problem *problem, int64_t rows);

/* Fills the starts, runs and entries, of which there is room for the most that `rows` rows a panel can need.
   `least` is the fewest entries of a run, 0 for as many as pay for its beginning. */
tamis_status tamis_cpu_build_panels(const tamis_problem *problem, int threads, int64_t least,
                                    tamis_cpu_panel_index *panels);

#endif
