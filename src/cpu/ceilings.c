/*
 * The machine's ceilings, measured with the kernels' own instruction set in less than 0.2 s: two passes over all rates,
 * of a few milliseconds each, for one thread and for all. The best counts, since other work can only lower a rate; the
 * result is doubtful unless the passes agree.
 *
 * Most of the time goes to the pages of the memory that is read. So one buffer serves all, of a size that does not grow
 * with the caches: where they could keep half of it, what the next run reads is flushed from them first.
 */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "base/threads.h"
#include "cpu/parts.h"
#include "sparse/structure.h"

enum {
    BRIEF_MEMORY = 16 << 20, /* bytes */
    SLICES = 32,             /* of the random rows, and of a thread's part of the memory: a run reads some */
    SLICE_ROWS = 1 << 12,
    ROWS = SLICES * SLICE_ROWS,
    AHEAD = 32, /* rows ahead: 16 KiB, as in tamis_cpu_choose_prefetch */
    TABLES = 6,
    PAGE = 4096,
    LINE = 64
};
static const int64_t MEMORY = 128 << 20; /* bytes */
static const double AGREE = 1.25;        /* two passes, within this factor */
static const double FIRST_MOST = 0.12;   /* seconds of the first pass beyond which there is no second one */

#if defined(__x86_64__)
static void flush_line(const char *at) { __builtin_ia32_clflush(at); }
enum { FLUSHES = 1 };
#elif defined(__aarch64__)
static void flush_line(const char *at) { __asm__ volatile("dc civac, %0" : : "r"(at) : "memory"); }
enum { FLUSHES = 1 };
#else
static void flush_line(const char *at) { (void)at; }
enum { FLUSHES = 0 };
#endif

/* Tasks of the threads in one run. */
typedef enum task {
    TOUCH,      /* each makes the pages of its part of the buffer, so that they are local (first touch) */
    MULTIPLY,   /* fused multiply-adds */
    READ_OWN,   /* each reads its own piece of `bytes` repeatedly */
    READ_ALL,   /* each reads the same `bytes`, starting at a different place */
    READ_PARTS, /* each reads slices of its part of the `bytes`, from where the run before ended */
    GATHER      /* each reads slices of random rows of one table, as threads share B, each its own slices */
} task;

typedef struct measurement {
    const tamis_cpu_probe *probe;
    task task;
    char *buffer;
    int64_t bytes;
    uint32_t *rows;  /* random row numbers of the table: SLICES slices */
    uint32_t *drawn; /* the same as shares of the table, in units of 2^-32 */
    int64_t ahead, repeats, slice;
    bool beyond;   /* the caches might keep what is read, and should not */
    bool flushing; /* instead of reading */
    double done[TAMIS_CEILING_THREADS];
} measurement;

static void flush(const char *at, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += LINE) flush_line(at + i);
}

static void touch(char *begin, int64_t bytes) {
#ifdef MADV_POPULATE_WRITE
    char *const page = begin + (PAGE - (uintptr_t)begin % PAGE) % PAGE; /* the one before is another thread's */
    const int64_t rest = bytes - (page - begin);
    if (rest > 0 && madvise(page, (size_t)rest, MADV_POPULATE_WRITE) == 0) return;
#endif
    memset(begin, 1, (size_t)bytes);
}

static double read_parts(const measurement *m, char *part, int64_t bytes) {
    double done = 0;
    for (int64_t i = 0; i < m->repeats; i++) {
        const int slice = (int)((m->slice + i) % SLICES);
        const int64_t begin = tamis_partition_even(bytes / LINE, SLICES, slice) * LINE;
        const int64_t end = tamis_partition_even(bytes / LINE, SLICES, slice + 1) * LINE;
        if (m->flushing)
            flush(part + begin, end - begin);
        else
            done += m->probe->read(part + begin, end - begin, 1);
    }
    return done;
}

static double gather(const measurement *m, int64_t first) {
    double done = 0;
    for (int64_t i = 0; i < m->repeats; i++) {
        const uint32_t *const rows = m->rows + (first + m->slice + i) % SLICES * SLICE_ROWS;
        for (int64_t k = 0; m->flushing && k < SLICE_ROWS; k++) flush(m->buffer + 512 * (int64_t)rows[k], 512);
        if (!m->flushing) done += m->probe->gather(m->buffer, rows, SLICE_ROWS, m->ahead);
    }
    return done;
}

static void body(void *context, int thread, int threads) {
    measurement *const m = context;
    const int64_t begin = tamis_partition_even(m->bytes / PAGE, threads, thread) * PAGE;
    const int64_t end = tamis_partition_even(m->bytes / PAGE, threads, thread + 1) * PAGE;
    double done = 0;
    switch (m->task) {
    case TOUCH: touch(m->buffer + begin, end - begin); break;
    case MULTIPLY: done = m->probe->multiply_add(m->repeats); break;
    case READ_OWN: done = m->probe->read(m->buffer + thread * m->bytes, m->bytes, m->repeats); break;
    case READ_ALL:
        for (int64_t r = 0; r < m->repeats; r++)
            done += m->probe->read(m->buffer + begin, m->bytes - begin, 1) + m->probe->read(m->buffer, begin, 1);
        break;
    case READ_PARTS: done = read_parts(m, m->buffer + begin, end - begin); break;
    case GATHER: done = gather(m, tamis_partition_even(SLICES, threads, thread)); break;
    }
    m->done[thread] = done;
}

/* The combined rate of all threads, in 1e9 per second, by several runs of about an eighth of the time. The best one
   counts; the first is a warm-up. */
static double best_rate(measurement *m, int threads, double seconds) {
    double best = 0, spent = 0;
    m->repeats = 1;
    for (int run = 0; run < 3 || (run < 64 && spent < seconds); run++) {
        m->flushing = m->beyond;
        if (m->flushing) tamis_threads_run(threads, body, m);
        m->flushing = false;
        const double start = tamis_clock_seconds();
        tamis_threads_run(threads, body, m);
        const double time = tamis_clock_seconds() - start;
        double done = 0;
        for (int t = 0; t < threads; t++) done += m->done[t];
        spent += time;
        if (time > 0 && done / time * 1e-9 > best && run > 0) best = done / time * 1e-9;
        m->slice += m->repeats;
        if (time < seconds / 8) m->repeats *= 2;
    }
    return best;
}

static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t less(int64_t a, int64_t b) { return a < b ? a : b; }

/* Reads a table that a cache holds, so that it does. */
static void warm(measurement *m, int threads) {
    m->task = READ_PARTS;
    m->repeats = SLICES;
    tamis_threads_run(threads, body, m);
}

/* A size that exceeds these caches: they keep less than half of it, and nothing of a stream. */
static int64_t beyond(int64_t caches) { return greater(2 * caches, MEMORY); }

/* The sizes that are measured. */
typedef struct sizes {
    int64_t l1, l2, l3;     /* of a thread, of a thread, of one cache */
    int64_t stream, memory; /* beyond the caches; of the buffer */
} sizes;

static sizes sizes_of(int threads, bool brief) {
    const tamis_cpu_machine *const machine = tamis_cpu_machine_read();
    const int64_t caches = less(threads, (machine->processors + machine->sharers_l3 - 1) / machine->sharers_l3);
    sizes s = {.l1 = tamis_cpu_cache_of_thread(machine->cache_l1, machine->sharers_l1, threads),
               .l2 = tamis_cpu_cache_of_thread(machine->cache_l2, machine->sharers_l2, threads),
               .l3 = machine->cache_l3};
    s.stream = beyond(tamis_times(caches, s.l3));
    s.memory = FLUSHES ? MEMORY : s.stream;
    if (machine->memory > 0) s.memory = less(s.memory, greater(machine->memory / 8, MEMORY / 16));
    if (brief) s.memory = BRIEF_MEMORY;
    s.memory = greater(s.memory, tamis_times(threads, s.l2));
    return s;
}

/* One pass: measures the rates of `threads` threads into index `many`. */
static void measure(const tamis_cpu_variant *variant, const sizes *s, int threads, int many, bool brief, measurement *m,
                    tamis_ceilings *ceilings) {
    const int64_t tables[TABLES] = {s->l1 / 2, s->l2 / 2, 4 * s->l2, 16 << 20, 64 << 20, beyond(s->l3)};
    m->task = MULTIPLY;
    m->beyond = false;
    for (int wide = 0; wide < 2; wide++) {
        m->probe = variant->probe[wide];
        (wide ? ceilings->fp64_gflops : ceilings->fp32_gflops)[many] = best_rate(m, threads, 0.0007);
    }
    m->probe = variant->probe[0];
    m->task = READ_OWN;
    m->bytes = s->l1 / 2;
    ceilings->l1_gbs[many] = best_rate(m, threads, 0.0008);
    m->bytes = s->l2 / 2;
    ceilings->l2_gbs[many] = best_rate(m, threads, 0.0008);
    m->task = READ_ALL;
    m->bytes = less(less(greater(s->l3 / 4, 4 * s->l2), s->l3 / 2), s->memory);
    ceilings->l3_gbs[many] = best_rate(m, threads, 0.002);
    m->task = READ_PARTS;
    m->bytes = s->memory;
    m->beyond = FLUSHES && s->memory < s->stream;
    if (!brief) ceilings->memory_gbs[many] = best_rate(m, threads, 0.004);

    for (int i = 0; i < TABLES && !(brief && tables[i] > s->memory); i++) {
        const int64_t table = i > 0 ? greater(tables[i], ceilings->gather_bytes[i - 1]) : greater(tables[i], 16384);
        m->bytes = less(table, s->memory);
        m->beyond = FLUSHES && i == TABLES - 1 && m->bytes < table;
        for (int k = 0; k < ROWS; k++)
            m->rows[k] = (uint32_t)((uint64_t)m->drawn[k] * (uint64_t)(m->bytes / 512) >> 32);
        if (m->bytes <= s->l3) warm(m, threads);
        m->task = GATHER;
        m->ahead = m->bytes > 4 * s->l2 ? AHEAD : 0;
        ceilings->gather_bytes[i] = m->beyond ? table : m->bytes;
        ceilings->gather_gbs[many][i] = best_rate(m, threads, i < 2 ? 0.001 : 0.0025);
    }
}

/* The better of two passes' rates; false if they differ by more than AGREE. */
static bool merge(double *best, const double *other, int count) {
    bool agree = true;
    for (int i = 0; i < count; i++) {
        agree = agree && fmin(best[i], other[i]) * AGREE >= fmax(best[i], other[i]);
        best[i] = fmax(best[i], other[i]);
    }
    return agree;
}

/* Measures the rates of one thread (first = 0), of all (last = 1), or of both in one buffer. */
static tamis_status measure_some(const tamis_cpu_variant *variant, int first, int last, int all, bool brief,
                                 tamis_ceilings *ceilings) {
    tamis_status status = TAMIS_OK;
    const sizes s = sizes_of(all, brief);
    measurement m = {.task = TOUCH, .bytes = s.memory};
    TRY_GOTO(done, tamis_allocate(s.memory, 1, "the probe of the memory bandwidth", (void **)&m.buffer));
    TRY_GOTO(done, tamis_allocate(2 * (int64_t)ROWS, sizeof *m.rows, "the probe of random rows", (void **)&m.rows));
    m.drawn = m.rows + ROWS;
    for (int k = 0; k < ROWS; k++) m.drawn[k] = (uint32_t)(tamis_random_at(1, 0, (uint64_t)k) >> 32);
    const double start = tamis_clock_seconds();
    tamis_threads_run(last ? all : 1, body, &m);
    for (int pass = 0; pass < (brief ? 1 : 2); pass++) {
        if (pass > 0 && tamis_clock_seconds() - start > FIRST_MOST) {
            ceilings->doubtful = true; /* a busy machine */
            break;
        }
        tamis_ceilings now = *ceilings;
        for (int many = first; many <= last; many++) measure(variant, &s, many ? all : 1, many, brief, &m, &now);
        if (pass == 0) {
            now.doubtful = ceilings->doubtful;
            *ceilings = now;
            continue;
        }
        double *const best[] = {ceilings->fp32_gflops, ceilings->fp64_gflops, ceilings->l1_gbs,
                                ceilings->l2_gbs,      ceilings->l3_gbs,      ceilings->memory_gbs};
        double *const others[] = {now.fp32_gflops, now.fp64_gflops, now.l1_gbs, now.l2_gbs, now.l3_gbs, now.memory_gbs};
        bool agree = true;
        for (int many = first; many <= last; many++) {
            for (int i = 0; i < 6; i++) agree &= merge(best[i] + many, others[i] + many, 1);
            agree &= merge(ceilings->gather_gbs[many], now.gather_gbs[many], TABLES);
        }
        ceilings->doubtful |= !agree;
    }
done:
    tamis_release(m.buffer);
    tamis_release(m.rows);
    return status;
}

tamis_status tamis_cpu_measure_ceilings(const tamis_cpu_variant *variant, int threads, bool brief,
                                        tamis_ceilings *ceilings) {
    if (threads > TAMIS_CEILING_THREADS) threads = TAMIS_CEILING_THREADS;
    if (!brief) *ceilings = (tamis_ceilings){.threads = threads};
    ceilings->measured = true;
    /* threads that share a processor are no faster than one */
    const int busy = (int)less(threads, tamis_cpu_machine_read()->at_once);
    if (busy > 1 && tamis_cpu_machine_read()->several_memories) { /* one thread's memory is near it */
        TRY(measure_some(variant, 0, 0, busy, brief, ceilings));
        TRY(measure_some(variant, 1, 1, busy, brief, ceilings));
    } else {
        TRY(measure_some(variant, 0, busy > 1, busy, brief, ceilings));
    }
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
