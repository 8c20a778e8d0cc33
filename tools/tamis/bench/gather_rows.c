/* Reads rows in whole vectors and combines them by XOR in four accumulators, so that only loads limit it. */
#include "bench/gather_rows.h"

#include <string.h>

#ifndef TOOL_GATHER_NAME
#define TOOL_GATHER_NAME tool_gather_rows_base
#endif

#define INLINE static inline __attribute__((always_inline))

enum { LINE = 64, AHEAD = 32, PREFETCH_LINES = 16 };

typedef uint64_t lane __attribute__((vector_size(LINE), aligned(1), may_alias));
typedef uint64_t line __attribute__((vector_size(LINE)));

typedef struct folded {
    line sum[4];
} folded;

INLINE folded fold_row(folded into, const char *row, size_t bytes) {
    size_t at = 0;
    for (; at + 4 * LINE <= bytes; at += 4 * LINE) {
        into.sum[0] ^= *(const lane *)(row + at);
        into.sum[1] ^= *(const lane *)(row + at + LINE);
        into.sum[2] ^= *(const lane *)(row + at + 2 * LINE);
        into.sum[3] ^= *(const lane *)(row + at + 3 * LINE);
    }
    for (; at + LINE <= bytes; at += LINE) into.sum[0] ^= *(const lane *)(row + at);
    if (at < bytes && bytes >= LINE) {
        into.sum[1] ^= *(const lane *)(row + bytes - LINE); /* the tail, overlapping earlier reads */
    } else if (at < bytes) {
        line tail = {0};
        memcpy(&tail, row + at, bytes - at);
        into.sum[1] ^= tail;
    }
    return into;
}

INLINE void prefetch_row(const char *row, size_t bytes) {
    for (size_t at = 0; at < bytes; at += LINE) __builtin_prefetch(row + at);
}

INLINE int64_t column_at(const tool_gather_work *work, int64_t t, bool wide) {
    return wide ? ((const int64_t *)work->columns)[t] : (int64_t)((const int32_t *)work->columns)[t];
}

/* Reads all rows once. With constants for the arguments after `work` the compiler unrolls a row: the general loop takes
   nearly twice the time if rows come from L2. */
INLINE folded walk(const tool_gather_work *work, bool wide, bool two, size_t bytes, size_t bytes2) {
    folded into = {{{0}}};
    const char *first = work->rows[0], *second = work->rows[1];
    const size_t stride = work->stride[0], stride2 = work->stride[1];
    const size_t most = (size_t)PREFETCH_LINES * LINE;
    const int64_t last = work->prefetch ? work->end - AHEAD : work->begin; /* no prefetches from here on */
    for (int64_t t = work->begin; t < work->end; t++) {
        const size_t column = (size_t)column_at(work, t, wide);
        if (t < last) {
            const size_t ahead = (size_t)column_at(work, t + AHEAD, wide);
            prefetch_row(first + ahead * stride, bytes < most ? bytes : most);
            if (two) prefetch_row(second + ahead * stride2, bytes2 < most ? bytes2 : most);
        }
        into = fold_row(into, first + column * stride, bytes);
        if (two) into = fold_row(into, second + column * stride2, bytes2);
    }
    return into;
}

INLINE folded walk_sized(const tool_gather_work *work, size_t bytes) {
    return work->rows[1] ? walk(work, false, true, bytes, bytes) : walk(work, false, false, bytes, 0);
}

static folded walk_any(const tool_gather_work *work) {
    const size_t bytes = work->bytes[0], bytes2 = work->bytes[1];
    if (!work->wide && (!work->rows[1] || bytes == bytes2)) {
        switch (bytes) {
        case 64: return walk_sized(work, 64);
        case 128: return walk_sized(work, 128);
        case 256: return walk_sized(work, 256);
        case 512: return walk_sized(work, 512);
        case 1024: return walk_sized(work, 1024);
        case 2048: return walk_sized(work, 2048);
        default: break;
        }
    }
    const bool two = work->rows[1] != NULL;
    return work->wide ? walk(work, true, two, bytes, bytes2) : walk(work, false, two, bytes, bytes2);
}

uint64_t TOOL_GATHER_NAME(const tool_gather_work *work) {
    const folded into = walk_any(work);
    const line all = into.sum[0] ^ into.sum[1] ^ into.sum[2] ^ into.sum[3];
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++) sum ^= all[i];
    return sum;
}
