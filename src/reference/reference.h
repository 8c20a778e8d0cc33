/* The oracle's operations on rows of a larger matrix. */
#ifndef TAMIS_REFERENCE_REFERENCE_H
#define TAMIS_REFERENCE_REFERENCE_H

#include <tamis/reference.h>

/* As tamis_reference_sddmm and tamis_reference_fused; to an edge that is a text, row i of S is row rows[i]. */
tamis_status tamis_oracle_sddmm(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                const tamis_options *options, const tamis_execution *execution, const int64_t *rows,
                                double *p);
tamis_status tamis_oracle_fused(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                                const tamis_options *options, const tamis_execution *execution, const int64_t *rows,
                                double *e);

#endif
