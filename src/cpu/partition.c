/* Splits the nonzeros equally between threads, whatever the row lengths are. */
#include "cpu/plan.h"
#include "sparse/index.h"

static int64_t offset_of(const tamis_problem *problem, int64_t row) {
    return tamis_index_load(problem->offsets, problem->offset_type, row);
}

/* The first row whose offset is at least z, or `rows`. */
static int64_t first_row_from(const tamis_problem *problem, int64_t z) {
    int64_t low = 0, high = problem->rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (offset_of(problem, middle) >= z)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void tamis_cpu_partition(const tamis_problem *problem, int threads, tamis_cpu_range *ranges) {
    int64_t row = 0, z = 0;
    bool cut = false;
    for (int t = 0; t < threads; t++) {
        /* nnz * (t + 1) / threads without the product, which may overflow */
        const int64_t next_z = t + 1 == threads
                                   ? problem->nnz
                                   : problem->nnz / threads * (t + 1) + problem->nnz % threads * (t + 1) / threads;
        /* if a boundary lies inside a row, both ranges have that row; empty rows at a boundary belong to the later
         * range */
        const int64_t next_row = t + 1 == threads ? problem->rows : first_row_from(problem, next_z);
        const bool next_cut = t + 1 < threads && offset_of(problem, next_row) > next_z;
        ranges[t] = (tamis_cpu_range){.nonzero_begin = z,
                                      .nonzero_end = next_z,
                                      .row_begin = cut ? row - 1 : row,
                                      .row_end = next_row,
                                      .head_cut = cut,
                                      .tail_cut = next_cut};
        z = next_z;
        row = next_row;
        cut = next_cut;
    }
}
