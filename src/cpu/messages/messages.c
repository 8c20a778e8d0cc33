/*
 * Message passing on the CPU. Threads take ranges of whole rows with equal shares of the entries, or ranges of entries.
 * A row that is longer than a thread's share (a hub) is cut into ranges of elements instead, one for each thread: so
 * each element is still computed by one thread, in the same order, and nothing has to be merged. Hubs of few elements
 * are therefore one thread's work.
 */
#include "cpu/parts.h"

#include "base/status.h"
#include "base/threads.h"
#include "sparse/index.h"
#include "sparse/structure.h"

/* The elements that pay for one more thread; hubs that are cut; elements between two cuts; entries of the shortest hub
   and its part of a thread's share. */
enum { THREAD_WORTH = 16384, HUBS = 64, CUT = 16, HUB_LEAST = 1024, HUB_PART = 4 };

typedef struct run {
    const tamis_message_job *job;
    const tamis_cpu_messages *kernels;
    int hub_count;
    int64_t hubs[HUBS]; /* rows, rising */
} run;

static int64_t offset(const tamis_message_order *order, int64_t row) {
    return tamis_index_load(order->offsets, order->offset_type, row);
}

static int threads_for(const tamis_message_job *job) {
    const double work = (double)(job->order.nnz + job->order.rows) * (double)(job->heads * job->width);
    const double most = work / THREAD_WORTH;
    return most < 1 ? 1 : most < job->threads ? (int)most : job->threads;
}

static void find_hubs(run *r, int threads) {
    const tamis_message_order *const order = &r->job->order;
    const int64_t share = order->nnz / threads / HUB_PART, least = share > HUB_LEAST ? share : HUB_LEAST;
    if (threads == 1) return;
    for (int64_t i = 0; i < order->rows && r->hub_count < HUBS; i++)
        if (offset(order, i + 1) - offset(order, i) >= least) r->hubs[r->hub_count++] = i;
}

/* The rows and entries before a row, without those of hubs. */
static int64_t work_before(const run *r, int64_t row) {
    int64_t work = offset(&r->job->order, row) + row;
    for (int i = 0; i < r->hub_count && r->hubs[i] < row; i++)
        work -= offset(&r->job->order, r->hubs[i] + 1) - offset(&r->job->order, r->hubs[i]);
    return work;
}

/* The first row of a share. */
static int64_t share_begin(const run *r, int share, int shares) {
    const int64_t wanted = tamis_partition_even(work_before(r, r->job->order.rows), shares, share);
    int64_t low = 0, high = r->job->order.rows;
    if (share == shares) return high;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (work_before(r, middle) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void body_rows(void *context, int share, int shares) {
    const run *const r = context;
    const int64_t all = r->job->heads * r->job->width, cuts = (all + CUT - 1) / CUT;
    const int64_t first = tamis_partition_even(cuts, shares, share) * CUT;
    const int64_t cut = tamis_partition_even(cuts, shares, share + 1) * CUT, last = cut < all ? cut : all;
    int64_t row = share_begin(r, share, shares);
    const int64_t end = share_begin(r, share + 1, shares);
    for (int i = 0; i < r->hub_count; i++)
        if (first < last) r->kernels->rows(r->job, r->hubs[i], r->hubs[i] + 1, first, last);
    for (int i = 0; i <= r->hub_count; i++) { /* the rows between hubs */
        const int64_t hub = i < r->hub_count ? r->hubs[i] : r->job->order.rows;
        const int64_t stop = hub < end ? hub : end;
        if (row < stop) r->kernels->rows(r->job, row, stop, 0, all);
        if (hub >= row) row = hub + 1;
    }
}

static void body_entries(void *context, int share, int shares) {
    const run *const r = context;
    const int64_t begin = tamis_partition_even(r->job->order.nnz, shares, share);
    const int64_t end = tamis_partition_even(r->job->order.nnz, shares, share + 1);
    if (begin < end) r->kernels->entries(r->job, begin, end);
}

/* The kernels count places within a row in 31 bits. */
static tamis_status check_places(const tamis_message_order *order) {
    for (int64_t i = 0; order->nnz > INT32_MAX && i < order->rows; i++)
        if (offset(order, i + 1) - offset(order, i) > INT32_MAX)
            return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                              "row %lld of S has %lld entries: max and min take up to %d a row on the CPU",
                              (long long)i, (long long)(offset(order, i + 1) - offset(order, i)), (int)INT32_MAX);
    return TAMIS_OK;
}

static tamis_status run_job(const tamis_message_job *job) {
    const tamis_cpu_variant *variant = NULL;
    TRY(tamis_cpu_variant_choose(&variant));
    run r = {.job = job, .kernels = variant->messages[job->type]};
    const int threads = threads_for(job);
    if (job->kind == TAMIS_PASS_LARGEST) TRY(check_places(&job->order));
    if (job->kind != TAMIS_PASS_ENTRIES) find_hubs(&r, threads);
    tamis_threads_run(threads, job->kind == TAMIS_PASS_ENTRIES ? body_entries : body_rows, &r);
    return TAMIS_OK;
}

const tamis_message_functions tamis_cpu_message_functions = {.run = run_job};
