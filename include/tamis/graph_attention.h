/*
 * Attention on graphs with vectors on edges, and operations on segments: the entries of a row. S is the pattern of a
 * tamis_graph (<tamis/message.h>), t = (i, j) an entry of it, and p the softmax over the entries of row i:
 *
 *   attention, for each head:  score_t = scale * <q_i, k_j + e_t> + b_t,  out_i = sum over t of p_t (v_j + e_t)
 *
 *   segments:  y_t = softmax of x over the entries of row i,  or  out_i = sum, mean, max or min of their x_t
 *
 * These are the edges of graph transformers: Shi et al., "Masked label prediction", IJCAI 2021 (with one vector e_t for
 * keys and values); Velickovic et al., "Graph attention networks", ICLR 2018 (the softmax of edges). The softmax is
 * that of Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018. All quantities are dimensionless.
 * The caller owns all memory. Half types are summed in fp32, and results are rounded once.
 *
 * This runs on the CPU and on GPUs. On a GPU the first call of a kind compiles its kernel, and long rows (of more
 * than 32 entries, in large graphs of more than 256) are computed in parts, in memory that the call allocates in stream
 * order. TAMIS_ENTRIES_BY_COLUMN is for the CPU only (TAMIS_ERROR_UNSUPPORTED).
 */
#ifndef TAMIS_GRAPH_ATTENTION_H
#define TAMIS_GRAPH_ATTENTION_H

#include <tamis/message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- attention */

/* Describes a call. */
typedef struct tamis_graph_attention_options {
    tamis_type type;      /* of all matrices except log_sums */
    int64_t heads, width; /* 0 or more; heads = 0 means 1 */
    double scale;         /* factor of the products, for instance 1 / sqrt(width); with 0 the scores are b */
    uint64_t reserved[6]; /* zero */
} tamis_graph_attention_options;

/* The matrices of a call, or their gradients. A row of heads * width elements has the elements of head 0, then of head
   1, ... E and B have a row for each entry, in S's order. */
typedef struct tamis_graph_attention_matrices {
    const tamis_dense *Q;     /* S.rows x (heads * width) */
    const tamis_dense *K, *V; /* S.cols x (heads * width) */
    const tamis_dense *E;     /* nnz x (heads * width); NULL: all e_t are 0 */
    const tamis_dense *B;     /* nnz x heads; NULL: all b_t are 0 */
    uint64_t reserved[3];     /* zero */
} tamis_graph_attention_matrices;

/*
 * out = the attention, S.rows x (heads * width); a row without entries gives 0. log_sums (NULL: not wanted) receives
 * log(sum over t of exp(score_t)) for each row and head, -infinity in rows without entries: S.rows x heads, fp64 if
 * `type` is fp64, else fp32. The backward call reads it.
 *
 * A score of -infinity leaves its entry out, and a row with no other score gives 0. All matrices are
 * row-major with any stride (column-major: TAMIS_ERROR_UNSUPPORTED), at addresses aligned to one element. Outputs must
 * not overlap inputs. stream is NULL on the CPU. Edge vectors are read once, and nothing of their size is stored. A
 * call allocates nothing. The same inputs give the same bits each time, with any number of threads. After an error
 * outputs are unchanged.
 */
TAMIS_API tamis_status tamis_graph_attention(const tamis_graph *graph, const tamis_graph_attention_options *options,
                                             const tamis_graph_attention_matrices *matrices, const tamis_dense *out,
                                             const tamis_dense *log_sums, void *stream);

/* Returns the bytes of workspace of a backward call for the gradients of K and V: two fp32 (with TAMIS_F64 fp64)
   numbers for each entry and head. */
TAMIS_API tamis_status tamis_graph_attention_workspace_size(const tamis_graph *graph,
                                                            const tamis_graph_attention_options *options,
                                                            size_t *bytes);

/*
 * Computes the gradients of a loss from dOut, its gradient with respect to out. out and log_sums are the forward call's
 * results. Each gradient has the shape of its matrix; NULL: not wanted. A matrix that is NULL in `matrices` has no
 * gradient. workspace (at an address aligned to 16 bytes, overwritten) may be NULL if neither dK nor dV is wanted.
 * Errors and guarantees are as for tamis_graph_attention. One pass over the rows computes the gradients of Q, E and B;
 * one over the columns computes those of K and V, without reading edge vectors.
 */
TAMIS_API tamis_status tamis_graph_attention_backward(
    const tamis_graph *graph, const tamis_graph_attention_options *options,
    const tamis_graph_attention_matrices *matrices, const tamis_dense *dOut, const tamis_dense *out,
    const tamis_dense *log_sums, const tamis_graph_attention_matrices *gradients, void *workspace, void *stream);

/* ---------------------------------------------------------------------------------------------- segments */

/* The function of a segment. */
typedef enum tamis_segment_op {
    TAMIS_SEGMENT_SOFTMAX = 0,
    TAMIS_SEGMENT_SUM = 1,
    TAMIS_SEGMENT_MEAN = 2,
    TAMIS_SEGMENT_MAX = 3, /* MAX and MIN treat ties, NaN and empty rows like TAMIS_REDUCE_MAX and MIN */
    TAMIS_SEGMENT_MIN = 4
} tamis_segment_op;

/* The order of the rows of edge values. Entries of a row, or of a column, are in S's order among themselves. */
typedef enum tamis_entry_order {
    TAMIS_ENTRIES_AS_GIVEN = 0, /* that of S's arrays */
    TAMIS_ENTRIES_BY_ROW = 1,   /* that of the CSR of S */
    TAMIS_ENTRIES_BY_COLUMN = 2 /* of the CSR of S's transpose; needs a graph made with options.column_places */
} tamis_entry_order;

/* Describes a call. */
typedef struct tamis_segment_options {
    tamis_segment_op op;
    tamis_entry_order order;
    tamis_type type;                /* of all matrices */
    tamis_index_type argument_type; /* of `argument`; TAMIS_I32 holds up to 2^31 entries */
    int64_t heads;                  /* numbers per entry, each with its own segments; 0 means 1 */
    uint64_t reserved[6];           /* zero */
} tamis_segment_options;

/*
 * Applies op to the values X, nnz x heads, of each row and head. With SOFTMAX, out has the shape and order of X;
 * otherwise it is S.rows x heads. For MAX and MIN, `argument` (NULL: not wanted) receives the entry from which each
 * element of out comes, numbered in the order of X, -1 in rows without entries: S.rows x heads indices, packed and
 * row-major. With other operations it must be NULL. Each matrix is row-major (heads last) or column-major (heads first)
 * with any stride. Otherwise this is like tamis_graph_attention.
 */
TAMIS_API tamis_status tamis_segment(const tamis_graph *graph, const tamis_segment_options *options,
                                     const tamis_dense *X, const tamis_dense *out, void *argument, void *stream);

/* Computes dX from dOut, the gradient with respect to out. SOFTMAX reads Y, the forward call's result, MAX and MIN its
   `argument`; for other operations both must be NULL. */
TAMIS_API tamis_status tamis_segment_backward(const tamis_graph *graph, const tamis_segment_options *options,
                                              const tamis_dense *dOut, const tamis_dense *Y, const void *argument,
                                              const tamis_dense *dX, void *stream);

#ifdef __cplusplus
}
#endif

#endif
