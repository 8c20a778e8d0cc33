/* See scope.h: a list of what the thread's scopes own, the newest first. */
#include "base/scope.h"

#include "base/memory.h"
#include "base/status.h"

typedef struct owned {
    struct owned *before;
    tamis_scope_release *release;
    void *context, *what;
} owned;

static _Thread_local owned *newest;
static _Thread_local int depth; /* of open scopes */

tamis_scope tamis_scope_begin(void) {
    depth++;
    return (tamis_scope){newest};
}

void tamis_scope_end(const tamis_scope *scope) {
    while (newest != scope->outside) {
        owned *const last = newest;
        newest = last->before;
        last->release(last->context, last->what);
        tamis_release(last);
    }
    depth--;
}

tamis_status tamis_scope_own(tamis_scope_release *release, void *context, void *what) {
    if (!what) return TAMIS_OK;
    owned *made = NULL;
    const tamis_status status = depth > 0 ? tamis_allocate(1, sizeof *made, "an owner", (void **)&made)
                                          : tamis_fail(TAMIS_ERROR_INTERNAL, "there is no scope to own memory");
    if (status != TAMIS_OK) {
        release(context, what);
        return status;
    }
    *made = (owned){newest, release, context, what};
    newest = made;
    return TAMIS_OK;
}

void tamis_scope_drop(const void *what) {
    for (owned **at = &newest; *at; at = &(*at)->before) {
        owned *const found = *at;
        if (found->what != what) continue;
        *at = found->before;
        found->release(found->context, found->what);
        tamis_release(found);
        return;
    }
}

static void release_memory(void *context, void *what) {
    (void)context;
    tamis_release(what);
}

tamis_status tamis_scope_own_memory(void *memory) { return tamis_scope_own(release_memory, NULL, memory); }

/* After a failure *memory is NULL. */
static tamis_status keep(tamis_status allocated, void **memory) {
    if (allocated == TAMIS_OK) allocated = tamis_scope_own_memory(*memory);
    if (allocated != TAMIS_OK) *memory = NULL;
    return allocated;
}

tamis_status tamis_scope_allocate(int64_t count, size_t size, const char *what, void **memory) {
    return keep(tamis_allocate(count, size, what, memory), memory);
}

tamis_status tamis_scope_allocate_zeroed(int64_t count, size_t size, const char *what, void **memory) {
    return keep(tamis_allocate_zeroed(count, size, what, memory), memory);
}
