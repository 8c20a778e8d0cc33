/*
 * Merges the parts of a row's softmax in order. A part has its largest score, its sum of exponentials and `width` sums;
 * parts are `apart` numbers apart. A group merges COLUMNS columns; SLICES work-items take the parts of each column in
 * turn. PARTS_MOST: most parts of a row. Shared memory: two numbers per part and one per work-item.
 */
#define SLICES (GROUP / COLUMNS)

typedef struct merged {
    real most, total, sum; /* `sum`: in the first COLUMNS work-items */
} merged;

FUNCTION merged merge_parts(GLOBAL const real *restrict first, int64 apart, int32 parts, int32 column, int32 width,
                            LOCAL real *numbers, LOCAL real *sums) {
    LOCAL real *const factors = numbers, *const totals = numbers + PARTS_MOST;
    merged m;
    m.most = -INFINITY;
    m.total = m.sum = 0;
    for (int32 p = LOCAL_ID; p < parts; p += GROUP) {
        factors[p] = first[p * apart];
        totals[p] = first[p * apart + 1];
    }
    group_barrier();
    for (int32 p = 0; p < parts; p++) m.most = factors[p] > m.most ? factors[p] : m.most;
    group_barrier();
    for (int32 p = LOCAL_ID; p < parts; p += GROUP) factors[p] = relative_exp(factors[p], m.most);
    group_barrier();
    for (int32 p = 0; p < parts; p++) m.total += factors[p] * totals[p];
    if (column < width) {
        UNROLL_BY_4
        for (int32 p = LOCAL_ID / COLUMNS; p < parts; p += SLICES) m.sum += factors[p] * first[p * apart + 2 + column];
    }
    sums[LOCAL_ID] = m.sum;
    group_barrier();
    if (LOCAL_ID < COLUMNS)
        for (int s = 1; s < SLICES; s++) m.sum += sums[s * COLUMNS + LOCAL_ID];
    return m;
}
