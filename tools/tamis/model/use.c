/* Opens a model for use, and looks up names of its rows and columns. */
#include "model/use.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "io/files/standard.h"

bool tool_is_model(const char *path) {
    static const char magic[8] = {'\x89', 'T', 'A', 'M', 'I', 'S', '\r', '\n'};
    char begin[sizeof magic];
    struct stat there; /* bytes read from a pipe would be lost */
    if (strcmp(path, "-") == 0) {
        const void *first = NULL;
        return tamis_standard_look(&first) >= sizeof magic && memcmp(first, magic, sizeof magic) == 0;
    }
    FILE *file = stat(path, &there) == 0 && S_ISREG(there.st_mode) ? fopen(path, "rb") : NULL;
    const bool read = file && fread(begin, 1, sizeof begin, file) == sizeof begin;
    if (file) fclose(file);
    return read && memcmp(begin, magic, sizeof magic) == 0;
}

static int load(tool_use *use) {
    tamis_status status = tamis_device_set_threads(use->device.device, (int)use->settings->threads);
    if (status == TAMIS_OK) status = tamis_model_load(use->device.device, use->path, &use->model);
    if (status == TAMIS_OK) status = tamis_model_describe(use->model, &use->description);
    if (status == TAMIS_OK) { /* threads as requested now, not as in training */
        use->description.options.threads = (int)use->settings->threads;
        status = tamis_model_continue_with(use->model, &use->description.options);
    }
    if (status != TAMIS_OK) return tool_file_error(status, use->path);
    use->method = use->description.options.method;
    use->rows = tamis_model_row_names(use->model);
    use->columns = tamis_model_column_names(use->model);
    return 0;
}

int tool_use_open(const tool_use_settings *settings, const char *path, tool_use *use) {
    *use = (tool_use){.settings = settings, .path = path, .out = stdout};
    int code = tool_device_open(settings->device, false, &use->device);
    if (code == 0) code = load(use);
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

int tool_use_run(const void *settings, int count, char **operands, tool_use_body *body) {
    tool_use use;
    const int code = tool_use_open(settings, operands[0], &use);
    return code ? code : tool_use_close(&use, body(&use, settings, count - 1, operands + 1));
}

tool_data_request tool_use_request(const tool_use *use, const char *spec, bool new_rows) {
    return (tool_data_request){.spec = spec,
                               .format = use->settings->from,
                               .columns_of = use->settings->columns,
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

static int unknown_name(const tamis_names *names, int64_t all, const char *name, const char *what, const char *where) {
    if (!names)
        return tool_usage_error("'%s' is not a %s: %ss are numbered 0 to %lld", name, what, what, (long long)all - 1);
    const char **known = tool_allocate((size_t)all + 1, sizeof *known);
    for (int64_t i = 0; i < all; i++) known[i] = tamis_names_at(names, i);
    const tool_hint hint = tool_did_you_mean("", name, known);
    free((void *)known);
    return tool_usage_error("'%s' is not in %s%s", name, where, hint.text);
}

static int64_t find_name(const tamis_names *names, int64_t all, const char *name) {
    int64_t index = -1;
    if (names) return tamis_names_find(names, name, strlen(name));
    return tool_parse_integer(name, strlen(name), &index) && index < all ? index : -1;
}

int tool_use_choose(const tamis_names *names, int64_t all, int count, char **requested, const char *what,
                    const char *where, int64_t **chosen, int64_t *chosen_count) {
    *chosen_count = count > 0 ? count : all;
    *chosen = tool_allocate((size_t)*chosen_count, sizeof **chosen);
    for (int64_t i = 0; i < *chosen_count; i++) {
        (*chosen)[i] = count > 0 ? find_name(names, all, requested[i]) : i;
        if ((*chosen)[i] < 0) return unknown_name(names, all, requested[i], what, where);
    }
    return 0;
}

int tool_use_no_rows(const tool_use *use, const char *option) {
    enum { MOST = 32 };
    const char *names[MOST];
    int count = 0;
    tool_text keepers = {0};
    tamis_method_description method;
    for (int i = 0; count < MOST && tamis_method_at(i, &method) == TAMIS_OK; i++)
        if (method.row_factors) names[count++] = method.name;
    for (int i = 0; i < count; i++)
        tool_text_add(&keepers, "%s%s", i == 0 ? "" : i == count - 1 ? " and " : ", ", names[i]);
    const int code = tool_usage_error("%s: %s is a model of %s that stores no rows; %s do if they are "
                                      "not trained with --stream; 'tamis transform' computes those of DATA",
                                      option, use->path, tamis_method_name(use->method), tool_text_get(&keepers));
    tool_text_free(&keepers);
    return code;
}

tool_member tool_named(const char *member, const tamis_names *names, int64_t index) {
    const char *const name = names ? tamis_names_at(names, index) : NULL;
    return name ? tool_str(member, name) : tool_int(member, index);
}

static void write_name(FILE *out, const char *name) {
    static int terminal = -1; /* terminals get no control characters; other programs get the unchanged name */
    if (terminal < 0) terminal = isatty(STDOUT_FILENO);
    if (out == stdout && terminal) name = tool_visible(name);
    for (; *name; name++) fputc(strchr("\t\n\r", *name) ? ' ' : *name, out);
}

void tool_use_line(const tool_use *use, int count, const tool_member *members) {
    tool_json json = tool_json_start(use->out, false);
    if (use->settings->json) tool_json_object(&json, NULL);
    for (int i = 0; i < count; i++) {
        if (use->settings->json) {
            tool_json_member(&json, members[i]);
            continue;
        }
        if (i > 0) fputc('\t', use->out);
        switch (members[i].kind) {
        case TOOL_IS_TEXT: write_name(use->out, members[i].value.text); break;
        case TOOL_IS_NUMBER: fprintf(use->out, "%.7g", members[i].value.number); break;
        default: fprintf(use->out, "%lld", (long long)members[i].value.integer);
        }
    }
    tool_json_finish(&json); /* of text the line alone */
}
