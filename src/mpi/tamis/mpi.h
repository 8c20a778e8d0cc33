/*
 * The transport over MPI, in the library libtamis_mpi, which is compiled with the MPI of the site and uses the public
 * headers of Tamis alone.
 *
 *     MPI_Init(NULL, NULL);
 *     tamis_mpi_open(MPI_COMM_WORLD, NULL, &transport);
 *     tamis_group_open(device, &transport, &group);
 *     ...
 *     tamis_group_close(group);
 *     tamis_mpi_close(&transport);
 *     MPI_Finalize();
 */
#ifndef TAMIS_MPI_H
#define TAMIS_MPI_H

#include <mpi.h>
#include <tamis/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fills the table of this rank over a copy of the communicator, so that messages of Tamis and of the program do not
 * meet. All ranks of the communicator call it together, between MPI_Init and MPI_Finalize. options may be NULL. The
 * thread that calls it also makes all calls on the group, unless MPI was initialised with MPI_THREAD_SERIALIZED or
 * more. Exchanges may have any number of bytes.
 *
 * Waiting is bounded: ranks that have waited for options.time_limit call the roll, which takes two seconds more, and
 * name the ranks that do not answer. After that, memory that MPI may still use is not freed, and MPI_Abort is the safe
 * way to end.
 */
TAMIS_API tamis_status tamis_mpi_open(MPI_Comm communicator, const tamis_transport_options *options,
                                      tamis_transport *transport);

/* Frees the copy of the communicator; all ranks call it together. Close the group first. A table of zeros is allowed.
 */
TAMIS_API void tamis_mpi_close(tamis_transport *transport);

/*
 * For programs that are not compiled with MPI and open this library at run time, as `tamis --transport mpi` does:
 * tamis_mpi_start initialises MPI if nobody has, and opens a transport over MPI_COMM_WORLD. tamis_mpi_stop closes it
 * and finalises MPI if the former has initialised it. After the transport has failed, or any rank has called its
 * `abort`, that ends all processes with MPI_Abort and this code instead.
 */
TAMIS_API tamis_status tamis_mpi_start(const tamis_transport_options *options, tamis_transport *transport);
TAMIS_API void tamis_mpi_stop(tamis_transport *transport, int code);

#ifdef __cplusplus
}
#endif

#endif
