/* Writes .npy, and .npz for scipy.sparse.load_npz. bf16, which NumPy lacks, is written as f4; so is fp16 in .npz, since
   SciPy has no sparse matrices of it. */
#include <string.h>

#include "base/status.h"
#include "io/formats/npy.h"
#include "io/formats/writing.h"
#include "io/pack/zip.h"
#include "sparse/element.h"

enum { PIECE = 4096 };

static const char *element_descr(tamis_type type) {
    return type == TAMIS_F64 ? "<f8" : type == TAMIS_F16 ? "<f2" : "<f4";
}

/* Return the type in which elements are written. */
static tamis_type dense_type(tamis_type type) { return type == TAMIS_BF16 ? TAMIS_F32 : type; }
static tamis_type sparse_type(tamis_type type) { return type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32; }

static const char *index_descr(tamis_index_type type) { return type == TAMIS_I32 ? "<i4" : "<i8"; }

/* Destination of bytes: a member of an archive, or the file itself. */
typedef struct sink {
    tamis_output *output;
    tamis_zip_writer *zip;
} sink;

static tamis_status put(const sink *to, const void *data, int64_t bytes) {
    return to->zip ? tamis_zip_write(to->zip, data, bytes) : tamis_output_write(to->output, data, bytes);
}

/* Writes `count` elements as `written`; NULL stands for ones. */
static tamis_status put_elements(const sink *to, const void *data, tamis_type type, tamis_type written, int64_t count) {
    if (data && type == written) return put(to, data, count * (int64_t)tamis_type_size(type));
    double piece[PIECE];
    for (int64_t done = 0; done < count;) {
        const int64_t part = count - done < PIECE ? count - done : PIECE;
        for (int64_t i = 0; i < part; i++)
            tamis_element_store(piece, written, i, data ? tamis_element_load(data, type, done + i) : 1);
        TRY(put(to, piece, part * (int64_t)tamis_type_size(written)));
        done += part;
    }
    return TAMIS_OK;
}

static tamis_status put_header(const sink *to, const char *descr, bool fortran_order, int dimensions,
                               const int64_t *shape) {
    char header[TAMIS_NPY_HEADER];
    return put(to, header, tamis_npy_header(header, descr, fortran_order, dimensions, shape));
}

tamis_status tamis_write_npy(tamis_output *output, const tamis_dense *dense) {
    const sink to = {.output = output};
    const bool by_columns = dense->layout == TAMIS_COLUMN_MAJOR;
    const int64_t shape[] = {dense->rows, dense->cols};
    const tamis_type written = dense_type(dense->type);
    TRY(put_header(&to, element_descr(written), by_columns, 2, shape));
    const int64_t lines = by_columns ? dense->cols : dense->rows, length = by_columns ? dense->rows : dense->cols;
    const int64_t step = dense->stride * (int64_t)tamis_type_size(dense->type);
    if (length == 0) return TAMIS_OK;
    for (int64_t line = 0; line < lines; line++)
        TRY(put_elements(&to, (const char *)dense->data + line * step, dense->type, written, length));
    return TAMIS_OK;
}

/* ---- archives */

static tamis_status put_indices(tamis_zip_writer *zip, const char *name, const void *indices, tamis_index_type type,
                                int64_t count) {
    const sink to = {.zip = zip};
    TRY(tamis_zip_begin(zip, name));
    TRY(put_header(&to, index_descr(type), false, 1, &count));
    TRY(put(&to, indices, count * (int64_t)tamis_index_size(type)));
    return tamis_zip_end(zip);
}

static tamis_status put_members(tamis_zip_writer *zip, const tamis_sparse *S) {
    const sink to = {.zip = zip};
    const int64_t shape[] = {S->rows, S->cols}, two = 2;
    if (S->format == TAMIS_CSR) {
        TRY(put_indices(zip, "indices.npy", S->columns, S->index_type, S->nnz));
        TRY(put_indices(zip, "indptr.npy", S->offsets, S->offset_type, S->rows + 1));
    } else {
        TRY(put_indices(zip, "row.npy", S->row_indices, S->index_type, S->nnz));
        TRY(put_indices(zip, "col.npy", S->columns, S->index_type, S->nnz));
    }
    TRY(tamis_zip_begin(zip, "format.npy"));
    TRY(put_header(&to, "|S3", false, 0, NULL));
    TRY(put(&to, S->format == TAMIS_CSR ? "csr" : "coo", 3));
    TRY(tamis_zip_end(zip));
    TRY(tamis_zip_begin(zip, "shape.npy"));
    TRY(put_header(&to, "<i8", false, 1, &two));
    TRY(put(&to, shape, sizeof shape));
    TRY(tamis_zip_end(zip));
    TRY(tamis_zip_begin(zip, "data.npy"));
    const tamis_type written = sparse_type(S->value_type);
    TRY(put_header(&to, element_descr(written), false, 1, &S->nnz));
    TRY(put_elements(&to, S->values, S->value_type, written, S->nnz));
    TRY(tamis_zip_end(zip));
    return tamis_zip_finish(zip);
}

tamis_status tamis_write_npz(tamis_output *output, const tamis_sparse *S) {
    tamis_zip_writer zip = {.output = output};
    const tamis_status status = put_members(&zip, S);
    tamis_zip_abandon(&zip);
    return status;
}
