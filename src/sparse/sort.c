/*
 * Sorts the columns of each row, stably. Sorted rows are copied. Others become pairs of column and position, which are
 * sorted by insertion sort, for longer rows by merge sort, and for the longest by radix sort.
 */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/element.h"
#include "sparse/order.h"
#include "sparse/structure.h"

enum {
    INSERTION = 24,    /* pairs sorted by insertion */
    RADIX_FROM = 1024, /* the fewest pairs for which radix passes are faster */
    RADIX_BITS = 8,
    SHARE = 1 << 15 /* nonzeros that justify a thread */
};

typedef struct pair {
    uint64_t column;
    int64_t place;
} pair;

typedef struct sorting {
    const tamis_sparse *S;
    tamis_reordered to;
    int64_t *longest; /* by thread: length of its longest unsorted row; 0: none */
    pair **room;      /* by thread: scratch for two such rows */
    bool in_place;    /* `to` are the arrays of S */
} sorting;

/* ------------------------------------------------------------------------------------------- one row */

static void insertion_sort(pair *pairs, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        const pair moving = pairs[i];
        int64_t j = i;
        for (; j > 0 && pairs[j - 1].column > moving.column; j--) pairs[j] = pairs[j - 1];
        pairs[j] = moving;
    }
}

static void merge(const pair *left, const pair *left_end, const pair *right, const pair *right_end, pair *to) {
    while (left < left_end && right < right_end) *to++ = right->column < left->column ? *right++ : *left++;
    memcpy(to, left, (size_t)(left_end - left) * sizeof(pair));
    memcpy(to + (left_end - left), right, (size_t)(right_end - right) * sizeof(pair));
}

/* Bottom-up merge sort: sorts runs by insertion, and merges them back and forth. Returns the result's address. */
static pair *merge_sort(pair *pairs, pair *spare, int64_t count) {
    for (int64_t begin = 0; begin < count; begin += INSERTION)
        insertion_sort(pairs + begin, count - begin < INSERTION ? count - begin : INSERTION);
    for (int64_t width = INSERTION; width < count; width *= 2) {
        for (int64_t begin = 0; begin < count; begin += 2 * width) {
            const int64_t middle = count - begin < width ? count : begin + width;
            const int64_t end = count - begin < 2 * width ? count : begin + 2 * width;
            merge(pairs + begin, pairs + middle, pairs + middle, pairs + end, spare + begin);
        }
        pair *const swap = pairs;
        pairs = spare;
        spare = swap;
    }
    return pairs;
}

/* LSD radix sort, with a pass for each byte in which the columns differ. */
static pair *radix_sort(pair *pairs, pair *spare, int64_t count) {
    uint64_t differing = 0;
    for (int64_t i = 1; i < count; i++) differing |= pairs[i].column ^ pairs[0].column;
    for (int shift = 0; shift < 64; shift += RADIX_BITS) {
        if (!(differing >> shift & 0xff)) continue;
        int64_t next[1 << RADIX_BITS] = {0};
        for (int64_t i = 0; i < count; i++) next[pairs[i].column >> shift & 0xff]++;
        for (int64_t digit = 0, place = 0; digit < 1 << RADIX_BITS; digit++) {
            const int64_t digits = next[digit];
            next[digit] = place;
            place += digits;
        }
        for (int64_t i = 0; i < count; i++) spare[next[pairs[i].column >> shift & 0xff]++] = pairs[i];
        pair *const swap = pairs;
        pairs = spare;
        spare = swap;
    }
    return pairs;
}

static void copy_values(const sorting *s, int64_t begin, int64_t count) {
    const size_t size = tamis_type_size(s->S->value_type);
    if (s->S->values)
        memcpy((char *)s->to.values + (size_t)begin * size, (const char *)s->S->values + (size_t)begin * size,
               (size_t)count * size);
    else
        for (int64_t z = begin; z < begin + count; z++) tamis_element_store(s->to.values, s->S->value_type, z, 1);
}

static void copy_entries(const sorting *s, int64_t begin, int64_t end) {
    const size_t size = tamis_index_size(s->S->index_type);
    if (begin == end || s->in_place) return;
    memcpy((char *)s->to.columns + (size_t)begin * size, (const char *)s->S->columns + (size_t)begin * size,
           (size_t)(end - begin) * size);
    if (s->to.values) copy_values(s, begin, end - begin);
    if (s->to.permutation)
        for (int64_t z = begin; z < end; z++) s->to.permutation[z] = z;
}

/* Permutes values. `from` has the values from `begin` on, in the old order. */
static void gather_values(const sorting *s, const void *from, int64_t begin, int64_t count, const pair *pairs) {
    void *const to = s->to.values;
    switch (tamis_type_size(s->S->value_type)) {
    case 2:
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)to)[begin + i] = ((const uint16_t *)from)[pairs[i].place - begin];
        break;
    case 4:
        for (int64_t i = 0; i < count; i++)
            ((uint32_t *)to)[begin + i] = ((const uint32_t *)from)[pairs[i].place - begin];
        break;
    default:
        for (int64_t i = 0; i < count; i++)
            ((uint64_t *)to)[begin + i] = ((const uint64_t *)from)[pairs[i].place - begin];
    }
}

/* Moves a row's values in place, with the scratch `free`, which sorting no longer needs. */
static void move_values(const sorting *s, int64_t begin, int64_t count, const pair *sorted, pair *free) {
    const size_t size = tamis_type_size(s->S->value_type);
    if (!s->S->values) {
        copy_values(s, begin, count);
        return;
    }
    const void *from = (const char *)s->S->values + (size_t)begin * size;
    if (s->in_place) from = memcpy(free, from, (size_t)count * size);
    gather_values(s, from, begin, count, sorted);
}

static void sort_row(const sorting *s, int64_t begin, int64_t end, pair *pairs, pair *spare) {
    const tamis_sparse *const S = s->S;
    const int64_t count = end - begin;
    for (int64_t i = 0; i < count; i++)
        pairs[i] = (pair){(uint64_t)tamis_index_load(S->columns, S->index_type, begin + i), begin + i};
    const pair *const sorted = count < RADIX_FROM ? merge_sort(pairs, spare, count) : radix_sort(pairs, spare, count);
    for (int64_t i = 0; i < count; i++)
        tamis_index_store(s->to.columns, S->index_type, begin + i, (int64_t)sorted[i].column);
    if (s->to.values) move_values(s, begin, count, sorted, sorted == pairs ? spare : pairs);
    if (s->to.permutation)
        for (int64_t i = 0; i < count; i++) s->to.permutation[begin + i] = sorted[i].place;
}

/* ------------------------------------------------------------------------------------------- numbers */

void tamis_sort_numbers(int64_t **sorted, int64_t *spare, int64_t count, int64_t most) {
    enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };
    int64_t *from = *sorted, *to = spare;
    for (int shift = 0; shift < 63 && most >> shift > 0; shift += DIGIT_BITS) {
        int64_t places[DIGITS] = {0}, place = 0;
        for (int64_t i = 0; i < count; i++) places[from[i] >> shift & (DIGITS - 1)]++;
        for (int digit = 0; digit < DIGITS; digit++) {
            const int64_t size = places[digit];
            places[digit] = place;
            place += size;
        }
        for (int64_t i = 0; i < count; i++) to[places[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        int64_t *const other = from;
        from = to;
        to = other;
    }
    *sorted = from;
}

/* ------------------------------------------------------------------------------------------- all rows */

bool tamis_indices_rise(const void *columns, tamis_index_type type, int64_t begin, int64_t end) {
    if (type == TAMIS_I32) {
        const int32_t *const x = columns;
        int32_t falls = 0;
        for (int64_t z = begin + 1; z < end; z++) falls |= x[z] < x[z - 1];
        return !falls;
    }
    const int64_t *const x = columns;
    int64_t falls = 0;
    for (int64_t z = begin + 1; z < end; z++) falls |= x[z] < x[z - 1];
    return !falls;
}

static int64_t first_row(const tamis_sparse *S, int threads, int thread) {
    return tamis_partition_rows(S->offsets, S->offset_type, S->rows, S->nnz, threads, thread);
}

static void measure_thread(void *context, int thread, int threads) {
    const sorting *const s = context;
    const tamis_sparse *const S = s->S;
    const int64_t last = first_row(S, threads, thread + 1);
    int64_t row = first_row(S, threads, thread), longest = 0;
    int64_t begin = tamis_index_load(S->offsets, S->offset_type, row);
    for (; row < last; row++) {
        const int64_t end = tamis_index_load(S->offsets, S->offset_type, row + 1);
        if (end - begin > longest && !tamis_indices_rise(S->columns, S->index_type, begin, end)) longest = end - begin;
        begin = end;
    }
    s->longest[thread] = longest;
}

static void sort_thread(void *context, int thread, int threads) {
    const sorting *const s = context;
    const tamis_sparse *const S = s->S;
    const int64_t last = first_row(S, threads, thread + 1), longest = s->longest[thread];
    int64_t row = first_row(S, threads, thread);
    int64_t begin = tamis_index_load(S->offsets, S->offset_type, row), copied = begin;
    for (; longest > 0 && row < last; row++) {
        const int64_t end = tamis_index_load(S->offsets, S->offset_type, row + 1);
        if (end - begin > 1 && end - begin <= longest && !tamis_indices_rise(S->columns, S->index_type, begin, end)) {
            copy_entries(s, copied, begin); /* copies the rows before it at once */
            sort_row(s, begin, end, s->room[thread], s->room[thread] + longest);
            copied = end;
        }
        begin = end;
    }
    copy_entries(s, copied, tamis_index_load(S->offsets, S->offset_type, last));
}

tamis_status tamis_sort_rows(const tamis_sparse *S, int threads, const tamis_reordered *to) {
    tamis_status status = TAMIS_OK;
    threads = tamis_threads_for(threads, S->nnz, SHARE);
    void *longest = NULL, *room = NULL;
    sorting s = {.S = S, .to = *to, .in_place = to->columns == S->columns};
    TRY_GOTO(cleanup, tamis_allocate(threads, sizeof(int64_t), "lengths of rows", &longest));
    TRY_GOTO(cleanup, tamis_allocate_zeroed(threads, sizeof(pair *), "room for sorting", &room));
    s.longest = longest;
    s.room = room;
    tamis_threads_run(threads, measure_thread, &s);
    for (int t = 0; t < threads; t++) {
        void *pairs = NULL;
        if (s.longest[t])
            TRY_GOTO(cleanup, tamis_allocate(s.longest[t], 2 * sizeof(pair), "room for sorting rows", &pairs));
        s.room[t] = pairs;
    }
    tamis_threads_run(threads, sort_thread, &s);
cleanup:
    for (int t = 0; s.room && t < threads; t++) tamis_release(s.room[t]);
    tamis_release(room);
    tamis_release(longest);
    return status;
}

bool tamis_is_sorted(const tamis_sparse *S, int threads, int64_t *duplicates) {
    tamis_profile profile = {0};
    tamis_profile_columns(S, threads, &profile);
    *duplicates = profile.duplicates;
    return profile.sorted;
}
