/* tamis predict: what the model expects of pairs of a row and a column. */
#include <stdlib.h>

#include "cli/exit.h"
#include "cli/operands.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "model/use.h"

typedef struct settings {
    tool_use_settings use;
    const char *new_rows;
} settings;

static const tool_option options[] = {
    {"new", 0, TOOL_PATH, "FILE", NULL, "the rows are new, and this file has their known entries",
     offsetof(settings, new_rows), 0, 0, NULL},
    TOOL_USE_JSON(settings, "a line of JSON for each pair"),
    TOOL_USE_OUTPUT(settings),
    TOOL_USE_FROM(settings),
    TOOL_USE_DEVICE(settings),
    TOOL_USE_THREADS(settings),
    {.name = NULL},
};

static void write_pairs(const tool_use *use, const tamis_names *rows, const tamis_sparse *S,
                        const double *predictions) {
    for (int64_t row = 0; row < S->rows && !tool_interrupted(); row++) {
        const int64_t end = tool_index_get(S->offsets, S->offset_type, row + 1);
        for (int64_t at = tool_index_get(S->offsets, S->offset_type, row); at < end; at++) {
            const int64_t column = tool_index_get(S->columns, S->index_type, at);
            tool_use_line(use, 3,
                          (tool_field[]){{"row", .names = rows, .index = row},
                                         {"column", .names = use->columns, .index = column},
                                         {"prediction", .number = predictions[at], .real = true}});
        }
    }
}

static int predict_pairs(const tool_use *use, const char *spec, const tool_data *data, const tool_data *known) {
    tamis_owned_dense *W = NULL;
    int code = use->settings->output
                   ? tool_output_room(use->settings->output, (double)data->S.nnz, 0, TOOL_ENTRY_CHARACTERS)
                   : 0;
    if (code == 0 && known) code = tool_use_transform(use, &known->S, &W);
    if (code) return code;
    double *predictions = tool_allocate((size_t)data->S.nnz, sizeof *predictions);
    const tamis_status status =
        tamis_model_predict(use->model, W ? tamis_owned_dense_view(W) : NULL, &data->S, predictions);
    code = tool_library_error(status, spec);
    if (code == 0) write_pairs(use, data->rows ? data->rows : use->rows, &data->S, predictions);
    free(predictions);
    tamis_owned_dense_free(W);
    return tool_outcome(code);
}

/* What a model keeps no rows of is known by the data themselves, unless there is more. */
static int predict(const tool_use *use, const void *given, int count, char **operands) {
    const settings *set = given;
    const char *spec = operands[0];
    (void)count;
    const bool new_rows = set->new_rows || use->description.rows == 0;
    const tool_data_request request = tool_use_request(use, spec, new_rows);
    tool_data data, known;
    int code = tool_data_open_pair(&request, set->new_rows ? set->new_rows : new_rows ? spec : NULL, &data, &known);
    if (code) return code;
    code = predict_pairs(use, spec, &data, new_rows ? &known : NULL);
    tool_data_close(&data);
    tool_data_close(&known);
    return code;
}

const tool_command tool_predict_command = {
    .name = "predict",
    .summary = "predict the values of pairs of a row and a column by a model",
    .operands = "MODEL DATA",
    .options = options,
    .settings_size = sizeof(settings),
    .use = predict,
};
