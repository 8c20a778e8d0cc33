/*
 * Adds parts of gradients: `rows` x `columns` numbers, then `further` ones. A warp has 32 numbers of every eighth part,
 * one a lane; a group's eight sums are added in order. Moves the parts once.
 */
#include "simt.h"

#define SPLITS (GROUP / 32)

KERNEL network_add(int64 count, int64 rows, int64 columns, int64 further, IN(real, parts), int32 has_to,
                   OUT(element, to), int64 stride, int32 has_other, OUT(element, other)) {
    SHARED(real, sums, GROUP);
    const int64 matrix = rows * columns, size = matrix + further, i = GROUP_X * 32 + LOCAL_ID % 32;
    real sum = 0;
    if (i < size) {
#pragma unroll 8
        for (int64 k = LOCAL_ID / 32; k < count; k += SPLITS) sum += parts[k * size + i];
    }
    sums[LOCAL_ID] = sum;
    group_barrier();
    if (LOCAL_ID >= 32 || i >= size) return;
    UNROLL
    for (int k = 1; k < SPLITS; k++) sum += sums[k * 32 + LOCAL_ID];
    if (i < matrix && has_to) to[i / columns * stride + i % columns] = element_of(sum);
    if (i >= matrix && has_other) other[i - matrix] = element_of(sum);
}
