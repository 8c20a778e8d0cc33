/* tamis predict: predictions for pairs of a row and a column. */
#include <stdlib.h>

#include "cli/exit.h"
#include "cli/operands.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "model/options.h"
#include "model/use.h"

typedef struct settings {
    tool_use_settings use;
    const char *new_rows;
} settings;

static const tool_option options[] = {
    TOOL_PATH("new", 0, "FILE", offsetof(settings, new_rows),
              "the rows are new, and this file has their known entries"),
    TOOL_USE_JSON(settings, "a line of JSON for each pair"),
    TOOL_USE_OUTPUT(settings),
    TOOL_USE_DATA(settings),
    {.name = NULL},
};

/* Predictions for rows and columns that the model does not know: the mean plus the known biases. */
typedef struct unknown {
    int64_t rows, cols; /* known rows and columns: the model's, or the new rows */
    int64_t width;
    const tamis_dense *row_factors, *column_factors; /* their last column is the bias; NULL: no biases */
    const tamis_model_description *of;
} unknown;

static double bias_of(const tamis_dense *factors, int64_t line, int64_t lines) {
    if (!factors || line >= lines) return 0;
    const int64_t stride = factors->stride > 0 ? factors->stride : factors->cols;
    return tool_element_get(factors->data, factors->type, line * stride + factors->cols - 1);
}

static double predict_unknown(const unknown *u, int64_t row, int64_t column) {
    const double biases = bias_of(u->row_factors, row, u->rows) + bias_of(u->column_factors, column, u->cols);
    const double value = u->of->mean + u->of->scale * biases;
    return value < u->of->least ? u->of->least : value > u->of->most ? u->of->most : value;
}

/* Writes all pairs. predictions: of the pairs that the model knows, in their order. Returns the number of other
   pairs. */
static int64_t write_pairs(const tool_use *use, const tool_data *data, const unknown *u, const double *predictions) {
    const tamis_sparse *const S = data->whole.offsets ? &data->whole : &data->S;
    const tamis_names *const rows = data->rows ? data->rows : use->rows;
    const tamis_names *const columns = data->columns ? data->columns : use->columns;
    int64_t others = 0, known = 0;
    for (int64_t row = 0; row < S->rows && !tool_interrupted(); row++) {
        const int64_t end = tool_index_get(S->offsets, S->offset_type, row + 1);
        for (int64_t at = tool_index_get(S->offsets, S->offset_type, row); at < end; at++) {
            const int64_t column = tool_index_get(S->columns, S->index_type, at);
            const bool is_known = row < data->S.rows && column < data->S.cols;
            others += !is_known;
            tool_use_line(use, 3,
                          (tool_member[]){tool_named("row", rows, row), tool_named("column", columns, column),
                                          tool_num("prediction",
                                                   is_known ? predictions[known++] : predict_unknown(u, row, column))});
        }
    }
    return others;
}

/* Finds the biases, if the model has any: of the columns, and of its own rows or the rows in W. */
static int find_unknown(const tool_use *use, const tool_data *data, const tamis_dense *W, tamis_owned_dense *own[2],
                        unknown *u) {
    *u = (unknown){.rows = data->S.rows, .cols = data->S.cols, .of = &use->description};
    if (data->whole.nnz == data->S.nnz || use->description.width == use->description.options.factors) return 0;
    if (tool_method_about(use->method)->pairs) return 0; /* which have no factors */
    tamis_status status = tamis_model_column_factors(use->model, &own[0]);
    if (status == TAMIS_OK && !W) status = tamis_model_row_factors(use->model, &own[1]);
    if (status != TAMIS_OK) return tool_library_error(status, use->path);
    u->column_factors = tamis_owned_dense_view(own[0]);
    u->row_factors = W ? W : tamis_owned_dense_view(own[1]);
    return 0;
}

/* Refuses data without any known row or column. */
static int check_some(const char *spec, const tool_data *data) {
    const tamis_sparse *const S = &data->whole;
    if (!S->offsets || S->nnz == 0 || data->S.nnz > 0) return 0;
    for (int64_t row = 0; row < S->rows; row++) {
        const int64_t end = tool_index_get(S->offsets, S->offset_type, row + 1);
        for (int64_t at = tool_index_get(S->offsets, S->offset_type, row); at < end; at++)
            if (row < data->S.rows || tool_index_get(S->columns, S->index_type, at) < data->S.cols) return 0;
    }
    return tool_failure(TOOL_FILE, "%s: none of its rows and columns are in the model", spec);
}

static int predict_pairs(const tool_use *use, const char *spec, const tool_data *data, const tool_data *known) {
    tamis_owned_dense *W = NULL, *own[2] = {NULL, NULL};
    unknown u;
    int code = use->settings->output
                   ? tool_output_room(use->settings->output, (double)data->S.nnz, 0, TOOL_ENTRY_CHARACTERS)
                   : 0;
    if (code == 0) code = check_some(spec, data);
    const bool pairs = tool_method_about(use->method)->pairs; /* whose factors of rows are scores of all columns */
    if (code == 0 && known && !pairs) code = tool_use_transform(use, &known->S, &W);
    if (code) return code;
    const tamis_dense *const rows = W ? tamis_owned_dense_view(W) : NULL;
    double *predictions = tool_allocate((size_t)data->S.nnz, sizeof *predictions);
    const tamis_status status = pairs ? tamis_model_predict_rows(use->model, &known->S, &data->S, predictions)
                                      : tamis_model_predict(use->model, rows, &data->S, predictions);
    code = tool_library_error(status, spec);
    if (code == 0) code = find_unknown(use, data, rows, own, &u);
    if (code == 0) {
        const int64_t others = write_pairs(use, data, &u, predictions);
        if (others > 0)
            tool_warning("%s: %s of %s entries have rows or columns that are not in the model: they get the mean%s",
                         spec, tool_word_count(others).text, tool_word_count(data->whole.nnz).text,
                         pairs ? "" : " and the biases that are known");
    }
    free(predictions);
    tamis_owned_dense_free(W);
    for (int i = 0; i < 2; i++) tamis_owned_dense_free(own[i]);
    return tool_outcome(code);
}

/* If the model keeps no rows, their factors are computed from the data themselves, unless --new gives more entries. */
static int predict(const tool_use *use, const void *given, int count, char **operands) {
    const settings *set = given;
    const char *spec = operands[0];
    (void)count;
    const bool new_rows = set->new_rows || use->description.rows == 0;
    tool_data_request request = tool_use_request(use, spec, new_rows);
    request.unknown_too = tool_method_about(use->method)->data == TAMIS_DATA_RATINGS;
    tool_data data, known;
    TOOL_TRY(tool_data_open_pair(&request, set->new_rows ? set->new_rows : new_rows ? spec : NULL, &data, &known));
    const int code = predict_pairs(use, spec, &data, new_rows ? &known : NULL);
    tool_data_close(&data);
    tool_data_close(&known);
    return code;
}

const tool_command tool_predict_command =
    TOOL_COMMAND("predict", "MODEL DATA", "predict the values at pairs of rows and columns with a model", options,
                 settings, .use = predict);
