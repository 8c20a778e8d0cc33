/* The oracle: every operation as the simplest loops in double, and comparisons of results with it. */
#ifndef TAMIS_REFERENCE_H
#define TAMIS_REFERENCE_H

#include <tamis/edge_network.h>
#include <tamis/graph_attention.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The same operations as the simplest loops, in double, single-threaded, on the host. Every algorithm is tested against
 * them. Outputs are always doubles: p has nnz * batch entries; c and e are row-major, packed, rows of op(S) x L
 * (members of a batch one after another). With beta != 0 the output is read as the old P, C or E. Only the options that
 * change what is computed are used, and only alpha, beta and values of the execution. Either may be NULL.
 */
TAMIS_API tamis_status tamis_reference_sddmm(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                             const tamis_options *options, const tamis_execution *execution, double *p);
TAMIS_API tamis_status tamis_reference_spmm(const tamis_sparse *S, const tamis_dense *B, const tamis_options *options,
                                            const tamis_execution *execution, double *c);
TAMIS_API tamis_status tamis_reference_fused(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                             const tamis_dense *D, const tamis_options *options,
                                             const tamis_execution *execution, double *e);

/*
 * Their gradients, and an edge over given samples, as <tamis/gradient.h> defines them. da, db and dd are row-major and
 * packed; ds has nnz entries. All are doubles; members of a batch follow one another. Outputs that are NULL are not
 * computed. Gradients of execution.edge_operands may be of TAMIS_F64.
 */
TAMIS_API tamis_status tamis_reference_sddmm_backward(const tamis_sparse *S, const tamis_dense *dP,
                                                      const tamis_dense *A, const tamis_dense *B,
                                                      const tamis_options *options, const tamis_execution *execution,
                                                      double *da, double *db, double *ds);
TAMIS_API tamis_status tamis_reference_spmm_backward(const tamis_sparse *S, const tamis_dense *dC, const tamis_dense *B,
                                                     const tamis_options *options, const tamis_execution *execution,
                                                     double *db, double *ds);
TAMIS_API tamis_status tamis_reference_fused_backward(const tamis_sparse *S, const tamis_dense *dE,
                                                      const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                                                      const tamis_options *options, const tamis_execution *execution,
                                                      double *da, double *db, double *dd, double *ds);
TAMIS_API tamis_status tamis_reference_edge(const tamis_sparse *S, const tamis_dense *X, const tamis_options *options,
                                            const tamis_execution *execution, double *p);

/*
 * Message passing, as <tamis/message.h> defines it. All results are doubles, row-major and packed; `argument` has an
 * int64 for each element of out, or is NULL. The backward call takes all that the message reads, and finds the
 * arguments itself. du, de and dv that are NULL are not computed; options.dV is a packed matrix of TAMIS_F64.
 */
TAMIS_API tamis_status tamis_reference_message(const tamis_sparse *S, const tamis_message_options *options,
                                               const tamis_dense *U, const tamis_dense *E, double *out,
                                               int64_t *argument);
TAMIS_API tamis_status tamis_reference_message_backward(const tamis_sparse *S, const tamis_message_options *options,
                                                        const tamis_dense *dOut, const tamis_dense *U,
                                                        const tamis_dense *E, double *du, double *de);
TAMIS_API tamis_status tamis_reference_edge_vectors(const tamis_sparse *S, const tamis_pair_options *options,
                                                    const tamis_dense *U, const tamis_dense *V, double *out);
TAMIS_API tamis_status tamis_reference_edge_vectors_backward(const tamis_sparse *S, const tamis_pair_options *options,
                                                             const tamis_dense *dOut, const tamis_dense *U,
                                                             const tamis_dense *V, double *du, double *dv);

/* Attention on graphs and segments, as <tamis/graph_attention.h> defines them; results are as above. log_sums may be
   NULL. Gradients that are NULL are not computed. The backward call of segments takes X, not the result of the forward
   call. */
typedef struct tamis_graph_attention_gradients {
    double *q, *k, *v, *e, *b;
    uint64_t reserved[3]; /* zero */
} tamis_graph_attention_gradients;
TAMIS_API tamis_status tamis_reference_graph_attention(const tamis_sparse *S,
                                                       const tamis_graph_attention_options *options,
                                                       const tamis_graph_attention_matrices *matrices, double *out,
                                                       double *log_sums);
TAMIS_API tamis_status tamis_reference_graph_attention_backward(const tamis_sparse *S,
                                                                const tamis_graph_attention_options *options,
                                                                const tamis_graph_attention_matrices *matrices,
                                                                const tamis_dense *dOut,
                                                                const tamis_graph_attention_gradients *gradients);
TAMIS_API tamis_status tamis_reference_segment(const tamis_sparse *S, const tamis_segment_options *options,
                                               const tamis_dense *X, double *out, int64_t *argument);
TAMIS_API tamis_status tamis_reference_segment_backward(const tamis_sparse *S, const tamis_segment_options *options,
                                                        const tamis_dense *dOut, const tamis_dense *X, double *dx);

/* The network on edges, as <tamis/edge_network.h> defines it; results are as above, and NULL: not wanted. `argument` of
   the backward call: the entries that extremes took; NULL: it finds them itself. */
typedef struct tamis_edge_network_gradients {
    double *e, *p, *q, *w1, *b1, *w2, *b2, *w3, *b3, *gain, *shift;
    uint64_t reserved[4]; /* zero */
} tamis_edge_network_gradients;
TAMIS_API tamis_status tamis_reference_edge_network(const tamis_sparse *S, const tamis_edge_network_options *options,
                                                    const tamis_edge_network_matrices *matrices, double *edges,
                                                    double *out, int64_t *argument);
TAMIS_API tamis_status tamis_reference_edge_network_backward(const tamis_sparse *S,
                                                             const tamis_edge_network_options *options,
                                                             const tamis_edge_network_matrices *matrices,
                                                             const tamis_dense *dEdges, const tamis_dense *dOut,
                                                             const int64_t *argument,
                                                             const tamis_edge_network_gradients *gradients);

/*
 * Comparing a result with the oracle's. A tamis_oracle holds the expected results of a call, for rows spread over the
 * matrix, and an error bound for the elements of each, from the rounding of the operands' type, the number of terms and
 * the edge, as docs/manual/numerics.md says. The caller must free it with tamis_oracle_free.
 *
 * S is CSR, on the host. A is NULL for SpMM, D for all but fused. It depends only on the options that change what is
 * computed; with math = TAMIS_MATH_TF32 the bounds allow for rounded inputs. options.transpose and a batch are
 * unsupported. budget: approximate number of multiplications; rows beyond it are skipped, except the longest. HUGE_VAL:
 * all rows.
 */
typedef struct tamis_oracle tamis_oracle;
TAMIS_API tamis_status tamis_oracle_create(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                           const tamis_dense *D, const tamis_options *options, double budget,
                                           tamis_oracle **oracle);
TAMIS_API void tamis_oracle_free(tamis_oracle *oracle); /* NULL is allowed */

/* Returns how many rows of the output (SDDMM: nonzeros) are compared, and sets *rows to them, in increasing order;
   other rows of an output are not read. rows may be NULL; *rows lives as long as the oracle. */
TAMIS_API int64_t tamis_oracle_rows(const tamis_oracle *oracle, const int64_t **rows);

/* Result of a comparison. */
typedef struct tamis_comparison {
    bool passed;
    double error, tolerance; /* relative, in the Frobenius norm (absolute where the reference is all zero) */
    bool stray;              /* the norm passes, but the element below violates its own bound */
    double share;            /* of the output's elements that were compared */
    int64_t compared;        /* elements in the norms */
    int64_t not_finite;      /* other elements: correctly NaN or infinite, or undecided */
    int64_t row, col;        /* the worst element of the output (SDDMM: row is the nonzero, col 0) */
    double expected, found;
    int64_t undecided; /* part of not_finite: an intermediate sum may have overflowed, or no finite bound is known */
    bool cannot_tell;  /* no error was found, but the test is weak: the tolerance exceeds 0.1, or all elements are
                          undecided */
    uint64_t reserved[4];
} tamis_comparison;

/* Compares a host output (SDDMM: nnz x 1), which should be alpha * result + beta * old. old may be NULL if beta is 0.
   A wrong output is not an error: comparison->passed says so. */
TAMIS_API tamis_status tamis_oracle_compare(const tamis_oracle *oracle, const tamis_dense *output, double alpha,
                                            double beta, const tamis_dense *old, tamis_comparison *comparison);

#ifdef __cplusplus
}
#endif

#endif
