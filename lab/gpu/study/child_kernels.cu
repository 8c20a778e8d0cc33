/*
 * SDDMM by kernels that launch kernels (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.6; CUDA only): a parent
 * work-item per row of S launches a child kernel with one work-item per nonzero of that row (dynamic parallelism).
 * Unlike the dense grid there are no empty blocks, but every row costs a launch, and rows far shorter than GROUP leave
 * most of their child idle. Empty rows launch nothing.
 *
 * The device limits pending launches (2048 by default), so the host launches the parent for rows `first` .. `last`, at
 * most that many; if a launch is refused nevertheless, the parent does its work. Shared memory: none. Registers: 3
 * PIECE reals.
 */
#define LAUNCHES_KERNELS 1
#include "simt.h"
#include "edges.h"
#include "study_kernels.h"

FUNCTION void samples(const int wide, int64 t, int64 step, int64 end, const index *restrict columns,
                      const element *restrict values, const element *restrict x, const element *restrict b,
                      int64 b_stride, int64 inner, sample *out, EDGE_PARAMETERS) {
    for (; t < end; t += step)
        finish_sample(out, values, t, dot(wide, x, b + (int64)columns[t] * b_stride, inner), EDGE_ARGUMENTS);
}

#define CHILD KERNEL /* launched by another kernel, so the host does not read its parameters */

/* Nonzeros begin .. end - 1 of a row of S; x is that row of A. */
CHILD row_child(int64 begin, int64 end, const index *restrict columns, const element *restrict values,
                const element *restrict x, const element *restrict b, int64 b_stride, int64 inner, sample *out,
                EDGE_PARAMETERS, int wide) {
    samples(WIDE, begin + GROUP_X * GROUP + LOCAL_ID, GROUPS_X * GROUP, end, columns, values, x, b, b_stride,
         inner, out, EDGE_ARGUMENTS);
}

KERNEL child_kernels(SDDMM_PARAMETERS, int64 first, int64 last) {
    const int64 i = first + GROUP_X * GROUP + LOCAL_ID;
    if (i >= last) return;
    const int64 begin = offsets[i], end = offsets[i + 1];
    const element *const x = a + i * a_stride;
    if (begin == end) return;
    const unsigned groups = (unsigned)min64((end - begin + GROUP - 1) / GROUP, 0x7fffffff);
    row_child<<<groups, GROUP, 0, cudaStreamFireAndForget>>>(begin, end, columns, values, x, b, b_stride, inner, out,
                                                             EDGE_ARGUMENTS, wide);
    if (cudaGetLastError() != cudaSuccess)
        samples(WIDE, begin, 1, end, columns, values, x, b, b_stride, inner, out, EDGE_ARGUMENTS);
}
