/* Ways in which a file may be packed: each turns an open FILE into bytes. */
#ifndef TOOL_PACKING_H
#define TOOL_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct tool_packing {
    const char *name; /* "gzip" */
    size_t marked;    /* bytes of the mark that such files begin with */
    unsigned char mark[6];
    const char *library; /* that is needed */
    /* NULL where the program was built without that library */
    void *(*open)(void);
    /* Reads up to `bytes` bytes into `to`; 0 at the end. False with a reason where the file is broken. */
    bool (*read)(void *unpacker, FILE *file, char *to, size_t bytes, size_t *got, const char **reason);
    void (*close)(void *unpacker);
} tool_packing;

/* The packing that a file with these first bytes has; NULL: none. */
const tool_packing *tool_packing_of(const unsigned char *first, size_t bytes);

#endif
