/* The text of peers/driver.py, which cmake/embed.cmake writes into the program. */
#ifndef TOOL_DRIVER_TEXT_H
#define TOOL_DRIVER_TEXT_H

#include <stddef.h>

typedef struct tool_driver_text {
    const char *name;
    const unsigned char *text; /* ends with a zero */
    size_t bytes;              /* before it */
} tool_driver_text;

extern const tool_driver_text tool_driver_texts[];
extern const int tool_driver_text_count;

#endif
