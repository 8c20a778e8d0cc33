/* The data of a method from a file. */
#include <tamis/ml.h>

#include "base/status.h"
#include "io/formats/formats.h"
#include "ml/methods/method.h"
#include "ml/methods/methods.h"

tamis_status tamis_read_data(tamis_method method, const char *path, const char *columns, tamis_owned_sparse **data,
                             tamis_names **row_names, tamis_names **column_names, tamis_owned_sparse **times) {
    return tamis_read_data_found(method, path, columns, NULL, data, row_names, column_names, times);
}

tamis_status tamis_read_data_found(tamis_method method, const char *path, const char *columns, char *found,
                                   tamis_owned_sparse **data, tamis_names **row_names, tamis_names **column_names,
                                   tamis_owned_sparse **times) {
    tamis_clear_error();
    const ml_method *const row = ml_method_of(method);
    if (!row) return tamis_fail(TAMIS_ERROR_ARGUMENT, "method = %d is not a valid method", (int)method);
    if (!path || !data || !row_names || !column_names)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL",
                          !path        ? "path"
                          : !data      ? "data"
                          : !row_names ? "row_names"
                                       : "column_names");
    *row_names = *column_names = NULL;
    if (times) *times = NULL;
    if (found) *found = 0;
    const bool sum = row->about.data != TAMIS_DATA_RATINGS && !row->about.ordered,
               documents = row->about.data == TAMIS_DATA_COUNTS;
    tamis_file_shape shape = TAMIS_SHAPE_IDS;
    bool texts = false;
    if (documents && !columns) TRY(tamis_is_texts(path, &texts));
    if (texts) {
        const tamis_text_options options = TAMIS_TEXT_OPTIONS_INIT;
        return tamis_read_texts(path, &options, data, row_names, column_names);
    }
    if (!columns) TRY(tamis_file_shape_of(path, documents, &shape));
    if (shape == TAMIS_SHAPE_IDS) {
        tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
        options.columns = columns;
        options.sum = sum;
        options.positions = row->about.ordered;
        options.times = times;
        options.found = found;
        return tamis_read_ratings(path, &options, data, row_names, column_names, NULL);
    }
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    options.offset_type = TAMIS_I64;
    options.duplicates = sum ? TAMIS_DUPLICATES_SUM : TAMIS_DUPLICATES_LAST;
    options.values = TAMIS_VALUES_ONES;
    if (row->about.ordered) options.value_type = TAMIS_F64; /* times */
    options.found = found;
    return tamis_read_sparse(path, &options, data);
}
