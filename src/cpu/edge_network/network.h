/*
 * The network on edges on the CPU. The entries, in the order of rows, are cut into chunks that depend only on the
 * sizes, so that results do not depend on the number of threads. A chunk computes blocks of edges whose layers stay in
 * cache. A row that chunks cut is reduced in parts, which are joined in order, and so are the sums of the gradients of
 * weights.
 */
#ifndef TAMIS_CPU_EDGE_NETWORK_H
#define TAMIS_CPU_EDGE_NETWORK_H

#include "backend/edge_network.h"
#include "cpu/kernels/dense.h"
#include "sparse/structure.h"

enum { TAMIS_CPU_NETWORK_BLOCK = 64 }; /* edges; at most what tamis_cpu_dense.cross takes */

/* Buffers of a call in numbers of the sums' type: weights inputs x outputs, and as they are; vectors. */
typedef enum tamis_cpu_network_buffer {
    NETWORK_W1_TURNED,
    NETWORK_W2_TURNED,
    NETWORK_W3_TURNED,
    NETWORK_W1, /* as they are: backward */
    NETWORK_W2,
    NETWORK_W3,
    NETWORK_B1,
    NETWORK_B2,
    NETWORK_B3,
    NETWORK_GAIN,
    NETWORK_SHIFT,
    NETWORK_OWN, /* the first buffer of a chunk, with a row for each edge of a block */
    NETWORK_E = NETWORK_OWN,
    NETWORK_A1,
    NETWORK_H1, /* backward; forward it is A1, and H2 is A2 */
    NETWORK_A2,
    NETWORK_H2,
    NETWORK_Y,   /* then the normalised values, or what is reduced */
    NETWORK_DY,  /* backward, as the following */
    NETWORK_DA2, /* the gradient by the last layer's argument */
    NETWORK_DA1,
    NETWORK_DE,
    NETWORK_HEAD, /* parts of the row that began before the chunk, and of the one that continues after it */
    NETWORK_TAIL,
    NETWORK_HEAD_FROM, /* the entries from which extremes come, in int64 */
    NETWORK_TAIL_FROM,
    NETWORK_SUMS, /* backward, in double, of the gradients of W1, b1, W2, b2, W3, b3, gain and shift */
    NETWORK_BUFFERS = NETWORK_SUMS + 8
} tamis_cpu_network_buffer;

typedef struct tamis_cpu_network {
    const tamis_edge_network_job *job;
    const tamis_cpu_dense *dense;
    int chunks;
    int64_t at[NETWORK_BUFFERS]; /* in bytes, from the workspace's beginning, or from the chunk's */
    int64_t begin, apart;        /* where the first chunk begins, and bytes of a chunk */
} tamis_cpu_network;

typedef struct tamis_cpu_network_kernels {
    void (*prepare)(const tamis_cpu_network *n); /* weights and vectors in the sums' type */
    void (*chunk)(const tamis_cpu_network *n, int chunk);
    void (*join)(const tamis_cpu_network *n); /* rows that chunks cut */
    /* part `part` of `parts` of the gradients of weights */
    void (*finish)(const tamis_cpu_network *n, int part, int parts);
} tamis_cpu_network_kernels;

static inline int64_t tamis_cpu_network_begin(const tamis_cpu_network *n, int chunk) {
    return tamis_partition_even(n->job->order.nnz, n->chunks, chunk);
}

/* Number k of the gradients of weights, as NETWORK_SUMS orders them: the matrix, and its shape. */
static inline tamis_matrix tamis_cpu_network_gradient(const tamis_edge_network_job *job, int k, int64_t *rows,
                                                      int64_t *cols) {
    const tamis_matrix all[] = {job->dw1, job->db1, job->dw2, job->db2, job->dw3, job->db3, job->dgain, job->dshift};
    const int64_t hidden = job->o.hidden, width = job->o.width;
    const int64_t shapes[][2] = {{hidden, job->o.edge_width},
                                 {1, hidden},
                                 {hidden, hidden},
                                 {1, hidden},
                                 {width, hidden},
                                 {1, width},
                                 {1, width},
                                 {1, width}};
    *rows = shapes[k][0];
    *cols = shapes[k][1];
    return all[k];
}

#endif
