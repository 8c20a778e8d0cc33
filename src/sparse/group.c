/*
 * Counting sort of entries by row or column. Each thread counts an equal share of the entries and gets its own places
 * within each group, in order, so the result is the same for any number of threads.
 */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/element.h"
#include "sparse/order.h"
#include "sparse/structure.h"

enum {
    CHUNK = 1024,           /* entries whose places are found before any of them moves */
    SHARE = 1 << 15,        /* entries that justify a thread */
    ENTRIES_PER_COUNTER = 2 /* with fewer, threads would spend their time on counters */
};

typedef struct grouping {
    const tamis_sparse *S;
    bool by_column;
    const void *keys;
    int64_t groups;
    int64_t *next; /* for each share and each group: its count, later the place of its next entry */
    tamis_reordered to;
} grouping;

/* ------------------------------------------------------------------------------------------- counting */

TAMIS_INLINE void count_keys(const void *keys, tamis_index_type type, int64_t begin, int64_t end, int64_t *counts) {
    for (int64_t t = begin; t < end; t++) counts[tamis_index_load(keys, type, t)]++;
}

static void count_thread(void *context, int thread, int threads) {
    const grouping *const g = context;
    const int64_t begin = tamis_partition_even(g->S->nnz, threads, thread);
    const int64_t end = tamis_partition_even(g->S->nnz, threads, thread + 1);
    int64_t *const counts = g->next + thread * g->groups;
    if (g->S->index_type == TAMIS_I32)
        count_keys(g->keys, TAMIS_I32, begin, end, counts);
    else
        count_keys(g->keys, TAMIS_I64, begin, end, counts);
}

/* Turns counts into places, group by group, and within a group share by share. */
static void place_shares(const grouping *g, int shares, tamis_index_type offset_type, void *offsets) {
    int64_t place = 0;
    for (int64_t group = 0; group < g->groups; group++) {
        tamis_index_store(offsets, offset_type, group, place);
        for (int share = 0; share < shares; share++) {
            int64_t *const next = &g->next[share * g->groups + group];
            const int64_t count = *next;
            *next = place;
            place += count;
        }
    }
    tamis_index_store(offsets, offset_type, g->groups, place);
}

/* ------------------------------------------------------------------------------------------- moving */

TAMIS_INLINE void find_places(const void *keys, tamis_index_type type, int64_t begin, int count, int64_t *next,
                              int64_t *places) {
    for (int i = 0; i < count; i++) places[i] = next[tamis_index_load(keys, type, begin + i)]++;
}

TAMIS_INLINE void scatter_indices(void *to, tamis_index_type to_type, const void *from, tamis_index_type from_type,
                                  int64_t begin, int count, const int64_t *places) {
    for (int i = 0; i < count; i++)
        tamis_index_store(to, to_type, places[i], tamis_index_load(from, from_type, begin + i));
}

static void scatter_columns(const grouping *g, const void *from, tamis_index_type from_type, int64_t begin, int count,
                            const int64_t *places) {
    if (!g->to.columns) return;
    if (g->S->index_type == TAMIS_I64)
        scatter_indices(g->to.columns, TAMIS_I64, from, TAMIS_I64, begin, count, places);
    else if (from_type == TAMIS_I64)
        scatter_indices(g->to.columns, TAMIS_I32, from, TAMIS_I64, begin, count, places);
    else
        scatter_indices(g->to.columns, TAMIS_I32, from, TAMIS_I32, begin, count, places);
}

static void scatter_values(const grouping *g, int64_t begin, int count, const int64_t *places) {
    const void *const from = g->S->values;
    void *const to = g->to.values;
    if (!from) {
        for (int i = 0; i < count; i++) tamis_element_store(to, g->S->value_type, places[i], 1);
        return;
    }
    switch (tamis_type_size(g->S->value_type)) {
    case 2:
        for (int i = 0; i < count; i++) ((uint16_t *)to)[places[i]] = ((const uint16_t *)from)[begin + i];
        break;
    case 4:
        for (int i = 0; i < count; i++) ((uint32_t *)to)[places[i]] = ((const uint32_t *)from)[begin + i];
        break;
    default:
        for (int i = 0; i < count; i++) ((uint64_t *)to)[places[i]] = ((const uint64_t *)from)[begin + i];
        break;
    }
}

/* Finds the rows of the entries begin .. begin + count of a CSR. *row is at first the row of the first, then that of
   the last. */
static void expand_chunk(const tamis_sparse *S, int64_t begin, int count, int64_t *row, int64_t *rows) {
    int64_t row_end = tamis_index_load(S->offsets, S->offset_type, *row + 1);
    for (int i = 0; i < count; i++) {
        while (begin + i >= row_end) row_end = tamis_index_load(S->offsets, S->offset_type, ++*row + 1);
        rows[i] = *row;
    }
}

static void move_thread(void *context, int thread, int threads) {
    const grouping *const g = context;
    const tamis_sparse *const S = g->S;
    const tamis_index_type type = S->index_type;
    const int64_t end = tamis_partition_even(S->nnz, threads, thread + 1);
    const bool expand = g->by_column && S->format == TAMIS_CSR;
    const void *const others = g->by_column ? S->row_indices : S->columns;
    int64_t *const next = g->next + thread * g->groups;
    int64_t begin = tamis_partition_even(S->nnz, threads, thread), row = 0;
    if (expand) tamis_partition_nonzeros(S->offsets, S->offset_type, S->rows, S->nnz, threads, thread, &begin, &row);
    int64_t places[CHUNK], rows[CHUNK];
    for (; begin < end; begin += CHUNK) {
        const int count = end - begin < CHUNK ? (int)(end - begin) : CHUNK;
        if (type == TAMIS_I32)
            find_places(g->keys, TAMIS_I32, begin, count, next, places);
        else
            find_places(g->keys, TAMIS_I64, begin, count, next, places);
        if (expand) expand_chunk(S, begin, count, &row, rows);
        if (expand)
            scatter_columns(g, rows, TAMIS_I64, 0, count, places);
        else
            scatter_columns(g, others, type, begin, count, places);
        if (g->to.values) scatter_values(g, begin, count, places);
        if (g->to.permutation)
            for (int i = 0; i < count; i++) g->to.permutation[places[i]] = begin + i;
    }
}

tamis_status tamis_group(const tamis_sparse *S, bool by_column, int threads, tamis_index_type offset_type,
                         void *offsets, const tamis_reordered *to) {
    grouping g = {.S = S,
                  .by_column = by_column,
                  .keys = by_column ? S->columns : S->row_indices,
                  .groups = by_column ? S->cols : S->rows,
                  .to = *to};
    if (S->nnz == 0) {
        for (int64_t group = 0; group <= g.groups; group++) tamis_index_store(offsets, offset_type, group, 0);
        return TAMIS_OK;
    }
    if (threads <= 0) threads = tamis_threads_default();
    const int64_t worth = 1 + S->nnz / SHARE, affordable = 1 + S->nnz / (1 + ENTRIES_PER_COUNTER * g.groups);
    if (threads > worth) threads = (int)worth;
    if (threads > affordable) threads = (int)affordable;
    void *memory;
    int64_t counters;
    if (__builtin_mul_overflow(g.groups, threads, &counters))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%lld groups: their number overflows", (long long)g.groups);
    TRY(tamis_allocate_zeroed(counters, sizeof(int64_t), "counters", &memory));
    g.next = memory;
    tamis_threads_run(threads, count_thread, &g);
    place_shares(&g, threads, offset_type, offsets);
    tamis_threads_run(threads, move_thread, &g);
    tamis_release(memory);
    return TAMIS_OK;
}
