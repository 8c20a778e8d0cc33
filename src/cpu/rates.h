/*
 * The rates of the CPU's predictions (see backend/rates.h). All else is counted by the methods, or probed: bytes over
 * bandwidths, products over the arithmetic's peak. Times are seconds of one core.
 */
#ifndef TAMIS_CPU_RATES_H
#define TAMIS_CPU_RATES_H

#include "backend/backend.h"

typedef struct tamis_cpu_walk_rates {
    double row;      /* a row: clearing or reducing its sums, storing them */
    double products; /* time of the multiply-adds over that at the arithmetic's peak */
} tamis_cpu_walk_rates;

typedef struct tamis_cpu_rates {
    double call;                     /* a call, and each thread that it wakes */
    double unhidden;                 /* share of moving and computing that the longest of them does not hide */
    double entry;                    /* an entry: its index and its address */
    double amx;                      /* products of bf16 in pairs on processors with AMX: multiple of the peak */
    double setup;                    /* an entry of the tiles' table; other indices take a multiple of it */
    tamis_cpu_walk_rates dots, sums; /* rows of SDDMM and fused; of SpMM */
    struct {
        double run;        /* a run of entries that the same rows have; in SpMM each vector of its rows */
        double dots, sums; /* products of a run's rows, over the walk's */
        double alone;      /* an entry that one row has, which nothing prefetches: share of the walk's time, again */
    } panels;
    struct {
        double segment; /* a row's part of a tile */
        double entry;   /* a visit to the table of segments, which may be empty */
    } tiles;
    struct {
        double peak;   /* share of the arithmetic's peak */
        double column; /* a column of 32 rows: copies, masks, softmax */
    } cells;
    struct {
        double product; /* of two tiles */
        double cell;    /* all of it but its products; packing two tiles of B */
    } tile_unit;
    double sure[TAMIS_LEADS]; /* no rates: see backend/rates.h */
} tamis_cpu_rates;

/* The rates for this problem's machine. */
static inline const tamis_cpu_rates *tamis_cpu_rates_of(const tamis_problem *problem) {
    return (const tamis_cpu_rates *)(const void *)problem->evidence->rates;
}

extern const tamis_rate_table tamis_cpu_rate_table;

/* Places of evidence->sampled, which tamis_cpu_profile fills. */
enum {
    TAMIS_CPU_SAMPLED_PANELS = 0, /* of panels of 6, then of 8 rows: entries, runs, and entries that one row has, an
                                     entry of S */
    TAMIS_CPU_SAMPLED_CELLS = 6,  /* columns of blocks of 32 rows */
    TAMIS_CPU_SAMPLED_AMX = 7,    /* entries in cells for AMX, and these cells */
    TAMIS_CPU_SAMPLED_FRESH = 9,  /* share of column accesses that are new within a window of L1's size */
    TAMIS_CPU_SAMPLED_PAIRS = 10  /* products of bf16 are made: 0 one by one, 1 in pairs, 2 in pairs beside AMX */
};

#endif
