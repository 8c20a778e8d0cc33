/* Strings kept once each, so that equal ones have equal addresses. */
#ifndef TOOL_POOL_H
#define TOOL_POOL_H

#include <stddef.h>

typedef struct tool_pool {
    char **slots; /* a hash table with open addressing */
    size_t count, capacity;
} tool_pool;

/* The pool's own copy of the text; NULL stays NULL. */
const char *tool_pool_keep(tool_pool *pool, const char *text);
void tool_pool_free(tool_pool *pool);

#endif
