/* Starting and stopping MPI for programs that open this library at run time: over all processes of the launcher. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

static bool begun; /* MPI was not initialised before */

tamis_status tamis_mpi_start(const tamis_transport_options *options, tamis_transport *transport) {
    int initialised = 0, level = 0;
    if (!transport)
        return tamis_transport_fail(TAMIS_ERROR_ARGUMENT, "transport = NULL: expected an address for the result");
    *transport = (tamis_transport){.size = 0};
    MPI_Initialized(&initialised);
    if (!initialised) {
        if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
            return tamis_transport_fail(TAMIS_ERROR_DEVICE, "MPI_Init_thread failed");
        begun = true;
    }
    return tamis_mpi_open(MPI_COMM_WORLD, options, transport);
}

void tamis_mpi_stop(tamis_transport *transport, int code) {
    const mpi_transport *const t = transport ? transport->context : NULL;
    int initialised = 0, finalised = 0;
    const bool broken = t && t->failed;
    MPI_Initialized(&initialised);
    MPI_Finalized(&finalised);
    if (!initialised || finalised) return;
    tamis_mpi_close(transport);
    if (broken) {
        fflush(NULL);
        MPI_Abort(MPI_COMM_WORLD, code);
    } else if (begun) {
        MPI_Finalize();
    }
}
