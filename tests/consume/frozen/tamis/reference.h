/*
 * The oracle.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_REFERENCE_H
#define TAMIS_REFERENCE_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The same operations as the simplest loops, in double, single-threaded, on the host. Every algorithm is tested against
 * them. Outputs are always doubles: p has nnz * batch entries; c and e are row-major, packed, rows of op(S) x L
 * (members of a batch one after another). With beta != 0 the output is read as the old P, C or E. Only those options
 * are used that change what is computed; of the execution, alpha, beta and values. Either may be NULL.
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
 * computed.
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

#ifdef __cplusplus
}
#endif

#endif
