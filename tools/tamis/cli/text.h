/* Text: growing strings, numbers as people read them, wrapped paragraphs, the nearest of some names. */
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
const char *tool_text_get(const tool_text *text); /* "" when empty */
void tool_text_free(tool_text *text);

/* Short forms in the caller's buffer, which they return. */
typedef struct tool_word {
    char text[40];
} tool_word;
tool_word tool_word_count(int64_t count);    /* 1234567 -> "1,234,567" */
tool_word tool_word_short(double value);     /* 2602000 -> "2.60 M" */
tool_word tool_word_bytes(int64_t bytes);    /* 35651584 -> "34.0 MiB" */
tool_word tool_word_seconds(double seconds); /* 0.00123 -> "1.23 ms" */
tool_word tool_word_number(double value);    /* three significant digits */

/* Whole numbers as people type them: 1000, 1_000, 1e6, 64k, 2M, 1G (thousands). False when it is none or too large. */
bool tool_parse_integer(const char *text, size_t length, int64_t *value);

/* The name nearest to `wanted` when it is near enough to be meant, else NULL. names ends with NULL. */
const char *tool_nearest(const char *wanted, const char *const *names);

/* The end of a message about a name that is not known: " (did you mean --NAME?)", "" where no name is near. `dashes`
   are what stands before the name. */
typedef struct tool_hint {
    char text[128];
} tool_hint;
tool_hint tool_did_you_mean(const char *dashes, const char *wanted, const char *const *names);

/* Prints a paragraph wrapped to `width` columns; the first line starts at column `column`, later ones at `indent`. */
void tool_wrap(FILE *out, const char *paragraph, int column, int indent, int width);

/* Columns of the terminal behind standard output, 80 where there is none (at least 60, at most 120). */
int tool_terminal_width(void);

/* The last part of a path without folders and without the endings of matrix files: "a/ct20stif.mtx.gz" -> ct20stif. */
void tool_matrix_name(const char *path, char *name, size_t bytes);

#endif
