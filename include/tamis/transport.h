/*
 * How the ranks of a group exchange data: one table of functions. Tamis has a transport between the threads of a
 * process (tamis_group_open_local of <tamis/group.h>) and one over MPI, in the library libtamis_mpi (<tamis/mpi.h>). A
 * program that has another means to send bytes fills the table itself.
 *
 * Each rank has a table of its own. All ranks call the same entries in the same order, one at a time. Entries must not
 * throw or longjmp (<tamis/types.h>).
 *
 * A transport never waits for ever. If a rank does not join within the transport's time limit, or has called abort, or
 * if communication fails, then each entry that waits returns an error, and so does each later call: failure is
 * permanent. The transport does not handle errors that leave it usable, such as a wrong argument on one rank: the group
 * shares these by `gather`.
 */
#ifndef TAMIS_TRANSPORT_H
#define TAMIS_TRANSPORT_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An all-to-all exchange: send and receive buffers of a rank, with starts in bytes (ranks + 1 entries). The rank's own
   part is not touched. */
typedef struct tamis_transfer {
    const void *send; /* rank r gets bytes send_starts[r] .. send_starts[r + 1] - 1 */
    const int64_t *send_starts;
    void *receive; /* data from rank r go to bytes receive_starts[r] .. receive_starts[r + 1] - 1 */
    const int64_t *receive_starts;
    uint64_t reserved[4];
} tamis_transfer;

/* The largest record of tamis_transport.gather, in bytes. */
#define TAMIS_TRANSPORT_RECORD 512

/*
 * A transport. Programs implement this structure and it will get more entries, so unlike all others it begins with a
 * size instead of ending in reserved words: set size = sizeof(tamis_transport). Optional entries beyond a smaller size
 * count as NULL; a larger size with entries that the library does not know is an error. All entries up to abort are
 * required; they move host memory. Without the entries for device memory, groups of GPUs pass rows through pinned host
 * memory.
 */
typedef struct tamis_transport {
    size_t size;
    const char *name; /* "threads", "mpi": for messages; lives as long as the context */
    void *context;    /* the first argument of all entries */
    int rank, ranks;  /* this rank, and the number of ranks: 0 <= rank < ranks */

    /* All-gather: records = the record of rank 0, of rank 1, ... bytes is 1 to TAMIS_TRANSPORT_RECORD, the same on all
       ranks. Returns when all records have arrived, so it is also a barrier. */
    tamis_status (*gather)(void *context, const void *record, size_t bytes, void *records);

    /*
     * Start and complete an exchange of host memory. In between the rank may compute, but must not change its send
     * buffer, access its receive buffer, or change `transfer` and its arrays. exchange_end returns when the rank has
     * received everything and may reuse its send buffer. Either function may do all of the work.
     */
    tamis_status (*exchange_begin)(void *context, const tamis_transfer *transfer);
    tamis_status (*exchange_end)(void *context);

    /* Reports that this rank cannot continue: the other ranks' current and later calls fail soon, with this rank and
       the message in their error. Does not wait. */
    void (*abort)(void *context, const char *message);

    /*
     * Stream-ordered exchange of device memory: both entries, or neither. `device` and `stream` are this rank's; memory
     * is as tamis_device_allocate returns it, and the starts count from there. device_begin sends the results of
     * earlier work in the stream; later work in the stream sees the received data. After device_end, later work in the
     * stream may change the memory that was sent. The host waits for the other ranks' hosts, not for devices.
     * device_end follows each device_begin that succeeded, even if something failed in between. If either fails, it
     * first waits until no rank's device uses this rank's memory.
     */
    tamis_status (*device_begin)(void *context, tamis_device *device, void *stream, const tamis_transfer *transfer);
    tamis_status (*device_end)(void *context);
} tamis_transport;

/* Sets the message of tamis_last_error() and returns the status; for use in the entries of transports. */
TAMIS_API tamis_status tamis_transport_fail(tamis_status status, const char *message);

/* How device memory moves between the CUDA devices of one process: by copies from one to the other, or by NCCL. */
typedef enum tamis_link { TAMIS_LINK_COPIES = 0, TAMIS_LINK_NCCL = 1 } tamis_link;

/* Options of the transports that Tamis has. */
typedef struct tamis_transport_options {
    double time_limit; /* timeout of a call in seconds, positive (600) */
    tamis_link link;   /* for tamis_group_open_local (copies); the transport over MPI ignores it */
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
