/* The common last step of readers of sparse matrices. */
#include "io/reading.h"

tamis_status tamis_check_sizes(const tamis_reading *reading, int64_t rows, int64_t cols, int64_t nnz) {
    const tamis_read_options *const options = &reading->options;
    const char *const name = reading->text.name;
    const bool row_indices = options->format == TAMIS_COO;
    if (options->index_type == TAMIS_I32 && (tamis_needs_wide(cols) || (row_indices && tamis_needs_wide(rows))))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld rows and %lld columns need index_type = int64", name,
                          (long long)rows, (long long)cols);
    if (options->offset_type == TAMIS_I32 && !row_indices && nnz > INT32_MAX)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld nonzeros need offset_type = int64", name, (long long)nnz);
    return TAMIS_OK;
}

tamis_status tamis_check_backing(const tamis_reading *reading, int64_t rows) {
    enum { ROWS_A_BYTE = 64 };
    const int64_t bytes = tamis_input_bytes(reading->input);
    if (rows <= TAMIS_ROWS_ALWAYS || rows / ROWS_A_BYTE <= bytes) return TAMIS_OK;
    return tamis_fail(
        TAMIS_ERROR_FORMAT,
        "%s: %lld rows from a file of %lld bytes would nearly all be empty: renumber the ids of a list (--relabel, or "
        "relabel in the options), or ask the library for a COO",
        reading->text.name, (long long)rows, (long long)bytes);
}

tamis_status tamis_convert_read(const tamis_reading *reading, const tamis_sparse *view, bool sort,
                                tamis_owned_sparse **matrix) {
    TRY(tamis_check_sizes(reading, view->rows, view->cols, view->nnz));
    const tamis_read_options *const requested = &reading->options;
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.format = requested->format;
    options.index_type = requested->index_type;
    options.offset_type = requested->offset_type;
    options.value_type = requested->value_type;
    options.values = requested->values;
    options.duplicates = requested->duplicates;
    options.sort = sort;
    return tamis_convert(view, &options, matrix);
}
