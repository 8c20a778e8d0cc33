/*
 * Adds the parts of rows that the ranges of warps cut (network_rows_kernels.h), in order, and zeroes rows without
 * edges. A group has one range's last row, if that begins in it and goes on after it; its threads have a column each.
 */
#include "simt.h"

#include "network_rows_kernels.h"

KERNEL network_join(int64 all_rows, int64 all_edges, int64 share, IN(offset, offsets), IN(real, parts),
                    OUT(element, out), int64 out_stride) {
    FOR_EACH(row, all_rows) {
        if (offsets[row] != offsets[row + 1]) continue;
        for (int c = 0; c < WIDTH; c++) out[row * out_stride + c] = element_of(0);
    }
    const place nnz = (place)all_edges, edges_a_warp = (place)share;
    const place number = (place)GROUP_X, begin = place_min(number * edges_a_warp, nnz);
    const place end = place_min(begin + edges_a_warp, nnz);
    if (begin >= end || end == nnz) return;
    const place row = edge_row(offsets, (place)all_rows, end - 1), first = offsets[row], last = offsets[row + 1];
    if (first < begin || last <= end) return;
    const place ranges = (last - 1) / edges_a_warp - number; /* after this one */
    for (int c = LOCAL_ID; c < WIDTH; c += GROUP) {
        GLOBAL const real *const from = parts + (int64)(number + 1) * 2 * WIDTH + c;
        real sum = from[-WIDTH];
        UNROLL_BY_4
        for (place i = 0; i < ranges; i++) sum += from[(int64)i * 2 * WIDTH];
        out[row * out_stride + c] = element_of(MEAN ? sum / (real)(last - first) : sum);
    }
}
