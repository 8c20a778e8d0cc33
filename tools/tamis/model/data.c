/* Reads the data of models. Ratings and edge lists use the reader that keeps ids as names; all else, and numbers if a
   model has no names, use the core's reader. */
#include "model/data.h"

#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/source.h"
#include "cli/text.h"
#include "io/formats/formats.h"
#include "io/formats/standard_format.h"
#include "model/options.h"

bool tool_method_of_documents(tamis_method method) { return tool_method_about(method)->data == TAMIS_DATA_COUNTS; }

bool tool_method_of_counts(tamis_method method) {
    const tamis_method_description *const about = tool_method_about(method);
    return about->data != TAMIS_DATA_RATINGS && !about->ordered;
}

/* ------------------------------------------------------------------------------------------ kinds of files */

static int find_shape(const tool_data_request *request, tamis_file_shape *shape) {
    *shape = TAMIS_SHAPE_STATED;
    if (strncmp(request->spec, "generate:", 9) == 0) return 0;
    *shape = TAMIS_SHAPE_IDS;
    if (request->columns_of) return 0;
    const bool standard = request->format == TAMIS_FILE_AUTO && strcmp(request->spec, "-") == 0;
    const tamis_file_format format = standard ? tamis_standard_format() : (tamis_file_format)request->format;
    if (standard && format == TAMIS_FILE_AUTO) return 0; /* content of no other format: ids may be names */
    if (format != TAMIS_FILE_AUTO) {
        *shape = tamis_file_row_of(format)->shape;
        return 0;
    }
    return tool_file_error(tamis_file_shape_of(request->spec, tool_method_of_documents(request->method), shape),
                           request->spec);
}

/* ------------------------------------------------------------------------------------------ leaving out */

/* Restricts the data to rows x columns entries, in copies of exactly that size. Returns the number of entries. */
static int64_t trim(tool_data *data, int64_t rows, int64_t columns) {
    const tamis_sparse *S = &data->S;
    int64_t *offsets = tool_allocate((size_t)rows + 1, sizeof *offsets);
    int32_t *kept = tool_allocate((size_t)S->nnz, sizeof *kept);
    float *values = tool_allocate((size_t)S->nnz, sizeof *values);
    int64_t count = 0;
    for (int64_t row = 0; row < rows; row++) {
        offsets[row] = count;
        const int64_t end = row < S->rows ? tool_index_get(S->offsets, S->offset_type, row + 1) : 0;
        for (int64_t at = row < S->rows ? tool_index_get(S->offsets, S->offset_type, row) : 0; at < end; at++) {
            const int64_t column = tool_index_get(S->columns, S->index_type, at);
            if (column >= columns) continue;
            kept[count] = (int32_t)column;
            values[count++] = S->values ? (float)tool_element_get(S->values, S->value_type, at) : 1.0F;
        }
    }
    offsets[rows] = count;
    data->arrays[0] = offsets;
    data->arrays[1] = kept;
    data->arrays[2] = values;
    data->S = (tamis_sparse){.format = TAMIS_CSR,
                             .rows = rows,
                             .cols = columns,
                             .nnz = count,
                             .index_type = TAMIS_I32,
                             .offset_type = TAMIS_I64,
                             .value_type = TAMIS_F32,
                             .offsets = offsets,
                             .columns = kept,
                             .values = values};
    return count;
}

/* Reports how many of `total` entries were left out. */
static int report_left_out(const char *spec, int64_t left_out, int64_t total) {
    if (left_out == 0) return 0;
    if (left_out < total) {
        tool_warning("%s: %s of %s entries have rows or columns that are not in the model: they are left out", spec,
                     tool_word_count(left_out).text, tool_word_count(total).text);
        return 0;
    }
    return tool_failure(TOOL_FILE, "%s: none of its rows and columns are in the model", spec);
}

/* ------------------------------------------------------------------------------------------ reading */

/* Reads ids as names. Dictionaries are copies: the reader adds unknown names, unless both are known. */
static int read_named(const tool_data_request *request, tool_data *data) {
    const bool known_rows = request->rows && !request->new_rows;
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    tamis_status status = known_rows ? tamis_names_copy(request->rows, &data->rows) : TAMIS_OK;
    if (status == TAMIS_OK && request->columns) status = tamis_names_copy(request->columns, &data->columns);
    if (status != TAMIS_OK) return tool_library_error(status, NULL);
    options.sum = request->sum;
    options.positions = tool_method_about(request->method)->ordered;
    options.columns = request->columns_of;
    options.users = data->rows;
    options.items = data->columns;
    options.known_only = known_rows && request->columns && !request->unknown_too;
    options.progress = tool_progress_reading;
    options.progress_context = data->name;
    char found[TAMIS_FOUND_BYTES] = "";
    options.found = found;
    int64_t skipped = 0;
    tamis_names *rows = NULL, *columns = NULL;
    status = tamis_read_ratings(request->spec, &options, &data->matrix, &rows, &columns, &skipped);
    tool_progress_clear();
    if (status != TAMIS_OK) return tool_file_error(status, request->spec);
    const bool telling =
        strchr(found, ';') || strncmp(found, "lists", 5) == 0; /* it mentions titles, comments or other lines */
    if (telling && request->column_count == 0) tool_note("%s: %s", request->spec, found);
    data->rows = rows;
    data->columns = columns;
    data->S = data->whole = *tamis_owned_sparse_view(data->matrix);
    const int64_t total = data->S.nnz + skipped;
    if (request->column_count > 0)
        trim(data, request->row_count > 0 ? request->row_count : data->S.rows, request->column_count);
    return request->unknown_too ? 0 : report_left_out(request->spec, total - data->S.nnz, total);
}

/* Reads ids as indices. Data without a stated size get the model's. */
static int read_indexed(const tool_data_request *request, tamis_file_shape shape, tool_data *data) {
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    options.file_format = (tamis_file_format)request->format;
    options.offset_type = TAMIS_I64;
    options.duplicates = request->sum ? TAMIS_DUPLICATES_SUM : TAMIS_DUPLICATES_LAST;
    if (tool_method_about(request->method)->ordered) options.value_type = TAMIS_F64; /* times */
    tool_source source;
    const int code = tool_source_open(request->spec, &options, &source);
    data->matrix = source.matrix;
    if (code) return code;
    data->S = *source.S;
    const int64_t total = data->S.nnz;
    if (shape != TAMIS_SHAPE_STATED && request->column_count > 0)
        trim(data, request->row_count > 0 ? request->row_count : data->S.rows, request->column_count);
    return report_left_out(request->spec, total - data->S.nnz, total);
}

/* Sets *texts if DATA are texts, whose words are counted. */
static int find_texts(const tool_data_request *request, bool *texts) {
    const bool fits = tool_method_of_documents(request->method) && request->format == TAMIS_FILE_AUTO &&
                      !request->columns_of && (request->column_count == 0 || request->columns);
    *texts = fits && request->texts;
    if (!fits || request->texts || strncmp(request->spec, "generate:", 9) == 0) return 0;
    return tool_file_error(tamis_is_texts(request->spec, texts), request->spec);
}

/* Counts the words of texts; for a model those that it knows. */
static int read_texts(const tool_data_request *request, tool_data *data) {
    tamis_text_options options = TAMIS_TEXT_OPTIONS_INIT;
    if (request->min_documents > 0) options.min_documents = request->min_documents;
    if (request->max_share > 0) options.max_share = request->max_share;
    options.words = request->columns;
    options.pairs = request->pairs;
    for (int64_t i = 0; request->columns && !options.pairs && i < tamis_names_count(request->columns); i++)
        options.pairs = strchr(tamis_names_at(request->columns, i), ' ') != NULL;
    const tamis_status status = tamis_read_texts(request->spec, &options, &data->matrix, &data->rows, &data->columns);
    if (status != TAMIS_OK) return tool_file_error(status, request->spec);
    data->S = data->whole = *tamis_owned_sparse_view(data->matrix);
    if (request->columns && data->S.nnz == 0)
        return tool_failure(TOOL_FILE, "%s: none of its words are in the model", request->spec);
    return 0;
}

int tool_data_open(const tool_data_request *request, tool_data *data) {
    *data = (tool_data){0};
    const double start = tool_seconds();
    tamis_file_shape shape;
    bool texts;
    TOOL_TRY(find_texts(request, &texts));
    if (texts) {
        tool_matrix_name(request->spec, data->name, sizeof data->name);
        const int read = read_texts(request, data);
        data->seconds = tool_seconds() - start;
        if (read) tool_data_close(data);
        return read;
    }
    TOOL_TRY(find_shape(request, &shape));
    const bool new_model = request->column_count == 0;
    tool_matrix_name(request->spec, data->name, sizeof data->name);
    const bool named =
        shape == TAMIS_SHAPE_IDS && (new_model || (request->columns && (request->rows || request->new_rows)));
    const int code = named ? read_named(request, data) : read_indexed(request, shape, data);
    data->seconds = tool_seconds() - start;
    if (code) tool_data_close(data);
    return code;
}

int tool_data_open_pair(const tool_data_request *request, const char *known_spec, tool_data *data, tool_data *known) {
    *data = *known = (tool_data){0};
    tool_data_request of_data = *request;
    if (known_spec && strcmp(known_spec, request->spec) == 0) { /* may be a pipe, so it is read once */
        TOOL_TRY(tool_data_open(request, known));
        data->S = known->S;
        data->whole = known->whole;
        tamis_status status = known->rows ? tamis_names_copy(known->rows, &data->rows) : TAMIS_OK;
        if (status == TAMIS_OK && known->columns) status = tamis_names_copy(known->columns, &data->columns);
        if (status != TAMIS_OK) tool_data_close(known);
        return tool_library_error(status, NULL);
    }
    if (known_spec) {
        tool_data_request of_known = *request;
        of_known.spec = known_spec;
        of_known.unknown_too = false;
        TOOL_TRY(tool_data_open(&of_known, known));
        if (request->new_rows) {
            of_data.rows = known->rows;
            of_data.row_count = known->S.rows;
            of_data.new_rows = known->rows == NULL;
        }
    }
    const int code = tool_data_open(&of_data, data);
    if (code) tool_data_close(known);
    return code;
}

void tool_data_close(tool_data *data) {
    tamis_owned_sparse_free(data->matrix);
    for (int i = 0; i < 3; i++) free(data->arrays[i]);
    tamis_names_free(data->rows);
    tamis_names_free(data->columns);
    *data = (tool_data){0};
}

int tool_features_open(const char *path, tamis_method method, bool rows, tool_data *data, tool_data *features) {
    tamis_names **const names = rows ? &data->rows : &data->columns;
    const tool_data_request request = {.spec = path, .method = method, .rows = *names, .unknown_too = true};
    tool_data read; /* takes its place once it is whole: its names are a copy */
    TOOL_TRY(tool_data_open(&request, &read));
    const char *const what = rows ? "user" : "item";
    const int64_t count = rows ? data->S.rows : data->S.cols;
    int code = 0;
    if ((read.rows != NULL) != (*names != NULL))
        code = tool_failure(TOOL_FILE, "%s has %s, and the data have %s: expected %s", path,
                            read.rows ? "names" : "no names", *names ? "names" : "none",
                            *names ? "lines of an id, a feature and perhaps a value" : "a matrix with a row for each");
    else if (!read.rows && read.S.rows != count)
        code = tool_failure(TOOL_FILE, "%s: %s rows, the data have %s %ss: expected a row for each %s", path,
                            tool_word_count(read.S.rows).text, tool_word_count(count).text, what, what);
    if (code) {
        tool_data_close(&read);
        return code;
    }
    *features = read;
    if (!read.rows) return 0;
    tamis_names_free(*names);
    *names = read.rows;
    features->rows = NULL;
    if (rows && read.S.rows > count) {
        void *const former[] = {data->arrays[0], data->arrays[1], data->arrays[2]};
        trim(data, read.S.rows, data->S.cols);
        for (int i = 0; i < 3; i++) free(former[i]);
    }
    if (!rows) data->S.cols = read.S.rows;
    return 0;
}

int tool_vocabulary_open(const char *path, int64_t *columns, tamis_names **names) {
    *names = NULL;
    if (!path) return 0;
    TOOL_TRY(tool_file_error(tamis_names_read(path, names), path));
    const int64_t count = tamis_names_count(*names);
    if (count >= *columns) {
        *columns = count;
        return 0;
    }
    tamis_names_free(*names);
    *names = NULL;
    return tool_failure(TOOL_FILE, "%s: %s names, but there are %s columns", path, tool_word_count(count).text,
                        tool_word_count(*columns).text);
}

/* ------------------------------------------------------------------------------------------ holding out */

static int split(const char *spec, const tamis_sparse *S, tamis_split_kind kind, double share, int64_t seed,
                 tool_held_out *held) {
    tamis_split_options options = TAMIS_SPLIT_OPTIONS_INIT;
    options.kind = kind;
    options.share = share;
    options.seed = (uint64_t)seed;
    TOOL_TRY(tool_library_error(tamis_split(S, &options, &held->kept, &held->held), spec));
    held->view.observed = tamis_owned_sparse_view(held->kept);
    held->view.entries = tamis_owned_sparse_view(held->held);
    return 0;
}

int tool_hold_out_split(tamis_method method, const char *spec, const tamis_sparse *S, bool leave_one, double share,
                        int64_t seed, tool_held_out *held) {
    *held = (tool_held_out){0};
    const tamis_split_kind kind = leave_one                          ? TAMIS_SPLIT_LEAVE_ONE
                                  : tool_method_of_documents(method) ? TAMIS_SPLIT_TOKENS
                                                                     : TAMIS_SPLIT_ENTRIES;
    return split(spec, S, kind, leave_one ? 0.5 : share, seed, held);
}

int tool_hold_out_read(const tool_data_request *request, const char *observed, int64_t seed, tool_held_out *held) {
    *held = (tool_held_out){0};
    int code = tool_data_open_pair(request, observed, &held->entries, &held->observed);
    held->view.entries = &held->entries.S;
    if (observed) held->view.observed = &held->observed.S;
    if (code == 0 && !observed && tool_method_of_documents(request->method))
        code = split(request->spec, &held->entries.S, TAMIS_SPLIT_TOKENS, 0.5, seed, held);
    if (code) tool_held_out_free(held);
    return code;
}

void tool_held_out_free(tool_held_out *held) {
    tamis_owned_sparse_free(held->kept);
    tamis_owned_sparse_free(held->held);
    tool_data_close(&held->entries);
    tool_data_close(&held->observed);
    *held = (tool_held_out){0};
}
