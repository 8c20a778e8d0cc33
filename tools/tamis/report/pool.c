/* Interned strings. */
#include "pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"

static uint64_t hash(const char *text) {
    uint64_t value = 14695981039346656037u; /* FNV-1a */
    for (; *text; text++) value = (value ^ (unsigned char)*text) * 1099511628211u;
    return value;
}

static char **slot_of(char **slots, size_t capacity, const char *text) {
    size_t at = (size_t)hash(text) & (capacity - 1);
    while (slots[at] && strcmp(slots[at], text) != 0) at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static void enlarge(tool_pool *pool) {
    const size_t capacity = pool->capacity ? pool->capacity * 2 : 256;
    char **slots = tool_allocate(capacity, sizeof *slots);
    for (size_t i = 0; i < pool->capacity; i++) {
        if (pool->slots[i]) *slot_of(slots, capacity, pool->slots[i]) = pool->slots[i];
    }
    free((void *)pool->slots);
    pool->slots = slots;
    pool->capacity = capacity;
}

const char *tool_pool_keep(tool_pool *pool, const char *text) {
    if (!text) return NULL;
    if (2 * (pool->count + 1) > pool->capacity) enlarge(pool);
    char **slot = slot_of(pool->slots, pool->capacity, text);
    if (!*slot) {
        const size_t bytes = strlen(text) + 1;
        *slot = memcpy(tool_allocate(bytes, 1), text, bytes);
        pool->count++;
    }
    return *slot;
}

void tool_pool_free(tool_pool *pool) {
    for (size_t i = 0; i < pool->capacity; i++) free(pool->slots[i]);
    free((void *)pool->slots);
    *pool = (tool_pool){0};
}
