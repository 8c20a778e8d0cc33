/* Matrices on the host that belong to the scope (base/scope.h). */
#ifndef TAMIS_ML_HOST_H
#define TAMIS_ML_HOST_H

#include <tamis/matrix.h>
#include <tamis/structure.h>

/* Allocates a packed matrix, not initialised. */
tamis_status ml_host_make(int64_t rows, int64_t cols, tamis_type type, tamis_dense *host);
/* Gives a matrix to the scope. */
tamis_status ml_keep_sparse(tamis_owned_sparse *matrix);
/* Converts S, which is on the host. */
tamis_status ml_converted(const tamis_sparse *S, const tamis_convert_options *options, tamis_sparse *made);

#endif
