/* The machine's ceilings, measured with the kernels' own instruction set in about a third of a second. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "base/threads.h"
#include "cpu/parts.h"

enum { GATHER_ROWS = 1 << 14 };

typedef struct measurement {
    const tamis_cpu_probe *probe;
    char *buffer; /* `bytes` of it for each thread */
    int64_t bytes;
    const uint32_t *rows; /* GATHER_ROWS random row numbers below bytes / 512; NULL: read in order */
    int64_t repeats;
    bool arithmetic;
    double done[TAMIS_CEILING_THREADS];
} measurement;

static void body(void *context, int thread, int threads) {
    measurement *const m = context;
    (void)threads;
    char *const mine = m->buffer + thread * m->bytes;
    double done = 0;
    if (m->arithmetic) {
        done = m->probe->multiply_add(m->repeats);
    } else if (m->rows) {
        for (int64_t r = 0; r < m->repeats; r++) done += m->probe->gather(mine, m->rows, GATHER_ROWS);
    } else {
        done = m->probe->read(mine, m->bytes, m->repeats);
    }
    m->done[thread] = done;
}

/* The rate of all threads together, in 1e9 per second. The best of several short runs counts, since other work on the
   machine only slows them. */
static double best_rate(measurement *m, int threads, double seconds) {
    double best = 0, spent = 0;
    m->repeats = 1;
    for (int run = 0; run < 2 || (run < 64 && spent < seconds); run++) { /* the first run only warms up */
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

tamis_status tamis_cpu_measure_ceilings(const tamis_cpu_variant *variant, int threads, int64_t cache_l1,
                                        int64_t cache_l2, int64_t cache_l3, tamis_ceilings *ceilings) {
    tamis_status status = TAMIS_OK;
    char *buffer = NULL;
    uint32_t *rows = NULL;
    if (threads > TAMIS_CEILING_THREADS) threads = TAMIS_CEILING_THREADS;
    const int64_t largest = 128 << 20; /* a thread's part at most; greater than the L3 of known processors */
    const int64_t per_thread = largest / (threads > 8 ? threads / 8 : 1);
    *ceilings = (tamis_ceilings){.measured = true, .threads = threads};
    TRY_GOTO(done, tamis_allocate(per_thread * threads, 1, "the probe of the memory bandwidth", (void **)&buffer));
    TRY_GOTO(done, tamis_allocate(GATHER_ROWS, sizeof *rows, "the probe of random rows", (void **)&rows));
    memset(buffer, 1, (size_t)(per_thread * threads));

    const int64_t levels[4] = {cache_l1 / 2, cache_l2 / 2, cache_l3 / 2 / threads, per_thread};
    const int64_t tables[6] = {cache_l1 / 2, cache_l2 / 2, 4 * cache_l2, 16 << 20, 64 << 20, 128 << 20};
    double *const level_rates[4] = {ceilings->l1_gbs, ceilings->l2_gbs, ceilings->l3_gbs, ceilings->memory_gbs};
    for (int many = 0; many < 2; many++) {
        const int used = many ? threads : 1;
        measurement m = {.probe = variant->probe[0], .buffer = buffer, .arithmetic = true};
        ceilings->fp32_gflops[many] = best_rate(&m, used, 0.004);
        m.probe = variant->probe[1];
        ceilings->fp64_gflops[many] = best_rate(&m, used, 0.004);
        m.probe = variant->probe[0];
        m.arithmetic = false;
        for (int i = 0; i < 4; i++) {
            m.bytes = levels[i] < 4096 ? 4096 : levels[i] > per_thread ? per_thread : levels[i];
            level_rates[i][many] = best_rate(&m, used, i == 3 ? 0.05 : 0.006);
        }
        m.rows = rows;
        for (int i = 0; i < 6; i++) {
            /* all threads share one table, as they share B: with m.bytes = 0 they read the same memory */
            const int64_t table = tables[i] < 16384 ? 16384 : tables[i] > per_thread ? per_thread : tables[i];
            for (int k = 0; k < GATHER_ROWS; k++)
                rows[k] = (uint32_t)(tamis_random_at(1, (uint64_t)i, (uint64_t)k) % (uint64_t)(table / 512));
            m.bytes = 0;
            ceilings->gather_bytes[i] = tables[i];
            ceilings->gather_gbs[many][i] = best_rate(&m, used, 0.006);
        }
    }
    /* other work can only lower a rate, and all threads together are not slower than one */
    double *const pairs[6] = {ceilings->fp32_gflops, ceilings->fp64_gflops, ceilings->l1_gbs,
                              ceilings->l2_gbs,      ceilings->l3_gbs,      ceilings->memory_gbs};
    for (int i = 0; i < 6; i++)
        if (pairs[i][1] < pairs[i][0]) pairs[i][1] = pairs[i][0];
    for (int i = 0; i < 6; i++)
        if (ceilings->gather_gbs[1][i] < ceilings->gather_gbs[0][i])
            ceilings->gather_gbs[1][i] = ceilings->gather_gbs[0][i];
done:
    tamis_release(buffer);
    tamis_release(rows);
    return status;
}
