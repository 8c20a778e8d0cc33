/* See host.h. */
#include "ml/data/host.h"

#include "base/scope.h"
#include "base/status.h"

static void free_array(void *array) { tamis_owned_dense_free(array); }

tamis_status ml_host_make(int64_t rows, int64_t cols, tamis_type type, tamis_dense *host) {
    tamis_owned_dense *array;
    TRY(tamis_owned_dense_create(rows, cols, type, TAMIS_ROW_MAJOR, &array));
    *host = *tamis_owned_dense_view(array);
    return tamis_scope_own(free_array, array);
}

static void free_sparse(void *matrix) { tamis_owned_sparse_free(matrix); }

tamis_status ml_keep_sparse(tamis_owned_sparse *matrix) { return tamis_scope_own(free_sparse, matrix); }

tamis_status ml_converted(const tamis_sparse *S, const tamis_convert_options *options, tamis_sparse *made) {
    tamis_owned_sparse *matrix;
    TRY(tamis_convert(S, options, &matrix));
    *made = *tamis_owned_sparse_view(matrix);
    return ml_keep_sparse(matrix);
}
