/* The row profile: exact statistics of the offsets, estimates of the others from a sample of rows, and the public
   function. */
#include <math.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/order.h"
#include "sparse/structure.h"

enum {
    MOST_THREADS = 256,
    SMALL = 1 << 15, /* fewer rows do not justify a second thread */
    SAMPLED_ROWS = 1024,
    SAMPLED_COLUMNS = 64 /* columns read in a sampled row */
};

typedef struct lengths {
    int64_t max, min, empty;
    double squares; /* the sum of squared distances from the mean */
} lengths;

typedef struct lengths_job {
    const tamis_sparse *S;
    double mean;
    lengths parts[MOST_THREADS];
} lengths_job;

TAMIS_INLINE void add_length(const void *offsets, tamis_index_type type, int64_t row, double mean, lengths *all,
                             double *squares) {
    const int64_t length = tamis_index_load(offsets, type, row + 1) - tamis_index_load(offsets, type, row);
    all->max = length > all->max ? length : all->max;
    all->min = length < all->min ? length : all->min;
    all->empty += length == 0;
    *squares += ((double)length - mean) * ((double)length - mean);
}

TAMIS_INLINE lengths measure(const void *offsets, tamis_index_type type, int64_t begin, int64_t end, double mean) {
    lengths all = {.max = 0, .min = INT64_MAX};
    double squares[4] = {0}; /* independent sums, which the processor computes in parallel */
    int64_t row = begin;
    for (; row + 4 <= end; row += 4)
        for (int lane = 0; lane < 4; lane++) add_length(offsets, type, row + lane, mean, &all, &squares[lane]);
    for (; row < end; row++) add_length(offsets, type, row, mean, &all, &squares[0]);
    all.squares = squares[0] + squares[1] + squares[2] + squares[3];
    return all;
}

static void lengths_thread(void *context, int thread, int threads) {
    lengths_job *const job = context;
    const int64_t begin = tamis_partition_even(job->S->rows, threads, thread);
    const int64_t end = tamis_partition_even(job->S->rows, threads, thread + 1);
    job->parts[thread] = job->S->offset_type == TAMIS_I32 ? measure(job->S->offsets, TAMIS_I32, begin, end, job->mean)
                                                          : measure(job->S->offsets, TAMIS_I64, begin, end, job->mean);
}

/* Estimates bandwidth and mean_span from a sample of rows, using the first, the last and some columns between. */
static void estimate_columns(const tamis_sparse *S, tamis_profile *profile) {
    const int64_t samples = S->rows < SAMPLED_ROWS ? S->rows : SAMPLED_ROWS;
    int64_t seen = 0;
    double spans = 0;
    for (int64_t k = 0; k < samples; k++) {
        const int64_t next = tamis_partition_even(S->rows, (int)samples, (int)k + 1);
        int64_t row = tamis_partition_even(S->rows, (int)samples, (int)k), begin = 0, end = 0;
        for (; row < next; row++) { /* finds the first row of this share that has entries */
            begin = tamis_index_load(S->offsets, S->offset_type, row);
            end = tamis_index_load(S->offsets, S->offset_type, row + 1);
            if (end > begin) break;
        }
        if (row == next) continue;
        int64_t low = tamis_index_load(S->columns, S->index_type, end - 1), high = low;
        const int64_t step = (end - begin + SAMPLED_COLUMNS - 1) / SAMPLED_COLUMNS;
        for (int64_t z = begin; z < end; z += step) {
            const int64_t column = tamis_index_load(S->columns, S->index_type, z);
            low = column < low ? column : low;
            high = column > high ? column : high;
        }
        const int64_t left = row > low ? row - low : low - row, right = row > high ? row - high : high - row;
        const int64_t reach = left > right ? left : right;
        profile->bandwidth = reach > profile->bandwidth ? reach : profile->bandwidth;
        spans += (double)(high - low) + 1;
        seen++;
    }
    profile->mean_span = seen ? spans / (double)seen : 0;
}

void tamis_profile_lengths(const tamis_sparse *S, int threads, tamis_profile *profile) {
    const double cells = (double)S->rows * (double)S->cols;
    *profile = (tamis_profile){.rows = S->rows,
                               .cols = S->cols,
                               .nnz = S->nnz,
                               .mean = S->rows ? (double)S->nnz / (double)S->rows : 0,
                               .density = cells > 0 ? (double)S->nnz / cells : 0,
                               .duplicates = -1};
    if (S->rows == 0) return;
    if (threads <= 0) threads = tamis_threads_default();
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if (S->rows < SMALL) threads = 1;
    lengths_job job = {.S = S, .mean = profile->mean};
    tamis_threads_run(threads, lengths_thread, &job);
    double squares = 0;
    profile->min = INT64_MAX;
    for (int t = 0; t < threads; t++) {
        const lengths *const part = &job.parts[t];
        profile->max = part->max > profile->max ? part->max : profile->max;
        profile->min = part->min < profile->min ? part->min : profile->min;
        profile->empty_rows += part->empty;
        squares += part->squares;
    }
    if (S->nnz > 0) profile->variation = sqrt(squares / (double)S->rows) / profile->mean;
}

void tamis_profile_rows(const tamis_sparse *S, int threads, tamis_profile *profile) {
    tamis_profile_lengths(S, threads, profile);
    estimate_columns(S, profile);
}

void tamis_profile_add_empty(tamis_profile *profile, int64_t rows) {
    if (rows == 0) return;
    const double kept = (double)profile->rows, all = kept + (double)rows, mean = profile->mean * kept / all;
    /* E[x^2], from which the variance is E[x^2] - mean^2 */
    const double squares = profile->mean * profile->mean * (1 + profile->variation * profile->variation) * kept / all;
    if (profile->nnz > 0) profile->variation = sqrt(squares - mean * mean) / mean;
    profile->rows += rows;
    profile->empty_rows += rows;
    profile->min = 0;
    profile->mean = mean;
    profile->density *= kept / all;
}

/* Computes the offsets of a COO's rows. Returns true if its entries are ordered by row. */
static bool offsets_from_entries(const tamis_sparse *S, int64_t *offsets) {
    bool ordered = true;
    int64_t before = 0;
    for (int64_t t = 0; t < S->nnz; t++) {
        const int64_t row = tamis_index_load(S->row_indices, S->index_type, t);
        ordered &= row >= before;
        before = row;
        offsets[row + 1]++;
    }
    for (int64_t row = 0; row < S->rows; row++) offsets[row + 1] += offsets[row];
    return ordered;
}

/* Computes the bandwidth of entries in any order. */
static void measure_bandwidth(const tamis_sparse *S, tamis_profile *profile) {
    profile->bandwidth = 0;
    for (int64_t t = 0; t < S->nnz; t++) {
        const int64_t row = tamis_index_load(S->row_indices, S->index_type, t);
        const int64_t column = tamis_index_load(S->columns, S->index_type, t);
        const int64_t reach = row > column ? row - column : column - row;
        profile->bandwidth = reach > profile->bandwidth ? reach : profile->bandwidth;
    }
}

/* Computes mean_span of entries in any order. low and high have room for each row. */
static void measure_scattered(const tamis_sparse *S, int64_t *low, int64_t *high, tamis_profile *profile) {
    for (int64_t row = 0; row < S->rows; row++) {
        low[row] = INT64_MAX;
        high[row] = -1;
    }
    for (int64_t t = 0; t < S->nnz; t++) {
        const int64_t row = tamis_index_load(S->row_indices, S->index_type, t);
        const int64_t column = tamis_index_load(S->columns, S->index_type, t);
        low[row] = column < low[row] ? column : low[row];
        high[row] = column > high[row] ? column : high[row];
    }
    double spans = 0;
    for (int64_t row = 0; row < S->rows; row++)
        if (high[row] >= 0) spans += (double)(high[row] - low[row]) + 1;
    profile->mean_span = spans / (double)(S->rows - profile->empty_rows);
}

static tamis_status profile_entries(const tamis_sparse *S, tamis_profile *profile) {
    TAMIS_SCOPE;
    void *offsets, *low, *high;
    TRY(tamis_scope_allocate_zeroed(S->rows + 1, sizeof(int64_t), "row offsets", &offsets));
    const bool ordered = offsets_from_entries(S, offsets);
    tamis_sparse rows = *S;
    rows.format = TAMIS_CSR;
    rows.offsets = offsets;
    rows.offset_type = TAMIS_I64;
    tamis_profile_lengths(&rows, 0, profile);
    if (ordered) {
        tamis_profile_columns(&rows, 0, profile);
    } else {
        TRY(tamis_scope_allocate(S->rows, sizeof(int64_t), "the first columns of rows", &low));
        TRY(tamis_scope_allocate(S->rows, sizeof(int64_t), "the last columns of rows", &high));
        measure_bandwidth(S, profile);
        measure_scattered(S, low, high, profile);
    }
    return TAMIS_OK;
}

/* The same for a COO by its nonempty rows. */
static tamis_status profile_listed(const tamis_sparse *S, tamis_profile *profile) {
    TAMIS_SCOPE;
    void *listed, *offsets, *columns;
    tamis_sparse rows = *S;
    TRY(tamis_scope_allocate(S->nnz + 1, sizeof(int64_t), "rows that have entries", &listed));
    TRY(tamis_scope_allocate(S->nnz + 1, sizeof(int64_t), "row offsets", &offsets));
    TRY(tamis_scope_allocate(S->nnz, tamis_index_size(S->index_type), "columns in row order", &columns));
    TRY(tamis_group_listed(S, false, TAMIS_I64, listed, &rows.rows, offsets, &(tamis_reordered){columns, NULL, NULL}));
    rows.format = TAMIS_CSR;
    rows.offsets = offsets;
    rows.offset_type = TAMIS_I64;
    rows.columns = columns;
    tamis_profile_lengths(&rows, 0, profile);
    tamis_profile_columns(&rows, 0, profile);
    tamis_profile_add_empty(profile, S->rows - rows.rows);
    measure_bandwidth(S, profile);
    if (!tamis_indices_rise(S->row_indices, S->index_type, 0, S->nnz)) {
        profile->sorted = false;
        profile->duplicates = -1;
    }
    return TAMIS_OK;
}

tamis_status tamis_row_profile(const tamis_sparse *S, tamis_profile *profile) {
    tamis_clear_error();
    TRY(tamis_sparse_check_host(S, "S"));
    if (!profile) return tamis_fail(TAMIS_ERROR_ARGUMENT, "profile = NULL: expected an address for the result");
    TRY(tamis_validate_threads(S, 0));
    tamis_profile result = {0};
    if (S->format == TAMIS_CSR) {
        tamis_sparse view;
        void *own = NULL;
        TRY(tamis_slice_rebase(S, &view, &own));
        tamis_profile_lengths(&view, 0, &result);
        tamis_profile_columns(&view, 0, &result);
        tamis_release(own);
    } else if (tamis_groups_are_rare(S->rows, S->nnz)) {
        TRY(profile_listed(S, &result));
    } else {
        TRY(profile_entries(S, &result));
    }
    *profile = result;
    return TAMIS_OK;
}
