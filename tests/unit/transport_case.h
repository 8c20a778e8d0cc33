/* What the tests of all transports do with one: each rank runs the same rounds. */
#ifndef TAMIS_TESTS_TRANSPORT_CASE_H
#define TAMIS_TESTS_TRANSPORT_CASE_H

#include <tamis/transport.h>

enum { TRANSPORT_RANKS = 8 };

/* One exchange, or one gather. NULL, or what is wrong. */
const char *transport_exchange_round(const tamis_transport *t, int round);
const char *transport_gather_round(const tamis_transport *t, int round);

#endif
