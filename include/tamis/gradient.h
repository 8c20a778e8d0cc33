/*
 * Gradients of the three operations, and an edge by itself.
 *
 * For a loss f, dX is the gradient of a matrix X: dX_ij is the derivative of f with respect to X_ij. A backward call
 * takes the gradient of an operation's output and computes the gradients of its inputs, on the device and without
 * densifying: of A, B and D, and of the values of S, with one element per nonzero in S's order. Let x = <A_i, B_j> be
 * the sampled products, p the edge's value, and dp its gradient:
 *
 *   SDDMM   dp = alpha dP                     SpMM    dS_ij = alpha <dC_i, B_j>,  dB = alpha op(S)^T dC
 *   fused   dp = alpha <dE_i, D_j>,  dD = alpha p^T dE
 *   both    dx = dp * (derivative of the edge by x), dS likewise by s,  dA = dx B,  dB = dx^T A
 *   softmax dx = edge_scale * p (dp - sum over the row of p dp),  dS the same without edge_scale
 *
 * where p and dx are sparse matrices with S's pattern. At edge_scale x = 0 the derivative of leaky_relu is the one from
 * the right, edge_scale. The derivative of quotient by x is 0 where x <= edge_epsilon. Half types are summed in fp32,
 * and x, dp, p and dx are fp32 between the steps: only the gradients are rounded to 16 bits.
 */
#ifndef TAMIS_GRADIENT_H
#define TAMIS_GRADIENT_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* State of an operation's backward calls: the transposed pattern and the plans of their parts. It is immutable, like a
   plan. */
typedef struct tamis_gradient tamis_gradient;

/*
 * Makes a gradient for the operation that a plan with the same S and options computes; neither needs the other. Errors
 * are as for tamis_plan_create. options.parameters is ignored. options.algorithm may be a name that
 * tamis_gradient_algorithm returns: that algorithm is used if it supports the problem; other names are ignored. The
 * rules of tamis_plan_create for S's arrays and for options.stream apply.
 */
TAMIS_API tamis_status tamis_gradient_create(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                             tamis_gradient **gradient);
TAMIS_API void tamis_gradient_destroy(tamis_gradient *gradient); /* waits for the device's work; NULL is allowed */
TAMIS_API void tamis_gradient_destroy_async(tamis_gradient *gradient, void *stream);

/* Returns the bytes of workspace of a backward call: for SDDMM and fused in steps, two or three arrays with one element
   per nonzero and member of the batch. */
TAMIS_API tamis_status tamis_gradient_workspace_size(const tamis_gradient *gradient, size_t *bytes);

/*
 * Returns how backward calls compute: "steps", the plans of SDDMM and SpMM and a pass between them; or the name of an
 * algorithm that computes all in one kernel, without arrays of nnz elements: "gpu-tensor", for the edge softmax without
 * values of S, on CUDA of compute capability 8.0 and up, with row-major operands, K and L up to 64 (in 16 bits up to
 * 128; on 9.0 up to 128 and 256), and sorted columns without duplicates; "cpu-cells", the same on the CPU for any K, L
 * and order of columns. Chosen by predicted time. The text has static lifetime. NULL only if gradient is NULL.
 */
TAMIS_API const char *tamis_gradient_algorithm(const tamis_gradient *gradient);

/*
 * Backward calls. The inputs are the operands of the forward call and the gradient of its output. Each gradient has the
 * shape, type and layout of the matrix that it belongs to. An output that is NULL is not computed. execution.alpha must
 * be the forward call's. execution.beta scales the old outputs: 0 (the default) overwrites, 1 accumulates. dS is a
 * packed vector of nnz elements in S's order. It is not available if S has no values, or for the edge mask
 * (TAMIS_ERROR_ARGUMENT). In a batch each member has its own outputs, batch_stride apart; the gradient of a shared
 * matrix is the sum over members. Outputs must not overlap inputs or one another.
 *
 * Gradients with respect to the arrays that an edge's text names are written where execution.edge_operands ask for them
 * (tamis_edge_operand). On a GPU the first call that asks for one compiles its kernel: make it before a
 * graph is captured.
 *
 * With execution.softmax_rows as the forward call wrote it, the backward call of softmax need not compute the largest
 * score and the sum of each row again, which saves a pass. Both the forward plan and the gradient must then be made
 * with options.keep_softmax.
 *
 * Like executions of a plan, these calls allocate nothing, do not involve the host, run in stream order, and give the
 * same bits each time.
 */
TAMIS_API tamis_status tamis_sddmm_backward(const tamis_gradient *gradient, const tamis_dense *dP, const tamis_dense *A,
                                            const tamis_dense *B, const tamis_dense *dA, const tamis_dense *dB,
                                            const tamis_dense *dS, const tamis_execution *execution);
TAMIS_API tamis_status tamis_spmm_backward(const tamis_gradient *gradient, const tamis_dense *dC, const tamis_dense *B,
                                           const tamis_dense *dB, const tamis_dense *dS,
                                           const tamis_execution *execution);
TAMIS_API tamis_status tamis_fused_backward(const tamis_gradient *gradient, const tamis_dense *dE, const tamis_dense *A,
                                            const tamis_dense *B, const tamis_dense *D, const tamis_dense *dA,
                                            const tamis_dense *dB, const tamis_dense *dD, const tamis_dense *dS,
                                            const tamis_execution *execution);

/*
 * P = alpha * edge(S, X) + beta * P for sampled products X that were computed elsewhere, for instance from parts of K
 * on several devices. X and P are packed vectors of nnz elements, and may be the same. The plan must be one of SDDMM.
 * On a GPU the first such call of a process compiles its kernel. execution.softmax_rows must be NULL, since this
 * function does not write the statistics.
 */
TAMIS_API tamis_status tamis_plan_edge(const tamis_plan *plan, const tamis_dense *X, const tamis_dense *P,
                                       const tamis_execution *execution);

#ifdef __cplusplus
}
#endif

#endif
