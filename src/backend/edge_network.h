/*
 * The network on edges as backends see it. src/core has checked everything. The gradients of P and Q are no part of a
 * job: they are sums of da by row and by column, which core makes with backend->messages.
 */
#ifndef TAMIS_BACKEND_EDGE_NETWORK_H
#define TAMIS_BACKEND_EDGE_NETWORK_H

#include <tamis/edge_network.h>

#include "backend/message.h"

/* Matrices with base NULL are absent, or not wanted. */
typedef struct tamis_edge_network_job {
    void *device, *stream; /* of a GPU */
    int threads;           /* of the CPU */
    bool back;
    tamis_edge_network_options o; /* without zeros that mean defaults */
    tamis_message_order order;    /* the rows */
    tamis_matrix e, p, q, w1, b1, w2, b2, w3, b3, gain, shift;
    tamis_matrix edges, out;     /* forward: results */
    tamis_place argument;        /* packed; forward: a result, backward: read if d_out is present */
    tamis_matrix d_edges, d_out; /* backward */
    tamis_matrix de, da, dw1, db1, dw2, db2, dw3, db3, dgain, dshift; /* da: nnz x hidden in S's order, by a_t */
    tamis_place workspace;
} tamis_edge_network_job;

struct tamis_edge_network_functions {
    /* bytes of `workspace`; reads the options, `back` and the order */
    tamis_status (*workspace)(const tamis_edge_network_job *job, size_t *bytes);
    tamis_status (*run)(const tamis_edge_network_job *job);
    /* what is left of a backward call when the sums of da have been made: da is not read afterwards. NULL: nothing */
    tamis_status (*finish)(const tamis_edge_network_job *job);
    /* true if da may be in de; reads what `workspace` does. NULL: never */
    bool (*shares)(const tamis_edge_network_job *job);
};

/* True if the call reduces to extremes. */
static inline bool tamis_edge_network_is_extreme(const tamis_edge_network_options *o) {
    return o->reduce == TAMIS_REDUCE_MAX || o->reduce == TAMIS_REDUCE_MIN;
}

#endif
