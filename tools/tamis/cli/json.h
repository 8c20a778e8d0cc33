/* Writes JSON, with its commas, indentation and escapes. The caller opens and closes objects and names values. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tool_json {
    FILE *out;
    bool pretty; /* indented over several lines; else one line, without the final line end */
    int depth;
    bool filled[16];  /* true if the object or array at this depth is not empty */
    char bracket[16]; /* which closes it */
} tool_json;

tool_json tool_json_start(FILE *out, bool pretty);

/* name is NULL inside an array and at the top. */
void tool_json_object(tool_json *json, const char *name);
void tool_json_end_object(tool_json *json);
void tool_json_array(tool_json *json, const char *name);
void tool_json_end_array(tool_json *json);
void tool_json_text(tool_json *json, const char *name, const char *value); /* NULL becomes null */
void tool_json_integer(tool_json *json, const char *name, int64_t value);
void tool_json_number(tool_json *json, const char *name, double value); /* NaN and infinity become null */
void tool_json_bool(tool_json *json, const char *name, bool value);
void tool_json_milliseconds(tool_json *json, const char *name, double seconds); /* null if it is 0: not measured */
/* null unless it is known */
void tool_json_integer_if(tool_json *json, const char *name, bool known, int64_t value);
void tool_json_bool_if(tool_json *json, const char *name, bool known, bool value);

/* Starts an object on standard output about a written file: its name, and the sizes of its matrix (nnz < 0: a dense
   array). The caller adds more members and finishes it. */
tool_json tool_json_written(const char *path, int64_t rows, int64_t cols, int64_t nnz);

/* Ends a document or a line, and closes open objects and arrays. */
void tool_json_finish(tool_json *json);

/* Lines of JSON, one object each, appended and flushed at once, so that an interrupted run loses nothing. */
typedef struct tool_lines {
    FILE *out; /* NULL: none wanted */
    const char *path;
    tool_json json;
} tool_lines;

/* Opens the file; path NULL: write nothing; "-": standard output. Returns 0, or an exit code after a message. */
int tool_lines_open(tool_lines *lines, const char *path);

/* Starts a line and returns the writer inside its object, or NULL if nothing is written. */
tool_json *tool_lines_begin(tool_lines *lines);
int tool_lines_end(tool_lines *lines);
int tool_lines_close(tool_lines *lines);

#endif
