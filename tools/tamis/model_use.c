/* Opening a model to use it, and the names of its rows and columns. */
#include "model_use.h"

#include <string.h>

#include "exit.h"

static int load(const tool_command *group, tool_use *use) {
    tamis_status status = tamis_device_set_threads(use->device.device, (int)use->settings->threads);
    if (status == TAMIS_OK) status = tamis_model_load(use->device.device, use->path, &use->model);
    if (status == TAMIS_OK) status = tamis_model_describe(use->model, &use->description);
    if (status == TAMIS_OK) { /* as many threads as are asked for here, not when it was trained */
        use->description.options.threads = (int)use->settings->threads;
        status = tamis_model_continue_with(use->model, &use->description.options);
    }
    if (status != TAMIS_OK) return tool_library_error(status, strstr(tamis_last_error(), use->path) ? NULL : use->path);
    use->method = use->description.options.method;
    if (strcmp(tamis_method_name(use->method), group->name) != 0) {
        return tool_usage_error("%s is a model of %s, not of %s", use->path, tamis_method_name(use->method),
                                group->name);
    }
    use->rows = tamis_model_row_names(use->model);
    use->columns = tamis_model_column_names(use->model);
    return 0;
}

int tool_use_open(const tool_command *group, const tool_use_settings *settings, const char *path, tool_use *use) {
    *use = (tool_use){.settings = settings, .path = path, .out = stdout};
    int code = tool_device_open(settings->device, false, &use->device);
    if (code == 0) code = load(group, use);
    if (code == 0 && settings->output) {
        code = tool_output_open(settings->output, &use->file);
        use->out = use->file.out;
    }
    return code ? tool_use_close(use, code) : 0;
}

int tool_use_close(tool_use *use, int code) {
    const int closed = tool_output_close(&use->file, code == 0);
    tamis_model_free(use->model);
    tool_device_close(&use->device);
    return code ? code : closed;
}

tool_data_request tool_use_request(const tool_use *use, const char *spec, bool new_rows) {
    return (tool_data_request){.spec = spec,
                               .format = use->settings->from,
                               .method = use->method,
                               .sum = tool_method_of_counts(use->method),
                               .rows = new_rows ? NULL : use->rows,
                               .columns = use->columns,
                               .row_count = new_rows ? 0 : use->description.rows,
                               .column_count = use->description.cols,
                               .new_rows = new_rows};
}

int tool_use_transform(const tool_use *use, const tamis_sparse *S, tamis_owned_dense **W) {
    tamis_status status =
        tamis_owned_dense_create(S->rows, use->description.width, use->description.options.type, TAMIS_ROW_MAJOR, W);
    if (status == TAMIS_OK) status = tamis_model_transform(use->model, S, tamis_owned_dense_view(*W));
    if (status == TAMIS_OK) return 0;
    tamis_owned_dense_free(*W);
    *W = NULL;
    return tool_library_error(status, NULL);
}

void tool_write_name(FILE *out, const tamis_names *names, int64_t index) {
    const char *name = names ? tamis_names_at(names, index) : NULL;
    if (!name) {
        fprintf(out, "%lld", (long long)index);
        return;
    }
    for (; *name; name++) fputc(strchr("\t\n\r", *name) ? ' ' : *name, out);
}

void tool_json_name(tool_json *json, const char *member, const tamis_names *names, int64_t index) {
    const char *name = names ? tamis_names_at(names, index) : NULL;
    if (name) {
        tool_json_text(json, member, name);
    } else {
        tool_json_integer(json, member, index);
    }
}
