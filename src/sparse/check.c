/* Checks of views, without reading arrays. */
#include "sparse/check.h"

#include "base/reserved.h"
#include "base/sizes.h"

tamis_status tamis_ranges_check(const char *name, const tamis_range *ranges, size_t count) {
    for (const tamis_range *r = ranges; r < ranges + count; r++)
        if (r->value < r->least || r->value > r->most)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.%s = %lld: expected %lld .. %lld", name, r->field,
                              (long long)r->value, (long long)r->least, (long long)r->most);
    return TAMIS_OK;
}

tamis_status tamis_size_check(const char *name, const char *field, int64_t size) {
    const char *const dot = *name ? "." : "";
    if (size < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s%s%s = %lld: expected 0 or more", name, dot, field, (long long)size);
    if (size <= TAMIS_SIZE_MOST) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s%s%s = %lld: expected at most %lld, the limit of all sizes", name, dot,
                      field, (long long)size, (long long)TAMIS_SIZE_MOST);
}

typedef struct named_size {
    const char *field;
    int64_t value;
} named_size;

static tamis_status check_sizes(const char *name, const named_size *sizes, int count) {
    for (int i = 0; i < count; i++) TRY(tamis_size_check(name, sizes[i].field, sizes[i].value));
    return TAMIS_OK;
}

static tamis_status check_array(const char *name, const char *field, const void *array, int64_t entries, size_t size) {
    if (entries > 0 && !array)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.%s = NULL: expected an array of %lld", name, field,
                          (long long)entries);
    if ((uintptr_t)array % size)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.%s = %p: expected an address that is a multiple of %zu", name,
                          field, array, size);
    return TAMIS_OK;
}

tamis_status tamis_batch_check(const char *name, int64_t batch, int64_t stride, int64_t elements, size_t size) {
    const int64_t most = (int64_t)(PTRDIFF_MAX / (ptrdiff_t)size) - elements;
    if (tamis_times(batch - 1, stride) <= most) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW,
                      "%s: a batch of %lld that begin %lld elements after each other exceeds the address space", name,
                      (long long)batch, (long long)stride);
}

tamis_status tamis_format_check(const tamis_sparse *S, tamis_format format) {
    if (S->format == format) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "S.format = %s: expected %s", tamis_format_name(S->format),
                      tamis_format_name(format));
}

tamis_status tamis_index_check(const char *name, const char *field, int64_t size, tamis_index_type type) {
    if (tamis_index_spans(type, size)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s%s%s = %lld: an index_type of %s cannot hold 0 .. %lld", name,
                      *name ? "." : "", field, (long long)size, tamis_index_type_name(type), (long long)(size - 1));
}

tamis_status tamis_offset_check(const char *name, const char *field, int64_t nnz, tamis_index_type type) {
    if (tamis_index_holds(type, nnz)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s%s%s = %lld: an offset_type of %s cannot hold it", name,
                      *name ? "." : "", field, (long long)nnz, tamis_index_type_name(type));
}

static tamis_status check_offsets(const tamis_sparse *S, const char *name) {
    if (!tamis_index_holds(S->offset_type, S->offset_base + S->nnz))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s.nnz = %lld: an offset_type of %s cannot hold it%s", name,
                          (long long)S->nnz, tamis_index_type_name(S->offset_type),
                          S->offset_base ? " beyond offset_base" : "");
    return check_array(name, "offsets", S->offsets, S->rows + 1, tamis_index_size(S->offset_type));
}

static tamis_status check_sparse(const tamis_sparse *S, const char *name, bool unlisted) {
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected a sparse matrix", name);
    const tamis_range choices[] = {{"format", (int64_t)S->format, 0, TAMIS_COO},
                                   {"location", (int64_t)S->location, 0, TAMIS_DEVICE},
                                   {"index_type", (int64_t)S->index_type, 0, TAMIS_I64},
                                   {"offset_type", (int64_t)S->offset_type, 0, TAMIS_I64},
                                   {"value_type", (int64_t)S->value_type, 0, TAMIS_BF16}};
    TRY(TAMIS_RESERVED(S, name));
    TRY(tamis_ranges_check(name, choices, 5));
    const named_size sizes[] = {{"rows", S->rows},
                                {"cols", S->cols},
                                {"nnz", S->nnz},
                                {"batch_stride", S->batch_stride},
                                {"offset_base", S->offset_base}};
    TRY(check_sizes(name, sizes, 5));
    if (S->offset_base != 0 && S->format == TAMIS_COO)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.offset_base = %lld: COO has no offsets, expected 0", name,
                          (long long)S->offset_base);
    if (S->nnz > 0 && (S->rows == 0 || S->cols == 0))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.nnz = %lld: a matrix of %lld x %lld has no entries", name,
                          (long long)S->nnz, (long long)S->rows, (long long)S->cols);
    TRY(tamis_index_check(name, "cols", S->cols, S->index_type));
    const size_t index_size = tamis_index_size(S->index_type);
    if (S->format == TAMIS_CSR) {
        TRY(check_offsets(S, name));
    } else {
        TRY(tamis_index_check(name, "rows", S->rows, S->index_type));
        TRY(check_array(name, "row_indices", S->row_indices, S->nnz, index_size));
    }
    const int64_t entries = S->nnz > 0 ? S->offset_base + S->nnz : 0;
    if (!unlisted || S->format != TAMIS_CSR || !S->mask || S->columns)
        TRY(check_array(name, "columns", S->columns, entries, index_size));
    if (S->values) TRY(check_array(name, "values", S->values, entries, tamis_type_size(S->value_type)));
    return TAMIS_OK;
}

tamis_status tamis_sparse_check(const tamis_sparse *S, const char *name) { return check_sparse(S, name, false); }

tamis_status tamis_sparse_check_unlisted(const tamis_sparse *S, const char *name) {
    return check_sparse(S, name, true);
}

tamis_status tamis_sparse_check_host(const tamis_sparse *S, const char *name) {
    TRY(tamis_sparse_check(S, name));
    if (S->location != TAMIS_HOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.location = device: expected arrays on the host", name);
    return TAMIS_OK;
}

/* Checks all fields, and that the address space can hold `batch` matrices at distances of batch_stride. This is the
   only check of products of sizes: later products of the same numbers do not overflow. */
static tamis_status check_dense(const tamis_dense *dense, const char *name, tamis_location location, int64_t batch) {
    if (!dense) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected a dense matrix", name);
    const tamis_range choices[] = {{"type", (int64_t)dense->type, 0, TAMIS_BF16},
                                   {"layout", (int64_t)dense->layout, 0, TAMIS_COLUMN_MAJOR},
                                   {"location", (int64_t)dense->location, 0, TAMIS_DEVICE}};
    TRY(TAMIS_RESERVED(dense, name));
    TRY(tamis_ranges_check(name, choices, 3));
    if (dense->location != location)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          location == TAMIS_HOST
                              ? "%s.location = device: expected data on the host"
                              : "%s.location = host: expected data on the device; copy them there with "
                                "tamis_device_allocate and tamis_device_upload",
                          name);
    const named_size sizes[] = {
        {"rows", dense->rows}, {"cols", dense->cols}, {"stride", dense->stride}, {"batch_stride", dense->batch_stride}};
    TRY(check_sizes(name, sizes, 4));
    const bool row_major = dense->layout == TAMIS_ROW_MAJOR;
    const int64_t lines = row_major ? dense->rows : dense->cols, length = row_major ? dense->cols : dense->rows;
    const int64_t stride = tamis_dense_stride(dense);
    if (stride < length)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.stride = %lld: expected 0 or at least %s = %lld", name,
                          (long long)stride, row_major ? "cols" : "rows", (long long)length);
    const bool empty = lines == 0 || length == 0;
    const int64_t most = (int64_t)(PTRDIFF_MAX / (ptrdiff_t)tamis_type_size(dense->type));
    int64_t elements; /* up to the last element: the last line needs no gap behind it */
    if (__builtin_mul_overflow(empty ? 0 : lines - 1, stride, &elements) ||
        __builtin_add_overflow(elements, empty ? 0 : length, &elements) || elements > most)
        return tamis_fail(TAMIS_ERROR_OVERFLOW,
                          "%s: %lld lines with stride = %lld exceed the address space of %lld elements", name,
                          (long long)lines, (long long)stride, (long long)most);
    TRY(tamis_batch_check(name, batch, dense->batch_stride, elements, tamis_type_size(dense->type)));
    return empty ? TAMIS_OK : check_array(name, "data", dense->data, elements, tamis_type_size(dense->type));
}

tamis_status tamis_dense_check_any(const tamis_dense *dense, const char *name) {
    return check_dense(dense, name, TAMIS_HOST, 1);
}

tamis_status tamis_dense_check_at(const tamis_dense *dense, const char *name, int64_t rows, int64_t cols,
                                  tamis_type type, tamis_location location, int64_t batch) {
    TRY(check_dense(dense, name, location, batch));
    if (dense->rows != rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.rows = %lld: expected %lld", name, (long long)dense->rows,
                          (long long)rows);
    if (dense->cols != cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.cols = %lld: expected %lld", name, (long long)dense->cols,
                          (long long)cols);
    if (dense->type != type)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.type = %s: expected %s", name, tamis_type_name(dense->type),
                          tamis_type_name(type));
    return TAMIS_OK;
}

tamis_status tamis_dense_check(const tamis_dense *dense, const char *name, int64_t rows, int64_t cols,
                               tamis_type type) {
    return tamis_dense_check_at(dense, name, rows, cols, type, TAMIS_HOST, 1);
}
