/* The public entry points for reading. */
#include <limits.h>
#include <string.h>
#include <tamis/matrix.h>

#include "base/reserved.h"
#include "base/status.h"
#include "base/threads.h"
#include "io/files/input.h"
#include "io/formats/formats.h"

/* Shares of the whole that the progress callback sees. */
static const double LOADED = 0.25, PARSED = 0.9;

#ifndef TAMIS_READ_WINDOW
#define TAMIS_READ_WINDOW (2 << 20) /* the fuzz build makes it a few bytes */
#endif

static int threads_of(const tamis_read_options *options) {
    return options->threads > 0 ? options->threads : tamis_threads_default();
}

/* Returns a window with some chunks of lines for each thread. */
static int64_t window_of(const tamis_read_options *options) { return (int64_t)threads_of(options) * TAMIS_READ_WINDOW; }

static tamis_status take_options(const tamis_read_options *given, tamis_read_options *options) {
    *options = (tamis_read_options)TAMIS_READ_OPTIONS_INIT;
    if (!given) return TAMIS_OK;
    TRY(TAMIS_RESERVED(given, "options"));
    *options = *given;
    const struct {
        const char *name;
        int value, count;
    } choices[] = {
        {"file_format", (int)options->file_format, tamis_file_format_count()},
        {"format", (int)options->format, TAMIS_COO + 1},
        {"value_type", (int)options->value_type, TAMIS_BF16 + 1},
        {"index_type", (int)options->index_type, TAMIS_I64 + 1},
        {"offset_type", (int)options->offset_type, TAMIS_I64 + 1},
        {"values", (int)options->values, TAMIS_VALUES_ONES + 1},
        {"duplicates", (int)options->duplicates, TAMIS_DUPLICATES_LAST + 1},
        {"threads", options->threads, INT_MAX},
    };
    if (options->report) *options->report = (tamis_read_report){0};
    if (options->found) options->found[0] = '\0';
    if (options->value_column != 0 && options->value_column != 3 && options->value_column != 4)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.value_column = %d: expected 0, 3 or 4", options->value_column);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (choices[i].value < 0 || choices[i].value >= choices[i].count)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.%s = %d: expected 0 to %d", choices[i].name,
                              choices[i].value, choices[i].count - 1);
    const tamis_file_format format = options->file_format;
    if (options->columns && format != TAMIS_FILE_AUTO && tamis_file_row_of(format)->shape != TAMIS_SHAPE_IDS)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.columns = \"%s\": expected NULL for a file of format %s",
                          options->columns, tamis_file_format_name(format));
    return TAMIS_OK;
}

/* Returns true if the file can be read in windows: its format has lines, and the data begin in the first half of this
   window, so that it holds the whole header. */
static bool can_take_windows(const tamis_input *input, const tamis_file_row *row) {
    const tamis_bounded_text *const text = &input->text;
    const char *const data = tamis_skip_comments(text, text->begin, "%#");
    return row->lines && data - text->begin < (text->end - text->begin) / 2;
}

static const tamis_file_row *find_row(const tamis_input *input, const tamis_read_options *options) {
    if (options->file_format != TAMIS_FILE_AUTO) return tamis_file_row_of(options->file_format);
    const tamis_file_row *const row = tamis_find_format(&input->text);
    const bool list = row && row->shape == TAMIS_SHAPE_IDS;
    return options->columns && !list ? tamis_file_row_of(TAMIS_FILE_RATINGS) : row;
}

/* Checks that the beginning suffices, before more is read. */
static tamis_status check_beginning(const tamis_input *input, const tamis_file_row *row) {
    const tamis_bounded_text *const text = &input->text;
    if (!row)
        return tamis_text_fail(text, text->begin,
                               "the beginning of a matrix: neither the name nor the content identifies its format");
    TRY(tamis_check_signature(text, row->format));
    if (input->ended || row->sniff(text) || (row->lines && !input->cut)) return TAMIS_OK;
    return tamis_text_fail(text, text->begin, "the beginning of a file of format %s", row->name);
}

static tamis_status read_text(tamis_input *input, const tamis_read_options *options, tamis_progress progress,
                              tamis_owned_sparse **matrix) {
    const tamis_bounded_text *const text = &input->text;
    const tamis_file_row *row = find_row(input, options);
    TRY(check_beginning(input, row));
    if (!row->read)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: a dense matrix, which tamis_read_dense reads", text->name);
    if (options->columns || row->sniff(text))
        TRY(tamis_input_fill(input)); /* else the reader reports the fault in the beginning */
    if (!input->ended && !can_take_windows(input, row)) TRY(tamis_input_rest(input));
    progress.low = input->ended ? LOADED : 0;
    progress.high = PARSED;
    const tamis_reading reading = {
        .text = *text, .input = input, .options = *options, .progress = progress, .threads = threads_of(options)};
    tamis_owned_sparse *result = NULL;
    TRY(row->read(&reading, &result));
    if (progress.report && !progress.report(progress.context, 1)) {
        tamis_owned_sparse_free(result);
        return tamis_progress_cancelled(reading.text.name);
    }
    *matrix = result;
    return TAMIS_OK;
}

tamis_status tamis_read_sparse(const char *path, const tamis_read_options *options, tamis_owned_sparse **matrix) {
    tamis_clear_error();
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path = NULL: expected the name of a file");
    if (!matrix) return tamis_fail(TAMIS_ERROR_ARGUMENT, "matrix = NULL: expected an address for the matrix");
    tamis_read_options whole;
    TRY(take_options(options, &whole));
    const tamis_progress progress = {whole.progress, whole.progress_context, 0, LOADED};
    tamis_input input;
    TRY(tamis_input_open_window(path, window_of(&whole), &progress, &input));
    const tamis_status status = read_text(&input, &whole, progress, matrix);
    tamis_input_close(&input);
    return status;
}

tamis_status tamis_read_sparse_memory(const char *name, const void *data, size_t bytes,
                                      const tamis_read_options *options, tamis_owned_sparse **matrix) {
    tamis_clear_error();
    if (!name) return tamis_fail(TAMIS_ERROR_ARGUMENT, "name = NULL: expected a name for messages");
    if (!data && bytes > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "data = NULL: expected %zu bytes", bytes);
    if (!matrix) return tamis_fail(TAMIS_ERROR_ARGUMENT, "matrix = NULL: expected an address for the matrix");
    tamis_read_options whole;
    TRY(take_options(options, &whole));
    const tamis_progress progress = {whole.progress, whole.progress_context, 0, LOADED};
    tamis_input input;
    TRY(tamis_input_from_memory(name, data, bytes, window_of(&whole), &progress, &input));
    const tamis_status status = read_text(&input, &whole, progress, matrix);
    tamis_input_close(&input);
    return status;
}

static tamis_status read_dense_text(tamis_input *input, tamis_type type, tamis_read_report *report,
                                    tamis_owned_dense **array) {
    const tamis_bounded_text *const text = &input->text;
    const tamis_file_row *const row = tamis_find_format(text);
    if (row) TRY(tamis_check_signature(text, row->format));
    if (row && row->sniff(text)) TRY(tamis_input_fill(input));
    if (row && row->read_dense) return row->read_dense(text, type, report, array);
    if (row)
        return tamis_fail(TAMIS_ERROR_FORMAT,
                          "%s: a file of format %s, expected a dense matrix: .npy or a Matrix Market array", text->name,
                          row->name);
    return tamis_text_fail(text, text->begin, "a dense matrix: .npy or a Matrix Market array");
}

static tamis_status check_dense(const char *name, const char *what, tamis_type type, tamis_owned_dense **array) {
    if (!name) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected the name of a file", what);
    if (!array) return tamis_fail(TAMIS_ERROR_ARGUMENT, "array = NULL: expected an address for the matrix");
    if (tamis_type_size(type) == 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "type = %d: expected a tamis_type", (int)type);
    return TAMIS_OK;
}

static tamis_status read_dense(const char *path, tamis_type type, tamis_read_report *report,
                               tamis_owned_dense **array) {
    TRY(check_dense(path, "path", type, array));
    const tamis_progress progress = {0};
    tamis_input input;
    TRY(tamis_input_open_window(path, 0, &progress, &input));
    const tamis_status status = read_dense_text(&input, type, report, array);
    tamis_input_close(&input);
    return status;
}

tamis_status tamis_read_dense(const char *path, tamis_type type, tamis_owned_dense **array) {
    tamis_read_report ignored = {0};
    tamis_clear_error();
    return read_dense(path, type, &ignored, array);
}

tamis_status tamis_read_dense_reported(const char *path, tamis_type type, tamis_read_report *report,
                                       tamis_owned_dense **array) {
    tamis_clear_error();
    if (!report) return tamis_fail(TAMIS_ERROR_ARGUMENT, "report = NULL: expected an address for the report");
    *report = (tamis_read_report){0};
    return read_dense(path, type, report, array);
}

tamis_status tamis_read_dense_memory(const char *name, const void *data, size_t bytes, tamis_type type,
                                     tamis_owned_dense **array) {
    tamis_clear_error();
    TRY(check_dense(name, "name", type, array));
    if (!data && bytes > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "data = NULL: expected %zu bytes", bytes);
    const tamis_progress progress = {0};
    tamis_input input;
    TRY(tamis_input_from_memory(name, data, bytes, 0, &progress, &input));
    tamis_read_report ignored = {0};
    const tamis_status status = read_dense_text(&input, type, &ignored, array);
    tamis_input_close(&input);
    return status;
}
