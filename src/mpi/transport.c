/* The entries of the transport over MPI, and opening and closing it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int64_t tamis_mpi_chunk = (int64_t)1 << 30;

static tamis_status fail(tamis_status status, const char *message) { return tamis_transport_fail(status, message); }

/* ------------------------------------------------------------------------------------------ entries */

static tamis_status gather(void *context, const void *record, size_t bytes, void *records) {
    mpi_transport *const t = context;
    MPI_Request request;
    if (t->failed) return tamis_mpi_failed(t);
    /* behind the gathered ones lies this rank's, which MPI reads until all have it */
    char *const mine = t->records + (size_t)t->ranks * TAMIS_TRANSPORT_RECORD;
    memcpy(mine, record, bytes);
    if (MPI_Iallgather(mine, (int)bytes, MPI_BYTE, t->records, (int)bytes, MPI_BYTE, t->communicator, &request) !=
        MPI_SUCCESS)
        return tamis_mpi_fail(t, "MPI_Iallgather failed");
    const tamis_status status = tamis_mpi_wait(t, 1, &request);
    if (status == TAMIS_OK) memcpy(records, t->records, (size_t)t->ranks * bytes);
    return status;
}

static int64_t messages_of(const mpi_transport *t, const int64_t *starts) {
    int64_t count = 0;
    for (int r = 0; r < t->ranks; r++)
        if (r != t->rank) count += (starts[r + 1] - starts[r] + tamis_mpi_chunk - 1) / tamis_mpi_chunk;
    return count;
}

/* Makes room for a request for each chunk of each rank; from the start there is room for one of each rank. */
static tamis_status make_room(mpi_transport *t, int64_t count) {
    if (count <= t->room || count < 1) return TAMIS_OK;
    if (count > INT32_MAX) return tamis_mpi_fail(t, "%lld messages are too many", (long long)count);
    MPI_Request *const requests = reallocarray(t->requests, (size_t)count, sizeof *requests);
    if (requests) t->requests = requests;
    int *const peers = reallocarray(t->peers, (size_t)count, sizeof *peers);
    if (peers) t->peers = peers;
    MPI_Status *const statuses = reallocarray(t->statuses, (size_t)count, sizeof *statuses);
    if (statuses) t->statuses = statuses;
    if (!requests || !peers || !statuses) return tamis_mpi_fail(t, "no memory for %lld messages", (long long)count);
    t->room = (int)count;
    return TAMIS_OK;
}

/* Starts all chunks of one rank's bytes. */
static tamis_status start(mpi_transport *t, bool receive, int peer, char *memory, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += tamis_mpi_chunk) {
        const int length = (int)(bytes - at < tamis_mpi_chunk ? bytes - at : tamis_mpi_chunk);
        MPI_Request *const request = &t->requests[t->count];
        const int error = receive ? MPI_Irecv(memory + at, length, MPI_BYTE, peer, TAG_DATA, t->communicator, request)
                                  : MPI_Isend(memory + at, length, MPI_BYTE, peer, TAG_DATA, t->communicator, request);
        if (error != MPI_SUCCESS) return tamis_mpi_fail(t, "a message with rank %d could not be started", peer);
        t->peers[t->count++] = peer;
    }
    return TAMIS_OK;
}

static tamis_status start_all(mpi_transport *t, bool receive, const void *memory, const int64_t *starts) {
    for (int i = 1; i < t->ranks; i++) {
        const int peer = receive ? (t->rank + t->ranks - i) % t->ranks : (t->rank + i) % t->ranks;
        char *const place = (char *)(uintptr_t)memory + starts[peer];
        const tamis_status status = start(t, receive, peer, place, starts[peer + 1] - starts[peer]);
        if (status != TAMIS_OK) return status;
    }
    return TAMIS_OK;
}

/* Cancels the receives: nothing may arrive in the caller's memory after its call. */
static void cancel_receives(mpi_transport *t) {
    for (int i = 0; i < t->receives; i++)
        if (t->requests[i] != MPI_REQUEST_NULL) {
            MPI_Cancel(&t->requests[i]);
            MPI_Wait(&t->requests[i], MPI_STATUS_IGNORE);
        }
}

static tamis_status exchange_begin(void *context, const tamis_transfer *transfer) {
    mpi_transport *const t = context;
    if (t->failed) return tamis_mpi_failed(t);
    t->transfer = transfer;
    t->count = t->receives = 0;
    tamis_status status =
        make_room(t, messages_of(t, transfer->send_starts) + messages_of(t, transfer->receive_starts));
    if (status == TAMIS_OK) status = start_all(t, true, transfer->receive, transfer->receive_starts);
    t->receives = t->count;
    if (status == TAMIS_OK) status = start_all(t, false, transfer->send, transfer->send_starts);
    if (status != TAMIS_OK) cancel_receives(t);
    return status;
}

/* A message that is too long is an error of MPI; one that is too short is found here. */
static tamis_status check_lengths(mpi_transport *t) {
    memset(t->received, 0, (size_t)t->ranks * sizeof *t->received);
    for (int i = 0; i < t->receives; i++) {
        int length = 0;
        MPI_Get_count(&t->statuses[i], MPI_BYTE, &length);
        t->received[t->peers[i]] += length;
    }
    const int64_t *const starts = t->transfer->receive_starts;
    for (int r = 0; r < t->ranks; r++)
        if (r != t->rank && t->received[r] != starts[r + 1] - starts[r])
            return tamis_mpi_fail(t, "rank %d sent %lld bytes instead of %lld", r, (long long)t->received[r],
                                  (long long)(starts[r + 1] - starts[r]));
    return TAMIS_OK;
}

static tamis_status exchange_end(void *context) {
    mpi_transport *const t = context;
    const tamis_status status = t->failed ? tamis_mpi_failed(t) : tamis_mpi_wait(t, t->count, t->requests);
    if (status == TAMIS_OK) return check_lengths(t);
    cancel_receives(t);
    return status;
}

static void abort_all(void *context, const char *message) {
    mpi_transport *const t = context;
    if (!t->failed) tamis_mpi_tell(t, CONTROL_ABORT, message);
    tamis_mpi_fail(t, "rank %d: %.380s", t->rank, message);
}

/* ------------------------------------------------------------------------------------------ opening */

static void release(mpi_transport *t) {
    if (!t) return;
    free(t->records);
    free(t->requests);
    free(t->peers);
    free(t->statuses);
    free(t->received);
    free(t->heard);
    free(t);
}

static tamis_status check(MPI_Comm communicator, const tamis_transport_options *options) {
    int begun = 0, over = 0, between = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    if (!begun || over) return fail(TAMIS_ERROR_ARGUMENT, "MPI is not initialised, or finalised already");
    if (communicator == MPI_COMM_NULL) return fail(TAMIS_ERROR_ARGUMENT, "communicator = MPI_COMM_NULL");
    MPI_Comm_test_inter(communicator, &between);
    if (between) return fail(TAMIS_ERROR_ARGUMENT, "communicator is one between two groups");
    for (size_t i = 0; i < sizeof options->reserved / sizeof *options->reserved; i++)
        if (options->reserved[i])
            return fail(TAMIS_ERROR_UNSUPPORTED,
                        "options.reserved: a word is not zero; use TAMIS_TRANSPORT_OPTIONS_INIT");
    if (!(options->time_limit > 0))
        return fail(TAMIS_ERROR_ARGUMENT, "options.time_limit: expected a positive number of seconds");
    return TAMIS_OK;
}

static mpi_transport *make(MPI_Comm communicator, double time_limit) {
    mpi_transport *const t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->communicator = MPI_COMM_NULL;
    t->time_limit = time_limit;
    MPI_Comm_rank(communicator, &t->rank);
    MPI_Comm_size(communicator, &t->ranks);
    const size_t ranks = (size_t)t->ranks;
    t->room = 2 * t->ranks;
    t->records = calloc(ranks + 1, TAMIS_TRANSPORT_RECORD);
    t->requests = calloc(2 * ranks, sizeof *t->requests);
    t->peers = calloc(2 * ranks, sizeof *t->peers);
    t->statuses = calloc(2 * ranks, sizeof *t->statuses);
    t->received = calloc(ranks, sizeof *t->received);
    t->heard = calloc(ranks, sizeof *t->heard);
    if (t->records && t->requests && t->peers && t->statuses && t->received && t->heard) return t;
    release(t);
    return NULL;
}

/* Copies the communicator, within the time limit. Control messages need the copy, so this wait hears of none. */
static tamis_status copy_communicator(mpi_transport *t, MPI_Comm communicator) {
    MPI_Request request;
    const double begin = MPI_Wtime();
    int done = 0;
    if (MPI_Comm_idup(communicator, &t->communicator, &request) != MPI_SUCCESS)
        return fail(TAMIS_ERROR_DEVICE, "the communicator could not be copied");
    while (!done) {
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return fail(TAMIS_ERROR_DEVICE, "the communicator could not be copied");
        if (!done && MPI_Wtime() - begin > t->time_limit)
            return fail(TAMIS_ERROR_DEVICE, "not all ranks of the communicator have come within the time limit");
    }
    MPI_Comm_set_errhandler(t->communicator, MPI_ERRORS_RETURN);
    return TAMIS_OK;
}

tamis_status tamis_mpi_open(MPI_Comm communicator, const tamis_transport_options *options, tamis_transport *transport) {
    static const tamis_transport_options initial = TAMIS_TRANSPORT_OPTIONS_INIT;
    if (!transport) return fail(TAMIS_ERROR_ARGUMENT, "transport = NULL: expected an address for the result");
    *transport = (tamis_transport){.size = 0};
    if (!options) options = &initial;
    tamis_status status = check(communicator, options);
    if (status != TAMIS_OK) return status;
    mpi_transport *const t = make(communicator, options->time_limit);
    if (!t) return fail(TAMIS_ERROR_MEMORY, "no memory for a transport");
    status = copy_communicator(t, communicator);
    if (status != TAMIS_OK) return status; /* MPI may still write to t */
    *transport = (tamis_transport){.size = sizeof *transport,
                                   .name = "mpi",
                                   .context = t,
                                   .rank = t->rank,
                                   .ranks = t->ranks,
                                   .gather = gather,
                                   .exchange_begin = exchange_begin,
                                   .exchange_end = exchange_end,
                                   .abort = abort_all};
    return fail(TAMIS_OK, "");
}

void tamis_mpi_close(tamis_transport *transport) {
    mpi_transport *const t = transport ? transport->context : NULL;
    if (!t) return;
    if (!t->failed) {
        MPI_Comm_free(&t->communicator);
        release(t);
    }
    *transport = (tamis_transport){.size = 0};
}
