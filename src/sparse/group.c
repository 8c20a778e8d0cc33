/*
 * Counting sort of entries by row or column. Each thread counts an equal share of the entries and gets its own
 * positions within each group, in order, so the result is the same for any number of threads.
 *
 * If the result is larger than the caches, writing an entry is a cache miss. Then a first pass distributes the entries
 * to buckets, which are ranges of groups, with sequential writes to each. It stores each entry's index together with
 * its group within the bucket. A second pass sorts each bucket, which fits L2, by these.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/element.h"
#include "sparse/order.h"
#include "sparse/structure.h"

enum {
    CHUNK = 1024,            /* entries whose positions are computed before any moves */
    SHARE = 1 << 15,         /* entries that justify a thread */
    ENTRIES_PER_COUNTER = 2, /* with fewer entries per counter, threads mostly handle counters */
    BUCKET = 1 << 13,        /* entries of a bucket */
    BUCKETS_FROM = 1 << 18,  /* entries that justify buckets */
    BUCKETS_MOST = 512,      /* limits the number of write streams */
    NUMBER_BITS = 40,        /* bits of an entry's index; its group within the bucket is in the bits above */
    GROUP_BITS = 22
};

typedef struct grouping {
    const tamis_sparse *S;
    bool by_column;
    const void *keys;
    int64_t groups;
    int64_t *next; /* by share and group: its count, later the position of its next entry */
    tamis_reordered to;
    int shift; /* `next` is by buckets of 1 << shift groups; 0: by groups */
} grouping;

static int64_t counters_of(const grouping *g) { return (g->groups + (1LL << g->shift) - 1) >> g->shift; }

/* ------------------------------------------------------------------------------------------- counting */

TAMIS_INLINE void count_keys(const void *keys, tamis_index_type type, int shift, int64_t begin, int64_t end,
                             int64_t *counts) {
    for (int64_t t = begin; t < end; t++) counts[tamis_index_load(keys, type, t) >> shift]++;
}

static void count_thread(void *context, int thread, int threads) {
    const grouping *const g = context;
    const int64_t begin = tamis_partition_even(g->S->nnz, threads, thread);
    const int64_t end = tamis_partition_even(g->S->nnz, threads, thread + 1);
    int64_t *const counts = g->next + thread * counters_of(g);
    if (g->S->index_type == TAMIS_I32)
        count_keys(g->keys, TAMIS_I32, g->shift, begin, end, counts);
    else
        count_keys(g->keys, TAMIS_I64, g->shift, begin, end, counts);
}

/* Exclusive prefix sum of the counts, by group, and within a group by share. Writes the groups' positions to
   `offsets`. */
static void place_shares(const grouping *g, int shares, tamis_index_type offset_type, void *offsets) {
    const int64_t groups = counters_of(g);
    int64_t place = 0;
    for (int64_t group = 0; group < groups; group++) {
        tamis_index_store(offsets, offset_type, group, place);
        for (int share = 0; share < shares; share++) {
            int64_t *const next = &g->next[share * groups + group];
            const int64_t count = *next;
            *next = place;
            place += count;
        }
    }
    tamis_index_store(offsets, offset_type, groups, place);
}

/* ------------------------------------------------------------------------------------------- moving */

TAMIS_INLINE void find_places(const grouping *g, tamis_index_type type, int64_t begin, int count, int64_t *next,
                              int64_t *places) {
    for (int i = 0; i < count; i++) places[i] = next[tamis_index_load(g->keys, type, begin + i) >> g->shift]++;
}

TAMIS_INLINE void scatter_numbers(const grouping *g, tamis_index_type type, int64_t begin, int count,
                                  const int64_t *places) {
    const int64_t within = (1LL << g->shift) - 1;
    for (int i = 0; i < count; i++)
        g->to.permutation[places[i]] =
            (tamis_index_load(g->keys, type, begin + i) & within) << NUMBER_BITS | (begin + i);
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

/* Expands the rows of the entries begin .. begin + count - 1 of a CSR. *row: in: the row of the first entry; out: of
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
    int64_t *const next = g->next + thread * counters_of(g);
    int64_t begin = tamis_partition_even(S->nnz, threads, thread), row = 0;
    if (expand) tamis_partition_nonzeros(S->offsets, S->offset_type, S->rows, S->nnz, threads, thread, &begin, &row);
    int64_t places[CHUNK], rows[CHUNK];
    for (; begin < end; begin += CHUNK) {
        const int count = end - begin < CHUNK ? (int)(end - begin) : CHUNK;
        if (type == TAMIS_I32)
            find_places(g, TAMIS_I32, begin, count, next, places);
        else
            find_places(g, TAMIS_I64, begin, count, next, places);
        if (expand) expand_chunk(S, begin, count, &row, rows);
        if (expand)
            scatter_columns(g, rows, TAMIS_I64, 0, count, places);
        else
            scatter_columns(g, others, type, begin, count, places);
        if (g->to.values) scatter_values(g, begin, count, places);
        if (!g->to.permutation) continue;
        if (g->shift == 0)
            for (int i = 0; i < count; i++) g->to.permutation[places[i]] = begin + i;
        else if (type == TAMIS_I32)
            scatter_numbers(g, TAMIS_I32, begin, count, places);
        else
            scatter_numbers(g, TAMIS_I64, begin, count, places);
    }
}

/* ------------------------------------------------------------------------------------------- buckets */

typedef struct sorting {
    const grouping *g;
    const int64_t *begins;  /* begin of each bucket, and the end of the last */
    int64_t count, largest; /* number of buckets; entries of the largest */
    tamis_index_type offset_type;
    void *offsets;
    char *room; /* scratch by thread: a bucket's indices and columns, and the positions of its groups */
    size_t room_of_one;
    _Atomic int64_t next;
} sorting;

TAMIS_INLINE void sort_entries(const sorting *s, tamis_index_type type, int64_t begin, int64_t count, int64_t first,
                               char *room) {
    const tamis_reordered *const to = &s->g->to;
    const int64_t groups = s->g->groups - first < 1LL << s->g->shift ? s->g->groups - first : 1LL << s->g->shift;
    int64_t *const numbers = (int64_t *)(void *)room, *const next = numbers + s->largest;
    char *const columns = (char *)(next + (1LL << s->g->shift));
    const size_t size = tamis_index_size(type);
    memcpy(numbers, to->permutation + begin, (size_t)count * sizeof *numbers);
    memcpy(columns, (const char *)to->columns + (size_t)begin * size, (size_t)count * size);
    memset(next, 0, (size_t)groups * sizeof *next);
    for (int64_t i = 0; i < count; i++) next[numbers[i] >> NUMBER_BITS]++;
    int64_t place = begin;
    for (int64_t group = 0; group < groups; group++) {
        const int64_t entries = next[group];
        tamis_index_store(s->offsets, s->offset_type, first + group, place);
        next[group] = place;
        place += entries;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = next[numbers[i] >> NUMBER_BITS]++;
        to->permutation[at] = numbers[i] & ((1LL << NUMBER_BITS) - 1);
        tamis_index_store(to->columns, type, at, tamis_index_load(columns, type, i));
    }
}

static void sort_thread(void *context, int thread, int threads) {
    sorting *const s = context;
    char *const room = s->room + (size_t)thread * s->room_of_one;
    (void)threads;
    for (int64_t b; (b = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed)) < s->count;) {
        const int64_t begin = s->begins[b], count = s->begins[b + 1] - begin, first = b << s->g->shift;
        if (s->g->S->index_type == TAMIS_I32)
            sort_entries(s, TAMIS_I32, begin, count, first, room);
        else
            sort_entries(s, TAMIS_I64, begin, count, first, room);
    }
}

/* Returns the base-2 logarithm of a bucket's number of groups; 0: no buckets. */
static int bucket_shift(const grouping *g) {
    const int64_t nnz = g->S->nnz, wanted = nnz / BUCKET < BUCKETS_MOST ? nnz / BUCKET : BUCKETS_MOST;
    int shift = 0;
    if (nnz < BUCKETS_FROM || nnz >= 1LL << NUMBER_BITS || !g->to.permutation || !g->to.columns || g->to.values)
        return 0;
    while ((g->groups >> shift) >= wanted) shift++;
    return shift <= GROUP_BITS ? shift : 0;
}

/* Groups by buckets. *done stays false if one bucket has a large part of all entries. */
static tamis_status group_by_buckets(grouping *g, int threads, tamis_index_type offset_type, void *offsets,
                                     bool *done) {
    TAMIS_SCOPE;
    const int64_t buckets = counters_of(g);
    sorting s = {.g = g, .count = buckets, .largest = 1, .offset_type = offset_type, .offsets = offsets};
    void *counters, *begins, *room;
    TRY(tamis_scope_allocate_zeroed(tamis_times(buckets, threads), sizeof(int64_t), "counters of buckets", &counters));
    TRY(tamis_scope_allocate(buckets + 1, sizeof(int64_t), "buckets of entries", &begins));
    g->next = counters;
    tamis_threads_run(threads, count_thread, g);
    place_shares(g, threads, TAMIS_I64, begins);
    s.begins = begins;
    for (int64_t b = 0; b < buckets; b++)
        if (s.begins[b + 1] - s.begins[b] > s.largest) s.largest = s.begins[b + 1] - s.begins[b];
    const int64_t sorters = g->S->nnz / s.largest; /* limits the scratch to the entries' size */
    if (sorters < 2) return TAMIS_OK;
    s.room_of_one = (size_t)(2 * s.largest + (1LL << g->shift)) * sizeof(int64_t);
    const int used = threads < sorters ? threads : (int)sorters;
    TRY(tamis_scope_allocate(used, s.room_of_one, "room for buckets", &room));
    s.room = room;
    tamis_threads_run(threads, move_thread, g);
    tamis_threads_run(used, sort_thread, &s);
    tamis_index_store(offsets, offset_type, g->groups, g->S->nnz);
    *done = true;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------- few entries */

/* Sorts the keys as the columns of a single row. */
tamis_status tamis_group_listed(const tamis_sparse *S, bool by_column, tamis_index_type offset_type, int64_t *listed,
                                int64_t *count, void *offsets, const tamis_reordered *to) {
    TAMIS_SCOPE;
    const int64_t bounds[] = {0, S->nnz};
    const void *const others = by_column ? S->row_indices : S->columns;
    tamis_sparse keys = *S;
    void *sorted, *own = NULL, *permutation = to->permutation;
    keys.format = TAMIS_CSR;
    keys.rows = 1;
    keys.offset_type = TAMIS_I64;
    keys.offsets = bounds;
    keys.columns = by_column ? S->columns : S->row_indices;
    TRY(tamis_scope_allocate(S->nnz, tamis_index_size(S->index_type), "sorted rows of entries", &sorted));
    if (!permutation) {
        TRY(tamis_scope_allocate(S->nnz, sizeof(int64_t), "the order of entries", &own));
        permutation = own;
    }
    if (S->nnz > 0) TRY(tamis_sort_rows(&keys, 1, &(tamis_reordered){sorted, to->values, permutation}));
    *count = 0;
    for (int64_t t = 0; t < S->nnz; t++) {
        const int64_t key = tamis_index_load(sorted, S->index_type, t), from = ((const int64_t *)permutation)[t];
        if (to->columns)
            tamis_index_store(to->columns, S->index_type, t, tamis_index_load(others, S->index_type, from));
        if (*count > 0 && listed[*count - 1] == key) continue;
        tamis_index_store(offsets, offset_type, *count, t);
        listed[(*count)++] = key;
    }
    tamis_index_store(offsets, offset_type, *count, S->nnz);
    return TAMIS_OK;
}

/* Groups by a list of nonempty groups, then expands its offsets to all groups. */
static tamis_status group_by_list(const grouping *g, tamis_index_type offset_type, void *offsets) {
    TAMIS_SCOPE;
    void *listed, *starts;
    int64_t count, group = 0;
    TRY(tamis_scope_allocate(g->S->nnz + 1, sizeof(int64_t), "rows that have entries", &listed));
    TRY(tamis_scope_allocate(g->S->nnz + 1, sizeof(int64_t), "offsets of these rows", &starts));
    TRY(tamis_group_listed(g->S, g->by_column, TAMIS_I64, listed, &count, starts, &g->to));
    ((int64_t *)listed)[count] = g->groups;
    for (int64_t i = 0; i <= count; i++)
        for (; group <= ((const int64_t *)listed)[i]; group++)
            tamis_index_store(offsets, offset_type, group, ((const int64_t *)starts)[i]);
    return TAMIS_OK;
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
    if (S->format == TAMIS_COO && tamis_groups_are_rare(g.groups, S->nnz))
        return group_by_list(&g, offset_type, offsets);
    threads = tamis_threads_for(threads, S->nnz, SHARE);
    bool done = false;
    g.shift = bucket_shift(&g);
    if (g.shift > 0) TRY(group_by_buckets(&g, threads, offset_type, offsets, &done));
    if (done) return TAMIS_OK;
    g.shift = 0;
    threads = tamis_threads_for(threads, S->nnz, 1 + ENTRIES_PER_COUNTER * g.groups);
    void *memory;
    TRY(tamis_allocate_zeroed(tamis_times(g.groups, threads), sizeof(int64_t), "counters", &memory));
    g.next = memory;
    tamis_threads_run(threads, count_thread, &g);
    place_shares(&g, threads, offset_type, offsets);
    if (to->columns || to->values || to->permutation) tamis_threads_run(threads, move_thread, &g);
    tamis_release(memory);
    return TAMIS_OK;
}
