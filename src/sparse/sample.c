/*
 * Samples entries of rows: sampled neighbours of a graph. A row's numbers are a stream of their own, and Floyd's
 * algorithm (Bentley and Floyd, "A sample of brilliance", CACM 1987) needs one for each entry that it draws. The
 * same is in python/tamis/torch/_parts.py, for other devices.
 */
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sizes.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/index.h"
#include "sparse/structure.h"

enum { SHARE = 1 << 12 }; /* entries that justify a thread */

typedef struct sampling {
    const tamis_sparse *S;
    const int64_t *rows;
    int64_t count, fanout;
    uint64_t seed;
    const int64_t *offsets;
    int64_t *entries;
    bool replace;
} sampling;

/* Returns a number below `bound` that rises with the number u of [0, 1). */
static int64_t below(double u, int64_t bound) {
    const int64_t number = (int64_t)(u * (double)bound);
    return number < bound ? number : bound - 1;
}

/* Returns the first of `count` rising numbers that is not below `least`, or count. */
static int64_t place_of(const int64_t *numbers, int64_t count, int64_t least) {
    return tamis_index_first(numbers, TAMIS_I64, 0, count, least);
}

static void insert(int64_t *numbers, int64_t count, int64_t place, int64_t number) {
    memmove(numbers + place + 1, numbers + place, (size_t)(count - place) * sizeof *numbers);
    numbers[place] = number;
}

/* Merges `more` rising numbers into `count` rising ones, which have room for them. */
static void merge(int64_t *numbers, int64_t count, const int64_t *more, int64_t more_count) {
    while (more_count > 0) {
        const bool later = count > 0 && numbers[count - 1] > more[more_count - 1];
        numbers[count + more_count - 1] = later ? numbers[count - 1] : more[more_count - 1];
        if (later)
            count--;
        else
            more_count--;
    }
}

static bool has(const int64_t *numbers, int64_t count, int64_t number) {
    const int64_t place = place_of(numbers, count, number);
    return place < count && numbers[place] == number;
}

/* Sets `taken` to fanout rising numbers below `length`. The last ones wait, so that few numbers are moved for each. */
static void draw_row(const sampling *s, int64_t row, int64_t length, int64_t *taken) {
    enum { WAITING = 512 };
    int64_t waiting[WAITING], waits = 0;
    tamis_random random = tamis_random_start(s->seed, (uint64_t)row);
    for (int64_t i = 0; i < s->fanout; i++) {
        const int64_t last = s->replace ? length - 1 : length - s->fanout + i;
        int64_t number = below(tamis_random_uniform(&random), last + 1);
        if (!s->replace && (has(taken, i - waits, number) || has(waiting, waits, number)))
            number = last; /* larger than all before it */
        insert(waiting, waits, place_of(waiting, waits, number), number);
        waits++;
        if (waits < WAITING && i + 1 < s->fanout) continue;
        merge(taken, i + 1 - waits, waiting, waits);
        waits = 0;
    }
}

static void draw_rows(void *context, int thread, int threads) {
    const sampling *const s = context;
    TAMIS_EACH_OF_SHARE(i, s->count, threads, thread) {
        const int64_t kept = s->offsets[i + 1] - s->offsets[i];
        if (kept == 0) continue;
        const int64_t row = s->rows[i], begin = tamis_row_start(s->S, row);
        const int64_t length = tamis_row_start(s->S, row + 1) - begin;
        int64_t *const entries = s->entries + s->offsets[i];
        if (!s->replace && length <= s->fanout)
            for (int64_t z = 0; z < kept; z++) entries[z] = z;
        else
            draw_row(s, row, length, entries);
        for (int64_t z = 0; z < kept; z++) entries[z] += begin - s->S->offset_base;
    }
}

/* Sets offsets[count + 1] to where the entries of each row begin. */
static tamis_status count_entries(const sampling *s, int64_t *offsets) {
    int64_t total = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t row = s->rows[i];
        if (row < 0 || row >= s->S->rows)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows[%lld] = %lld is not in 0 .. %lld", (long long)i,
                              (long long)row, (long long)s->S->rows - 1);
        const int64_t length = s->S->nnz ? tamis_row_start(s->S, row + 1) - tamis_row_start(s->S, row) : 0;
        offsets[i] = total;
        total += length == 0 || (length < s->fanout && !s->replace) ? length : s->fanout;
        if (total > TAMIS_SIZE_MOST)
            return tamis_fail(TAMIS_ERROR_OVERFLOW, "count = %lld, fanout = %lld: too many entries",
                              (long long)s->count, (long long)s->fanout);
    }
    offsets[s->count] = total;
    return TAMIS_OK;
}

tamis_status tamis_sample(const tamis_sparse *S, const int64_t *rows, int64_t count, int64_t fanout, bool replace,
                          uint64_t seed, int64_t *offsets, int64_t *entries) {
    tamis_clear_error();
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_format_check(S, TAMIS_CSR));
    TRY(tamis_size_check("", "count", count));
    TRY(tamis_size_check("", "fanout", fanout));
    if (!rows && count > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows = NULL: expected the numbers of rows");
    if (!offsets) return tamis_fail(TAMIS_ERROR_ARGUMENT, "offsets = NULL: expected an array of count + 1 numbers");
    sampling s = {S, rows, count, fanout, seed, offsets, entries, replace};
    TRY(count_entries(&s, offsets));
    if (entries && offsets[count] > 0) tamis_threads_run(tamis_threads_for(0, offsets[count], SHARE), draw_rows, &s);
    return TAMIS_OK;
}
