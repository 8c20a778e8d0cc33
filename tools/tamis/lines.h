/* JSON lines: one object a line, appended and flushed at once, so that an interrupted run loses nothing. */
#ifndef TOOL_LINES_H
#define TOOL_LINES_H

#include "json.h"

typedef struct tool_lines {
    FILE *out; /* NULL: none wanted */
    const char *path;
    tool_json json;
} tool_lines;

/* path NULL: nothing will be written; "-": standard output. Returns 0 or an exit code, after a message. */
int tool_lines_open(tool_lines *lines, const char *path);

/* Starts a line and returns the writer inside its object, or NULL when none is wanted. */
tool_json *tool_lines_begin(tool_lines *lines);
int tool_lines_end(tool_lines *lines);
int tool_lines_close(tool_lines *lines);

#endif
