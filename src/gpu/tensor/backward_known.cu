/*
 * Statistics of each row of S for backward_narrow.cu and backward_wide.cu, from what the forward call has kept;
 * replaces their SUMS pass over the cells. Computes the logarithm of the sum of exponentials, from the largest score
 * and the sum; and delta_i = sum p g = <dE_i, E_i> / alpha, from the result, as in FlashAttention (Dao,
 * "FlashAttention-2", section 3.1). Eight lanes take a row. Memory-bound: E and dE are read once.
 */
#include "simt.h"
#include "tensor_cores.h"
#include "cell_kernels.h"

#define EACH (16 / (int)sizeof(element)) /* elements of a lane's load */

KERNEL backward_known(int64 rows, int64 width, IN(element, e), int64 e_stride, int64 e_batch_stride, IN(element, result),
                             int64 result_stride, int64 result_batch_stride, IN(real, kept), int64 kept_batch_stride,
                             int64 scratch_batch_stride, real alpha, OUT(float, stats)) {
    MEMBER(stats, scratch_batch_stride);
    let_next_launch_begin();
    const int64 row = GROUP_X * (GROUP / 8) + LOCAL_ID / 8;
    const element *const x = e + row * e_stride, *const y = result + row * result_stride;
    float delta = 0, lse = INFINITY;
    if (row < rows) {
        if (((uint64)x | (uint64)y) % 16 == 0 && width % EACH == 0) {
            for (int64 k = LOCAL_ID % 8 * EACH; k < width; k += 8 * EACH) {
                union {
                    uint4 words;
                    element numbers[EACH];
                } one, other;
                one.words = *(const uint4 *)(x + k);
                other.words = *(const uint4 *)(y + k);
#pragma unroll
                for (int i = 0; i < EACH; i++) delta = fmaf(real_of(one.numbers[i]), real_of(other.numbers[i]), delta);
            }
        } else {
            for (int64 k = LOCAL_ID % 8; k < width; k += 8) delta = fmaf(real_of(x[k]), real_of(y[k]), delta);
        }
        const float most = kept[2 * row], total = kept[2 * row + 1], high = most * LOG2_E;
        if (total != 0) lse = high + (log2f(total) + fmaf(most, LOG2_E_LOW, fmaf(most, LOG2_E, -high)));
    }
#pragma unroll
    for (int other = 1; other < 8; other *= 2) delta += __shfl_xor_sync(0xffffffffu, delta, other);
    if (LOCAL_ID % 8 == 0) ((float2 *)stats)[row] = make_float2(lse, lse == INFINITY ? 0 : delta / alpha);
}
