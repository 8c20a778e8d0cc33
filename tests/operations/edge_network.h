/* The row of the network on edges: its operands, and how far results may be off. */
#ifndef TAMIS_TESTS_EDGE_NETWORK_H
#define TAMIS_TESTS_EDGE_NETWORK_H

#include <tamis/edge_network.h>

#include "support/operation.h"

enum { E, P, Q, W1, B1, W2, B2, W3, B3, GAIN, SHIFT, INPUTS, EDGES = INPUTS, OUT, ARGUMENT, D_EDGES, D_OUT, D_E };

typedef struct own {
    tamis_edge_network_options o;
    twin forward, backward; /* workspaces */
} own;

/* Bounds of all results by the roundings of each step, carried through the layers. With extremes, `argument` of out
   becomes the entry that the call found where its value may be the extreme. */
void network_bounds(operation_case *c);

/* The oracle's gradients, with the entries that `argument` is expected to have. */
void network_gradients(operation_case *c);

#endif
