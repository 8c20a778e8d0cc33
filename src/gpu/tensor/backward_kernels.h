/*
 * Shared by the kernels of attention's gradient by cells (backward_narrow.cu, backward_wgmma.cu, backward_wide.cu):
 * their common parameters, and the reduction of a row's sums. Included after cell_kernels.h and row_sums, whose members
 * are: most, the largest scores of two rows, in units of log 2; total, the sums of exponentials; delta, the sums of
 * exponentials times g.
 */

/* a and e: own rows; b and d: the other rows, which come with the cells. first and second: the results of own rows;
   bits of `writes`: the results that are wanted. */
#define BACKWARD_PARAMETERS                                                                                            \
    int64 rows, IN(offset, offsets), IN(index, columns), int64 inner, int64 width, IN(element, a), int64 a_stride,     \
        IN(element, b), int64 b_stride, IN(element, d), int64 d_stride, IN(element, e), int64 e_stride,                \
        int64 e_batch_stride, OUT(output, first), int64 first_stride, int64 first_batch_stride, OUT(output, second),   \
        int64 second_stride, int64 second_batch_stride, int32 writes, BATCH_PARAMETERS, real edge_scale, real alpha,   \
        real beta
#define BACKWARD_SCRATCH                                                                                               \
    MEMBER(partials, scratch_batch_stride);                                                                            \
    MEMBER(stats, scratch_batch_stride)
/* Further parameters of kernels on split rows. */
#define SPLIT_MEMBERS                                                                                                  \
    MEMBER(own_scales, scratch_batch_stride);                                                                          \
    MEMBER(scales, scratch_batch_stride);                                                                              \
    MEMBER(own_split, 4 * scratch_batch_stride);                                                                       \
    MEMBER(split, 4 * scratch_batch_stride)

/* Merges another part of row i (most, total, delta) into this one. */
FUNCTION void merge_row(row_sums &rows, int i, float most, float total, float delta) {
    float before, factor;
    take_larger(rows.most[i], most, before, factor);
    rows.total[i] = fmaf(factor, total, rows.total[i] * before);
    rows.delta[i] = fmaf(factor, delta, rows.delta[i] * before);
}

/* Reduces a row's sums over the four lanes that share it; all four get the result. */
FUNCTION void merge_lanes(row_sums &rows) {
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int other = 1; other < 4; other *= 2) {
            const float most = __shfl_xor_sync(0xffffffffu, rows.most[i], other),
                        total = __shfl_xor_sync(0xffffffffu, rows.total[i], other),
                        delta = __shfl_xor_sync(0xffffffffu, rows.delta[i], other);
            merge_row(rows, i, most, total, delta);
        }
}
