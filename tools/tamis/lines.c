/* JSON lines. */
#include "lines.h"

#include <errno.h>
#include <string.h>

#include "exit.h"

int tool_lines_open(tool_lines *lines, const char *path) {
    *lines = (tool_lines){.path = path};
    if (!path) return 0;
    lines->out = strcmp(path, "-") == 0 ? stdout : fopen(path, "a");
    if (lines->out) return 0;
    tool_error("%s: cannot be written: %s", path, strerror(errno));
    return TOOL_FILE;
}

tool_json *tool_lines_begin(tool_lines *lines) {
    if (!lines->out) return NULL;
    lines->json = tool_json_start(lines->out, false);
    tool_json_object(&lines->json, NULL);
    return &lines->json;
}

static int check_written(const tool_lines *lines, bool failed) {
    if (!failed) return 0;
    tool_error("%s: cannot be written: %s", lines->path, strerror(errno));
    return TOOL_FILE;
}

int tool_lines_end(tool_lines *lines) {
    if (!lines->out) return 0;
    tool_json_end_object(&lines->json);
    tool_json_finish(&lines->json);
    return check_written(lines, fflush(lines->out) != 0);
}

int tool_lines_close(tool_lines *lines) {
    if (!lines->out || lines->out == stdout) return 0;
    const bool failed = fclose(lines->out) != 0;
    lines->out = NULL;
    return check_written(lines, failed);
}
