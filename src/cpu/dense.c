/*
 * The dense companions on the CPU. Independent rows are split evenly between threads. Sums over rows are split into
 * chunks, and the chunks' sums are added in order. The chunks depend only on the sizes, so the number of threads does
 * not change the result.
 */
#include "cpu/parts.h"

#include "base/status.h"
#include "base/threads.h"
#include "sparse/structure.h"

/* Elements that pay for one more thread; columns of a Gram product, or of column sums, in one item. */
enum { THREAD_WORTH = 16384, BAND = 64, SUMS_BAND = 1024 };

typedef void rows_function(const tamis_dense_job *job, int64_t begin, int64_t end);

typedef struct run {
    const tamis_dense_job *job;
    const tamis_cpu_dense *kernels;
    rows_function *rows;
    int64_t bands;
    double *sums;
} run;

static tamis_status begin(const tamis_dense_job *job, run *r) {
    const tamis_cpu_variant *variant = NULL;
    TRY(tamis_cpu_variant_choose(&variant));
    *r = (run){.job = job,
               .kernels = variant->dense[job->type],
               .sums = (double *)(void *)((char *)job->workspace.base + job->workspace.bytes)};
    return TAMIS_OK;
}

/* The number of threads for `items` items of `work` multiply-adds each. */
static int threads_for(const tamis_dense_job *job, int64_t items, int64_t work) {
    const int64_t worth = work >= THREAD_WORTH ? items : items / (THREAD_WORTH / (work > 0 ? work : 1));
    const int64_t most = worth < items ? worth : items;
    return most < 1 ? 1 : most < job->threads ? (int)most : job->threads;
}

static void body_rows(void *context, int thread, int threads) {
    const run *const r = context;
    const int64_t first = tamis_partition_even(r->job->rows, threads, thread);
    const int64_t last = tamis_partition_even(r->job->rows, threads, thread + 1);
    if (first < last) r->rows(r->job, first, last);
}

/* Functions that compute rows by the kernel of their name; `work`: multiply-adds a row. */
#define BY_ROWS(name, work)                                                                                            \
    static tamis_status name(const tamis_dense_job *job) {                                                             \
        run r;                                                                                                         \
        TRY(begin(job, &r));                                                                                           \
        r.rows = r.kernels->name;                                                                                      \
        tamis_threads_run(threads_for(job, job->rows, work), body_rows, &r);                                           \
        return TAMIS_OK;                                                                                               \
    }
BY_ROWS(map, job->kind == TAMIS_MAP_EXP_DIGAMMA ? 16 * job->cols : job->cols)
BY_ROWS(scale, job->cols)
BY_ROWS(multiply, job->inner < THREAD_WORTH ? job->cols * (job->inner + 1) / 8 : THREAD_WORTH)
BY_ROWS(row_dots, job->cols)
BY_ROWS(conjugate_step, 3 * job->cols)
BY_ROWS(coordinate_step, job->cols *(job->cols + 8) / 8)
#undef BY_ROWS

/* ------------------------------------------------------------------------------------------ by chunks */

/* An item is a band of columns in a chunk of rows. */
static void body_column_sums(void *context, int thread, int threads) {
    const run *const r = context;
    const tamis_dense_job *const job = r->job;
    const int64_t items = job->chunks * r->bands;
    TAMIS_EACH_OF_SHARE(t, items, threads, thread) {
        const int64_t chunk = t / r->bands, first = t % r->bands * SUMS_BAND;
        const int64_t last = first + SUMS_BAND < job->cols ? first + SUMS_BAND : job->cols;
        r->kernels->column_sums(job, tamis_dense_chunk_begin(job, chunk), tamis_dense_chunk_begin(job, chunk + 1),
                                first, last, r->sums + chunk * job->cols);
    }
}

static tamis_status column_sums(const tamis_dense_job *job) {
    run r;
    TRY(begin(job, &r));
    r.bands = (job->cols + SUMS_BAND - 1) / SUMS_BAND;
    const int64_t work = job->rows / job->chunks * (job->cols < SUMS_BAND ? job->cols : SUMS_BAND);
    tamis_threads_run(threads_for(job, job->chunks * r.bands, work), body_column_sums, &r);
    r.kernels->column_finish(job, 0, job->cols, r.sums);
    return TAMIS_OK;
}

static void body_gram(void *context, int thread, int threads) {
    const run *const r = context;
    const tamis_dense_job *const job = r->job;
    const int64_t items = job->chunks * r->bands;
    for (int64_t t = thread; t < items; t += threads) { /* round robin, since later bands have less work */
        const int64_t chunk = t / r->bands, first = t % r->bands * BAND;
        const int64_t last = first + BAND < job->cols ? first + BAND : job->cols;
        r->kernels->gram(job, tamis_dense_chunk_begin(job, chunk), tamis_dense_chunk_begin(job, chunk + 1), first, last,
                         r->sums + chunk * job->cols * job->cols);
    }
}

static void body_gram_finish(void *context, int thread, int threads) {
    const run *const r = context;
    for (int64_t band = thread; band < r->bands; band += threads)
        r->kernels->gram_finish(r->job, band * BAND,
                                (band + 1) * BAND < r->job->cols ? (band + 1) * BAND : r->job->cols, r->sums);
}

static tamis_status gram(const tamis_dense_job *job) {
    run r;
    TRY(begin(job, &r));
    r.bands = (job->cols + BAND - 1) / BAND;
    const int64_t work = job->rows / job->chunks * (job->cols < BAND ? job->cols : BAND) * job->cols / 16;
    tamis_threads_run(threads_for(job, job->chunks * r.bands, work), body_gram, &r);
    tamis_threads_run(threads_for(job, r.bands, job->chunks * BAND * job->cols), body_gram_finish, &r);
    return TAMIS_OK;
}

static void body_dot(void *context, int thread, int threads) {
    const run *const r = context;
    TAMIS_EACH_OF_SHARE(chunk, r->job->chunks, threads, thread)
    r->sums[chunk] =
        r->kernels->dot(r->job, tamis_dense_chunk_begin(r->job, chunk), tamis_dense_chunk_begin(r->job, chunk + 1));
}

static tamis_status dot(const tamis_dense_job *job, double *result) {
    run r;
    double sum = 0;
    TRY(begin(job, &r));
    const int64_t work = job->rows / job->chunks * job->cols;
    tamis_threads_run(threads_for(job, job->chunks, job->kind ? 8 * work : work), body_dot, &r);
    for (int64_t chunk = 0; chunk < job->chunks; chunk++) sum += r.sums[chunk];
    *result = sum;
    return TAMIS_OK;
}

static tamis_status ready(void *device, tamis_type type) {
    (void)device;
    (void)type;
    return TAMIS_OK;
}

const tamis_dense_functions tamis_cpu_dense_functions = {
    .ready = ready,
    .map = map,
    .scale = scale,
    .multiply = multiply,
    .gram = gram,
    .column_sums = column_sums,
    .row_dots = row_dots,
    .dot = dot,
    .conjugate_step = conjugate_step,
    .coordinate_step = coordinate_step,
};
