/*
 * How the ranks of a group exchange data: one table of functions. Tamis has a transport between the threads of a
 * process (tamis_group_open_local of <tamis/group.h>) and one over MPI, in the library libtamis_mpi (<tamis/mpi.h>). A
 * program that has another means to send bytes fills the table itself.
 *
 * Each rank has a table of its own. All ranks call the same entries in the same order, one at a time. Entries must not
 * throw or longjmp (<tamis/types.h>).
 *
 * A transport never waits for ever. If a rank does not come within a time that the transport sets, or has called abort,
 * or if communication fails, then each entry that waits returns an error, and so does each later call: a transport that
 * has failed stays so. Errors that leave it usable, such as a wrong argument on one rank, are not its business: the
 * group shares them by `gather`.
 */
#ifndef TAMIS_TRANSPORT_H
#define TAMIS_TRANSPORT_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a rank sends to each other one, and where it puts what it gets. Starts are in bytes and have ranks + 1 entries.
   What a rank has for itself is not touched. */
typedef struct tamis_transfer {
    const void *send; /* rank r gets bytes send_starts[r] .. send_starts[r + 1] - 1 */
    const int64_t *send_starts;
    void *receive; /* what rank r sends goes to bytes receive_starts[r] .. receive_starts[r + 1] - 1 */
    const int64_t *receive_starts;
    uint64_t reserved[4];
} tamis_transfer;

/* The largest record of tamis_transport.gather, in bytes. */
#define TAMIS_TRANSPORT_RECORD 512

/*
 * A transport. Of all structures of Tamis this one has a size in front instead of reserved words behind, since programs
 * implement it and it will get entries: set size = sizeof(tamis_transport). The library takes entries that a smaller
 * size leaves out for NULL, where it can do without them, and reports any that it does not know behind a larger one.
 * All entries up to abort are needed; they move host memory. Without those for device memory, groups of GPUs pass rows
 * through pinned host memory.
 */
typedef struct tamis_transport {
    size_t size;
    const char *name; /* "threads", "mpi": for messages; lives as long as the context */
    void *context;    /* the first argument of all entries */
    int rank, ranks;  /* this rank, and how many there are: 0 <= rank < ranks */

    /* records = the record of rank 0, that of rank 1, ... bytes is 1 to TAMIS_TRANSPORT_RECORD, the same on all ranks.
       Returns when all records are there; so it is a barrier as well. */
    tamis_status (*gather)(void *context, const void *record, size_t bytes, void *records);

    /*
     * Starts an exchange of host memory, and completes it. Between the two the rank computes, and neither changes what
     * it sends nor touches where it receives; `transfer` and its arrays stay as they are. exchange_end returns when the
     * rank has received everything and its send memory is free again. Either of them may do all of the work.
     */
    tamis_status (*exchange_begin)(void *context, const tamis_transfer *transfer);
    tamis_status (*exchange_end)(void *context);

    /* This rank cannot go on: what the others wait for, or call later, fails soon, with this rank and the message in
       their error. Does not wait. */
    void (*abort)(void *context, const char *message);

    /*
     * An exchange of device memory in the order of streams: both entries, or neither. `device` and `stream` are this
     * rank's; memory is as tamis_device_allocate returns it, and the starts count from there.
     * device_begin: what the stream has done before it is sent; what comes in the stream behind it finds the rows of
     * the others. device_end: what comes in the stream behind it may change the memory that was sent. The host waits
     * for the other ranks' hosts, not for devices. device_end follows each device_begin that succeeded, also where
     * something has failed in between. If either fails, it first waits until no rank's device uses this rank's memory.
     */
    tamis_status (*device_begin)(void *context, tamis_device *device, void *stream, const tamis_transfer *transfer);
    tamis_status (*device_end)(void *context);
} tamis_transport;

/* Sets the message of tamis_last_error() and returns the status: for entries of transports, to say why they fail. */
TAMIS_API tamis_status tamis_transport_fail(tamis_status status, const char *message);

/* What moves device memory between the CUDA devices of one process: copies from one to the other, or NCCL. */
typedef enum tamis_link { TAMIS_LINK_COPIES = 0, TAMIS_LINK_NCCL = 1 } tamis_link;

/* Options of the transports that Tamis has. */
typedef struct tamis_transport_options {
    double time_limit; /* seconds that a rank waits for another one in a call before it gives up, positive (600) */
    tamis_link link;   /* of tamis_group_open_local (copies); the one over MPI ignores it */
    uint64_t reserved[6];
} tamis_transport_options;

/* The defaults of a tamis_transport_options. */
#ifdef __cplusplus
#define TAMIS_TRANSPORT_OPTIONS_INIT                                                                                   \
    ([] {                                                                                                              \
        tamis_transport_options tamis_initial = {};                                                                    \
        tamis_initial.time_limit = 600.0;                                                                              \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_TRANSPORT_OPTIONS_INIT                                                                                   \
    { .time_limit = 600.0 }
#endif

#ifdef __cplusplus
}
#endif

#endif
