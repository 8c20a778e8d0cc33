/*
 * Message passing on graphs. S is the pattern of a graph: entry t of S, at (i, j), is an edge that brings a message
 * from node j to node i. S may be rectangular; its values are not read.
 *
 *   messages      out_i = reduce over the entries t = (i, j) of row i of  message(u_j, v_i, e_t)
 *   edge vectors  out_t = u_i op v_j                                      for each entry t = (i, j)
 *
 * U, V and out are matrices with a row for each node, E and the result of edge vectors have a row for each entry, in
 * S's order; for COO that is the order of the caller's arrays, which need not be sorted. A row of heads * width
 * elements has the features of head 0, then of head 1, ... Messages are never stored.
 *
 * On a GPU the arrays of S and all matrices are in its memory.
 */
#ifndef TAMIS_MESSAGE_H
#define TAMIS_MESSAGE_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- graphs */

/* A checked pattern, ordered by rows and by columns. One graph serves all messages over its pattern, of any operation,
   type and width. It is immutable: any number of threads may use it at the same time. */
typedef struct tamis_graph tamis_graph;

/* Options of a graph. Zeros are the defaults. */
typedef struct tamis_graph_options {
    int threads;          /* threads of a call; 0: the device's setting at the time of the call */
    bool trust_input;     /* the pattern is valid: skip the check of its entries */
    bool forward_only;    /* do not make the order by columns: backward calls are then refused */
    bool column_places;   /* keep 8 more bytes per entry: edge values may be in the order of columns (CPU) */
    void *stream;         /* stream that reads S's arrays; tamis_graph_create waits for it */
    uint64_t reserved[5]; /* zero */
} tamis_graph_options;

/*
 * Makes a graph of S, CSR (also a slice of rows) or COO in any order; entries may repeat. It keeps references to S's
 * arrays, which must not change while it exists. Unless forward_only is set, it takes an offset for each column, and an
 * index and 8 bytes for each entry; COO that is not in row order takes as much again. A GPU keeps 16 more bytes for
 * each row and column of graphs of uneven degrees (from 2^14 entries), which it takes by falling degree, and an index
 * for each entry. NULL options mean zeros. The caller must destroy *graph before its device is closed.
 * TAMIS_ERROR_PATTERN names the first bad entry.
 */
TAMIS_API tamis_status tamis_graph_create(tamis_device *device, const tamis_sparse *S,
                                          const tamis_graph_options *options, tamis_graph **graph);
TAMIS_API void tamis_graph_destroy(tamis_graph *graph); /* after all calls that use it; NULL is allowed */

/*
 * Writes a text of several lines: what the graph keeps for its order by rows and that by columns, and how calls divide
 * the rows. It is truncated to `bytes`, including a final zero. *needed (may be NULL) is the full length including the
 * zero. text may be NULL if bytes is 0.
 */
TAMIS_API tamis_status tamis_graph_explain(const tamis_graph *graph, char *text, size_t bytes, size_t *needed);

/* ---------------------------------------------------------------------------------------------- messages */

/* The message of an edge t = (i, j) from node j to node i, with u = u_j, v = v_i and e = e_t, element by element. */
typedef enum tamis_message_op {
    TAMIS_MESSAGE_COPY_U = 0,   /* u */
    TAMIS_MESSAGE_ADD = 1,      /* u + e */
    TAMIS_MESSAGE_SUB = 2,      /* u - e */
    TAMIS_MESSAGE_MUL = 3,      /* u * e */
    TAMIS_MESSAGE_COPY_E = 4,   /* e */
    TAMIS_MESSAGE_ADD_RELU = 5, /* max(u + e, 0); NaN stays NaN */
    TAMIS_MESSAGE_TEXT = 6      /* options.text, such as "leaky_relu(u + v + e)" */
} tamis_message_op;

/*
 * How the messages of a row are reduced, element by element. A row without entries gives 0. MAX and MIN: of equal
 * messages the first in S's order counts; NaN counts as the largest and as the smallest, so the first NaN is the
 * result.
 */
typedef enum tamis_reduce {
    TAMIS_REDUCE_SUM = 0,
    TAMIS_REDUCE_MEAN = 1, /* the sum divided by the number of entries of the row */
    TAMIS_REDUCE_MAX = 2,
    TAMIS_REDUCE_MIN = 3
} tamis_reduce;

/* Shape of the edge data E. A number applies to all elements of its vector or head. */
typedef enum tamis_edge_data {
    TAMIS_E_NONE = 0,   /* nothing; with COPY_U, and with a text that does not read e */
    TAMIS_E_NUMBER = 1, /* E is nnz x 1 */
    TAMIS_E_HEAD = 2,   /* a number for each head: E is nnz x heads */
    TAMIS_E_VECTOR = 3  /* E is nnz x (heads * width) */
} tamis_edge_data;

/* Describes a call. Sums of half types are in fp32, and their results are rounded once. */
typedef struct tamis_message_options {
    tamis_message_op op;
    tamis_reduce reduce;
    tamis_edge_data edge_data;
    tamis_type type;                  /* of all matrices */
    tamis_index_type argument_type;   /* of `argument`; TAMIS_I32 holds up to 2^31 entries */
    int64_t heads, width;             /* 0 or more; heads = 0 means 1 */
    const char *text;                 /* of TAMIS_MESSAGE_TEXT, else NULL: see below */
    const tamis_edge_number *numbers; /* the numbers that `text` names; NULL: none */
    int64_t number_count;             /* of `numbers`, 0 .. 16 */
    const tamis_dense *V;             /* what a text calls v: S.rows x (heads * width); NULL: it does not read v */
    const tamis_dense *dV;            /* gets the gradient by V in the backward call; NULL: not wanted */
    uint64_t reserved[1];             /* zero */
} tamis_message_options;

/*
 * A text is an expression of the language of docs/manual/edges.md, of at most 1024 bytes. Its variables are u, v and e,
 * the elements of U's row j, of V's row i and of E's row t at the same place of the width, i and j, the row and the
 * column in S, and h, the head of the element, from 0; it may use the named numbers. It is computed for each element,
 * in fp32 for half types and TAMIS_F32. All that it reads must be given; all else must be NULL, or TAMIS_E_NONE. The
 * message of an error in the text begins with the place: "message:1:14: unknown name 'tahn'; did you mean 'tanh'?". A
 * text may be accepted forward whose gradients have too many steps; the backward call refuses it before it writes. S
 * may be a slice of rows: i counts from its first. Nothing is kept of the options, the text and the numbers after the
 * call. A GPU compiles each text once for each kind of call and keeps the kernel until the process ends; of the numbers
 * the first three may change without that.
 */

/*
 * out = the reduced messages. U is S.cols x (heads * width), or NULL with COPY_E. E is as edge_data says, or NULL with
 * COPY_U. out is S.rows x (heads * width). For MAX and MIN, `argument` (NULL: not wanted) receives the entry, numbered
 * in S's order, from which each element of out comes, -1 in rows without entries: S.rows x (heads * width) indices,
 * packed. With other reductions it must be NULL.
 *
 * All matrices are row-major with any stride (column-major: TAMIS_ERROR_UNSUPPORTED), at addresses aligned to one
 * element. Outputs must not overlap inputs. A call allocates nothing, except on a GPU, in stream order, for partial
 * sums of long rows (of more than 32 entries, in large graphs of more than 256). The same inputs give the same bits
 * each time on the same device. A GPU sums long rows in parts; on the CPU one thread computes each element, in S's
 * order, with any number of threads. After an argument error the outputs are unchanged.
 */
TAMIS_API tamis_status tamis_message_pass(const tamis_graph *graph, const tamis_message_options *options,
                                          const tamis_dense *U, const tamis_dense *E, const tamis_dense *out,
                                          void *argument, void *stream);

/* How a graph plans a call. Zeros are the defaults. */
typedef struct tamis_graph_plan_options {
    int64_t expected_calls; /* for which an algorithm's set-up must pay; 0: 1000 */
    void *stream;           /* in which the passes are timed */
    uint64_t reserved[6];   /* zero */
} tamis_graph_plan_options;

/*
 * Plans a call by measurement. Some passes are operations of <tamis/tamis.h> too: the sum of COPY_U is SpMM with a
 * pattern of ones, and so is its gradient, over the columns; the sum of MUL by one number an entry is SpMM, and its
 * gradient by E is SDDMM, as is the DOT of tamis_edge_vectors with one head. For each such pass of the call and, unless
 * the graph is forward_only, of its gradients, this times the graph's own kernel beside the algorithms that a plan of
 * the operation would measure. From then on every call of the graph that has such a pass, of this type, of rows as
 * wide, and with as many threads, takes the fastest. All other passes are as before, and so are calls whose numbers are
 * not packed. An operation takes numbers in the order of rows: the gradient of MUL by U, and numbers of a COO that is
 * not in row order, are not planned. tamis_graph_explain lists the planned passes.
 *
 * A plan may change the last bits of a pass: plan before the first call if all should have the same. The tuning cache
 * keeps what was chosen, so that another process chooses alike (<tamis/cache.h>). It takes up to half a second a pass,
 * and more where kernels are compiled. While it measures it holds operands as large as the call's; what a chosen
 * algorithm keeps stays until the graph is destroyed. What was planned before is not planned again. Other threads may
 * use the graph meanwhile. NULL `how` means zeros. Give `options` as to the call; V and dV are not read.
 */
TAMIS_API tamis_status tamis_graph_plan(tamis_graph *graph, const tamis_message_options *options,
                                        const tamis_graph_plan_options *how);

/*
 * Computes the gradients of a loss with respect to U and E from dOut, its gradient with respect to out. dU and dE have
 * the shapes of U and E; NULL: not wanted. U is read for dE of MUL, E for dU of MUL, and both for ADD_RELU, whose
 * gradient is 0 where u + e <= 0; all that a text reads is read. Otherwise they may be NULL. options.dV gets the
 * gradient with respect to options.V, of its shape. A text is differentiated exactly (docs/manual/edges.md says how at
 * kinks). MAX and MIN need the `argument` of the forward call: the gradient goes to the selected entry. Errors and
 * guarantees are as for tamis_message_pass.
 */
TAMIS_API tamis_status tamis_message_backward(const tamis_graph *graph, const tamis_message_options *options,
                                              const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *E,
                                              const void *argument, const tamis_dense *dU, const tamis_dense *dE,
                                              void *stream);

/* ---------------------------------------------------------------------------------------------- edge vectors */

/* How an edge (i, j) combines u_i and v_j. */
typedef enum tamis_pair_op {
    TAMIS_PAIR_ADD = 0, /* u + v */
    TAMIS_PAIR_SUB = 1, /* u - v */
    TAMIS_PAIR_MUL = 2, /* u * v, element by element */
    TAMIS_PAIR_DOT = 3  /* <u, v> of each head */
} tamis_pair_op;

/* Describes a call. */
typedef struct tamis_pair_options {
    tamis_pair_op op;
    tamis_type type;      /* of all matrices */
    int64_t heads, width; /* 0 or more; heads = 0 means 1 */
    uint64_t reserved[6]; /* zero */
} tamis_pair_options;

/* out_t = u_i op v_j. U is S.rows x (heads * width), V is S.cols x (heads * width), out is nnz x (heads * width), with
   DOT nnz x heads. Otherwise this is like tamis_message_pass. */
TAMIS_API tamis_status tamis_edge_vectors(const tamis_graph *graph, const tamis_pair_options *options,
                                          const tamis_dense *U, const tamis_dense *V, const tamis_dense *out,
                                          void *stream);

/* Computes the gradients of a loss with respect to U and V from dOut, its gradient with respect to out. U is read for
   dV of MUL and DOT, V for their dU; otherwise they may be NULL. dU and dV have the shapes of U and V; NULL: not
   wanted. */
TAMIS_API tamis_status tamis_edge_vectors_backward(const tamis_graph *graph, const tamis_pair_options *options,
                                                   const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *V,
                                                   const tamis_dense *dU, const tamis_dense *dV, void *stream);

#ifdef __cplusplus
}
#endif

#endif
