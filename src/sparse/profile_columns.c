/*
 * The part of a row profile that reads the columns. It compares each column with its predecessor over a whole block of
 * rows, as if the block were one row, without a branch per nonzero; then it subtracts the pairs that straddle two rows.
 * For sorted rows it needs only the first and last column.
 */
#include "base/threads.h"
#include "sparse/index.h"
#include "sparse/structure.h"

enum {
    MOST_THREADS = 256,
    SMALL = 1 << 15,      /* fewer nonzeros do not justify a second thread */
    BLOCK_NONZEROS = 4096 /* nonzeros of a block, unless a row has more */
};

typedef struct findings {
    int64_t bandwidth, descents, equals;
    double spans;
} findings;

typedef struct columns_job {
    const tamis_sparse *S;
    findings parts[MOST_THREADS];
} columns_job;

/* Counts the pairs (z - 1, z), begin < z < end, with falling and with equal columns. */
TAMIS_INLINE void count_pairs(const void *columns, tamis_index_type type, int64_t begin, int64_t end, int64_t *descents,
                              int64_t *equals) {
    for (int64_t block = begin + 1; block < end; block += BLOCK_NONZEROS) { /* 32 bits hold its counts */
        const int64_t count = end - block < BLOCK_NONZEROS ? end - block : BLOCK_NONZEROS;
        if (type == TAMIS_I32) {
            const int32_t *const x = (const int32_t *)columns + block;
            uint32_t falls = 0, same = 0;
            for (int64_t i = 0; i < count; i++) {
                falls += x[i] < x[i - 1];
                same += x[i] == x[i - 1];
            }
            *descents += falls;
            *equals += same;
        } else {
            const int64_t *const x = (const int64_t *)columns + block;
            uint64_t falls = 0, same = 0;
            for (int64_t i = 0; i < count; i++) {
                falls += x[i] < x[i - 1];
                same += x[i] == x[i - 1];
            }
            *descents += (int64_t)falls;
            *equals += (int64_t)same;
        }
    }
}

TAMIS_INLINE void take_extremes(int64_t row, int64_t low, int64_t high, findings *found) {
    const int64_t left = row > low ? row - low : low - row, right = row > high ? row - high : high - row;
    const int64_t reach = left > right ? left : right;
    found->bandwidth = reach > found->bandwidth ? reach : found->bandwidth;
    found->spans += (double)(high - low) + 1;
}

TAMIS_INLINE void scan_row(const void *columns, tamis_index_type type, int64_t row, int64_t begin, int64_t end,
                           findings *found) {
    int64_t low = INT64_MAX, high = -1;
    for (int64_t z = begin; z < end; z++) {
        const int64_t column = tamis_index_load(columns, type, z);
        low = column < low ? column : low;
        high = column > high ? column : high;
    }
    take_extremes(row, low, high, found);
}

/* Profiles rows first .. last - 1, which have the nonzeros begin .. end - 1. */
TAMIS_INLINE void profile_block(const tamis_sparse *S, tamis_index_type offset_type, tamis_index_type index_type,
                                int64_t first, int64_t last, int64_t begin, int64_t end, findings *found) {
    int64_t descents = 0, equals = 0;
    count_pairs(S->columns, index_type, begin, end, &descents, &equals);
    findings sorted = *found; /* valid only if all rows are sorted, which is known after the loop */
    int64_t row_begin = begin;
    for (int64_t row = first; row < last; row++) {
        const int64_t row_end = tamis_index_load(S->offsets, offset_type, row + 1);
        if (row_end == row_begin) continue;
        const int64_t low = tamis_index_load(S->columns, index_type, row_begin);
        const int64_t high = tamis_index_load(S->columns, index_type, row_end - 1);
        if (row_begin > begin) {
            const int64_t before = tamis_index_load(S->columns, index_type, row_begin - 1);
            descents -= low < before;
            equals -= low == before;
        }
        take_extremes(row, low, high, &sorted);
        row_begin = row_end;
    }
    if (descents == 0) {
        sorted.equals += equals;
        *found = sorted;
        return;
    }
    found->descents += descents;
    row_begin = begin;
    for (int64_t row = first; row < last; row++) {
        const int64_t row_end = tamis_index_load(S->offsets, offset_type, row + 1);
        if (row_end > row_begin) scan_row(S->columns, index_type, row, row_begin, row_end, found);
        row_begin = row_end;
    }
}

TAMIS_INLINE findings profile_part(const tamis_sparse *S, tamis_index_type offset_type, tamis_index_type index_type,
                                   int64_t row, int64_t last) {
    findings found = {0};
    while (row < last) {
        const int64_t first = row, begin = tamis_index_load(S->offsets, offset_type, row);
        int64_t end = begin;
        while (row < last && end - begin < BLOCK_NONZEROS) end = tamis_index_load(S->offsets, offset_type, ++row);
        profile_block(S, offset_type, index_type, first, row, begin, end, &found);
    }
    return found;
}

static findings profile_rows(const tamis_sparse *S, int64_t first, int64_t last) {
    const bool narrow = S->index_type == TAMIS_I32;
    if (S->offset_type == TAMIS_I32)
        return narrow ? profile_part(S, TAMIS_I32, TAMIS_I32, first, last)
                      : profile_part(S, TAMIS_I32, TAMIS_I64, first, last);
    return narrow ? profile_part(S, TAMIS_I64, TAMIS_I32, first, last)
                  : profile_part(S, TAMIS_I64, TAMIS_I64, first, last);
}

static void columns_thread(void *context, int thread, int threads) {
    columns_job *const job = context;
    const tamis_sparse *const S = job->S;
    const int64_t first = tamis_partition_rows(S->offsets, S->offset_type, S->rows, S->nnz, threads, thread);
    const int64_t last = tamis_partition_rows(S->offsets, S->offset_type, S->rows, S->nnz, threads, thread + 1);
    job->parts[thread] = profile_rows(S, first, last);
}

void tamis_profile_columns(const tamis_sparse *S, int threads, tamis_profile *profile) {
    if (threads <= 0) threads = tamis_threads_default();
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if (S->nnz < SMALL) threads = 1;
    columns_job job = {.S = S};
    tamis_threads_run(threads, columns_thread, &job);
    findings all = {0};
    for (int t = 0; t < threads; t++) {
        const findings *const part = &job.parts[t];
        all.bandwidth = part->bandwidth > all.bandwidth ? part->bandwidth : all.bandwidth;
        all.spans += part->spans;
        all.descents += part->descents;
        all.equals += part->equals;
    }
    const int64_t nonempty = S->rows - profile->empty_rows;
    profile->bandwidth = all.bandwidth;
    profile->mean_span = nonempty ? all.spans / (double)nonempty : 0;
    profile->sorted = all.descents == 0;
    profile->duplicates = profile->sorted ? all.equals : -1;
}
