/* Round-robin measurement. */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "exit.h"
#include "gather.h"
#include "progress.h"

enum { LEAST_TURNS = 5, MOST_EXECUTIONS_A_TURN = 2000 };
static const double LEAST_SECONDS = 0.2; /* for each contestant, over all its turns */

/* Seconds of measuring so far, processor time that others had meanwhile, and the most threads of ours. */
static double measured = 0, others = 0;
static int most_threads = 1;

typedef struct processor_time {
    double all, own; /* seconds, of all processors */
} processor_time;

static processor_time processor_time_so_far(void) {
    processor_time so_far = {0, 0};
    double user = 0, nice = 0, kernel = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (!file) return so_far;
    const int read = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &kernel, &idle, &waiting,
                            &interrupts, &soft, &stolen);
    fclose(file);
    struct rusage usage;
    if (read < 7 || getrusage(RUSAGE_SELF, &usage) != 0) return so_far;
    const double ticks = (double)sysconf(_SC_CLK_TCK);
    so_far.all = (user + nice + kernel + interrupts + soft + stolen) / ticks;
    so_far.own = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return so_far;
}

double tool_measure_disturbance(void) {
    if (measured < 0.5) return 0; /* too short for the kernel's clock ticks */
    const double used = others / measured;
    return used + most_threads > (double)sysconf(_SC_NPROCESSORS_ONLN) ? used : 0;
}

static double execute_once(tool_contestant *contestant, const tool_measure_options *options) {
    if (options->flush_bytes > 0) tool_flush_caches(options->flush_bytes, options->threads);
    const double start = tool_seconds();
    contestant->status = contestant->execute(contestant->context);
    return tool_seconds() - start;
}

/* Executions in one turn: as many as give the least time over `repeat` turns. */
static int64_t turn_length(double once, int64_t repeat) {
    const double wanted = ceil(LEAST_SECONDS / (double)repeat / (once > 1e-9 ? once : 1e-9));
    return wanted < 1 ? 1 : wanted > MOST_EXECUTIONS_A_TURN ? MOST_EXECUTIONS_A_TURN : (int64_t)wanted;
}

bool tool_measure(tool_contestant *contestants, int count, const tool_measure_options *options) {
    int64_t *length = tool_allocate((size_t)count, sizeof *length);
    for (int i = 0; i < count; i++) {
        /* The warm-up; the second one, with the caches as they will be, says how long it takes. */
        execute_once(&contestants[i], options);
        if (contestants[i].status != TAMIS_OK) continue;
        const double once = execute_once(&contestants[i], options);
        length[i] = options->flush_bytes > 0 ? 1 : turn_length(once, options->repeat);
    }
    const double start = tool_seconds();
    const processor_time before = processor_time_so_far();
    bool complete = true;
    for (int64_t turn = 0; turn < options->repeat && complete; turn++) {
        if (turn >= LEAST_TURNS && tool_seconds() - start > options->seconds) break;
        for (int i = 0; i < count && complete; i++) {
            for (int64_t n = 0; n < length[i] && contestants[i].status == TAMIS_OK; n++) {
                const double seconds = execute_once(&contestants[i], options);
                if (contestants[i].status == TAMIS_OK) tool_samples_add(&contestants[i].samples, seconds);
            }
            complete = !tool_interrupted();
        }
    }
    const processor_time after = processor_time_so_far();
    measured += tool_seconds() - start;
    others += fmax(0, (after.all - before.all) - (after.own - before.own));
    if (options->threads > most_threads) most_threads = options->threads;
    free(length);
    return complete;
}
