/* Splits the nonzeros equally between threads, whatever the row lengths are. */
#include "cpu/plan.h"
#include "sparse/index.h"
#include "sparse/structure.h"

void tamis_cpu_partition(const tamis_problem *problem, int threads, tamis_cpu_range *ranges) {
    int64_t row = 0, z = 0;
    bool cut = false;
    for (int t = 0; t < threads; t++) {
        const bool last = t + 1 == threads;
        const int64_t next_z = tamis_partition_even(problem->nnz, threads, t + 1);
        /* if a boundary lies inside a row, both ranges have that row; empty rows at a boundary belong to the later
         * range */
        const int64_t next_row =
            last ? problem->rows : tamis_index_first(problem->offsets, problem->offset_type, 0, problem->rows, next_z);
        const bool next_cut = !last && tamis_cpu_offset(problem, next_row) > next_z;
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
