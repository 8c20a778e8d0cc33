/* tamis convert: from one file format, type and arrangement to another. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <tamis/matrix.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/operands.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/source.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "io/formats/standard_format.h"

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
    TOOL_CHOICE("type", 't', "TYPE", "auto", AT(type), &tool_kept_types,
                "type of the values; auto: fp32 if it keeps each, else fp64"),
    TOOL_CHOICE("index", 0, "TYPE", "int32", AT(index_type), &tool_index_types, "type of the indices"),
    TOOL_CHOICE("offset", 0, "TYPE", "int32", AT(offset_type), &tool_index_types, "type of the row offsets"),
    TOOL_CHOICE("format", 'f', "FORMAT", "csr", AT(format), &tool_formats, "storage format in .npz"),
    TOOL_CHOICE("values", 0, "HOW", "as-filed", AT(values), &tool_values,
                "values: those of the file, none, or ones if it has none"),
    TOOL_CHOICE("duplicates", 0, "HOW", "keep", AT(duplicates), &tool_duplicates, "entries at the same place"),
    TOOL_FLAG("transpose", 0, AT(transpose), "transpose the matrix"),
    TOOL_FLAG("sort", 0, AT(sort), "sort the columns of each row"),
    TOOL_OUTPUT("row-ids", 0, "FILE", AT(row_ids), "with --relabel: write the ids of the rows, one per line"),
    TOOL_OUTPUT("column-ids", 0, "FILE", AT(column_ids), "with --relabel: write the ids of the columns, one per line"),
    TOOL_FLAG("dense", 0, AT(dense), "IN is a dense matrix (an .npy always is): .npy or a Matrix Market array"),
    TOOL_INTEGER("threads", 0, "T", "0", AT(threads), 0, TOOL_THREADS_MOST, "parser threads; 0: all"),
    TOOL_TO(AT(to)),
    TOOL_WRITTEN(settings),
    {.name = NULL},
};

static bool ends_with(const char *text, const char *ending) {
    const size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcasecmp(text + length - tail, ending) == 0;
}

static bool is_array(const char *path) {
    return strcmp(path, "-") == 0 ? tamis_standard_format() == TAMIS_FILE_NPY : ends_with(path, ".npy");
}

/* Output files for the ids of rows and columns, if requested. They are kept once OUT is written. */
typedef struct id_files {
    const char *path[2];
    tool_output_file file[2];
    int code;
} id_files;

/* Returns the file for the ids; NULL if they are not requested, or after an earlier failure. */
static FILE *open_ids(id_files *files, bool of_columns) {
    if (!files->path[of_columns] || files->code) return NULL;
    files->code = tool_output_open(files->path[of_columns], &files->file[of_columns]);
    return files->code ? NULL : files->file[of_columns].out;
}

static int close_ids(id_files *files, int code) {
    for (int i = 0; i < 2; i++) {
        const int closed = tool_output_close(&files->file[i], code == 0);
        if (code == 0) code = closed;
    }
    return code;
}

static bool write_ids(void *context, bool of_columns, const int64_t *ids, int64_t count) {
    FILE *const out = open_ids(context, of_columns);
    for (int64_t i = 0; out && i < count; i++) fprintf(out, "%lld\n", (long long)ids[i]);
    return true; /* a failure is reported afterwards */
}

/* Writes the names of the rows or columns. */
static void write_names(id_files *files, bool of_columns, const tamis_names *names) {
    FILE *const out = open_ids(files, of_columns);
    for (int64_t i = 0; out && i < tamis_names_count(names); i++) fprintf(out, "%s\n", tamis_names_at(names, i));
}

/* ---- types that keep the numbers */

enum { KEEPING = TAMIS_BF16 + 1 }; /* of tool_kept_types */

static bool fits_float(double value) { return (double)(float)value == value || value != value; }

/* Returns the type for values read as fp64: the requested one, else fp32 if all values fit. */
static tamis_type choose_type(const settings *set, bool all_fit) {
    return set->type != KEEPING ? (tamis_type)set->type : all_fit ? TAMIS_F32 : TAMIS_F64;
}

static void tell_changes(const settings *set, const char *out, tamis_type type, int64_t changed, int64_t count) {
    if (changed == 0 || set->quiet) return;
    tool_note("%s: %s of %s numbers changed: %s does not hold them (--type fp64 does)", out,
              tool_word_count(changed).text, tool_word_count(count).text, tamis_type_name(type));
}

/* Converts *matrix from fp64 to the requested type, and counts the values that do not fit. */
static tamis_status narrow(const settings *set, const tamis_sparse *S, tamis_owned_sparse **matrix, int64_t *changed) {
    bool all_fit = true;
    *changed = 0;
    for (int64_t t = 0; S->values && t < S->nnz && all_fit; t++) all_fit = fits_float(((const double *)S->values)[t]);
    tamis_convert_options typed = TAMIS_CONVERT_OPTIONS_INIT;
    typed.format = S->format;
    typed.index_type = S->index_type;
    typed.offset_type = S->offset_type;
    typed.value_type = choose_type(set, all_fit);
    if (!S->values || typed.value_type == TAMIS_F64) return TAMIS_OK;
    tamis_owned_sparse *made = NULL;
    TOOL_TRY(tamis_convert(S, &typed, &made));
    const tamis_sparse *now = tamis_owned_sparse_view(made);
    for (int64_t t = 0; t < S->nnz; t++) {
        const double before = ((const double *)S->values)[t], after = tool_element_get(now->values, now->value_type, t);
        *changed += before != after && before == before;
    }
    tamis_owned_sparse_free(*matrix);
    *matrix = made;
    return TAMIS_OK;
}

static tamis_status narrow_dense(const settings *set, tamis_owned_dense **array, int64_t *changed) {
    const tamis_dense *from = tamis_owned_dense_view(*array);
    const int64_t count = from->rows * from->cols; /* packed */
    const double *values = from->data;
    bool all_fit = true;
    *changed = 0;
    for (int64_t i = 0; i < count && all_fit; i++) all_fit = fits_float(values[i]);
    const tamis_type type = choose_type(set, all_fit);
    if (type == TAMIS_F64) return TAMIS_OK;
    tamis_owned_dense *made = NULL;
    TOOL_TRY(tamis_owned_dense_create(from->rows, from->cols, type, from->layout, &made));
    void *const data = tamis_owned_dense_view(made)->data;
    for (int64_t i = 0; i < count; i++) {
        tool_element_set(data, type, i, values[i]);
        *changed += tool_element_get(data, type, i) != values[i] && values[i] == values[i];
    }
    tamis_owned_dense_free(*array);
    *array = made;
    return TAMIS_OK;
}

/* ---- the command */

static int convert_dense(const settings *set, const char *in, const char *out) {
    tamis_owned_dense *array = NULL;
    int64_t changed = 0;
    tamis_read_report found;
    TOOL_TRY(tool_library_error(tamis_read_dense_reported(in, TAMIS_F64, &found, &array), NULL));
    tool_source_tell(in, &found);
    tamis_status status = narrow_dense(set, &array, &changed);
    const tamis_dense *dense = tamis_owned_dense_view(array);
    if (status == TAMIS_OK) status = tamis_write_dense(out, dense);
    const int code = tool_library_error(status, NULL);
    if (code == 0 && set->json) {
        tool_json json = tool_json_written(out, dense->rows, dense->cols, -1);
        tool_json_put(&json, tool_str("type", tamis_type_name(dense->type)),
                      tool_int("changed", changed + found.inexact));
        tool_json_finish(&json);
    } else if (code == 0 && !set->quiet) {
        printf("%s: dense, %s x %s%s%s\n", tool_visible(out), tool_word_count(dense->rows).text,
               tool_word_count(dense->cols).text, dense->type == TAMIS_F32 ? "" : ", ",
               dense->type == TAMIS_F32 ? "" : tamis_type_name(dense->type));
    }
    if (code == TOOL_OK) tell_changes(set, out, dense->type, changed, dense->rows * dense->cols);
    tamis_owned_dense_free(array);
    return code;
}

/* Refuses to transpose a matrix with too many columns for its size: a file may state any number of columns, and each
   row takes memory and time. */
static int check_transpose(const settings *set, const tool_source *source) {
    enum { ALWAYS = 1 << 26, ROWS_A_BYTE = 64 }; /* the library's limit for the rows of a file */
    const int64_t columns = source->S->cols;
    if (!set->transpose || source->bytes == 0) return 0;
    if (columns <= ALWAYS || columns / ROWS_A_BYTE <= source->bytes) return 0;
    return tool_failure(TOOL_FILE, "--transpose: %s rows from a file of %s bytes would nearly all be empty",
                        tool_word_count(columns).text, tool_word_count(source->bytes).text);
}

/* Arranges the matrix for the output, then converts it to its type. *arranged stays NULL if S can be written
   unchanged. */
static tamis_status arrange(const settings *set, const tamis_read_options *reading, const tamis_sparse *S,
                            tamis_owned_sparse **arranged, int64_t *changed) {
    if (set->transpose || set->sort || set->format != TAMIS_CSR) {
        tamis_convert_options converting = TAMIS_CONVERT_OPTIONS_INIT;
        converting.format = (tamis_format)set->format;
        converting.index_type = reading->index_type;
        converting.offset_type = reading->offset_type;
        converting.value_type = reading->value_type;
        converting.sort = set->sort;
        converting.transpose = set->transpose;
        TOOL_TRY(tamis_convert(S, &converting, arranged));
    }
    return narrow(set, *arranged ? tamis_owned_sparse_view(*arranged) : S, arranged, changed);
}

static void report(const settings *set, const char *out, const tool_source *source, const tamis_sparse *S,
                   int64_t changed, double write_seconds) {
    if (set->json) {
        tool_json json = tool_json_written(out, S->rows, S->cols, S->nnz);
        tool_json_put(&json, tool_yes("values", S->values != NULL),
                      tool_only(S->values, tool_str("type", tamis_type_name(S->value_type))),
                      tool_int("changed", changed + source->report.inexact), tool_ms("read_ms", source->seconds),
                      tool_ms("write_ms", write_seconds));
        tool_json_finish(&json);
    } else if (!set->quiet) {
        const bool plain = S->values && S->value_type == TAMIS_F32;
        printf("%s: %s x %s, %s nonzeros%s%s; read in %s, written in %s\n", tool_visible(out),
               tool_word_count(S->rows).text, tool_word_count(S->cols).text, tool_word_count(S->nnz).text,
               plain ? "" : ", ",
               !S->values ? "no values"
               : plain    ? ""
                          : tamis_type_name(S->value_type),
               tool_word_seconds(source->seconds).text, tool_word_seconds(write_seconds).text);
    }
    tell_changes(set, out, S->value_type, changed, S->nnz);
}

static int run_convert(const void *given, int count, char **operands) {
    const settings *set = given;
    (void)count;
    const char *in = operands[0], *out = operands[1];
    const bool dense =
        set->dense || set->reading.format == TAMIS_FILE_NPY || (set->reading.format == TAMIS_FILE_AUTO && is_array(in));
    TOOL_TRY(tool_output_ending("OUT", out, dense ? ".npy, .mtx or .mtx.gz" : ".mtx, .mtx.gz or .npz"));
    if (dense) return convert_dense(set, in, out);
    tamis_read_options reading = tool_read_options(&set->reading, TAMIS_F64, (tamis_index_type)set->offset_type);
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
    if (code) return close_ids(&files, code);
    const double read = tool_seconds();
    if (source.rows) {
        write_names(&files, false, source.rows);
        write_names(&files, true, source.columns);
    }
    if (files.code == 0) files.code = check_transpose(set, &source);
    code = files.code ? files.code : tool_output_room(out, (double)source.S->nnz, 0, TOOL_ENTRY_CHARACTERS);
    if (code) {
        tool_source_close(&source);
        return close_ids(&files, code);
    }
    tamis_owned_sparse *arranged = NULL;
    int64_t changed = 0;
    tamis_status status = arrange(set, &reading, source.S, &arranged, &changed);
    const tamis_sparse *S = arranged ? tamis_owned_sparse_view(arranged) : source.S;
    if (status == TAMIS_OK) status = tamis_write_sparse(out, S);
    code = close_ids(&files, status == TAMIS_OK ? 0 : tool_library_error(status, NULL));
    if (code == 0) report(set, out, &source, S, changed, tool_seconds() - read);
    tamis_owned_sparse_free(arranged);
    tool_source_close(&source);
    return code;
}

const tool_command tool_convert_command =
    TOOL_COMMAND("convert", "IN OUT", "convert a matrix between file formats, types and storage formats", options,
                 settings, .output_operand = 1, .run = run_convert);
