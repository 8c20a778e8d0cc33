/* The public entry points for writing. */
#include <tamis/structure.h>

#include <string.h>
#include <strings.h>
#include <tamis/matrix.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/files/standard.h"
#include "io/formats/writing.h"
#include "sparse/check.h"
#include "sparse/structure.h"

static bool ends_in(const char *path, const char *ending) {
    const size_t length = strlen(path), size = strlen(ending);
    return length > size && strcasecmp(path + length - size, ending) == 0;
}

/* Returns the name whose ending selects the file's format. */
static const char *form_of(const char *path) { return tamis_is_standard(path) ? tamis_standard_form() : path; }

static const struct sparse_row {
    const char *ending;
    bool gzip;
    tamis_status (*write)(tamis_output *output, const tamis_sparse *S);
} sparse_rows[] = {
    {".mtx", false, tamis_write_market_sparse},
    {".mtx.gz", true, tamis_write_market_sparse},
    {".npz", false, tamis_write_npz},
};

static const struct dense_row {
    const char *ending;
    bool gzip;
    tamis_status (*write)(tamis_output *output, const tamis_dense *dense);
} dense_rows[] = {
    {".npy", false, tamis_write_npy},
    {".mtx", false, tamis_write_market_dense},
    {".mtx.gz", true, tamis_write_market_dense},
};

tamis_status tamis_write_sparse(const char *path, const tamis_sparse *S) {
    tamis_clear_error();
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path = NULL: expected the name of a file");
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "S = NULL: expected a sparse matrix");
    for (size_t i = 0; i < sizeof sparse_rows / sizeof *sparse_rows; i++) {
        if (!ends_in(form_of(path), sparse_rows[i].ending)) continue;
        TRY(tamis_validate(S));
        tamis_sparse view;
        tamis_output output;
        void *offsets;
        TRY(tamis_slice_rebase(S, &view, &offsets));
        tamis_status status = tamis_output_open(path, sparse_rows[i].gzip, &output);
        if (status == TAMIS_OK) status = tamis_output_close(&output, sparse_rows[i].write(&output, &view));
        tamis_release(offsets);
        return status;
    }
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "path = \"%s\": expected a name that ends in .mtx, .mtx.gz or .npz",
                      path);
}

tamis_status tamis_write_dense(const char *path, const tamis_dense *dense) {
    tamis_clear_error();
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path = NULL: expected the name of a file");
    TRY(tamis_dense_check_any(dense, "dense"));
    tamis_dense packed = *dense;
    packed.stride = tamis_dense_stride(dense);
    for (size_t i = 0; i < sizeof dense_rows / sizeof *dense_rows; i++) {
        if (!ends_in(form_of(path), dense_rows[i].ending)) continue;
        tamis_output output;
        TRY(tamis_output_open(path, dense_rows[i].gzip, &output));
        return tamis_output_close(&output, dense_rows[i].write(&output, &packed));
    }
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "path = \"%s\": expected a name that ends in .npy, .mtx or .mtx.gz",
                      path);
}
