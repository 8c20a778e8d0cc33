/* The columns that rows of a mask of attention keep (tamis/mask.h), where they are few runs: such a pattern needs no
   list of entries. */
#ifndef TAMIS_SPARSE_MASK_RUNS_H
#define TAMIS_SPARSE_MASK_RUNS_H

#include <tamis/mask.h>

/* A row's columns: at most two runs begins[k] .. ends[k] - 1, in order, apart. An empty run has no meaning. */
typedef struct tamis_runs {
    int64_t begins[2], ends[2];
} tamis_runs;

/* True if each row of the mask keeps at most two runs: it has the first places and a window, and no other part. */
bool tamis_mask_has_runs(const tamis_mask *mask);

/* True if no part is set: rows keep every column. */
bool tamis_mask_keeps_all(const tamis_mask *mask);

/* The runs of a row; `turned`: of a row of the transpose. The mask's arrays must be in host memory.
   gpu/mask/runs_kernels.h has the same for devices. */
tamis_runs tamis_mask_runs(const tamis_mask *mask, bool turned, int64_t row);

static inline int64_t tamis_runs_length(const tamis_runs *runs) {
    int64_t length = 0;
    for (int k = 0; k < 2; k++)
        if (runs->ends[k] > runs->begins[k]) length += runs->ends[k] - runs->begins[k];
    return length;
}

#endif
