/*
 * The network on the edges of a graph in one pass. S is the pattern of a tamis_graph (<tamis/message.h>), and entry
 * t = (i, j) of it is an edge from node j to node i:
 *
 *   a_t = W1 e_t + p_i + q_j + b1,  h_t = f(a_t)          and with two hidden layers  h_t = f(W2 f(a_t) + b2)
 *   y_t = W3 h_t + b3
 *   z_t = gain * (y_t - mean(y_t)) / sqrt(variance(y_t) + epsilon) + shift      (normalise; otherwise z_t = y_t)
 *   r_t = z_t + e_t                                                             (residual; otherwise r_t = z_t)
 *
 *   edges_t = r_t,   out_i = sum, mean, max or min over the entries t of row i of r_t, or of z_t (reduce_update)
 *
 * This is the processor of mesh and message passing networks: Pfaff et al., "Learning mesh-based simulation with graph
 * networks", ICLR 2021; Lam et al., "Learning skillful medium-range global weather forecasting" (GraphCast), Science
 * 382, 2023; Satorras et al., "E(n) equivariant graph neural networks", ICML 2021. The normalisation is that of Ba et
 * al., "Layer normalization", 2016.
 *
 * The part of the first layer that belongs to nodes is linear, so the caller applies it to the nodes: P = X W_i^T and
 * Q = X W_j^T, where [W1, W_i, W_j] is the layer's weight for [e, x_i, x_j]. An edge gathers these rows. Weights are
 * outputs x inputs with any stride: W1 may be a slice of the columns of that weight. All quantities are dimensionless.
 * The caller owns all memory. Half types are summed in fp32.
 *
 * This runs on the CPU and on GPUs. On a GPU the first call of a kind compiles its kernels.
 */
#ifndef TAMIS_EDGE_NETWORK_H
#define TAMIS_EDGE_NETWORK_H

#include <tamis/message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function f of hidden layers. */
typedef enum tamis_activation {
    TAMIS_ACTIVATION_RELU = 0, /* max(x, 0); its derivative at 0 is 0 */
    TAMIS_ACTIVATION_SILU = 1, /* x / (1 + exp(-x)) */
    TAMIS_ACTIVATION_GELU = 2, /* x (1 + erf(x / sqrt(2))) / 2 */
    TAMIS_ACTIVATION_TANH = 3
} tamis_activation;

/* Describes a call. Zero a structure before setting its fields. */
typedef struct tamis_edge_network_options {
    tamis_type type; /* of all matrices */
    tamis_math math; /* of products in fp32 on a GPU */
    tamis_activation activation;
    tamis_reduce reduce;            /* of out; ties, NaN and empty rows are treated as in <tamis/message.h> */
    tamis_index_type argument_type; /* of `argument`; TAMIS_I32 holds up to 2^31 entries */
    int hidden_layers;              /* 1 or 2; 0 means 1 */
    int64_t edge_width;             /* elements of e_t; 0: edges have no vectors, and E and W1 are NULL */
    int64_t hidden, width;          /* elements of h_t, and of y_t; 1 or more */
    double epsilon;                 /* of the normalisation; 0 means 1e-5 */
    bool normalise;
    bool residual;        /* needs edge_width = width */
    bool reduce_update;   /* reduces z, without the residual */
    bool share_dE;        /* backward: the gradient by a_t may be kept in dE until dE is made */
    uint64_t reserved[6]; /* zero */
} tamis_edge_network_options;

/* The matrices of a call, or their gradients. Biases, gain and shift are matrices of one row. */
typedef struct tamis_edge_network_matrices {
    const tamis_dense *E;     /* nnz x edge_width, in S's order */
    const tamis_dense *P, *Q; /* S.rows x hidden, S.cols x hidden; NULL: 0 */
    const tamis_dense *W1;    /* hidden x edge_width */
    const tamis_dense *b1;    /* hidden; NULL: 0 */
    const tamis_dense *W2;    /* hidden x hidden, with two hidden layers; otherwise NULL */
    const tamis_dense *b2;    /* hidden, with two hidden layers; NULL: 0 */
    const tamis_dense *W3;    /* width x hidden */
    const tamis_dense *b3;    /* width; NULL: 0 */
    const tamis_dense *gain;  /* width; NULL: 1. Without options.normalise it must be NULL, and so must shift */
    const tamis_dense *shift; /* width; NULL: 0 */
    uint64_t reserved[4];     /* zero */
} tamis_edge_network_matrices;

/* Returns the bytes of workspace of a forward or backward call: in a backward call nnz x hidden elements of the type
   (with options.share_dE none where a GPU can do without), on a GPU a number for each entry, and otherwise buffers
   whose size does not grow with the graph. It is an upper bound over the matrices and gradients that calls may leave
   out. On the CPU it depends on the sizes, not on the number of threads. */
TAMIS_API tamis_status tamis_edge_network_workspace_size(const tamis_graph *graph,
                                                         const tamis_edge_network_options *options, bool backward,
                                                         size_t *bytes);

/*
 * edges = r, nnz x width in S's order; out = the reduced rows, S.rows x width. Either may be NULL, not both. For MAX
 * and MIN, `argument` (NULL: not wanted) receives the entry, numbered in S's order, from which each element of out
 * comes, -1 in rows without entries: S.rows x width indices, packed. With other reductions it must be NULL. With half
 * types, values may be rounded before they are compared.
 *
 * All matrices are row-major with any stride (column-major: TAMIS_ERROR_UNSUPPORTED), at addresses aligned to one
 * element. Outputs must not overlap inputs. stream is NULL on the CPU. workspace is at an address aligned to 16 bytes,
 * is overwritten, and may be NULL if its size is 0. The hidden layers of an edge are in it only while some thousand
 * edges are computed. A call allocates nothing, except on a GPU, in stream order, for partial sums of long rows. The
 * same inputs give the same bits each time on the same device, with any number of threads. After an argument error
 * outputs are unchanged.
 */
TAMIS_API tamis_status tamis_edge_network(const tamis_graph *graph, const tamis_edge_network_options *options,
                                          const tamis_edge_network_matrices *matrices, const tamis_dense *edges,
                                          const tamis_dense *out, void *argument, void *workspace, void *stream);

/*
 * Computes the gradients of a loss from dEdges and dOut, its gradients with respect to edges and out (NULL: 0; not
 * both). It computes the hidden layers again. MAX and MIN need the `argument` of the forward call, if dOut is given.
 * Each gradient has the shape of its matrix; NULL: not wanted. A matrix that is NULL in `matrices` has no gradient.
 * The workspace holds the gradient by a_t in the type, and sums over rows and columns of it are the gradients of P and
 * Q. With options.share_dE dE holds it where the workspace has no room: dE must then be wanted, and matrices of rows at
 * addresses, and with strides, of multiples of 16 bytes. Gradients of weights are sums of fixed parts, added in order.
 * Otherwise this is like tamis_edge_network.
 */
TAMIS_API tamis_status tamis_edge_network_backward(const tamis_graph *graph, const tamis_edge_network_options *options,
                                                   const tamis_edge_network_matrices *matrices,
                                                   const tamis_dense *dEdges, const tamis_dense *dOut,
                                                   const void *argument, const tamis_edge_network_matrices *gradients,
                                                   void *workspace, void *stream);

#ifdef __cplusplus
}
#endif

#endif
