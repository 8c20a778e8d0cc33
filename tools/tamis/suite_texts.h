/* The texts of bench/suites, which cmake/embed.cmake writes into the program. */
#ifndef TOOL_SUITE_TEXTS_H
#define TOOL_SUITE_TEXTS_H

#include <stddef.h>

typedef struct tool_suite_text {
    const char *name;          /* "preds" */
    const unsigned char *text; /* ends with a zero */
    size_t bytes;              /* before it */
} tool_suite_text;

extern const tool_suite_text tool_suite_texts[];
extern const int tool_suite_text_count;

#endif
