/* Divides the rows of an order among threads. */
#include "cpu/messages/shares.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/text_buffer.h"
#include "base/threads.h"
#include "cpu/parts.h"
#include "cpu/stealing.h"
#include "sparse/structure.h"

/* Elements that pay for one more thread; most hubs; entries of the shortest hub, and its least part of a thread's
   share; parts of a share; most threads. */
enum { THREAD_WORTH = 16384, HUBS = 64, HUB_LEAST = 1024, HUB_PART = 4, PARTS = 8, THREADS_MOST = 1024 };

typedef struct parts {
    tamis_thread_body *body;
    void *context;
    atomic_int begun[THREADS_MOST];
} parts;

typedef struct run {
    tamis_cpu_sharing what;
    int hub_count;
    int64_t hubs[HUBS]; /* rows, sorted */
} run;

static void take_parts(void *context, int share, int shares) {
    parts *const p = context;
    int victim = 0;
    for (int part; (part = tamis_cpu_next_part(p->begun, PARTS, share, shares, &victim)) >= 0;)
        p->body(p->context, part, shares * PARTS);
}

void tamis_cpu_run_parts(int threads, tamis_thread_body *body, void *context) {
    parts p = {.body = body, .context = context};
    if (threads == 1)
        body(context, 0, 1);
    else
        tamis_threads_run(threads < THREADS_MOST ? threads : THREADS_MOST, take_parts, &p);
}

static int64_t length_of(const tamis_message_order *order, int64_t row) {
    return tamis_cpu_order_offset(order, row + 1) - tamis_cpu_order_offset(order, row);
}

tamis_status tamis_cpu_find_long_rows(void *device, void *stream, const tamis_message_order *order, void **found) {
    tamis_long_rows *made = NULL;
    int64_t count = 0;
    (void)device;
    (void)stream;
    *found = NULL;
    for (int64_t i = 0; order->nnz >= HUB_LEAST && i < order->rows; i++) count += length_of(order, i) >= HUB_LEAST;
    if (count == 0) return TAMIS_OK;
    TRY(tamis_allocate_zeroed(count + 1, sizeof(int64_t), "long rows of a graph", (void **)&made));
    for (int64_t i = 0; i < order->rows; i++)
        if (length_of(order, i) >= HUB_LEAST) made->rows[made->count++] = i;
    *found = made;
    return TAMIS_OK;
}

void tamis_cpu_forget_long_rows(void *device, void *found) {
    (void)device;
    tamis_release(found);
}

void tamis_cpu_explain_long_rows(const tamis_message_order *order, tamis_text_buffer *text) {
    const tamis_long_rows *const found = order->plan;
    if (found)
        tamis_text_add(text, "; of rows of %d entries or more (%lld) threads may each compute some columns", HUB_LEAST,
                       (long long)found->count);
    else
        tamis_text_add(text, "; no row has %d entries, so that each row is computed by one thread", HUB_LEAST);
}

/* The kernels count places within a row in 31 bits. */
tamis_status tamis_cpu_check_places(const tamis_message_order *order) {
    const tamis_long_rows *const found = order->plan;
    for (int64_t i = 0; found && i < found->count; i++)
        if (length_of(order, found->rows[i]) > INT32_MAX)
            return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                              "row %lld of S has %lld entries: max and min take up to %d a row on the CPU",
                              (long long)found->rows[i], (long long)length_of(order, found->rows[i]), (int)INT32_MAX);
    return TAMIS_OK;
}

int tamis_cpu_threads_for(const tamis_message_order *order, int threads, int64_t elements) {
    const double most = (double)(order->nnz + order->rows) * (double)elements / THREAD_WORTH;
    return most < 1 ? 1 : most < threads ? (int)most : threads;
}

static void find_hubs(run *r, int threads) {
    const tamis_message_order *const order = r->what.order;
    const int64_t least = order->nnz / threads / HUB_PART;
    const tamis_long_rows *const found = order->plan;
    if (threads == 1 || !found) return;
    for (int64_t i = 0; i < found->count && r->hub_count < HUBS; i++)
        if (length_of(order, found->rows[i]) >= least) r->hubs[r->hub_count++] = found->rows[i];
}

/* Rows plus entries before a row, without hubs. */
static int64_t work_before(const run *r, int64_t row) {
    int64_t work = tamis_cpu_order_offset(r->what.order, row) + row;
    for (int i = 0; i < r->hub_count && r->hubs[i] < row; i++) work -= length_of(r->what.order, r->hubs[i]);
    return work;
}

/* Binary search: the first row of a share. */
static int64_t share_begin(const run *r, int share, int shares) {
    const int64_t wanted = tamis_partition_even(work_before(r, r->what.order->rows), shares, share);
    int64_t low = 0, high = r->what.order->rows;
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

static void hubs(const run *r, int share, int shares) {
    const tamis_cpu_sharing *const w = &r->what;
    const int64_t cuts = (w->units + w->cut - 1) / w->cut, first = tamis_partition_even(cuts, shares, share) * w->cut;
    const int64_t cut = tamis_partition_even(cuts, shares, share + 1) * w->cut, last = cut < w->units ? cut : w->units;
    for (int i = 0; i < r->hub_count && first < last; i++) w->rows(w->job, r->hubs[i], r->hubs[i] + 1, first, last);
}

static void body(void *context, int part, int count) {
    const run *const r = context;
    const tamis_cpu_sharing *const w = &r->what;
    int64_t row = share_begin(r, part, count);
    const int64_t end = share_begin(r, part + 1, count);
    if (r->hub_count > 0 && part % PARTS == 0) hubs(r, part / PARTS, count / PARTS);
    for (int i = 0; i <= r->hub_count; i++) { /* the rows between hubs */
        const int64_t hub = i < r->hub_count ? r->hubs[i] : w->order->rows;
        const int64_t stop = hub < end ? hub : end;
        if (row < stop) w->rows(w->job, row, stop, 0, w->units);
        if (hub >= row) row = hub + 1;
    }
}

void tamis_cpu_share_rows(const tamis_cpu_sharing *sharing, int threads, int64_t elements) {
    run r = {.what = *sharing};
    const int used = tamis_cpu_threads_for(sharing->order, threads, elements);
    find_hubs(&r, used);
    tamis_cpu_run_parts(used, body, &r);
}
