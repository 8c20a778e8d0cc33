/* The caller's allocator, with a list of what it gave. */
#include "base/source.h"

#include <pthread.h>

#include "base/memory.h"
#include "base/status.h"

enum { ALIGNMENT = 64 };

typedef struct block {
    struct block *next;
    void *memory;
    size_t bytes;
} block;

struct tamis_source {
    tamis_allocator table;
    void *stream;
    pthread_mutex_t lock; /* executions of several threads may need memory */
    block *blocks;
};

static _Thread_local tamis_source *in_force;

tamis_status tamis_source_create(const tamis_allocator *table, void *stream, tamis_source **source) {
    TRY(tamis_allocate_zeroed(1, sizeof **source, "an allocator", (void **)source));
    (*source)->table = *table;
    (*source)->stream = stream;
    pthread_mutex_init(&(*source)->lock, NULL);
    return TAMIS_OK;
}

void tamis_source_destroy(tamis_source *source) {
    if (!source) return;
    pthread_mutex_destroy(&source->lock);
    tamis_release(source);
}

tamis_source *tamis_source_enter(tamis_source *source) {
    tamis_source *const before = in_force;
    in_force = source;
    return before;
}

void tamis_source_leave(tamis_source *before) { in_force = before; }

tamis_source *tamis_source_now(void) { return in_force; }

static void keep(tamis_source *source, block *made) {
    pthread_mutex_lock(&source->lock);
    made->next = source->blocks;
    source->blocks = made;
    pthread_mutex_unlock(&source->lock);
}

static block *take(tamis_source *source, const void *memory) {
    pthread_mutex_lock(&source->lock);
    block **at = &source->blocks;
    while (*at && (*at)->memory != memory) at = &(*at)->next;
    block *const found = *at;
    if (found) *at = found->next;
    pthread_mutex_unlock(&source->lock);
    return found;
}

tamis_status tamis_source_allocate(void *stream, bool any_stream, size_t bytes, const char *what, void **memory) {
    tamis_source *const source = in_force;
    const tamis_allocator *const table = &source->table;
    void *const queue = any_stream ? source->stream : stream;
    block *made = NULL;
    *memory = NULL;
    if (bytes == 0) return TAMIS_OK;
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a note of memory", (void **)&made));
    made->memory = table->allocate(table->context, bytes, queue);
    made->bytes = bytes;
    if (made->memory && (uintptr_t)made->memory % ALIGNMENT == 0) {
        *memory = made->memory;
        keep(source, made);
        return TAMIS_OK;
    }
    void *const wrong = made->memory;
    tamis_release(made);
    if (!wrong) return tamis_fail(TAMIS_ERROR_MEMORY, "options.allocator has no memory for %s: %zu bytes", what, bytes);
    table->release(table->context, wrong, bytes, queue);
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.allocator gave %p for %s, which is not aligned to %d bytes", wrong,
                      what, ALIGNMENT);
}

bool tamis_source_release(void *stream, bool any_stream, void *memory) {
    tamis_source *const source = in_force;
    block *const found = source ? take(source, memory) : NULL;
    if (!found) return false;
    source->table.release(source->table.context, memory, found->bytes, any_stream ? source->stream : stream);
    tamis_release(found);
    return true;
}
