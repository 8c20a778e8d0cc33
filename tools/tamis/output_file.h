/* A file that the program writes as a stream: as the library writes files, so that a failure leaves the old one. */
#ifndef TOOL_OUTPUT_FILE_H
#define TOOL_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct tool_output_file {
    FILE *out;
    struct tamis_output *output;
} tool_output_file;

/* Return 0, or an exit code after a message. Closing with keep = false drops what was written. */
int tool_output_open(const char *path, tool_output_file *file);
int tool_output_close(tool_output_file *file, bool keep);

#endif
