/*
 * Bucket sort of entries by rows. An entry in a bucket takes a column, a value and 16 bits of its row. Beside the
 * result, memory holds only these and one bucket of the result. While a bucket is read back, its rows stay in the
 * cache.
 *
 * Every thread scans all entries of a window and takes the entries of its own buckets, in file order. So the result is
 * the same for any number of threads.
 */
#include "io/rows/buckets.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/threads.h"

enum {
    MOST_SHIFT = 16,
    MOST_BUCKETS = 128,     /* more buckets gain nothing; with fewer, a bucket is a large share of the result */
    LEAST_BLOCK = 16 << 10, /* bytes; all blocks are multiples of a page */
    BLOCKS = 16,            /* a new block is this fraction of its bucket, so that little stays unused */
    ROUND = 512,            /* entries scanned before any is moved */
    SHARE = 1 << 14,        /* entries that justify a thread */
    HEAD = 64
};

/* Header of a block. Columns (int32), values and the rows' low bits (uint16) follow, `room` of each. */
struct tamis_bucket_block {
    tamis_bucket_block *next;
    int64_t count, room;
    size_t bytes;
};

/* ------------------------------------------------------------------------------------------- blocks */

static size_t value_size(const tamis_buckets *buckets) {
    return buckets->with_values ? tamis_type_size(buckets->value_type) : 0;
}

static int32_t *columns_of(tamis_bucket_block *block) { return (int32_t *)(void *)((char *)block + HEAD); }

static char *values_of(tamis_bucket_block *block) {
    return (char *)block + HEAD + (size_t)block->room * sizeof(int32_t);
}

static uint16_t *rows_of(const tamis_buckets *buckets, tamis_bucket_block *block) {
    return (uint16_t *)(void *)(values_of(block) + (size_t)block->room * value_size(buckets));
}

/* Makes a block by mmap, so that freeing returns its memory to the system at once, rather than leaving it in an
   allocator beside the result. */
static tamis_bucket_block *create_block(const tamis_buckets *buckets, int64_t before) {
    enum { ALIGNED = 8 }; /* entries: keeps each array aligned to its type */
    const size_t entry = sizeof(int32_t) + value_size(buckets) + sizeof(uint16_t);
    const size_t part = (size_t)before * entry / BLOCKS / LEAST_BLOCK * LEAST_BLOCK;
    const size_t bytes = part > LEAST_BLOCK ? part : LEAST_BLOCK;
    if (tamis_memory_fails_now()) return NULL;
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    tamis_memory_note(1);
    tamis_bucket_block *const block = memory;
    block->bytes = bytes;
    block->room = (int64_t)((bytes - HEAD) / entry / ALIGNED * ALIGNED);
    return block;
}

static void free_block(tamis_bucket_block *block) {
    munmap(block, block->bytes);
    tamis_memory_note(-1);
}

void tamis_buckets_free(tamis_buckets *buckets) {
    for (int64_t b = 0; b < buckets->room; b++)
        for (tamis_bucket_block *block = buckets->list[b].first, *next; block; block = next) {
            next = block->next;
            free_block(block);
        }
    tamis_release(buckets->list);
    buckets->list = NULL;
    buckets->room = 0;
}

/* ------------------------------------------------------------------------------------------- adding */

/* Joins pairs of buckets; the rows' low bits still distinguish all rows of a bucket. */
static void join_pairs(tamis_buckets *buckets) {
    for (int64_t b = 0; b < buckets->room; b++) {
        tamis_bucket *const to = &buckets->list[b / 2], from = buckets->list[b];
        if (b > 0) buckets->list[b] = (tamis_bucket){0};
        if (b % 2 == 0)
            *to = from;
        else if (!to->last)
            *to = from;
        else if (from.first) {
            to->last->next = from.first;
            to->last = from.last;
            to->count += from.count;
        }
    }
    buckets->shift++;
}

static tamis_status make_room(tamis_buckets *buckets, int64_t rows) {
    while (buckets->shift < MOST_SHIFT && (rows - 1) >> buckets->shift >= MOST_BUCKETS) join_pairs(buckets);
    const int64_t room = ((rows - 1) >> buckets->shift) + 1;
    if (room <= buckets->room) return TAMIS_OK;
    const int64_t most = room < MOST_BUCKETS ? MOST_BUCKETS : room;
    void *memory = NULL;
    TRY(tamis_allocate_zeroed(most, sizeof(tamis_bucket), "the list of buckets", &memory));
    if (buckets->list) memcpy(memory, buckets->list, (size_t)buckets->room * sizeof(tamis_bucket));
    tamis_release(buckets->list);
    buckets->list = memory;
    buckets->room = most;
    return TAMIS_OK;
}

typedef struct adding {
    tamis_buckets *buckets;
    const tamis_entries *window;
    _Atomic bool failed;
} adding;

/* The entries of a round for this thread's buckets. */
typedef struct round_entries {
    int count;
    int32_t row[2 * ROUND], column[2 * ROUND];
    int from[2 * ROUND]; /* index within the round; mirrored entries: its complement */
} round_entries;

static inline bool owns(int32_t row, int shift, int thread, int owners) {
    return (row >> shift & (owners - 1)) == thread;
}

static void collect(const adding *work, int64_t begin, int count, int thread, int owners, round_entries *mine) {
    const int32_t *const rows = (const int32_t *)work->window->row_indices + begin;
    const int32_t *const columns = (const int32_t *)work->window->columns + begin;
    const bool mirror = work->buckets->mirror != 0;
    const int shift = work->buckets->shift;
    int at = 0;
    for (int i = 0; i < count; i++) { /* branch-free, since the owner of a row is unpredictable */
        mine->row[at] = rows[i];
        mine->column[at] = columns[i];
        mine->from[at] = i;
        at += owns(rows[i], shift, thread, owners);
        if (!mirror) continue;
        mine->row[at] = columns[i];
        mine->column[at] = rows[i];
        mine->from[at] = ~i;
        at += (rows[i] != columns[i]) & owns(columns[i], shift, thread, owners);
    }
    mine->count = at;
}

/* Returns a bucket's last block, with room for an entry. */
static inline tamis_bucket_block *block_for(const tamis_buckets *buckets, tamis_bucket *bucket) {
    tamis_bucket_block *const last = bucket->last;
    if (last && last->count < last->room) return last;
    tamis_bucket_block *const fresh = create_block(buckets, bucket->count);
    if (!fresh) return NULL;
    if (last)
        last->next = fresh;
    else
        bucket->first = fresh;
    bucket->last = fresh;
    return fresh;
}

/* Stores the value of entry i of the round, whose first is entry `begin` of the window. */
TAMIS_INLINE void set_value(const adding *work, const round_entries *mine, int i, int64_t begin,
                            tamis_bucket_block *block, bool floats) {
    const tamis_buckets *const buckets = work->buckets;
    char *const values = values_of(block);
    const bool mirrored = mine->from[i] < 0;
    const int64_t from = begin + (mirrored ? ~mine->from[i] : mine->from[i]);
    if (floats) {
        const float value = ((const float *)work->window->values)[from];
        ((float *)(void *)values)[block->count] = mirrored ? (float)buckets->mirror * value : value;
        return;
    }
    const double value = tamis_element_load(work->window->values, work->window->value_type, from);
    tamis_element_store(values, buckets->value_type, block->count, mirrored ? buckets->mirror * value : value);
}

static bool add_round(const adding *work, const round_entries *mine, int64_t begin) {
    const tamis_buckets *const buckets = work->buckets;
    const bool floats = buckets->value_type == TAMIS_F32 && work->window->value_type == TAMIS_F32;
    for (int i = 0; i < mine->count; i++) {
        tamis_bucket *const bucket = &buckets->list[mine->row[i] >> buckets->shift];
        tamis_bucket_block *const block = block_for(buckets, bucket);
        if (!block) return false;
        columns_of(block)[block->count] = mine->column[i];
        rows_of(buckets, block)[block->count] = (uint16_t)mine->row[i];
        if (buckets->with_values) set_value(work, mine, i, begin, block, floats);
        block->count++;
        bucket->count++;
    }
    return true;
}

static void add_thread(void *context, int thread, int threads) {
    adding *const work = context;
    const int64_t end = work->window->count;
    round_entries mine;
    for (int64_t begin = 0; begin < end; begin += ROUND) {
        const int count = end - begin < ROUND ? (int)(end - begin) : ROUND;
        collect(work, begin, count, thread, threads, &mine);
        if (add_round(work, &mine, begin)) continue;
        atomic_store(&work->failed, true);
        return;
    }
}

tamis_status tamis_buckets_add(tamis_buckets *buckets, const tamis_entries *window, int64_t rows) {
    const int64_t worth = 1 + window->count / SHARE;
    int owners = 1;
    if (window->count == 0) return TAMIS_OK;
    TRY(make_room(buckets, rows));
    while (owners * 2 <= buckets->threads && owners * 2 <= worth && owners < MOST_BUCKETS / 2) owners *= 2;
    adding work = {.buckets = buckets, .window = window};
    tamis_threads_run(owners, add_thread, &work);
    if (!atomic_load(&work.failed)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for %lld more entries", (long long)window->count);
}

/* ------------------------------------------------------------------------------------------- rows */

typedef struct filling {
    tamis_buckets *buckets;
    const tamis_rows *list;
    const int64_t *begins; /* of each bucket in the result */
    _Atomic int64_t next;
} filling;

/* Returns the first row of a bucket. */
static int64_t base_of(const tamis_buckets *buckets, int64_t bucket) {
    return (bucket << buckets->shift) & ~(((int64_t)1 << MOST_SHIFT) - 1);
}

/* Exclusive prefix sum of the counts of rows first .. last - 1. */
TAMIS_INLINE void count_to_begins(void *offsets, tamis_index_type type, int64_t first, int64_t last, int64_t place) {
    for (int64_t row = first; row < last; row++) {
        const int64_t count = tamis_index_load(offsets, type, row);
        tamis_index_store(offsets, type, row, place);
        place += count;
    }
}

TAMIS_INLINE void count_block(void *offsets, tamis_index_type type, const uint16_t *rows, int64_t base, int64_t count) {
    for (int64_t t = 0; t < count; t++)
        tamis_index_store(offsets, type, base + rows[t], tamis_index_load(offsets, type, base + rows[t]) + 1);
}

/* Finds the destination of each entry of a round, and advances its row's offset. */
TAMIS_INLINE void find_places(void *offsets, tamis_index_type type, const uint16_t *rows, int64_t base, int count,
                              int64_t *places) {
    for (int i = 0; i < count; i++) {
        places[i] = tamis_index_load(offsets, type, base + rows[i]);
        tamis_index_store(offsets, type, base + rows[i], places[i] + 1);
    }
}

static void move_values(const tamis_rows *list, const char *from, int count, const int64_t *places) {
    switch (tamis_type_size(list->value_type)) {
    case 2:
        for (int i = 0; i < count; i++)
            ((uint16_t *)list->values)[places[i]] = ((const uint16_t *)(const void *)from)[i];
        return;
    case 4:
        for (int i = 0; i < count; i++)
            ((uint32_t *)list->values)[places[i]] = ((const uint32_t *)(const void *)from)[i];
        return;
    default:
        for (int i = 0; i < count; i++)
            ((uint64_t *)list->values)[places[i]] = ((const uint64_t *)(const void *)from)[i];
    }
}

static void move_block(const filling *work, tamis_bucket_block *block, int64_t base) {
    const tamis_rows *const list = work->list;
    const size_t size = value_size(work->buckets);
    const uint16_t *const rows = rows_of(work->buckets, block);
    const int32_t *const columns = columns_of(block);
    int64_t places[ROUND];
    for (int64_t begin = 0; begin < block->count; begin += ROUND) {
        const int count = block->count - begin < ROUND ? (int)(block->count - begin) : ROUND;
        if (list->offset_type == TAMIS_I32)
            find_places(list->offsets, TAMIS_I32, rows + begin, base, count, places);
        else
            find_places(list->offsets, TAMIS_I64, rows + begin, base, count, places);
        if (list->index_type == TAMIS_I32)
            for (int i = 0; i < count; i++) ((int32_t *)list->columns)[places[i]] = columns[begin + i];
        else
            for (int i = 0; i < count; i++) ((int64_t *)list->columns)[places[i]] = columns[begin + i];
        if (size > 0) move_values(list, values_of(block) + (size_t)begin * size, count, places);
    }
}

/* Scatters a bucket's entries to their rows, and frees its blocks one by one. */
static void fill_rows(const filling *work, int64_t bucket, int64_t first, int64_t last) {
    const tamis_rows *const list = work->list;
    const tamis_index_type type = list->offset_type;
    const int64_t base = base_of(work->buckets, bucket);
    tamis_bucket *const from = &work->buckets->list[bucket];
    for (int64_t row = first; row < last; row++) tamis_rows_set_offset(list, row, 0);
    for (tamis_bucket_block *block = from->first; block; block = block->next)
        if (type == TAMIS_I32)
            count_block(list->offsets, TAMIS_I32, rows_of(work->buckets, block), base, block->count);
        else
            count_block(list->offsets, TAMIS_I64, rows_of(work->buckets, block), base, block->count);
    count_to_begins(list->offsets, type, first, last, work->begins[bucket]);
    for (tamis_bucket_block *block = from->first, *next; block; block = next) {
        next = block->next;
        move_block(work, block, base);
        free_block(block);
    }
    *from = (tamis_bucket){0};
    for (int64_t row = last; --row > first;) tamis_rows_set_offset(list, row, tamis_rows_offset(list, row - 1));
    tamis_rows_set_offset(list, first, work->begins[bucket]);
}

static void fill_thread(void *context, int thread, int threads) {
    filling *const work = context;
    const tamis_rows *const list = work->list;
    const int shift = work->buckets->shift;
    (void)thread, (void)threads;
    for (;;) {
        const int64_t bucket = atomic_fetch_add(&work->next, 1), first = bucket << shift;
        if (bucket >= work->buckets->room || first >= list->rows) return;
        const int64_t last = first + ((int64_t)1 << shift) < list->rows ? first + ((int64_t)1 << shift) : list->rows;
        fill_rows(work, bucket, first, last);
    }
}

/* Allocates the rows' arrays, and finds where each bucket begins. */
static tamis_status create_rows(const tamis_buckets *buckets, tamis_rows *list, int64_t *begins) {
    list->count = 0;
    for (int64_t b = 0; b < buckets->room; b++) {
        begins[b] = list->count;
        list->count += buckets->list[b].count;
    }
    if (!tamis_index_holds(list->offset_type, list->count)) list->offset_type = TAMIS_I64;
    return tamis_rows_allocate(list, list->count, buckets->with_values);
}

tamis_status tamis_buckets_to_rows(tamis_buckets *buckets, tamis_rows *list) {
    int64_t *begins = NULL;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(buckets->room, "where buckets begin", begins));
    TRY(create_rows(buckets, list, begins));
    filling work = {.buckets = buckets, .list = list, .begins = begins};
    tamis_threads_run(buckets->threads, fill_thread, &work);
    for (int64_t row = buckets->room << buckets->shift; row < list->rows; row++)
        tamis_rows_set_offset(list, row, list->count);
    tamis_rows_set_offset(list, list->rows, list->count);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------- entries */

static void append_block(const tamis_buckets *buckets, tamis_bucket_block *block, int64_t base,
                         tamis_entries *entries) {
    const uint16_t *const rows = rows_of(buckets, block);
    for (int64_t t = 0; t < block->count; t++)
        tamis_entries_set(entries, entries->count++, base + rows[t], columns_of(block)[t],
                          buckets->with_values ? tamis_element_load(values_of(block), buckets->value_type, t) : 0);
}

tamis_status tamis_buckets_to_entries(tamis_buckets *buckets, tamis_entries *entries) {
    int64_t count = entries->count;
    for (int64_t b = 0; b < buckets->room; b++) count += buckets->list[b].count;
    tamis_status status = tamis_entries_reserve(entries, count);
    for (int64_t b = 0; b < buckets->room && status == TAMIS_OK; b++)
        for (tamis_bucket_block *block = buckets->list[b].first; block; block = block->next)
            append_block(buckets, block, base_of(buckets, b), entries);
    tamis_buckets_free(buckets);
    return status;
}
