/* The transport between threads of one process: each rank copies its data out of the others' memory. */
#ifndef TAMIS_GROUP_THREADS_H
#define TAMIS_GROUP_THREADS_H

#include <tamis/transport.h>

/* Fills `ranks` tables. Each must be closed; a rank that closes while others wait for it ends their call. */
tamis_status tamis_threads_open(int ranks, const tamis_transport_options *options, tamis_transport *transports);
void tamis_threads_close(void *context);

#endif
