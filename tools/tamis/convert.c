/* tamis convert: from one file format, type and arrangement to another. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <tamis/matrix.h>

#include "command.h"
#include "exit.h"
#include "io/standard_format.h"
#include "json.h"
#include "outputs.h"
#include "progress.h"
#include "source.h"
#include "text.h"
#include "visible.h"

typedef struct settings {
    tool_reading reading;
    const char *row_ids, *column_ids;
    int to, format, type, index_type, offset_type, values, duplicates;
    bool json, transpose, sort, dense, no_clobber, quiet;
    int64_t threads;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_READING(settings),
    {"type", 't', TOOL_CHOICE, "TYPE", "fp32", "type of the values", AT(type), 0, 0, &tool_types},
    {"index", 0, TOOL_CHOICE, "TYPE", "int32", "type of the indices", AT(index_type), 0, 0, &tool_index_types},
    {"offset", 0, TOOL_CHOICE, "TYPE", "int32", "type of the row offsets", AT(offset_type), 0, 0, &tool_index_types},
    {"format", 'f', TOOL_CHOICE, "FORMAT", "csr", "storage format in .npz", AT(format), 0, 0, &tool_formats},
    {"values", 0, TOOL_CHOICE, "HOW", "as-filed", "values: those of the file, none, or ones if it has none", AT(values),
     0, 0, &tool_values},
    {"duplicates", 0, TOOL_CHOICE, "HOW", "keep", "entries at the same place", AT(duplicates), 0, 0, &tool_duplicates},
    {"transpose", 0, TOOL_FLAG, NULL, NULL, "transpose the matrix", AT(transpose), 0, 0, NULL},
    {"sort", 0, TOOL_FLAG, NULL, NULL, "sort the columns of each row", AT(sort), 0, 0, NULL},
    {"row-ids", 0, TOOL_OUTPUT, "FILE", NULL, "with --relabel: write the ids of the rows, one per line", AT(row_ids), 0,
     0, NULL},
    {"column-ids", 0, TOOL_OUTPUT, "FILE", NULL, "with --relabel: write the ids of the columns, one per line",
     AT(column_ids), 0, 0, NULL},
    {"dense", 0, TOOL_FLAG, NULL, NULL, "IN is a dense matrix (an .npy always is): .npy or a Matrix Market array",
     AT(dense), 0, 0, NULL},
    {"threads", 0, TOOL_INTEGER, "T", "0", "parser threads; 0: all", AT(threads), 0, TOOL_THREADS_MOST, NULL},
    TOOL_TO(AT(to)),
    TOOL_NO_CLOBBER(AT(no_clobber)),
    {"json", 'j', TOOL_FLAG, NULL, NULL, "an object instead of text", AT(json), 0, 0, NULL},
    {"quiet", 'q', TOOL_FLAG, NULL, NULL, "print nothing on success", AT(quiet), 0, 0, NULL},
    {.name = NULL},
};

static bool ends_with(const char *text, const char *ending) {
    const size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcasecmp(text + length - tail, ending) == 0;
}

static bool is_array(const char *path) {
    return strcmp(path, "-") == 0 ? tamis_standard_format() == TAMIS_FILE_NPY : ends_with(path, ".npy");
}

/* A file for the ids of the rows and one for those of the columns, each where it is wanted. */
typedef struct id_files {
    const char *path[2];
    int code;
} id_files;

static bool write_ids(void *context, bool of_columns, const int64_t *ids, int64_t count) {
    id_files *files = context;
    tool_output_file file;
    if (!files->path[of_columns] || files->code) return true;
    files->code = tool_output_open(files->path[of_columns], &file);
    if (files->code) return true;
    for (int64_t i = 0; i < count; i++) fprintf(file.out, "%lld\n", (long long)ids[i]);
    files->code = tool_output_close(&file, true);
    return true; /* a failure is told afterwards */
}

static int convert_dense(const settings *set, const char *in, const char *out) {
    tamis_owned_dense *array = NULL;
    tamis_status status = tamis_read_dense(in, (tamis_type)set->type, &array);
    if (status != TAMIS_OK) return tool_library_error(status, NULL);
    const tamis_dense *dense = tamis_owned_dense_view(array);
    status = tamis_write_dense(out, dense);
    int code = TOOL_OK;
    if (status != TAMIS_OK) {
        code = tool_library_error(status, NULL);
    } else if (set->json) {
        tool_json json = tool_json_written(out, dense->rows, dense->cols, -1);
        tool_json_finish(&json);
    } else if (!set->quiet) {
        printf("%s: dense, %s x %s\n", tool_visible(out), tool_word_count(dense->rows).text,
               tool_word_count(dense->cols).text);
    }
    tamis_owned_dense_free(array);
    return code;
}

static int run_convert(const void *given, int count, char **operands) {
    const settings *set = given;
    (void)count;
    const char *in = operands[0], *out = operands[1];
    const bool dense =
        set->dense || set->reading.format == TAMIS_FILE_NPY || (set->reading.format == TAMIS_FILE_AUTO && is_array(in));
    const int refused = tool_output_ending("OUT", out, dense ? ".npy, .mtx or .mtx.gz" : ".mtx, .mtx.gz or .npz");
    if (refused) return refused;
    if (dense) return convert_dense(set, in, out);
    tamis_read_options reading = tool_read_options(&set->reading, set->type, (tamis_index_type)set->offset_type);
    reading.index_type = (tamis_index_type)set->index_type;
    reading.values = (tamis_values)set->values;
    reading.duplicates = (tamis_duplicates)set->duplicates;
    reading.threads = (int)set->threads;
    id_files files = {.path = {set->row_ids, set->column_ids}};
    if (set->row_ids || set->column_ids) {
        if (!set->reading.relabel) return tool_usage_error("--row-ids and --column-ids: need --relabel");
        reading.relabelled = write_ids;
        reading.relabelled_context = &files;
    }
    tool_source source;
    int code = tool_source_open(in, &reading, &source);
    if (code) return code;
    const double read = tool_seconds();
    code = files.code ? files.code : tool_output_room(out, (double)source.S->nnz, 0, TOOL_ENTRY_CHARACTERS);
    if (code) {
        tool_source_close(&source);
        return code;
    }
    tamis_owned_sparse *changed = NULL;
    tamis_status status = TAMIS_OK;
    if (set->transpose || set->sort || set->format != TAMIS_CSR) {
        tamis_convert_options converting = TAMIS_CONVERT_OPTIONS_INIT;
        converting.format = (tamis_format)set->format;
        converting.index_type = reading.index_type;
        converting.offset_type = reading.offset_type;
        converting.value_type = reading.value_type;
        converting.sort = set->sort;
        converting.transpose = set->transpose;
        status = tamis_convert(source.S, &converting, &changed);
    }
    const tamis_sparse *S = changed ? tamis_owned_sparse_view(changed) : source.S;
    if (status == TAMIS_OK) status = tamis_write_sparse(out, S);
    if (status != TAMIS_OK) {
        code = tool_library_error(status, NULL);
    } else if (set->json) {
        tool_json json = tool_json_written(out, S->rows, S->cols, S->nnz);
        tool_json_bool(&json, "values", S->values != NULL);
        tool_json_number(&json, "read_ms", 1e3 * source.seconds);
        tool_json_number(&json, "write_ms", 1e3 * (tool_seconds() - read));
        tool_json_finish(&json);
    } else if (!set->quiet) {
        printf("%s: %s x %s, %s nonzeros%s; read in %s, written in %s\n", tool_visible(out),
               tool_word_count(S->rows).text, tool_word_count(S->cols).text, tool_word_count(S->nnz).text,
               S->values ? "" : ", no values", tool_word_seconds(source.seconds).text,
               tool_word_seconds(tool_seconds() - read).text);
    }
    tamis_owned_sparse_free(changed);
    tool_source_close(&source);
    return code;
}

const tool_command tool_convert_command = {
    .name = "convert",
    .summary = "convert a matrix between file formats, types and storage formats",
    .operands = "IN OUT",
    .output_operand = 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run_convert,
};
