/* Shared by the files of libtamis_mpi. */
#ifndef TAMIS_MPI_INTERNAL_H
#define TAMIS_MPI_INTERNAL_H

#include <tamis/mpi.h>

enum { MPI_TEXT = 400 };

enum { TAG_DATA = 1, TAG_CONTROL = 2 };

/* A message between calls: a rank cannot go on, or has waited too long and asks who is there. */
typedef struct control {
    enum { CONTROL_ABORT, CONTROL_ROLL_CALL } kind;
    char text[MPI_TEXT];
} control;

/* The context of a transport. Memory comes from malloc: this library has nothing of Tamis but the public headers. */
typedef struct mpi_transport {
    MPI_Comm communicator;
    int rank, ranks;
    double time_limit;
    bool failed;
    char reason[MPI_TEXT];
    char *records; /* gathered here, so that a late one cannot reach the caller's memory */
    MPI_Request *requests;
    int *peers; /* of each request; receives come first */
    MPI_Status *statuses;
    int64_t *received; /* by rank, in bytes */
    int count, room, receives;
    const tamis_transfer *transfer;
    bool roll_called;
    double roll_end;
    bool *heard; /* ranks that have answered the roll call */
    control sent;
} mpi_transport;

/* The largest message; longer ones are several. Tests make it small. */
extern int64_t tamis_mpi_chunk;

/* Sets the reason, unless there is one, and reports it. */
tamis_status tamis_mpi_fail(mpi_transport *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
tamis_status tamis_mpi_failed(const mpi_transport *t);

/* Completes requests; tells the others that this rank fails, or calls the roll. */
tamis_status tamis_mpi_wait(mpi_transport *t, int count, MPI_Request *requests);
void tamis_mpi_tell(mpi_transport *t, int kind, const char *text);

#endif
