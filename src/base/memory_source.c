/* Keeps a list of the blocks from the caller's allocator. */
#include "base/memory_source.h"

#include <pthread.h>

#include "base/fork_lock.h"
#include "base/memory.h"
#include "base/status.h"

enum { ALIGNMENT = 64 };

typedef struct block {
    struct block *next;
    void *memory;
    size_t bytes;
} block;

struct tamis_memory_source {
    tamis_allocator table;
    void *stream;
    bool handles;
    block *blocks;
};

/* Executions in several threads may allocate. One lock for all sources, which is open in a child of fork(). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
TAMIS_FORK_LOCK(lock)

static _Thread_local tamis_memory_source *in_force;

tamis_status tamis_memory_source_create(const tamis_options *options, bool handles, tamis_memory_source **source) {
    const tamis_allocator *const table = options ? options->allocator : NULL;
    *source = NULL;
    if (!table || !table->allocate || !table->release)
        return TAMIS_OK; /* incomplete tables are refused with the options */
    TRY(tamis_allocate_zeroed(1, sizeof **source, "an allocator", (void **)source));
    (*source)->table = *table;
    (*source)->stream = options->stream;
    (*source)->handles = handles;
    return TAMIS_OK;
}

void tamis_memory_source_destroy(tamis_memory_source *source) { tamis_release(source); }

tamis_memory_source *tamis_memory_source_enter(tamis_memory_source *source) {
    tamis_memory_source *const before = in_force;
    in_force = source;
    return before;
}

void tamis_memory_source_leave(tamis_memory_source *before) { in_force = before; }

tamis_memory_source *tamis_memory_source_now(void) { return in_force; }

static void keep(tamis_memory_source *source, block *made) {
    pthread_mutex_lock(&lock);
    made->next = source->blocks;
    source->blocks = made;
    pthread_mutex_unlock(&lock);
}

static block *take(tamis_memory_source *source, const void *memory) {
    pthread_mutex_lock(&lock);
    block **at = &source->blocks;
    while (*at && (*at)->memory != memory) at = &(*at)->next;
    block *const found = *at;
    if (found) *at = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

/* State during calls of the caller's functions, which may call Tamis themselves: no source is in force, and the message
   is kept. */
typedef struct outside {
    tamis_memory_source *before;
    tamis_message message;
} outside;

static void go_out(outside *o) {
    o->before = tamis_memory_source_enter(NULL);
    tamis_message_keep(&o->message);
}

static void come_back(const outside *o) {
    tamis_memory_source_leave(o->before);
    tamis_message_restore(&o->message);
}

static void *ask(tamis_memory_source *source, size_t bytes, void *stream) {
    outside o;
    go_out(&o);
    void *const memory = source->table.allocate(source->table.context, bytes, stream);
    come_back(&o);
    return memory;
}

static void give_back(tamis_memory_source *source, void *memory, size_t bytes, void *stream) {
    outside o;
    go_out(&o);
    source->table.release(source->table.context, memory, bytes, stream);
    come_back(&o);
}

tamis_status tamis_memory_source_allocate(void *stream, bool any_stream, size_t bytes, const char *what,
                                          void **memory) {
    tamis_memory_source *const source = in_force;
    void *const queue = any_stream ? source->stream : stream;
    block *made = NULL;
    *memory = NULL;
    if (bytes == 0) return TAMIS_OK;
    TRY(tamis_bytes_check(bytes, what));
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a note of memory", (void **)&made));
    made->memory = ask(source, bytes, queue);
    made->bytes = bytes;
    if (made->memory && (source->handles || (uintptr_t)made->memory % ALIGNMENT == 0)) {
        *memory = made->memory;
        keep(source, made);
        return TAMIS_OK;
    }
    void *const wrong = made->memory;
    tamis_release(made);
    if (!wrong) return tamis_fail(TAMIS_ERROR_MEMORY, "options.allocator returned NULL for %s: %zu bytes", what, bytes);
    give_back(source, wrong, bytes, queue);
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.allocator returned %p for %s, which is not aligned to %d bytes",
                      wrong, what, ALIGNMENT);
}

bool tamis_memory_source_release(void *stream, bool any_stream, void *memory) {
    tamis_memory_source *const source = in_force;
    block *const found = source ? take(source, memory) : NULL;
    if (!found) return false;
    give_back(source, memory, found->bytes, any_stream ? source->stream : stream);
    tamis_release(found);
    return true;
}
