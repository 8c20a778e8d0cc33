/* Builds the index of cpu-panels, and samples panels for a prediction. */
#ifndef TAMIS_CPU_METHODS_PANELS_BUILD_H
#define TAMIS_CPU_METHODS_PANELS_BUILD_H

#include "cpu/method.h"
#include "cpu/methods/panels/index.h"

/*
 * Predicted reads of panels of `rows` rows (6 or 8: two groups of half as many, within which any rows may share a
 * column): rows of B per nonzero, and runs per nonzero.
 */
typedef struct tamis_cpu_panel_shares {
    double entries, runs;
    double single; /* share of the nonzeros whose column no other row of the panel has */
} tamis_cpu_panel_shares;

tamis_cpu_panel_shares tamis_cpu_profile_panels(const tamis_problem *problem, int64_t rows);

int64_t tamis_cpu_panel_count(const tamis_problem *problem, int64_t rows);

/* The most nonzeros of a panel. */
int64_t tamis_cpu_panel_most(const tamis_problem *problem, int64_t rows);

/* Fills the starts, runs and entries; the arrays have room for the maximum that panels of `rows` rows can need.
   `least`: the fewest entries of a run; 0: as many as pay off. */
tamis_status tamis_cpu_build_panels(const tamis_problem *problem, int threads, int64_t least,
                                    tamis_cpu_panel_index *panels);

#endif
