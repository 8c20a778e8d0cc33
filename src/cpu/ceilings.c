/* The machine's ceilings, measured with the kernels' own instruction set in about half a second. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "base/threads.h"
#include "cpu/parts.h"
#include "sparse/structure.h"

enum {
    BRIEF_MEMORY = 16 << 20, /* bytes */
    ROWS_LEAST = 1 << 14,    /* random rows per run */
    ROWS_MOST = 1 << 20,
    AHEAD = 32, /* rows ahead: 16 KiB, as in tamis_cpu_choose_prefetch */
    TABLES = 6
};
static const int64_t MEMORY_LEAST = 128 << 20; /* bytes; also with one thread */

/* Tasks of the threads in one run. */
typedef enum task {
    TOUCH,      /* each writes its part of the buffer, so that its pages are local (first touch) */
    MULTIPLY,   /* fused multiply-adds */
    READ_OWN,   /* each reads its own piece of `bytes` repeatedly */
    READ_ALL,   /* each reads the same `bytes`, starting at a different place */
    READ_PARTS, /* together they read the `bytes` once */
    GATHER      /* each reads random rows of one table, as threads share B, starting at a different place */
} task;

typedef struct measurement {
    const tamis_cpu_probe *probe;
    task task;
    char *buffer;
    int64_t bytes;
    const uint32_t *rows; /* `count` random row numbers of the table */
    int64_t count, ahead, repeats;
    double done[TAMIS_CEILING_THREADS];
} measurement;

static void body(void *context, int thread, int threads) {
    measurement *const m = context;
    const int64_t begin = tamis_partition_even(m->bytes / 4096, threads, thread) * 4096;
    const int64_t end = tamis_partition_even(m->bytes / 4096, threads, thread + 1) * 4096;
    const int64_t first = tamis_partition_even(m->count, threads, thread);
    double done = 0;
    switch (m->task) {
    case TOUCH: memset(m->buffer + begin, 1, (size_t)(end - begin)); break;
    case MULTIPLY: done = m->probe->multiply_add(m->repeats); break;
    case READ_OWN: done = m->probe->read(m->buffer + thread * m->bytes, m->bytes, m->repeats); break;
    case READ_ALL:
        for (int64_t r = 0; r < m->repeats; r++)
            done += m->probe->read(m->buffer + begin, m->bytes - begin, 1) + m->probe->read(m->buffer, begin, 1);
        break;
    case READ_PARTS: done = m->probe->read(m->buffer + begin, end - begin, 1); break;
    case GATHER:
        for (int64_t r = 0; r < m->repeats; r++)
            done += m->probe->gather(m->buffer, m->rows + first, m->count - first, m->ahead) +
                    m->probe->gather(m->buffer, m->rows, first, m->ahead);
        break;
    }
    m->done[thread] = done;
}

/* The combined rate of all threads, in 1e9 per second. The best of several short runs counts, since other work on the
   machine can only slow them. */
static double best_rate(measurement *m, int threads, double seconds) {
    double best = 0, spent = 0;
    m->repeats = 1;
    for (int run = 0; run < 2 || (run < 64 && spent < seconds); run++) { /* the first run is a warm-up */
        const double start = tamis_clock_seconds();
        tamis_threads_run(threads, body, m);
        const double time = tamis_clock_seconds() - start;
        double done = 0;
        for (int t = 0; t < threads; t++) done += m->done[t];
        spent += time;
        if (time > 0 && done / time * 1e-9 > best && run > 0) best = done / time * 1e-9;
        if (time < seconds / 16) m->repeats *= 2;
    }
    return best;
}

static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t less(int64_t a, int64_t b) { return a < b ? a : b; }

/* Returns a buffer size that exceeds these caches: they keep less than half of it, and nothing of a stream; at most an
   eighth of the memory. */
static int64_t beyond(int64_t caches, const tamis_cpu_machine *machine) {
    const int64_t most = machine->memory > 0 ? greater(machine->memory / 8, MEMORY_LEAST / 16) : MEMORY_LEAST;
    return less(greater(2 * caches, MEMORY_LEAST), most);
}

/* Measures the rates of `threads` threads into index `many`; `all` is the largest number of threads measured. */
static tamis_status measure(const tamis_cpu_variant *variant, int threads, int all, int many, bool brief,
                            tamis_ceilings *ceilings) {
    tamis_status status = TAMIS_OK;
    const tamis_cpu_machine *const machine = tamis_cpu_machine_read();
    const int64_t l1 = tamis_cpu_cache_of_thread(machine->cache_l1, machine->sharers_l1, all);
    const int64_t l2 = tamis_cpu_cache_of_thread(machine->cache_l2, machine->sharers_l2, all), l3 = machine->cache_l3;
    const int64_t caches = less(threads, (machine->processors + machine->sharers_l3 - 1) / machine->sharers_l3);
    const int64_t memory =
        greater(brief ? BRIEF_MEMORY : beyond(tamis_times(caches, l3), machine), tamis_times(threads, l2));
    const double share = brief ? 0.25 : 1; /* share of the time */
    const int64_t tables[TABLES] = {l1 / 2, l2 / 2, 4 * l2, 16 << 20, 64 << 20, beyond(l3, machine)};
    uint32_t *rows = NULL;
    measurement m = {.probe = variant->probe[0], .task = TOUCH, .bytes = memory};
    TRY_GOTO(done, tamis_allocate(memory, 1, "the probe of the memory bandwidth", (void **)&m.buffer));
    TRY_GOTO(done, tamis_allocate(ROWS_MOST, sizeof *rows, "the probe of random rows", (void **)&rows));
    tamis_threads_run(threads, body, &m);

    m.task = MULTIPLY;
    ceilings->fp32_gflops[many] = best_rate(&m, threads, 0.004 * share);
    m.probe = variant->probe[1];
    ceilings->fp64_gflops[many] = best_rate(&m, threads, 0.004 * share);
    m.probe = variant->probe[0];
    m.task = READ_OWN;
    m.bytes = l1 / 2;
    ceilings->l1_gbs[many] = best_rate(&m, threads, 0.006 * share);
    m.bytes = l2 / 2;
    ceilings->l2_gbs[many] = best_rate(&m, threads, 0.006 * share);
    m.task = READ_ALL;
    m.bytes = less(less(greater(l3 / 4, 4 * l2), l3 / 2), memory);
    ceilings->l3_gbs[many] = best_rate(&m, threads, 0.006 * share);
    m.task = READ_PARTS;
    m.bytes = memory;
    if (!brief) ceilings->memory_gbs[many] = best_rate(&m, threads, 0.05);

    m.task = GATHER;
    m.rows = rows;
    for (int i = 0; i < TABLES && !(brief && tables[i] > memory); i++) {
        m.bytes = less(i > 0 ? greater(tables[i], ceilings->gather_bytes[i - 1]) : greater(tables[i], 16384), memory);
        m.count = less(greater(m.bytes / 512, ROWS_LEAST), ROWS_MOST);
        for (int64_t k = 0; k < m.count; k++)
            rows[k] = (uint32_t)(tamis_random_at(1, (uint64_t)i, (uint64_t)k) % (uint64_t)(m.bytes / 512));
        m.ahead = m.bytes > 4 * l2 ? AHEAD : 0;
        ceilings->gather_bytes[i] = m.bytes;
        ceilings->gather_gbs[many][i] = best_rate(&m, threads, 0.006 * share);
    }
done:
    tamis_release(m.buffer);
    tamis_release(rows);
    return status;
}

tamis_status tamis_cpu_measure_ceilings(const tamis_cpu_variant *variant, int threads, bool brief,
                                        tamis_ceilings *ceilings) {
    if (threads > TAMIS_CEILING_THREADS) threads = TAMIS_CEILING_THREADS;
    if (!brief) *ceilings = (tamis_ceilings){.threads = threads};
    ceilings->measured = true;
    /* threads that share a processor are no faster than one */
    const int busy = (int)less(threads, tamis_cpu_machine_read()->at_once);
    TRY(measure(variant, 1, busy, 0, brief, ceilings));
    if (busy > 1) TRY(measure(variant, busy, busy, 1, brief, ceilings));
    /* other work can only lower a rate, and all threads together are no slower than one */
    double *const pairs[6] = {ceilings->fp32_gflops, ceilings->fp64_gflops, ceilings->l1_gbs,
                              ceilings->l2_gbs,      ceilings->l3_gbs,      ceilings->memory_gbs};
    for (int i = 0; i < 6; i++)
        if (pairs[i][1] < pairs[i][0]) pairs[i][1] = pairs[i][0];
    for (int i = 0; i < TABLES; i++)
        if (ceilings->gather_gbs[1][i] < ceilings->gather_gbs[0][i])
            ceilings->gather_gbs[1][i] = ceilings->gather_gbs[0][i];
    return TAMIS_OK;
}
