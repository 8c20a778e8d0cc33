/* The ranks of `--transport mpi`: their numbers and agreements. */
#include "cli/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/interrupt.h"

static struct {
    tamis_transport transport;
    tool_ranks_stop *stop;
    bool on;
    bool shared; /* all ranks know of this rank's failure */
} here;

void tool_ranks_enter(const tamis_transport *transport, tool_ranks_stop *stop) {
    here.transport = *transport;
    here.stop = stop;
    here.on = true;
}

void tool_ranks_know(void) { here.shared = true; }
const tamis_transport *tool_ranks_transport(void) { return here.on ? &here.transport : NULL; }
int tool_rank_number(void) { return here.on ? here.transport.rank : 0; }
int tool_rank_count(void) { return here.on ? here.transport.ranks : 1; }

/* Reports this rank's failure to the others unless they know of it, since they would wait for it. */
int tool_ranks_end(int code) {
    if (!here.on) return code;
    fflush(NULL);
    const bool alone = code != TOOL_OK && code != TOOL_FAILED && !here.shared;
    if (alone) {
        here.transport.abort(here.transport.context, *tool_last_message() ? tool_last_message() : "it has ended");
        tool_interrupt_wait(5);
        sleep(1); /* lets the others print their messages before all processes end */
    }
    here.stop(&here.transport, code);
    here.on = false;
    return code;
}

/* ------------------------------------------------------------------------------------------ agreeing */

typedef struct report {
    int32_t status, code;
    char message[400];
} report;

/* Gathers the reports of all ranks. Sets *failed to the report of the first rank that failed, and *rank to that rank,
   or -1. */
static tamis_status exchange_reports(const report *mine, report *failed, int *rank) {
    report *all = tool_allocate((size_t)tool_rank_count(), sizeof *all);
    const tamis_status met = here.transport.gather(here.transport.context, mine, sizeof *mine, all);
    *rank = -1;
    for (int r = 0; r < tool_rank_count() && met == TAMIS_OK && *rank < 0; r++)
        if (all[r].status != TAMIS_OK || all[r].code != 0) *rank = r;
    if (*rank >= 0) *failed = all[*rank];
    if (*rank >= 0) here.shared = true;
    free(all);
    return met;
}

tamis_status tool_ranks_agree(tamis_status status) {
    report mine = {.status = (int32_t)status}, failed;
    char text[480], name[24] = "";
    int rank;
    if (!here.on) return status;
    if (status != TAMIS_OK) snprintf(mine.message, sizeof mine.message, "%s", tamis_last_error());
    const tamis_status met = exchange_reports(&mine, &failed, &rank);
    if (met != TAMIS_OK) return status == TAMIS_OK ? met : tamis_transport_fail(status, mine.message);
    if (rank < 0) return status;
    const bool named = strncmp(failed.message, "rank ", 5) == 0; /* the library has already shared this error */
    if (!named) snprintf(name, sizeof name, "rank %d: ", rank);
    snprintf(text, sizeof text, "%s%s", name, failed.message);
    return tamis_transport_fail((tamis_status)failed.status, text);
}

int tool_ranks_agree_code(int code) {
    const report mine = {.code = code};
    report failed;
    int rank;
    if (!here.on) return code;
    const tamis_status met = exchange_reports(&mine, &failed, &rank);
    if (met != TAMIS_OK && code == 0) return tool_library_error(met, NULL);
    return rank < 0 ? code : failed.code;
}

double tool_ranks_most(double value) {
    if (!here.on) return value;
    double *all = tool_allocate((size_t)tool_rank_count(), sizeof *all);
    if (here.transport.gather(here.transport.context, &value, sizeof value, all) == TAMIS_OK) {
        for (int r = 0; r < tool_rank_count(); r++)
            if (all[r] > value) value = all[r];
    }
    free(all);
    return value;
}

tamis_status tool_ranks_collect(const void *mine, void *whole, const int64_t *starts) {
    const int ranks = tool_rank_count(), rank = tool_rank_number();
    if (!here.on) return TAMIS_OK;
    int64_t *sends = tool_allocate((size_t)ranks + 1, sizeof *sends);
    int64_t *receives = tool_allocate((size_t)ranks + 1, sizeof *receives);
    for (int r = 0; r <= ranks; r++) {
        sends[r] = r > 0 && rank > 0 ? starts[rank + 1] - starts[rank] : 0;
        receives[r] = rank == 0 ? starts[r] : 0;
    }
    const tamis_transfer transfer = {.send = mine, .send_starts = sends, .receive = whole, .receive_starts = receives};
    tamis_status status = here.transport.exchange_begin(here.transport.context, &transfer);
    if (status == TAMIS_OK) status = here.transport.exchange_end(here.transport.context);
    free(sends);
    free(receives);
    return status;
}
