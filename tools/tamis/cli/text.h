/* Text: growing strings, human-readable numbers, wrapped paragraphs, nearest names. */
#ifndef TOOL_TEXT_H
#define TOOL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tool_text {
    char *data; /* zero-terminated once anything was added; NULL before */
    size_t length, capacity;
} tool_text;

void tool_text_add(tool_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *tool_text_get(const tool_text *text); /* returns "" if it is empty */
void tool_text_free(tool_text *text);

typedef struct tool_word {
    char text[40];
} tool_word;
tool_word tool_word_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return short forms of numbers. */
tool_word tool_word_count(int64_t count);    /* 1234567 -> "1,234,567" */
tool_word tool_word_short(double value);     /* 2602000 -> "2.60 M" */
tool_word tool_word_bytes(int64_t bytes);    /* 35651584 -> "34.0 MiB" */
tool_word tool_word_seconds(double seconds); /* 0.00123 -> "1.23 ms" */
tool_word tool_word_number(double value);    /* three significant digits */

/* Parses an integer such as 1000, 1_000, 1e6, 64k, 2M, 1G (powers of 1000). Returns false if it is invalid or too
   large. */
bool tool_parse_integer(const char *text, size_t length, int64_t *value);

/* Returns the name nearest to `wanted` if it is near enough to be intended, else NULL. names: terminated by NULL. */
const char *tool_nearest(const char *wanted, const char *const *names);

/* Returns the end of a message about an unknown name: " (did you mean --NAME?)", or "" if no name is near. dashes:
   printed before the name. */
typedef struct tool_hint {
    char text[128];
} tool_hint;
tool_hint tool_did_you_mean(const char *dashes, const char *wanted, const char *const *names);

/* Prints a paragraph wrapped to `width` columns; the first line starts at column `column`, later ones at `indent`. */
void tool_wrap(FILE *out, const char *paragraph, int column, int indent, int width);

/* Returns the columns of the terminal behind standard output, 60 to 120; 80 if there is none. */
int tool_terminal_width(void);

/* Returns a path without folders and without the endings of matrix files: "a/ct20stif.mtx.gz" -> ct20stif. */
void tool_matrix_name(const char *path, char *name, size_t bytes);

#endif
