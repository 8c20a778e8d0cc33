/* tamis transform and tamis export: the factors of new rows, and a model's factors. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/exit.h"
#include "cli/operands.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "model/use.h"

typedef struct settings {
    tool_use_settings use;
    const char *rows, *columns, *row_names, *column_names;
} settings;

#define AT(field) offsetof(settings, field)

static int write_array(const char *path, const tamis_dense *array) {
    TOOL_TRY(tool_output_room(path, (double)array->rows * (double)array->cols, tamis_type_size(array->type), 0));
    return tool_library_error(tamis_write_dense(path, array), NULL);
}

static int check_names(const char *option, const char *path, const tamis_names *names) {
    return !path || names ? 0 : tool_usage_error("%s: there are no names, only numbers from 0", option);
}

/* One name a line. */
static int write_names(const tool_use *use, const char *option, const char *path, const tamis_names *names) {
    const int refused = check_names(option, path, names);
    if (!path || refused) return refused;
    tool_use to = *use;
    to.settings = &(tool_use_settings){.json = false};
    int code = tool_output_open(path, &to.file);
    to.out = to.file.out;
    for (int64_t i = 0; code == 0 && i < tamis_names_count(names); i++) {
        tool_use_line(&to, 1, (tool_member[]){tool_named("name", names, i)});
    }
    const int closed = tool_output_close(&to.file, code == 0);
    return code ? code : closed;
}

/* ------------------------------------------------------------------------------------------ transform */

static const tool_option transform_options[] = {
    TOOL_OUTPUT("names", 0, "FILE", AT(row_names), "also write the names of the rows, one per line"),
    TOOL_USE_JSON(settings, "a line of JSON for each row"),
    TOOL_OUTPUT("output", 'o', "FILE", TOOL_USE_AT(settings, output),
                "write to a file; .npy: an array, a line for each row"),
    TOOL_NO_CLOBBER(TOOL_USE_AT(settings, no_clobber)),
    TOOL_USE_DATA(settings),
    {.name = NULL},
};

static void write_json(const tool_use *use, const tamis_names *names, const tamis_dense *W, int64_t row) {
    tool_json json = tool_json_open(use->out, false);
    tool_json_member(&json, tool_named("row", names, row));
    tool_json_array(&json, "factors");
    for (int64_t k = 0; k < W->cols; k++) tool_json_number(&json, NULL, tool_dense_get(W, row, k));
    tool_json_finish(&json);
}

static void write_rows(const tool_use *use, const tamis_names *names, const tamis_dense *W) {
    tool_member *fields = tool_allocate((size_t)W->cols + 1, sizeof *fields);
    for (int64_t i = 0; i < W->rows && !tool_interrupted(); i++) {
        fields[0] = tool_named("row", names, i);
        for (int64_t k = 0; k < W->cols; k++) {
            fields[k + 1] = tool_num(NULL, tool_dense_get(W, i, k));
        }
        if (use->settings->json)
            write_json(use, names, W, i);
        else
            tool_use_line(use, (int)W->cols + 1, fields);
    }
    free(fields);
}

static bool is_array(const char *path) {
    const size_t length = path ? strlen(path) : 0;
    return length > 4 && strcasecmp(path + length - 4, ".npy") == 0;
}

static int transform(const tool_use *use, const void *given, int count, char **operands) {
    const settings *set = given;
    const char *spec = operands[0];
    (void)count;
    const tool_data_request request = tool_use_request(use, spec, true);
    tool_data data;
    tamis_owned_dense *W = NULL;
    TOOL_TRY(tool_data_open(&request, &data));
    int code = check_names("--names", set->row_names, data.rows);
    if (code == 0) code = tool_use_transform(use, &data.S, &W);
    if (code == 0 && tool_method_of_documents(use->method))
        code = tool_library_error(tamis_model_shares(use->model, tamis_owned_dense_view(W)), use->path);
    if (code == 0 && set->rows) {
        code = write_array(set->rows, tamis_owned_dense_view(W));
    } else if (code == 0) {
        write_rows(use, data.rows, tamis_owned_dense_view(W));
    }
    if (code == 0) code = write_names(use, "--names", set->row_names, data.rows);
    tamis_owned_dense_free(W);
    tool_data_close(&data);
    return tool_outcome(code);
}

static int run_transform(const void *given, int count, char **operands) {
    settings set = *(const settings *)given;
    if (is_array(set.use.output)) { /* no stream */
        if (set.use.json) return tool_usage_error("--json: -o %s writes an array, not JSON", set.use.output);
        set.rows = set.use.output;
        set.use.output = NULL;
    }
    return tool_use_run(&set, count, operands, transform);
}

const tool_command tool_transform_command = TOOL_COMMAND(
    "transform", "MODEL DATA", "compute the topics of new documents or the features of new users with a model",
    transform_options, settings, .run = run_transform);

/* ------------------------------------------------------------------------------------------ export */

static const tool_option export_options[] = {
    TOOL_OUTPUT("rows", 0, "FILE.npy", AT(rows), "write the factors of the rows (users, documents)"),
    TOOL_OUTPUT("columns", 0, "FILE.npy", AT(columns), "write the factors of the columns (items, words)"),
    TOOL_OUTPUT("row-names", 0, "FILE", AT(row_names), "write the names of the rows, one per line"),
    TOOL_OUTPUT("column-names", 0, "FILE", AT(column_names), "write the names of the columns, one per line"),
    TOOL_USE_JSON(settings, "an object for each array that was written"),
    TOOL_NO_CLOBBER(TOOL_USE_AT(settings, no_clobber)),
    TOOL_USE_DEVICE(settings),
    {.name = NULL},
};

static int write_factors(const tool_use *use, const char *path, bool of_rows) {
    tamis_owned_dense *factors = NULL;
    if (!path) return 0;
    const tamis_status status =
        of_rows ? tamis_model_row_factors(use->model, &factors) : tamis_model_column_factors(use->model, &factors);
    if (status != TAMIS_OK) return tool_library_error(status, use->path);
    const tamis_dense *array = tamis_owned_dense_view(factors);
    const int code = write_array(path, array);
    if (code == 0 && use->settings->json) {
        tool_json json = tool_json_written(path, array->rows, array->cols, -1);
        tool_json_finish(&json);
    }
    tamis_owned_dense_free(factors);
    return code;
}

static int export_all(const tool_use *use, const void *given, int count, char **operands) {
    const settings *set = given;
    (void)count, (void)operands;
    /* errors are reported before a file is replaced */
    if (set->rows && use->description.rows == 0) return tool_use_no_rows(use, "--rows");
    TOOL_TRY(check_names("--row-names", set->row_names, use->rows));
    TOOL_TRY(check_names("--column-names", set->column_names, use->columns));
    TOOL_TRY(write_factors(use, set->rows, true));
    TOOL_TRY(write_factors(use, set->columns, false));
    TOOL_TRY(write_names(use, "--row-names", set->row_names, use->rows));
    return write_names(use, "--column-names", set->column_names, use->columns);
}

static int run_export(const void *given, int count, char **operands) {
    const settings *set = given;
    if (!set->rows && !set->columns && !set->row_names && !set->column_names)
        return tool_usage_error("expected one or more of --rows, --columns, --row-names, --column-names");
    const char *const arrays[][2] = {{"--rows", set->rows}, {"--columns", set->columns}};
    for (int i = 0; i < 2; i++) {
        TOOL_TRY(arrays[i][1] ? tool_output_ending(arrays[i][0], arrays[i][1], ".npy") : 0);
    }
    return tool_use_run(given, count, operands, export_all);
}

const tool_command tool_export_command = TOOL_COMMAND("export", "MODEL", "write the factors of a model as NumPy arrays",
                                                      export_options, settings, .run = run_export);
