/* Attention to caches on the CPU (split-K): threads first compute parts of caches, then merge the rows. */
#include <stdatomic.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "cpu/parts.h"
#include "sparse/index.h"

/* Positions per part: fixed, so that results do not depend on the number of threads. Elements that pay for a thread. */
enum { PART = 1024, THREAD_WORTH = 32768 };

typedef struct run {
    const tamis_cached_job *job;
    const tamis_cpu_messages *kernels;
    int64_t *firsts; /* number of parts before each sequence, for one key head */
    char *parts;     /* partial results, by part, then by key head */
    int64_t shared, row_bytes;
    atomic_llong next;
} run;

static int64_t clamped(int64_t x, int64_t most) { return x < 0 ? 0 : x > most ? most : x; }

static int64_t end_of(const run *r, int64_t sequence) {
    const tamis_cached_attention_options *const o = &r->job->o;
    return clamped(tamis_index_load(tamis_cpu_address(r->job->lengths), o->length_type, sequence), o->capacity);
}

static int64_t begin_of(const run *r, int64_t end) {
    const int64_t window = r->job->o.window;
    return window > 0 && window < end ? end - window : 0;
}

/* Counts the parts; returns the positions of all sequences. */
static int64_t count_parts(run *r) {
    int64_t positions = 0;
    r->firsts[0] = 0;
    for (int64_t s = 0; s < r->job->o.sequences; s++) {
        const int64_t end = end_of(r, s), length = end - begin_of(r, end);
        r->firsts[s + 1] = r->firsts[s] + (length + PART - 1) / PART;
        positions += length;
    }
    return positions;
}

/* The sequence that a part belongs to. */
static int64_t sequence_of(const run *r, int64_t part) {
    return tamis_index_first(r->firsts, TAMIS_I64, 1, r->job->o.sequences, part + 1) - 1;
}

static char *sums_of(const run *r, int64_t part, int64_t key_head) {
    return r->parts + (part * r->job->o.key_heads + key_head) * r->shared * r->row_bytes;
}

/* Key heads of one part are usually adjacent in memory. */
static void sum(void *context, int share, int shares) {
    run *const r = context;
    const int64_t heads = r->job->o.key_heads, count = r->firsts[r->job->o.sequences] * heads;
    (void)share, (void)shares;
    for (int64_t task; (task = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed)) < count;) {
        const int64_t part = task / heads, sequence = sequence_of(r, part), end = end_of(r, sequence);
        const int64_t from = begin_of(r, end) + (part - r->firsts[sequence]) * PART;
        r->kernels->cached(r->job, sequence, task % heads, from, from + PART < end ? from + PART : end,
                           sums_of(r, part, task % heads));
    }
}

static void merge(void *context, int share, int shares) {
    const run *const r = context;
    const int64_t heads = r->job->o.heads, count = r->job->o.sequences * heads;
    for (int64_t row = count * share / shares; row < count * (share + 1) / shares; row++) {
        const int64_t sequence = row / heads, head = row % heads, first = r->firsts[sequence];
        r->kernels->cached_merge(
            r->job, sequence, head, sums_of(r, first, head / r->shared) + head % r->shared * r->row_bytes,
            heads * r->row_bytes / (int64_t)(r->job->o.type == TAMIS_F64 ? 8 : 4), r->firsts[sequence + 1] - first);
    }
}

tamis_status tamis_cpu_cached_attend(const tamis_cached_job *job) {
    const tamis_cached_attention_options *const o = &job->o;
    const tamis_cpu_variant *variant = NULL;
    tamis_status status = TAMIS_OK;
    TRY(tamis_cpu_variant_choose(&variant));
    run r = {.job = job,
             .kernels = variant->messages[o->type],
             .shared = o->heads / o->key_heads,
             .row_bytes = (o->width + 2) * (o->type == TAMIS_F64 ? 8 : 4)};
    TRY(tamis_allocate(o->sequences + 1, sizeof *r.firsts, "parts of caches", (void **)&r.firsts));
    const int64_t positions = count_parts(&r);
    TRY_GOTO(done, tamis_allocate(tamis_times(r.firsts[o->sequences], o->heads), (size_t)r.row_bytes,
                                  "sums of parts of caches", (void **)&r.parts));
    const double worth = (double)positions * (double)o->heads * (double)(o->inner + o->width) / THREAD_WORTH;
    const int threads = worth < 1 ? 1 : worth < job->threads ? (int)worth : job->threads;
    tamis_threads_run(threads, sum, &r);
    tamis_threads_run(threads, merge, &r);
done:
    tamis_release(r.parts);
    tamis_release(r.firsts);
    return status;
}
