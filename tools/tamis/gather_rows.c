/* Reads rows in whole vectors and folds them with exclusive or, four accumulators deep so that only loads limit it. */
#include "gather_rows.h"

#include <string.h>

#ifndef TOOL_GATHER_NAME
#define TOOL_GATHER_NAME tool_gather_rows_base
#endif

enum { LINE = 64, AHEAD = 12, PREFETCH_LINES = 8 };

typedef uint64_t lane __attribute__((vector_size(LINE), aligned(1), may_alias));
typedef uint64_t line __attribute__((vector_size(LINE)));

typedef struct folded {
    line sum[4];
} folded;

static inline int64_t column_at(const tool_gather_work *work, int64_t t) {
    return work->wide ? ((const int64_t *)work->columns)[t] : (int64_t)((const int32_t *)work->columns)[t];
}

static inline void prefetch_row(const char *row, size_t bytes) {
    const size_t most = (size_t)PREFETCH_LINES * LINE;
    for (size_t at = 0; at < (bytes < most ? bytes : most); at += LINE) __builtin_prefetch(row + at);
}

static inline void fold_row(folded *into, const char *row, size_t bytes) {
    size_t at = 0;
    for (; at + 4 * LINE <= bytes; at += 4 * LINE) {
        into->sum[0] ^= *(const lane *)(row + at);
        into->sum[1] ^= *(const lane *)(row + at + LINE);
        into->sum[2] ^= *(const lane *)(row + at + 2 * LINE);
        into->sum[3] ^= *(const lane *)(row + at + 3 * LINE);
    }
    for (; at + LINE <= bytes; at += LINE) into->sum[0] ^= *(const lane *)(row + at);
    if (at < bytes && bytes >= LINE) {
        into->sum[1] ^= *(const lane *)(row + bytes - LINE); /* the tail, overlapping what was read before */
    } else if (at < bytes) {
        line tail = {0};
        memcpy(&tail, row + at, bytes - at);
        into->sum[1] ^= tail;
    }
}

static inline __attribute__((always_inline)) void walk(const tool_gather_work *work, folded *into, bool prefetch) {
    for (int64_t t = work->begin; t < work->end; t++) {
        const int64_t column = column_at(work, t);
        for (int i = 0; i < 2 && work->rows[i]; i++) {
            if (prefetch && t + AHEAD < work->end) {
                prefetch_row(work->rows[i] + (size_t)column_at(work, t + AHEAD) * work->stride[i], work->bytes[i]);
            }
            fold_row(into, work->rows[i] + (size_t)column * work->stride[i], work->bytes[i]);
        }
    }
}

uint64_t TOOL_GATHER_NAME(const tool_gather_work *work) {
    folded into = {{{0}}};
    if (work->prefetch) {
        walk(work, &into, true);
    } else {
        walk(work, &into, false);
    }
    const line all = into.sum[0] ^ into.sum[1] ^ into.sum[2] ^ into.sum[3];
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++) sum ^= all[i];
    return sum;
}
