/* The kernels of cells, except the method's own, of one compiled variant and type. */
#ifndef TAMIS_CPU_METHODS_CELLS_TABLE_H
#define TAMIS_CPU_METHODS_CELLS_TABLE_H

#include <tamis/types.h>

#include "cpu/methods/cells/index.h"

typedef struct tamis_cpu_cell_rows {
    char *at; /* NULL: output not wanted */
    int64_t stride;
} tamis_cpu_cell_rows;

/* The backward call of one member of a batch. Strides are in bytes. */
typedef struct tamis_cpu_cell_gradient {
    const tamis_cpu_cell_index *index;
    int64_t rows, cols, inner, width;
    tamis_cpu_cell_rows a, b, d, e, da, db, dd; /* e: the gradient of the result */
    double scale, alpha, beta;                  /* factors of scores, of the result, of the old outputs */
} tamis_cpu_cell_gradient;

/* A thread's share of the blocks. `sums` has rows of dB and dD for `columns` columns from `first` on, as reals with
   padded rows: first all rows of dB, then all rows of dD. */
typedef struct tamis_cpu_cell_part {
    int64_t begin, end; /* blocks */
    int64_t first, columns;
    void *sums, *scratch;
} tamis_cpu_cell_part;

typedef struct tamis_cpu_cell_kernels {
    int64_t (*fused_bytes)(int64_t inner, int64_t width, int64_t most);    /* scratch of a thread */
    int64_t (*gradient_bytes)(int64_t inner, int64_t width, int64_t most); /* likewise */
    int64_t (*sums_bytes)(int64_t inner, int64_t width, int64_t columns);
    /* writes dA of the part's rows, and the part's sums */
    void (*gradient)(const tamis_cpu_cell_gradient *x, const tamis_cpu_cell_part *part);
    /* writes rows first .. last - 1 of dB and dD, the sums of all parts in their order */
    void (*finish)(const tamis_cpu_cell_gradient *x, const tamis_cpu_cell_part *parts, int count, int64_t first,
                   int64_t last);
} tamis_cpu_cell_kernels;

#endif
