/*
 * The index of cpu-amx: panels of 32 neighbouring rows, and cells of 32 columns. A panel has the cells in which any of
 * its rows has a nonzero, rising; for SpMM each has a word for each row, whose bits are the columns that it has. A
 * panel without cells goes row by row: its rows are empty, have too few nonzeros for products of tiles to pay, or do
 * not rise.
 */
#ifndef TAMIS_CPU_METHODS_AMX_INDEX_H
#define TAMIS_CPU_METHODS_AMX_INDEX_H

#include "cpu/kernels/kernels.h"

enum {
    TAMIS_CPU_AMX_ROWS = 32,    /* of a panel */
    TAMIS_CPU_AMX_SIDE = 32,    /* columns of a cell, and elements of a slice of A's rows or of C's */
    TAMIS_CPU_AMX_TILES = 2048, /* bytes of the two tiles that have 32 x 32 numbers of 16 bits */
    TAMIS_CPU_AMX_PANELS = 8    /* that go through B together, at most */
};

typedef struct tamis_cpu_amx_index {
    int64_t panels;
    int64_t *starts;           /* of each panel's cells, and the end of the last */
    uint32_t *columns;         /* of each cell: its first column over 32 */
    uint32_t *masks;           /* of each cell: 32 words */
    int64_t cells;             /* of a row of B's tiles: cols over 32, rounded up */
    int threads;               /* that packed B */
    int together;              /* panels that go through B together */
    tamis_cpu_kernel *by_rows; /* for panels without cells */
    int64_t block;             /* cells whose products are taken apart, or that are made dense, before the next ones */
} tamis_cpu_amx_index;

/* Reals from one row of products of so many cells to the next: not a power of two, of which L1 holds few. */
static inline int64_t tamis_cpu_amx_stride(int64_t cells) { return cells * TAMIS_CPU_AMX_SIDE + 16; }

/* How often 32 are in so many, rounded up. */
static inline int64_t tamis_cpu_amx_parts(int64_t count) { return count / 32 + (count % 32 > 0); }

/* job->packed begins with a word for each thread that says whether its cells have a number that is not finite. */
static inline int64_t tamis_cpu_amx_head(int threads) { return (threads * (int64_t)sizeof(int) + 63) / 64 * 64; }

#endif
