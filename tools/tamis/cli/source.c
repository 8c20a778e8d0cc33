/* Opens input matrices by name. */
#include "cli/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/text.h"

static const char prefix[] = "generate:";

#define AT(field)     offsetof(tool_generate_settings, field)
#define MATRIX(field) (AT(matrix) + offsetof(tamis_generate_options, field))

const tool_option tool_generate_options[] = {
    TOOL_OUTPUT("output", 'o', "FILE", AT(output), "output file: .mtx, .mtx.gz or .npz"),
    TOOL_INTEGER("rows", 'm', "M", "4096", MATRIX(rows), 0, 9e15, "rows"),
    TOOL_INTEGER("cols", 'n', "N", "0", MATRIX(cols), 0, 9e15, "columns; 0: the number of rows"),
    TOOL_INTEGER("nnz", 0, "NNZ", "0", MATRIX(nnz), 0, 9e15, "number of nonzeros; 0: from --density"),
    TOOL_REAL("density", 0, "D", "0.01", MATRIX(density), 0, 1, "share of nonzero entries, if --nnz is 0"),
    TOOL_INTEGER("seed", 0, "SEED", "1", MATRIX(seed), 0, 9e18, "the same seed gives the same matrix on every machine"),
    TOOL_INTEGER("band", 0, "W", "0", MATRIX(band), 0, 9e15,
                 "banded: the largest distance from the diagonal; window: its width; 0: from the sizes"),
    TOOL_INTEGER("block", 0, "B", "0", MATRIX(block), 0, 9e15,
                 "fem: unknowns per node (3); block: size of a block (16)"),
    TOOL_INTEGER("global", 0, "G", "0", MATRIX(global), 0, 9e15, "window: number of full rows and columns"),
    TOOL_FLAG("pattern", 0, MATRIX(pattern), "no values; else uniform values in [-1, 1)"),
    TOOL_CHOICE("type", 't', "TYPE", "fp32", MATRIX(value_type), &tool_types, "type of the values"),
    TOOL_CHOICE("index", 0, "TYPE", "int32", MATRIX(index_type), &tool_index_types, "type of the column indices"),
    TOOL_CHOICE("offset", 0, "TYPE", "int32", MATRIX(offset_type), &tool_index_types, "type of the row offsets"),
    TOOL_TO(AT(to)),
    TOOL_WRITTEN(tool_generate_settings),
    {.name = NULL},
};

/* Parses one "key=value" of a generated matrix; keys are the options of `tamis generate`. */
static int set_key(tool_generate_settings *settings, char *entry, char *name, size_t name_bytes) {
    char described[64];
    char *equals = strchr(entry, '=');
    const size_t length = equals ? (size_t)(equals - entry) : strlen(entry);
    snprintf(described, sizeof described, "%s%.*s", prefix, (int)length, entry);
    if (length == 4 && strncmp(entry, "name", 4) == 0 && equals) {
        snprintf(name, name_bytes, "%s", equals + 1);
        return 0;
    }
    const tool_option *option = tool_option_find(tool_generate_options, entry, length);
    if (!option || option->value == TOOL_OUTPUT) {
        entry[length] = 0;
        return tool_usage_error("%s: unknown key%s", described,
                                tool_option_hint(tool_generate_options, "", entry).text);
    }
    if (!equals && option->value != TOOL_FLAG)
        return tool_usage_error("%s: =%s is missing", described, option->argument);
    return tool_option_set(option, settings, equals ? equals + 1 : "yes", described);
}

static int generate_source(const char *spec, const tamis_read_options *options, tool_source *source) {
    tool_generate_settings settings = {0};
    tool_options_preset(tool_generate_options, &settings);
    const char *after = spec + sizeof prefix - 1;
    char *copy = tool_copy(after);
    char *keys = strchr(copy, ':');
    if (keys) *keys++ = 0;
    int kind = 0;
    int code = tool_choice_parse(&tool_kinds, "generate", copy, &kind);
    while (code == 0 && keys && *keys) {
        char *next = strchr(keys, ',');
        if (next) *next++ = 0;
        code = set_key(&settings, keys, source->name, sizeof source->name);
        keys = next;
    }
    if (code == 0) {
        if (options) {
            settings.matrix.value_type = options->value_type;
            settings.matrix.index_type = options->index_type;
            settings.matrix.offset_type = options->offset_type;
        }
        tool_progress(0, "generating %s", copy);
        settings.matrix.kind = (tamis_kind)kind;
        const tamis_status status = tamis_generate(&settings.matrix, &source->matrix);
        tool_progress_clear();
        if (status != TAMIS_OK) code = tool_library_error(status, spec);
    }
    if (code == 0 && !source->name[0]) {
        const tamis_sparse *S = tamis_owned_sparse_view(source->matrix);
        snprintf(source->name, sizeof source->name, "%s-%lldx%lld-%lld", copy, (long long)S->rows, (long long)S->cols,
                 (long long)S->nnz);
    }
    free(copy);
    return code;
}

void tool_source_tell(const char *path, const tamis_read_report *report) {
    if (report->times_column == 3)
        tool_note(
            "%s: the third column looks like times: the edges have no weights (--value-column 3 reads it as weights)",
            path);
    if (report->times_column == 4)
        tool_note("%s: the fourth column, times, is not read (--value-column 4 reads it as weights)", path);
    if (report->undirected)
        tool_note("%s: its first line says that the edges have no direction: --undirected stores each in both", path);
    if (report->labels) tool_note("%s: the labels of the lines are not part of the matrix", path);
    if (report->inexact > 0)
        tool_note(
            "%s: %s number%s changed: fp64, the widest type, does not hold integers beyond 2^53 and what is out of "
            "its range",
            path, tool_word_count(report->inexact).text, report->inexact == 1 ? "" : "s");
}

/* ------------------------------------------------------------------------------------------ files */

/* Converts *matrix to the requested arrangement and types. */
static tamis_status arrange(const tamis_read_options *reading, tamis_values values, tamis_owned_sparse **matrix) {
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.format = reading->format;
    options.index_type = reading->index_type;
    options.offset_type = reading->offset_type;
    options.value_type = reading->value_type;
    options.values = values;
    options.sort = true;
    tamis_owned_sparse *made = NULL;
    const tamis_status status = tamis_convert(tamis_owned_sparse_view(*matrix), &options, &made);
    tamis_owned_sparse_free(*matrix);
    *matrix = made;
    return status;
}

/* Reads a list whose ids are names by the reader of `train`, after another reader has reported that. Rows and columns
   are numbered in order of first occurrence. */
static int read_names(const char *path, const tamis_read_options *reading, tool_source *source) {
    const tamis_read_report *const report = &source->report;
    if (reading->undirected)
        return tool_failure(TOOL_UNSUPPORTED, "%s: --undirected: not for a list whose ids are names", path);
    if (reading->value_column == 4)
        return tool_failure(TOOL_UNSUPPORTED, "%s: --value-column 4: not for a list whose ids are names", path);
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    options.keep = reading->duplicates == TAMIS_DUPLICATES_KEEP;
    options.sum = reading->duplicates == TAMIS_DUPLICATES_SUM;
    options.value_type = reading->value_type == TAMIS_F32 ? TAMIS_F32 : TAMIS_F64;
    options.titles = reading->titles;
    options.found = reading->found;
    options.columns = reading->columns;
    options.progress = reading->progress;
    options.progress_context = reading->progress_context;
    tamis_status status = TAMIS_OK;
    if (report->graph) { /* one numbering for both */
        status = tamis_names_create(&source->rows);
        options.users = options.items = source->rows;
    }
    tamis_names *rows = NULL, *columns = NULL;
    if (status == TAMIS_OK) status = tamis_read_ratings(path, &options, &source->matrix, &rows, &columns, NULL);
    if (status == TAMIS_OK) {
        source->rows = rows;
        source->columns = columns;
        const bool none = report->times_column == 3 || !report->weights; /* the reader filled in these values */
        if (none) status = arrange(reading, TAMIS_VALUES_NONE, &source->matrix);
        if (status == TAMIS_OK) status = arrange(reading, reading->values, &source->matrix);
    }
    tool_progress_clear();
    if (status != TAMIS_OK) {
        const int code = tool_file_error(status, path);
        tool_source_close(source);
        return code;
    }
    tool_note("%s: ids are names, numbered in the order in which they come%s", path,
              report->graph ? "" : ": rows and columns separately");
    return 0;
}

static int read_source(const char *path, const tamis_read_options *options, tool_source *source) {
    tamis_read_options reading = TAMIS_READ_OPTIONS_INIT;
    if (options) reading = *options;
    const bool names_too = reading.report != NULL;
    reading.report = &source->report;
    reading.progress = tool_progress_reading;
    bool titles = false;
    char found[TAMIS_FOUND_BYTES] = "";
    reading.titles = &titles;
    reading.found = found;
    tool_matrix_name(path, source->name, sizeof source->name);
    reading.progress_context = source->name;
    struct stat information;
    const bool standard = strcmp(path, "-") == 0;
    const off_t begin = standard ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    const bool is_file = (standard ? fstat(STDIN_FILENO, &information) : stat(path, &information)) == 0 &&
                         S_ISREG(information.st_mode); /* a file can be read again */
    const tamis_status status = tamis_read_sparse(path, &reading, &source->matrix);
    tool_progress_clear();
    if (status == TAMIS_ERROR_FORMAT && source->report.other_ids && names_too && is_file) {
        if (standard && lseek(STDIN_FILENO, begin, SEEK_SET) < 0) return tool_file_error(status, path);
        TOOL_TRY(read_names(path, &reading, source));
    } else if (status != TAMIS_OK) {
        return tool_file_error(status, path);
    }
    if (titles || strncmp(found, "lists", 5) == 0 || strchr(found, ';')) tool_note("%s: %s", path, found);
    tool_source_tell(path, &source->report);
    if (is_file) source->bytes = information.st_size;
    return 0;
}

tamis_read_options tool_read_options(const tool_reading *reading, int type, tamis_index_type offset_type) {
    static tamis_read_report names_too; /* a marker; the actual report is in tool_source */
    static const int value_columns[] = {0, 3, 4};
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    options.report = &names_too;
    options.value_column = value_columns[reading->value_column];
    options.file_format = reading->zero_based ? TAMIS_FILE_SVMLIGHT_ZERO_BASED : (tamis_file_format)reading->format;
    options.columns = reading->columns;
    options.relabel = reading->relabel;
    options.undirected = reading->undirected;
    options.value_type = (tamis_type)type;
    options.offset_type = offset_type;
    return options;
}

int tool_source_open(const char *spec, const tamis_read_options *options, tool_source *source) {
    *source = (tool_source){0};
    const double start = tool_seconds();
    const int code = strncmp(spec, prefix, sizeof prefix - 1) == 0 ? generate_source(spec, options, source)
                                                                   : read_source(spec, options, source);
    source->seconds = tool_seconds() - start;
    if (code == 0) source->S = tamis_owned_sparse_view(source->matrix);
    return tool_ranks_agree_code(code);
}

void tool_source_close(tool_source *source) {
    tamis_owned_sparse_free(source->matrix);
    if (source->columns != source->rows) tamis_names_free(source->columns);
    tamis_names_free(source->rows);
    *source = (tool_source){0};
}

void tool_json_structure(tool_json *json, const tamis_profile *profile, const tamis_structure *structure) {
    tool_json_put(json, TOOL_OF(*profile, rows), TOOL_OF(*profile, cols), TOOL_OF(*profile, nnz),
                  TOOL_OF(*profile, density), TOOL_OF(*profile, mean), TOOL_OF(*profile, variation),
                  TOOL_OF(*profile, min), TOOL_OF(*profile, max), TOOL_OF(*profile, empty_rows),
                  TOOL_OF(*profile, bandwidth), tool_str("class", structure->name),
                  tool_str("class_reason", structure->reason));
}
