/*
 * Shared by the kernels of attention's gradient by cells (backward_narrow.cu, backward_wgmma.cu, backward_wide.cu):
 * their common parameters, and the reduction of a row's sums. Included after cell_kernels.h and row_sums, whose members
 * are: most, the largest scores of two rows, in units of log 2; total, the sums of exponentials; delta, the sums of
 * exponentials times g.
 */
#include "texts.h"

/* a and e: own rows; b and d: the other rows, which come with the cells. first and second: the results of own rows;
   bits of `writes`: the results that are wanted. */
#define BACKWARD_PARAMETERS                                                                                            \
    int64 rows, IN(offset, offsets), IN(index, columns), int64 inner, int64 width, IN(element, a), int64 a_stride,     \
        IN(element, b), int64 b_stride, IN(element, d), int64 d_stride, IN(element, e), int64 e_stride,                \
        int64 e_batch_stride, OUT(output, first), int64 first_stride, int64 first_batch_stride, OUT(output, second),   \
        int64 second_stride, int64 second_batch_stride, int32 writes, BATCH_PARAMETERS, real edge_scale, real alpha,   \
        real beta TEXT_PARAMETERS
#define BACKWARD_SCRATCH                                                                                               \
    MEMBER(partials, scratch_batch_stride);                                                                            \
    MEMBER(stats, scratch_batch_stride)
/* Kernels on split rows: these and their scales, at offsets in bytes of one buffer. */
#define SPLIT_PARAMETERS                                                                                               \
    int64 own_filled, int64 filled, IN(char, lines), int64 own_scales_at, int64 scales_at, int64 own_split_at,         \
        int64 split_at
#define SPLIT_MEMBERS                                                                                                  \
    MEMBER(lines, 4 * scratch_batch_stride);                                                                           \
    const float *const own_scales = (const float *)(lines + own_scales_at), *const scales =                            \
                                                                                (const float *)(lines + scales_at);    \
    const char *const own_split = lines + own_split_at, *const split = lines + split_at

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

#ifdef PASS /* backward_narrow.cu, backward_wide.cu: PER threads have a panel's sums; RESTS: 3 with row_sums' top and  \
               lost */
/* Merges a group's partial sums into these. */
FUNCTION void merge_part(row_sums &of, float *sums, const float *part) {
#if PASS == SUMS
#pragma unroll
    for (int i = 0; i < 2; i++)
        merge_row(of, i, __ldcg(part + i * PER), __ldcg(part + (2 + i) * PER), __ldcg(part + (4 + i) * PER));
#else
#pragma unroll
    for (int i = 0; i < OUTS; i++) sums[i] += __ldcg(part + i * PER);
#if RESTS
#pragma unroll
    for (int i = 0; i < 2; i++) of.top[i] = fmaxf(of.top[i], __ldcg(part + (OUTS + i) * PER));
    of.lost |= __ldcg(part + (OUTS + 2) * PER) != 0;
#endif
#endif
}

/* Stores a group's part of a panel that groups share. Returns 1 to the last warp of the panel's rows, with all parts.
 */
FUNCTION int share_panel(row_sums &of, float *sums, float *partials, int32 *arrived, int begins, int first_group,
                         int last_group, int lane) {
    float *const to = partials + (int64)(2 * GROUP_X + begins) * PART;
#pragma unroll
    for (int i = 0; i < OUTS; i++) to[i * PER] = sums[i];
#if RESTS
    to[OUTS * PER] = of.top[0], to[(OUTS + 1) * PER] = of.top[1], to[(OUTS + 2) * PER] = (float)of.lost;
#endif
    if (!arrives_last(arrived + first_group * WARPS, last_group - first_group, lane)) return 0;
    begin_rows(of, sums);
#pragma unroll 1
    for (int group = first_group; group <= last_group; group++)
        merge_part(of, sums, partials + (int64)(2 * group + (group == first_group)) * PART);
    return 1;
}

/* Stores the statistics of a thread's two rows: log2 of the sum of exponentials, less `scale`, and delta. A row without
   nonzeros has no shares. */
FUNCTION void store_stats(const row_sums &of, float2 *stats, float scale) {
#pragma unroll
    for (int i = 0; i < 2; i++)
        stats[8 * i] = make_float2(of.total[i] == 0 ? INFINITY : of.most[i] + log2f(of.total[i]) - scale,
                                   of.total[i] == 0 ? 0 : of.delta[i] / of.total[i]);
}
#endif
