/*
 * The pattern of a mask of attention (tamis/mask.h) in host memory. The columns that a row keeps are found 32 at a
 * time, as the bits of a word, or at once if they are runs (sparse/mask_runs.h).
 */
#include "base/status.h"
#include "base/threads.h"
#include "cpu/parts.h"
#include "sparse/index.h"
#include "sparse/mask_runs.h"
#include "sparse/structure.h"

enum { SHARE = 1 << 14 /* rows or columns that pay for one more thread */ };

typedef struct job {
    const tamis_mask *mask;
    bool in_runs, everything; /* tamis_mask_has_runs, tamis_mask_keeps_all */
    tamis_index_type offset_type, index_type;
    void *offsets; /* while counting, row r has its count at r + 1 */
    void *columns;
} job;

/* The columns that a row keeps, except blocks and the list of global places. */
typedef struct row {
    int64_t member, place, end;     /* columns end before `end` */
    int64_t window, window_end;     /* columns of the window; none if the end is not greater */
    int64_t head;                   /* the first places */
    int64_t block_begin, block_end; /* its entries of mask.blocks */
    bool all;                       /* keeps every column before the end */
} row;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static bool is_global(const tamis_mask *m, int64_t place) {
    if (place < 0 || place >= m->cols) return false;
    if (place < m->globals) return true;
    const int64_t at = tamis_index_first(m->global_list, m->global_type, 0, m->global_count, place);
    return at < m->global_count && tamis_index_load(m->global_list, m->global_type, at) == place;
}

static row row_of(const job *j, int64_t r) {
    const tamis_mask *const m = j->mask;
    const int64_t member = r / m->rows, i = r - member * m->rows;
    const int64_t length = m->lengths ? tamis_index_load(m->lengths, m->length_type, member) : m->cols;
    row x = {.member = member, .place = i + m->offset + (m->from_end ? length - m->rows : 0)};
    const bool is_there = !m->row_lengths || i < tamis_index_load(m->row_lengths, m->length_type, member);
    x.end = is_there ? larger(m->causal ? smaller(length, x.place + 1) : length, 0) : 0;
    x.all = j->everything || (!m->sinks && is_global(m, x.place));
    x.window = x.window_end = x.end;
    if (m->left >= 0) x.window = smaller(larger(x.place - m->left, 0), x.end);
    if (m->left < 0 && m->right >= 0) x.window = 0;
    if (m->right >= 0) x.window_end = smaller(x.place + m->right + 1, x.end);
    x.head = smaller(m->globals, x.end);
    if (m->blocks && m->blocks->nnz > 0) {
        x.block_begin = tamis_index_load(m->blocks->offsets, m->blocks->offset_type, i / m->block);
        x.block_end = tamis_index_load(m->blocks->offsets, m->blocks->offset_type, i / m->block + 1);
    }
    return x;
}

/* ------------------------------------------------------------------------------------------ words */

/* Bits of the columns begin .. end - 1 within the 32 columns from `base`. */
static uint32_t bits_between(int64_t begin, int64_t end, int64_t base) {
    const int64_t from = larger(begin - base, 0), to = smaller(end - base, 32);
    if (to <= from) return 0;
    return (to == 32 ? UINT32_MAX : (UINT32_C(1) << to) - 1) & ~((UINT32_C(1) << from) - 1);
}

/* Every step-th one of these columns, counted from `place`. */
static uint32_t bits_stepped(int64_t begin, int64_t end, int64_t step, int64_t place, int64_t base) {
    const int64_t from = larger(begin, base), to = smaller(end, base + 32);
    uint32_t bits = 0;
    if (from >= to) return 0;
    const int64_t ahead = (place - from) % step;
    for (int64_t j = from + (ahead < 0 ? ahead + step : ahead); j < to; j += step) bits |= UINT32_C(1) << (j - base);
    return bits;
}

/* Progress in a row: the column of the next word, the next column of the stride, and the next entries of the list and
   of the row of blocks. */
typedef struct reached {
    int64_t base, stepped, listed, block;
} reached;

static reached start_of(const tamis_mask *m, const row *x) {
    reached at = {.stepped = x->end, .block = x->block_begin};
    if (m->every > 0) at.stepped = x->place % m->every;
    if (at.stepped < 0) at.stepped += m->every;
    return at;
}

static uint32_t bits_of_stride(const tamis_mask *m, const row *x, reached *at) {
    const int64_t end = smaller(at->base + 32, x->end);
    uint32_t bits = 0;
    for (; at->stepped < end; at->stepped += m->every) bits |= UINT32_C(1) << (at->stepped - at->base);
    return bits;
}

static uint32_t bits_listed(const tamis_mask *m, reached *at) {
    uint32_t bits = 0;
    for (; at->listed < m->global_count; at->listed++) {
        const int64_t j = tamis_index_load(m->global_list, m->global_type, at->listed) - at->base;
        if (j >= 32) break;
        bits |= UINT32_C(1) << j;
    }
    return bits;
}

static int64_t begin_of_block(const tamis_mask *m, int64_t b) {
    return tamis_index_load(m->blocks->columns, m->blocks->index_type, b) * m->block;
}

static uint32_t bits_of_blocks(const tamis_mask *m, const row *x, reached *at) {
    uint32_t bits = 0;
    for (; at->block < x->block_end; at->block++) {
        const int64_t begin = begin_of_block(m, at->block), end = begin + m->block;
        bits |= bits_between(begin, end, at->base);
        if (end > at->base + 32) break;
    }
    return bits;
}

static uint32_t bits_of(const tamis_mask *m, const row *x, reached *at) {
    const int64_t base = at->base;
    uint32_t bits = bits_between(0, x->head, base);
    bits |= m->dilation == 1 ? bits_between(x->window, x->window_end, base)
                             : bits_stepped(x->window, x->window_end, m->dilation, x->place, base);
    if (m->every > 0) bits |= bits_of_stride(m, x, at);
    if (m->global_count > 0) bits |= bits_listed(m, at);
    if (at->block < x->block_end) bits |= bits_of_blocks(m, x, at);
    return bits & bits_between(0, x->end, base);
}

/* The first column of the next word: the first column after this word that may be kept, or the end. */
static int64_t next_base(const tamis_mask *m, const row *x, const reached *at) {
    const int64_t base = at->base + 32;
    int64_t next = x->end;
    if (base < x->head || (base >= x->window && base < x->window_end)) return base;
    if (x->window < x->window_end && base < x->window) next = x->window;
    if (m->every > 0) next = smaller(next, at->stepped);
    if (at->listed < m->global_count)
        next = smaller(next, tamis_index_load(m->global_list, m->global_type, at->listed));
    if (at->block < x->block_end) next = smaller(next, larger(base, begin_of_block(m, at->block)));
    return next;
}

/* ------------------------------------------------------------------------------------------ rows */

static int64_t count_runs(const job *j, int64_t r) {
    const tamis_runs runs = tamis_mask_runs(j->mask, false, r);
    return tamis_runs_length(&runs);
}

static int64_t count_row(const job *j, int64_t r) {
    if (j->in_runs) return count_runs(j, r);
    const row x = row_of(j, r);
    reached at = start_of(j->mask, &x);
    int64_t count = 0;
    if (x.all) return x.end;
    for (; at.base < x.end; at.base = next_base(j->mask, &x, &at))
        count += __builtin_popcount(bits_of(j->mask, &x, &at));
    return count;
}

TAMIS_INLINE int64_t store_run(void *columns, tamis_index_type type, int64_t at, int64_t first, int64_t count) {
    for (int64_t k = 0; k < count; k++) tamis_index_store(columns, type, at + k, first + k);
    return at + larger(count, 0);
}

TAMIS_INLINE void fill_row(const job *j, tamis_index_type type, int64_t r) {
    int64_t at = tamis_index_load(j->offsets, j->offset_type, r);
    if (j->in_runs) {
        const tamis_runs runs = tamis_mask_runs(j->mask, false, r);
        for (int k = 0; k < 2; k++) at = store_run(j->columns, type, at, runs.begins[k], runs.ends[k] - runs.begins[k]);
        return;
    }
    const row x = row_of(j, r);
    const int64_t before = x.member * j->mask->cols;
    if (x.all) {
        store_run(j->columns, type, at, before, x.end);
        return;
    }
    for (reached word = start_of(j->mask, &x); word.base < x.end; word.base = next_base(j->mask, &x, &word)) {
        uint32_t bits = bits_of(j->mask, &x, &word);
        if (bits == UINT32_MAX) {
            at = store_run(j->columns, type, at, before + word.base, 32);
            continue;
        }
        for (; bits; bits &= bits - 1)
            tamis_index_store(j->columns, type, at++, before + word.base + __builtin_ctz(bits));
    }
}

/* ------------------------------------------------------------------------------------------ threads */

static void count_share(void *context, int thread, int threads) {
    const job *const j = context;
    TAMIS_EACH_OF_SHARE(r, j->mask->members * j->mask->rows, threads, thread)
    tamis_index_store(j->offsets, j->offset_type, r + 1, count_row(j, r));
}

/* Each thread fills rows with about equally many columns. */
static void fill_share(void *context, int thread, int threads) {
    const job *const j = context;
    const int64_t rows = j->mask->members * j->mask->rows;
    const int64_t nnz = tamis_index_load(j->offsets, j->offset_type, rows);
    const int64_t from = tamis_partition_even(nnz, threads, thread),
                  to = tamis_partition_even(nnz, threads, thread + 1);
    for (int64_t r = tamis_index_first(j->offsets, j->offset_type, 0, rows, from);
         r < rows && tamis_index_load(j->offsets, j->offset_type, r) < to; r++) {
        if (j->index_type == TAMIS_I32) /* with a constant type it is one store */
            fill_row(j, TAMIS_I32, r);
        else
            fill_row(j, TAMIS_I64, r);
    }
}

static job job_of(const tamis_mask *m) {
    return (job){.mask = m, .in_runs = tamis_mask_has_runs(m), .everything = tamis_mask_keeps_all(m)};
}

tamis_status tamis_cpu_mask_offsets(void *device, void *stream, int threads, const tamis_mask *mask,
                                    tamis_index_type offset_type, void *offsets, int64_t *nnz) {
    job j = job_of(mask);
    const int64_t rows = mask->members * mask->rows;
    int64_t sum = 0;
    (void)device;
    (void)stream;
    j.offset_type = offset_type;
    j.offsets = offsets;
    tamis_index_store(offsets, offset_type, 0, 0);
    if (rows > 0) tamis_threads_run(rows < SHARE ? 1 : threads, count_share, &j);
    for (int64_t r = 1; r <= rows; r++) {
        sum += tamis_index_load(offsets, offset_type, r);
        tamis_index_store(offsets, offset_type, r, sum);
    }
    if (nnz) *nnz = sum;
    if (tamis_index_holds(offset_type, sum)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW, "mask: %lld columns are kept, which an offset_type of %s cannot hold",
                      (long long)sum, tamis_index_type_name(offset_type));
}

tamis_status tamis_cpu_mask_columns(void *device, void *stream, int threads, const tamis_mask *mask,
                                    tamis_index_type offset_type, const void *offsets, tamis_index_type index_type,
                                    void *columns) {
    job j = job_of(mask);
    const int64_t rows = mask->members * mask->rows;
    (void)device;
    (void)stream;
    j.offset_type = offset_type;
    j.index_type = index_type;
    j.offsets = (void *)(uintptr_t)offsets;
    j.columns = columns;
    if (rows == 0) return TAMIS_OK;
    tamis_threads_run(tamis_index_load(offsets, offset_type, rows) < SHARE ? 1 : threads, fill_share, &j);
    return TAMIS_OK;
}
