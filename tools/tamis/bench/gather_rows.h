/* The loop of the gather, compiled once for each instruction set under its own name (TOOL_GATHER_NAME). */
#ifndef TOOL_GATHER_ROWS_H
#define TOOL_GATHER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tool_gather_work {
    const void *columns;
    bool wide;                  /* 64-bit columns */
    int64_t begin, end;         /* nonzeros to walk */
    const char *rows[2];        /* B and D; the second may be NULL */
    size_t stride[2], bytes[2]; /* of a row */
    bool prefetch;              /* prefetch rows some nonzeros ahead: this pays if they do not fit the L2 cache */
} tool_gather_work;

/* Returns a checksum of the reads, so that compilers cannot eliminate them. */
typedef uint64_t tool_gather_function(const tool_gather_work *work);
tool_gather_function tool_gather_rows_base, tool_gather_rows_v3, tool_gather_rows_v4;

#endif
