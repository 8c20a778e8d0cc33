/* tamis info for a model: its kind, its data and its progress. */
#include "model/info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "model/options.h"
#include "model/report.h"
#include "model/use.h"

static int64_t file_bytes(const char *path) {
    struct stat there;
    const bool standard = strcmp(path, "-") == 0;
    return (standard ? fstat(STDIN_FILENO, &there) : stat(path, &there)) == 0 ? (int64_t)there.st_size : 0;
}

/* Appends the options with which the model was made, as one would type them. */
static void add_options(const tamis_model_options *made, tool_text *text) {
    const tool_train_settings set = {.model = *made};
    for (const tool_option *option = tool_train_options(made->method); option->name; option++) {
        if (!tool_train_of_model(option)) continue;
        const tool_word value = tool_option_text(option, &set);
        tool_text_add(text, "%s", text->length ? ", " : "");
        if (tool_option_is_flag(option))
            tool_text_add(text, "%s%s", strcmp(value.text, "yes") == 0 ? "" : "no-", option->name);
        else
            tool_text_add(text, "%s %s", option->name, value.text);
    }
}

static void print_text(const tool_use *use) {
    const tamis_model_description *model = &use->description;
    const tamis_model_options *made = &model->options;
    printf("%s\n", tool_visible(use->path));
    printf("  method      %s, %s factors, %s\n", tamis_method_name(use->method), tool_word_count(made->factors).text,
           tamis_type_name(made->type));
    if (model->rows > 0)
        printf("  data        %s x %s, %s entries", tool_word_count(model->rows).text,
               tool_word_count(model->cols).text, tool_word_count(model->nnz).text);
    else
        printf("  data        %s columns, no rows kept", tool_word_count(model->cols).text);
    if (isfinite(model->mean)) printf("; values %g to %g, mean %.4g", model->least, model->most, model->mean);
    printf("\n  names       rows: %s, columns: %s\n", use->rows ? "yes" : "no", use->columns ? "yes" : "no");
    printf("  iterations  %d of %d done", model->iterations_done, made->iterations);
    if (isfinite(model->loss)) printf(", loss %.6g", model->loss);
    if (model->biases_alone) printf(", biases alone");
    if (made->regularization == 0 && model->regularization > 0)
        printf(", lambda %.4g by the noise", model->regularization);
    if (isfinite(model->metric)) printf(", %s %.6g", tool_metric_name(use->method), model->metric);
    tool_text text = {0};
    add_options(made, &text);
    printf("\n  options     ");
    tool_wrap(stdout, tool_text_get(&text), 14, 14, tool_terminal_width());
    tool_text_free(&text);
    printf("  file        %s\n", tool_word_bytes(file_bytes(use->path)).text);
}

static void write_options(tool_json *json, const tamis_model_options *made) {
    const tool_train_settings set = {.model = *made};
    for (const tool_option *option = tool_train_options(made->method); option->name; option++) {
        const tool_word value = tool_option_text(option, &set);
        char name[64];
        if (!tool_train_of_model(option)) continue;
        snprintf(name, sizeof name, "%s", option->name);
        for (char *dash = strchr(name, '-'); dash; dash = strchr(dash, '-')) *dash = '_';
        if (tool_option_is_flag(option)) {
            tool_json_bool(json, name, strcmp(value.text, "yes") == 0);
        } else if (option->value == TOOL_CHOICE) {
            tool_json_text(json, name, value.text);
        } else if (option->value == TOOL_REAL) {
            tool_json_number(json, name, strtod(value.text, NULL));
        } else {
            tool_json_integer(json, name, strtoll(value.text, NULL, 10));
        }
    }
}

static void print_json(const tool_use *use, tool_json *json) {
    const tamis_model_description *model = &use->description;
    tool_json_object(json, NULL);
    tool_json_put(json, tool_str("kind", "model"), tool_str("file", use->path),
                  tool_str("method", tamis_method_name(use->method)),
                  tool_str("type", tamis_type_name(model->options.type)), TOOL_OF(*model, rows), TOOL_OF(*model, cols),
                  TOOL_OF(*model, nnz), TOOL_OF(*model, width), TOOL_OF(*model, iterations_done), TOOL_OF(*model, loss),
                  TOOL_OF(*model, regularization), tool_str("metric_name", tool_metric_name(use->method)),
                  TOOL_OF(*model, metric), TOOL_OF(*model, mean), TOOL_OF(*model, least), TOOL_OF(*model, most),
                  tool_yes("row_names", use->rows != NULL), tool_yes("column_names", use->columns != NULL),
                  tool_int("file_bytes", file_bytes(use->path)));
    tool_json_object(json, "options");
    write_options(json, &model->options);
    tool_json_end_object(json);
    tool_json_end_object(json);
}

int tool_model_info(const char *path, tool_json *json) {
    enum { CPU = 1 }; /* index in tool_devices: the first after "best" */
    const tool_use_settings settings = {.device = CPU};
    tool_use use;
    TOOL_TRY(tool_use_open(&settings, path, &use));
    if (json)
        print_json(&use, json);
    else
        print_text(&use);
    return tool_use_close(&use, TOOL_OK);
}
