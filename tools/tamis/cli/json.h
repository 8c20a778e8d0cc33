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
tool_json tool_json_open(FILE *out, bool pretty); /* with an open object, which tool_json_finish closes */

/* name is NULL inside an array and at the top. */
void tool_json_object(tool_json *json, const char *name);
void tool_json_end_object(tool_json *json);
void tool_json_array(tool_json *json, const char *name);
void tool_json_end_array(tool_json *json);
void tool_json_text(tool_json *json, const char *name, const char *value); /* NULL becomes null */
void tool_json_integer(tool_json *json, const char *name, int64_t value);
void tool_json_number(tool_json *json, const char *name, double value); /* NaN and infinity become null */
void tool_json_bool(tool_json *json, const char *name, bool value);
void tool_json_numbers(tool_json *json, const char *name, const double *values, int count); /* an array */

/* A member of an object by the kind of its value. */
typedef struct tool_member {
    const char *name;
    enum { TOOL_IS_NULL, TOOL_IS_ABSENT, TOOL_IS_TEXT, TOOL_IS_INTEGER, TOOL_IS_NUMBER, TOOL_IS_BOOL } kind;
    union {
        const char *text;
        int64_t integer;
        double number;
        bool yes;
    } value;
} tool_member;

static inline tool_member tool_str(const char *name, const char *value) {
    return (tool_member){.name = name, .kind = TOOL_IS_TEXT, .value.text = value};
}
static inline tool_member tool_int(const char *name, int64_t value) {
    return (tool_member){.name = name, .kind = TOOL_IS_INTEGER, .value.integer = value};
}
static inline tool_member tool_num(const char *name, double value) {
    return (tool_member){.name = name, .kind = TOOL_IS_NUMBER, .value.number = value};
}
static inline tool_member tool_yes(const char *name, bool value) {
    return (tool_member){.name = name, .kind = TOOL_IS_BOOL, .value.yes = value};
}
static inline tool_member tool_ms(const char *name, double seconds) { return tool_num(name, 1e3 * seconds); }

/* The member that is null unless `known`; of a time, unless it is more than 0. */
static inline tool_member tool_if(bool known, tool_member member) {
    return known ? member : (tool_member){.name = member.name};
}
static inline tool_member tool_ms_if(const char *name, double seconds) {
    return tool_if(seconds > 0, tool_ms(name, seconds));
}

/* The member, only if it is `there`. */
static inline tool_member tool_only(bool there, tool_member member) {
    if (!there) member.kind = TOOL_IS_ABSENT;
    return member;
}

/* The field of a structure, under its name. */
#define TOOL_OF(object, field)                                                                                         \
    _Generic((object).field, bool                                                                                      \
             : tool_yes, double                                                                                        \
             : tool_num, char *                                                                                        \
             : tool_str, const char *                                                                                  \
             : tool_str, default                                                                                       \
             : tool_int)(#field, (object).field)

/* Write one member, or several in that order, of the open object. */
void tool_json_member(tool_json *json, tool_member member);
#define tool_json_put(json, ...) tool_json_members(json, (const tool_member[]){__VA_ARGS__, {.name = NULL}})
void tool_json_members(tool_json *json, const tool_member *members);

/* Writes an object with these members into the open array. */
#define tool_json_item(json, ...) tool_json_element(json, (const tool_member[]){__VA_ARGS__, {.name = NULL}})
void tool_json_element(tool_json *json, const tool_member *members);

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
