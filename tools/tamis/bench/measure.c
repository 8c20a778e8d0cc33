#include <tamis/stream.h>

#include "bench/measure.h"

#include <math.h>
#include <stdlib.h>

#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/timer.h"

enum { LEAST_TURNS = 5, MOST_EXECUTIONS_A_TURN = 2000 };
static const double LEAST_SECONDS = 0.2; /* per contestant, over all its turns, unless the budget is smaller */

/* Times executions by the contestant's own clock, after the device's pending work. */
static int64_t execute_timed(tool_contestant *contestant, const tool_measure_options *options, const tool_timer *timer,
                             int64_t wanted, double *seconds) {
    const int count = options->flush ? 1 : wanted < MOST_EXECUTIONS_A_TURN ? (int)wanted : MOST_EXECUTIONS_A_TURN;
    tamis_status status = options->flush ? tool_flush_execute(options->flush) : TAMIS_OK;
    if (status == TAMIS_OK && timer->device) status = tamis_stream_synchronize(timer->device, NULL);
    if (status == TAMIS_OK) status = contestant->timed(contestant->context, count, seconds);
    contestant->status = status;
    return status == TAMIS_OK ? count : 0;
}

/* Submits up to half as many executions as the timer has points, then reads how long each took. */
static int64_t execute_some(tool_contestant *contestant, const tool_measure_options *options, tool_timer *timer,
                            int64_t wanted, double *seconds) {
    if (contestant->timed) return execute_timed(contestant, options, timer, wanted, seconds);
    const int64_t most = timer->device ? TOOL_TIMER_POINTS / 2 : 1;
    const int count = (int)(wanted < most ? wanted : most);
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < count && status == TAMIS_OK; i++) {
        if (options->flush) status = tool_flush_execute(options->flush);
        if (status == TAMIS_OK) status = tool_timer_take(timer, 2 * i);
        if (status == TAMIS_OK) status = contestant->execute(contestant->context);
        if (status == TAMIS_OK) status = tool_timer_take(timer, 2 * i + 1);
    }
    for (int i = 0; i < count && status == TAMIS_OK; i++)
        status = tool_timer_between(timer, 2 * i, 2 * i + 1, &seconds[i]);
    contestant->status = status;
    return status == TAMIS_OK ? count : 0;
}

static void execute_turn(tool_contestant *contestant, const tool_measure_options *options, tool_timer *timer,
                         int64_t length) {
    double seconds[MOST_EXECUTIONS_A_TURN];
    tool_samples turn = {0};
    for (int64_t done = 0; done < length && contestant->status == TAMIS_OK;) {
        const int64_t count = execute_some(contestant, options, timer, length - done, seconds);
        for (int64_t i = 0; i < count; i++) {
            tool_samples_add(&contestant->samples, seconds[i]);
            tool_samples_add(&turn, seconds[i]);
        }
        done += count;
    }
    if (turn.count > 0) tool_samples_add(&contestant->turns, tool_samples_summary(&turn).median);
    tool_samples_free(&turn);
}

/* Returns the executions in one turn: as many as give the least time over all turns. */
static int64_t turn_length(double once, const tool_measure_options *options) {
    const double least = options->seconds < LEAST_SECONDS ? options->seconds : LEAST_SECONDS;
    const double wanted = ceil(least / (double)options->repeat / (once > 1e-9 ? once : 1e-9));
    return wanted < 1 ? 1 : wanted > MOST_EXECUTIONS_A_TURN ? MOST_EXECUTIONS_A_TURN : (int64_t)wanted;
}

/* Warms up. The last execution, with caches in their later state, determines how many make a turn. The first one on a
   device also compiles or loads kernels, and the clock rises meanwhile, so a device gets one more. */
static int64_t warm_up(tool_contestant *contestant, const tool_measure_options *options, tool_timer *timer) {
    double once = 0;
    for (int i = 0; i < (timer->device ? 3 : 2); i++) {
        execute_some(contestant, options, timer, 1, &once);
        if (contestant->status != TAMIS_OK) return 0;
    }
    return options->flush ? 1 : turn_length(once, options);
}

bool tool_measure(tool_contestant *contestants, int count, const tool_measure_options *options, tamis_load *load) {
    tool_timer timer = tool_timer_create(options->device);
    int64_t *length = tool_allocate((size_t)count, sizeof *length);
    for (int i = 0; i < count; i++) length[i] = warm_up(&contestants[i], options, &timer);
    const double start = tool_seconds();
    const tamis_load_point before = tamis_load_begin();
    bool complete = true;
    for (int64_t turn = 0; turn < options->repeat && complete; turn++) {
        if (turn >= LEAST_TURNS && tool_seconds() - start > options->seconds) break;
        for (int i = 0; i < count && complete; i++) {
            if (contestants[i].status == TAMIS_OK) execute_turn(&contestants[i], options, &timer, length[i]);
            complete = !tool_interrupted();
        }
    }
    *load = tamis_load_since(&before, timer.device ? 0 : options->threads);
    tool_timer_free(&timer);
    free(length);
    return complete;
}
