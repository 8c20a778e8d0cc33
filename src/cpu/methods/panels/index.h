/*
 * The index of cpu-panels: panels of `rows` neighbouring rows (see panels_kernels.h). A panel has its runs from
 * starts[].run on, up to one without entries, and its entries one after another from starts[].entry on: a column, and
 * for each row of the run the place of its nonzero among the panel's. Panels are contiguous, except between the parts
 * of two threads.
 */
#ifndef TAMIS_CPU_METHODS_PANELS_INDEX_H
#define TAMIS_CPU_METHODS_PANELS_INDEX_H

#include <stdint.h>

enum {
    TAMIS_CPU_PANEL_ROWS = 8,
    TAMIS_CPU_PANEL_HEIGHT = 4,
    TAMIS_CPU_PANEL_RUNS = 48,
    TAMIS_CPU_PANEL_PLACE_BITS = 29
};

typedef struct tamis_cpu_run {
    uint32_t count;  /* entries */
    uint16_t height; /* rows; 0: scattered nonzeros, one per entry, with the row in the bits above its place */
    uint8_t rows[TAMIS_CPU_PANEL_HEIGHT]; /* of the panel, sorted */
} tamis_cpu_run;

typedef struct tamis_cpu_panel_start {
    int64_t run, entry;
} tamis_cpu_panel_start;

typedef struct tamis_cpu_panel_index {
    int64_t rows;
    tamis_cpu_panel_start *starts;
    tamis_cpu_run *runs;
    uint32_t *entries;
} tamis_cpu_panel_index;

#endif
