/* The JSON writer. */
#include "cli/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/ranks.h"
#include "cli/visible.h"

tool_json tool_json_start(FILE *out, bool pretty) { return (tool_json){.out = out, .pretty = pretty}; }

/* Writes a string. Invalid UTF-8 becomes the replacement character, as JSON must be valid UTF-8. */
static void write_string(FILE *out, const char *text) {
    fputc('"', out);
    while (*text) {
        static const char names[][2] = {"\"\"", "\\\\", "\nn", "\tt", "\rr"};
        uint32_t number = 0;
        const size_t length = tool_character(text, &number);
        size_t i = 0;
        while (i < sizeof names / sizeof *names && names[i][0] != *text) i++;
        if (i < sizeof names / sizeof *names) {
            fprintf(out, "\\%c", names[i][1]);
        } else if (length == 0 || tool_is_control(number)) {
            fprintf(out, "\\u%04x", length > 0 ? (unsigned)number : 0xfffdu);
        } else {
            fwrite(text, 1, length, out);
        }
        text += length > 0 ? length : 1;
    }
    fputc('"', out);
}

static void break_line(tool_json *json) {
    if (json->pretty) fprintf(json->out, "\n%*s", 2 * json->depth, "");
}

/* Writes the prefix of a value: the comma, the line end, the name. */
static void lead(tool_json *json, const char *name) {
    if (json->depth > 0) {
        if (json->filled[json->depth]) fputs(json->pretty ? "," : ", ", json->out);
        break_line(json);
    }
    json->filled[json->depth] = true;
    if (name) {
        write_string(json->out, name);
        fputs(": ", json->out);
    }
}

static void open_scope(tool_json *json, const char *name, char bracket) {
    lead(json, name);
    fputc(bracket, json->out);
    if (json->depth + 1 < (int)(sizeof json->filled / sizeof *json->filled)) json->depth++;
    json->filled[json->depth] = false;
    json->bracket[json->depth] = bracket == '{' ? '}' : ']';
}

static void close_scope(tool_json *json) {
    const int depth = json->depth--;
    if (json->filled[depth]) break_line(json);
    fputc(json->bracket[depth], json->out);
}

void tool_json_object(tool_json *json, const char *name) { open_scope(json, name, '{'); }
void tool_json_end_object(tool_json *json) { close_scope(json); }
void tool_json_array(tool_json *json, const char *name) { open_scope(json, name, '['); }
void tool_json_end_array(tool_json *json) { close_scope(json); }

tool_json tool_json_open(FILE *out, bool pretty) {
    tool_json json = tool_json_start(out, pretty);
    tool_json_object(&json, NULL);
    return json;
}

void tool_json_text(tool_json *json, const char *name, const char *value) {
    lead(json, name);
    if (value)
        write_string(json->out, value);
    else
        fputs("null", json->out);
}

void tool_json_integer(tool_json *json, const char *name, int64_t value) {
    lead(json, name);
    fprintf(json->out, "%lld", (long long)value);
}

void tool_json_number(tool_json *json, const char *name, double value) {
    lead(json, name);
    if (isfinite(value))
        fprintf(json->out, "%.7g", value);
    else
        fputs("null", json->out);
}

void tool_json_bool(tool_json *json, const char *name, bool value) {
    lead(json, name);
    fputs(value ? "true" : "false", json->out);
}

void tool_json_numbers(tool_json *json, const char *name, const double *values, int count) {
    tool_json_array(json, name);
    for (int i = 0; i < count; i++) tool_json_number(json, NULL, values[i]);
    tool_json_end_array(json);
}

void tool_json_member(tool_json *json, tool_member member) {
    switch (member.kind) {
    case TOOL_IS_ABSENT: break;
    case TOOL_IS_NULL: tool_json_text(json, member.name, NULL); break;
    case TOOL_IS_TEXT: tool_json_text(json, member.name, member.value.text); break;
    case TOOL_IS_INTEGER: tool_json_integer(json, member.name, member.value.integer); break;
    case TOOL_IS_NUMBER: tool_json_number(json, member.name, member.value.number); break;
    case TOOL_IS_BOOL: tool_json_bool(json, member.name, member.value.yes); break;
    }
}

void tool_json_members(tool_json *json, const tool_member *members) {
    while (members->name) tool_json_member(json, *members++);
}

void tool_json_element(tool_json *json, const tool_member *members) {
    tool_json_object(json, NULL);
    tool_json_members(json, members);
    tool_json_end_object(json);
}

tool_json tool_json_written(const char *path, int64_t rows, int64_t cols, int64_t nnz) {
    tool_json json = tool_json_open(stdout, true);
    tool_json_put(&json, tool_str("output", path), tool_int("rows", rows), tool_int("cols", cols),
                  tool_only(nnz >= 0, tool_int("nnz", nnz)));
    return json;
}

void tool_json_finish(tool_json *json) {
    while (json->depth > 0) close_scope(json);
    fputc('\n', json->out);
}

/* ------------------------------------------------------------------------------------------ lines */

static int check_written(const tool_lines *lines, bool failed) {
    if (!failed) return 0;
    return tool_failure(TOOL_FILE, "%s: cannot be written: %s", lines->path, strerror(errno));
}

int tool_lines_open(tool_lines *lines, const char *path) {
    *lines = (tool_lines){.path = path};
    if (!path || tool_rank_number() > 0) return 0;
    lines->out = strcmp(path, "-") == 0 ? stdout : fopen(path, "a");
    return check_written(lines, !lines->out);
}

tool_json *tool_lines_begin(tool_lines *lines) {
    if (!lines->out) return NULL;
    lines->json = tool_json_open(lines->out, false);
    return &lines->json;
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
