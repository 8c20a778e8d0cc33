/*
 * Gradients of the three operations, and an edge by itself.
 *
 * With a loss f, the gradient of a matrix X is written dX: dX_ij is the derivative of f by X_ij. A backward call takes
 * the gradient of an operation's output and gives those of its inputs, on the device and without densifying: of A, B
 * and D, and of the values of S, an element a nonzero in S's order. With the sampled products x = <A_i, B_j>, p the
 * edge's value, and dp its gradient:
 *
 *   SDDMM   dp = alpha dP                     SpMM    dS_ij = alpha <dC_i, B_j>,  dB = alpha op(S)^T dC
 *   fused   dp = alpha <dE_i, D_j>,  dD = alpha p^T dE
 *   both    dx = dp * (derivative of the edge by x), dS likewise by s,  dA = dx B,  dB = dx^T A
 *   softmax dx = edge_scale * p (dp - sum over the row of p dp),  dS the same without edge_scale
 *
 * where p and dx stand for sparse matrices with S's pattern. At edge_scale x = 0 leaky_relu has the derivative of the
 * right side, edge_scale; where x <= edge_epsilon that of quotient by x is 0. Half types are summed in fp32, and x, dp,
 * p and dx are fp32 between the steps: only the gradients are rounded to 16 bits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_GRADIENT_H
#define TAMIS_GRADIENT_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the backward calls of an operation need: the transposed pattern, the plans of their parts. Like a plan it does
   not change once it is made. */
typedef struct tamis_gradient tamis_gradient;

/*
 * Makes it for the operation that a plan with the same S and options computes; neither needs the other. Errors are
 * those of tamis_plan_create. options.algorithm and options.parameters are not looked at. What
 * tamis_plan_create says of S's arrays and of options.stream holds here.
 */
TAMIS_API tamis_status tamis_gradient_create(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                             tamis_gradient **gradient);
TAMIS_API void tamis_gradient_destroy(tamis_gradient *gradient); /* waits for the device's work; NULL is allowed */
TAMIS_API void tamis_gradient_destroy_async(tamis_gradient *gradient, void *stream);

/* Bytes of workspace that a backward call needs: two or three arrays of an element a nonzero and member of the batch,
   but for SpMM. */
TAMIS_API tamis_status tamis_gradient_workspace_size(const tamis_gradient *gradient, size_t *bytes);

/*
 * Backward calls. Inputs are the operands of the forward call and the gradient of its output; each gradient has the
 * shape, the type and the layout of what it is the gradient of. An output of NULL is not wanted and not computed.
 * execution.alpha is the forward call's; execution.beta scales what was in the outputs: 0 (the default) overwrites, 1
 * adds to them. dS: a packed vector of nnz elements in S's order, not to be had where S has no values, nor with the
 * edge mask (TAMIS_ERROR_ARGUMENT). In a batch each member has outputs of its own, batch_stride apart: the gradient of
 * what all members share is the sum of theirs. Outputs must not overlap inputs or one another.
 *
 * execution.softmax_rows as the forward call has left it spares softmax's backward call the pass that finds the largest
 * score and the sum of each row again. Both the forward plan and the gradient are made with options.keep_softmax then.
 *
 * Like executions of a plan: no allocation, no trip to the host, all in the order of the stream, the same bits again.
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
 * P = alpha * edge(S, X) + beta * P for sampled products X that were computed elsewhere, as in parts of K on several
 * devices: X and P are packed vectors of nnz elements, and may be the same. The plan is one of SDDMM. On a GPU the
 * first such call of a process makes its kernel. execution.softmax_rows must be NULL: the statistics are not kept.
 */
TAMIS_API tamis_status tamis_plan_edge(const tamis_plan *plan, const tamis_dense *X, const tamis_dense *P,
                                       const tamis_execution *execution);

#ifdef __cplusplus
}
#endif

#endif
