/*
 * The index of cpu-amx: panels of 32 neighbouring rows, and cells of 32 columns. A panel lists, sorted, the cells in
 * which any of its rows has a nonzero; for SpMM each has a bit mask of columns for each row. A panel without cells goes
 * row by row: its rows are empty, unsorted, or have too few nonzeros for tile products.
 */
#ifndef TAMIS_CPU_METHODS_AMX_INDEX_H
#define TAMIS_CPU_METHODS_AMX_INDEX_H

#include "cpu/kernels/kernels.h"

enum {
    TAMIS_CPU_AMX_ROWS = 32,    /* of a panel */
    TAMIS_CPU_AMX_SIDE = 32,    /* columns of a cell, and elements of a slice of A's rows or of C's */
    TAMIS_CPU_AMX_TILES = 2048, /* bytes of the two tiles that have 32 x 32 numbers of 16 bits */
    TAMIS_CPU_AMX_PANELS = 8    /* most panels that use B together */
};

typedef struct tamis_cpu_amx_index {
    int64_t panels;
    int64_t *starts;           /* begin of each panel's cells, and the end of the last */
    uint32_t *columns;         /* per cell: its first column / 32 */
    uint32_t *masks;           /* per cell: 32 words */
    int64_t cells;             /* cells across B: cols / 32, rounded up */
    int threads;               /* threads that packed B */
    int together;              /* panels that use B together */
    tamis_cpu_kernel *by_rows; /* for panels without cells */
    int64_t block;             /* cells that are multiplied, or made dense, before the next ones */
} tamis_cpu_amx_index;

/* Stride in reals between rows of products of `cells` cells: not a power of two, which would conflict in L1. */
static inline int64_t tamis_cpu_amx_stride(int64_t cells) { return cells * TAMIS_CPU_AMX_SIDE + 16; }

/* count / 32, rounded up. */
static inline int64_t tamis_cpu_amx_parts(int64_t count) { return count / 32 + (count % 32 > 0); }

/* job->packed begins with a word per thread: nonzero if its cells have a number that is not finite. */
static inline int64_t tamis_cpu_amx_head(int threads) { return (threads * (int64_t)sizeof(int) + 63) / 64 * 64; }

#endif
