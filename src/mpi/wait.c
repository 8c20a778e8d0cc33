/*
 * Waiting that ends. A rank that waits polls its requests, and looks for messages of ranks that fail. When its time is
 * over it calls the roll: it says so to all, and each rank that waits and hears of it does the same. So after two
 * seconds all that wait know who does not.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "internal.h"

static const double roll_seconds = 2;

tamis_status tamis_mpi_failed(const mpi_transport *t) { return tamis_transport_fail(TAMIS_ERROR_DEVICE, t->reason); }

tamis_status tamis_mpi_fail(mpi_transport *t, const char *format, ...) {
    if (!t->failed) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(t->reason, sizeof t->reason, format, arguments);
        va_end(arguments);
    }
    t->failed = true;
    return tamis_mpi_failed(t);
}

void tamis_mpi_tell(mpi_transport *t, int kind, const char *text) {
    t->sent.kind = kind;
    snprintf(t->sent.text, sizeof t->sent.text, "%s", text);
    for (int r = 0; r < t->ranks; r++) {
        MPI_Request request;
        if (r == t->rank) continue;
        /* small enough to leave at once; t->sent lives on in any case, since a context that failed is not freed */
        if (MPI_Isend(&t->sent, sizeof t->sent, MPI_BYTE, r, TAG_CONTROL, t->communicator, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

/* ------------------------------------------------------------------------------------------ the roll call */

static void call_roll(mpi_transport *t) {
    if (t->roll_called) return;
    t->roll_called = true;
    t->roll_end = MPI_Wtime() + roll_seconds;
    t->heard[t->rank] = true;
    tamis_mpi_tell(t, CONTROL_ROLL_CALL, "");
}

static bool all_heard(const mpi_transport *t) {
    for (int r = 0; r < t->ranks; r++)
        if (!t->heard[r]) return false;
    return true;
}

static tamis_status fail_by_roll(mpi_transport *t) {
    char absent[MPI_TEXT - 80];
    int length = 0;
    for (int r = 0; r < t->ranks && length < (int)sizeof absent - 16; r++)
        if (!t->heard[r]) length += snprintf(absent + length, sizeof absent - (size_t)length, " %d", r);
    if (length == 0)
        return tamis_mpi_fail(t, "after %g seconds all ranks wait: they make different calls, or one was late",
                              t->time_limit);
    return tamis_mpi_fail(t, "after %g seconds these ranks had not come:%s", t->time_limit, absent);
}

static tamis_status read_control(mpi_transport *t, int rank) {
    control message = {CONTROL_ABORT, ""};
    if (MPI_Recv(&message, sizeof message, MPI_BYTE, rank, TAG_CONTROL, t->communicator, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS)
        return tamis_mpi_fail(t, "a message of rank %d could not be received", rank);
    message.text[MPI_TEXT - 1] = 0;
    if (message.kind == CONTROL_ABORT) return tamis_mpi_fail(t, "rank %d: %.380s", rank, message.text);
    t->heard[rank] = true;
    call_roll(t);
    return TAMIS_OK;
}

static tamis_status look_for_control(mpi_transport *t) {
    for (;;) {
        MPI_Status status;
        int found = 0;
        if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_CONTROL, t->communicator, &found, &status) != MPI_SUCCESS || !found)
            return TAMIS_OK;
        const tamis_status read = read_control(t, status.MPI_SOURCE);
        if (read != TAMIS_OK) return read;
    }
}

/* ------------------------------------------------------------------------------------------ waiting */

/* Polls as fast as possible at first, then leaves the processor to others, then sleeps. */
static void pause_after(double seconds) {
    const struct timespec brief = {.tv_nsec = 100000};
    if (seconds > 0.02)
        nanosleep(&brief, NULL);
    else if (seconds > 0.0002)
        sched_yield();
}

static tamis_status explain(mpi_transport *t, int error) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    return tamis_mpi_fail(t, "%.380s", text);
}

tamis_status tamis_mpi_wait(mpi_transport *t, int count, MPI_Request *requests) {
    const double start = MPI_Wtime();
    for (;;) {
        int done = 0;
        const int error = MPI_Testall(count, requests, &done, t->statuses);
        if (error != MPI_SUCCESS) return explain(t, error);
        if (done && !t->roll_called) return TAMIS_OK; /* what others have given up is over for this rank too */
        const tamis_status told = look_for_control(t);
        if (told != TAMIS_OK) return told;
        const double now = MPI_Wtime();
        if (now - start > t->time_limit) call_roll(t);
        if (t->roll_called && (now > t->roll_end || all_heard(t))) return fail_by_roll(t);
        pause_after(now - start);
    }
}
