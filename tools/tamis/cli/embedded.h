/* Text files that cmake/embed.cmake writes into the program. */
#ifndef TOOL_EMBEDDED_H
#define TOOL_EMBEDDED_H

#include <stddef.h>

typedef struct tool_embedded {
    const char *name;          /* name of the file; for a suite without its ending */
    const unsigned char *text; /* ends with a zero */
    size_t bytes;              /* before it */
} tool_embedded;

extern const tool_embedded tool_suite_texts[];  /* lab/bench/suites */
extern const tool_embedded tool_driver_texts[]; /* lab/bench/peers/driver.py */
extern const tool_embedded tool_shell_texts[];  /* texts: of commands, and the completions */
extern const int tool_suite_text_count, tool_driver_text_count, tool_shell_text_count;

#endif
