/* Round-robin measurement. */
#include "measure.h"

#include <math.h>
#include <stdlib.h>

#include "exit.h"
#include "gather.h"
#include "progress.h"

enum { LEAST_TURNS = 5, MOST_EXECUTIONS_A_TURN = 2000 };
static const double LEAST_SECONDS = 0.2; /* for each contestant, over all its turns */

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
    free(length);
    return complete;
}
