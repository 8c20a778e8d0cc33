/* Reads a text file line by line: plain, or packed as .gz or .xz, by what its first bytes say. */
#ifndef TOOL_LINES_READER_H
#define TOOL_LINES_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct tool_lines_reader {
    char *text;    /* the line, zero-terminated, without its end; valid until the next call */
    size_t length; /* 0 also once there is no more */
    int line;      /* from 1 */
    bool failed;   /* reading broke off, after a message */
    const char *path;
    FILE *file;
    void *unpacker; /* of the packing's library */
    const struct tool_packing *packing;
    char *buffer;
    size_t held, begin, capacity;
    bool ended;
} tool_lines_reader;

/* "-" is standard input. Returns 0 or an exit code, after a message. */
int tool_lines_reader_open(tool_lines_reader *reader, const char *path);
bool tool_lines_reader_next(tool_lines_reader *reader);
void tool_lines_reader_close(tool_lines_reader *reader);

#endif
