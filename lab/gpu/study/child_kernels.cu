/*
 * SDDMM by kernels that launch kernels (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.6; CUDA only): a parent
 * work-item a row of S starts a child of one work-item a nonzero of that row. Unlike the dense grid there are no empty
 * blocks, but every row costs a launch, and rows far shorter than GROUP leave most of their child idle. Empty rows
 * launch nothing.
 *
 * The device keeps only so many launches pending (2048 unless the context says otherwise), so the host starts the
 * parent for `first` .. `last` of that many rows; a launch that is refused all the same is made up for by the parent
 * itself.
 * Shared memory: none. Registers: 3 PIECE reals.
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

/* The nonzeros begin .. end of a row of S; x is that row of A. */
KERNEL row_child(int64 begin, int64 end, const index *restrict columns, const element *restrict values,
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
