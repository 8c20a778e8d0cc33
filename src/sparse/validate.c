/*
 * The full check of a sparse matrix's arrays. A branch-free reduction, which compilers vectorise, checks a block of
 * entries; only a block that fails is searched for the bad entry.
 */
#include "base/status.h"
#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/structure.h"

enum { BLOCK = 2048, SMALL = 1 << 15 /* fewer entries do not justify a second thread */ };

/* Returns true if all x are in 0 .. last: x < 0 sets the sign bit of x, and x > last sets the sign bit of last - x. */
TAMIS_INLINE bool block_within(const void *array, tamis_index_type type, int64_t begin, int64_t count, int64_t last) {
    if (type == TAMIS_I32) {
        const int32_t *const x = (const int32_t *)array + begin;
        const uint32_t top = (uint32_t)last;
        uint32_t bad = 0;
        for (int64_t i = 0; i < count; i++) bad |= (uint32_t)x[i] | (top - (uint32_t)x[i]);
        return !(bad >> 31);
    }
    const int64_t *const x = (const int64_t *)array + begin;
    const uint64_t top = (uint64_t)last;
    uint64_t bad = 0;
    for (int64_t i = 0; i < count; i++) bad |= (uint64_t)x[i] | (top - (uint64_t)x[i]);
    return !(bad >> 63);
}

/* Returns true if, besides, the entries do not fall: x[i] < x[i - 1] sets the sign bit of their difference, which
   cannot wrap if both are in 0 .. last. */
TAMIS_INLINE bool block_rises(const void *array, tamis_index_type type, int64_t begin, int64_t count, int64_t last) {
    if (type == TAMIS_I32) {
        const int32_t *const x = (const int32_t *)array + begin;
        const uint32_t top = (uint32_t)last;
        uint32_t bad = 0;
        for (int64_t i = 0; i < count; i++)
            bad |= (uint32_t)x[i] | (top - (uint32_t)x[i]) | ((uint32_t)x[i] - (uint32_t)x[i - 1]);
        return !(bad >> 31);
    }
    const int64_t *const x = (const int64_t *)array + begin;
    const uint64_t top = (uint64_t)last;
    uint64_t bad = 0;
    for (int64_t i = 0; i < count; i++)
        bad |= (uint64_t)x[i] | (top - (uint64_t)x[i]) | ((uint64_t)x[i] - (uint64_t)x[i - 1]);
    return !(bad >> 63);
}

/* Returns the first entry of begin .. end that breaks the rule, or -1. */
TAMIS_INLINE int64_t first_bad(const void *array, tamis_index_type type, bool rises, int64_t begin, int64_t end,
                               int64_t last) {
    for (int64_t block = begin; block < end; block += BLOCK) {
        const int64_t count = end - block < BLOCK ? end - block : BLOCK;
        const bool good =
            rises ? block_rises(array, type, block, count, last) : block_within(array, type, block, count, last);
        if (good) continue;
        for (int64_t i = block; i < block + count; i++) {
            const int64_t x = tamis_index_load(array, type, i);
            if (x < 0 || x > last || (rises && x < tamis_index_load(array, type, i - 1))) return i;
        }
    }
    return -1;
}

enum { MOST_THREADS = 256 };

typedef struct search {
    const void *array;
    tamis_index_type type;
    bool rises; /* entries must also rise; else only be within 0 .. last */
    int64_t begin, end, last;
    int64_t found[MOST_THREADS]; /* one per thread */
} search;

static int64_t search_part(const search *s, int64_t begin, int64_t end) {
    if (s->type == TAMIS_I32)
        return s->rises ? first_bad(s->array, TAMIS_I32, true, begin, end, s->last)
                        : first_bad(s->array, TAMIS_I32, false, begin, end, s->last);
    return s->rises ? first_bad(s->array, TAMIS_I64, true, begin, end, s->last)
                    : first_bad(s->array, TAMIS_I64, false, begin, end, s->last);
}

static void search_thread(void *context, int thread, int threads) {
    search *const s = context;
    const int64_t count = s->end - s->begin;
    s->found[thread] = search_part(s, s->begin + tamis_partition_even(count, threads, thread),
                                   s->begin + tamis_partition_even(count, threads, thread + 1));
}

static int64_t search_all(search *s, int threads) {
    if (threads <= 0) threads = tamis_threads_default();
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if (s->end - s->begin < SMALL || threads == 1) return search_part(s, s->begin, s->end);
    tamis_threads_run(threads, search_thread, s);
    for (int t = 0; t < threads; t++)
        if (s->found[t] >= 0) return s->found[t];
    return -1;
}

static tamis_status validate_offsets(const tamis_sparse *S, int threads) {
    const tamis_index_type type = S->offset_type;
    const int64_t first = tamis_index_load(S->offsets, type, 0);
    const int64_t base = S->offset_base, last = base + S->nnz;
    const char *const of = base ? "offset_base + nnz" : "nnz";
    if (first != base)
        return tamis_fail(TAMIS_ERROR_PATTERN,
                          base ? "offsets[0] = %lld is not offset_base = %lld" : "offsets[0] = %lld is not %lld",
                          (long long)first, (long long)base);
    search s = {.array = S->offsets, .type = type, .rises = true, .begin = 1, .end = S->rows + 1, .last = last};
    const int64_t bad = search_all(&s, threads);
    if (bad >= 0) {
        const int64_t value = tamis_index_load(S->offsets, type, bad);
        const int64_t before = tamis_index_load(S->offsets, type, bad - 1);
        if (value > last)
            return tamis_fail(TAMIS_ERROR_PATTERN, "offsets[%lld] = %lld is greater than %s = %lld", (long long)bad,
                              (long long)value, of, (long long)last);
        return tamis_fail(TAMIS_ERROR_PATTERN, "offsets[%lld] = %lld is less than offsets[%lld] = %lld", (long long)bad,
                          (long long)value, (long long)(bad - 1), (long long)before);
    }
    const int64_t end = tamis_index_load(S->offsets, type, S->rows);
    if (end != last)
        return tamis_fail(TAMIS_ERROR_PATTERN, "offsets[%lld] = %lld is not %s = %lld", (long long)S->rows,
                          (long long)end, of, (long long)last);
    return TAMIS_OK;
}

static tamis_status validate_indices(const char *name, const void *array, const tamis_sparse *S, int64_t size,
                                     int threads) {
    const tamis_index_type type = S->index_type;
    search s = {.array = array, .type = type, .begin = S->offset_base, .last = size - 1};
    s.end = s.begin + S->nnz;
    const int64_t bad = search_all(&s, threads);
    if (bad < 0) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_PATTERN, "%s[%lld] = %lld is not in 0 .. %lld", name, (long long)bad,
                      (long long)tamis_index_load(array, type, bad), (long long)(size - 1));
}

tamis_status tamis_validate_threads(const tamis_sparse *S, int threads) {
    if (S->format == TAMIS_CSR)
        TRY(validate_offsets(S, threads));
    else
        TRY(validate_indices("row_indices", S->row_indices, S, S->rows, threads));
    return validate_indices("columns", S->columns, S, S->cols, threads);
}

tamis_status tamis_validate(const tamis_sparse *S) {
    tamis_clear_error();
    TRY(tamis_sparse_check_host(S, "S"));
    return tamis_validate_threads(S, 0);
}
