/* Adds parts of a matrix in order: to[r][c] = sum over the parts of part[first + r * columns + c]. */
#include "simt.h"

KERNEL network_add(int64 count, int64 size, int64 first, int64 rows, int64 columns, IN(real, parts), OUT(element, to),
                   int64 stride) {
    FOR_EACH(i, rows * columns) {
        real sum = 0;
        UNROLL_BY_4
        for (int64 k = 0; k < count; k++) sum += parts[k * size + first + i];
        to[i / columns * stride + i % columns] = element_of(sum);
    }
}
