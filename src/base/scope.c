/* See scope.h: a list of what the thread's scopes own, the newest first. */
#include "base/scope.h"

#include "base/memory.h"
#include "base/status.h"

typedef struct owned {
    struct owned *before;
    tamis_scope_release *release; /* NULL: release_of */
    tamis_scope_release_of *release_of;
    void *of, *what;
    int depth; /* of its scope */
} owned;

static _Thread_local owned *newest;
static _Thread_local int depth; /* of open scopes */

static void release(const owned *o) {
    if (o->release)
        o->release(o->what);
    else
        o->release_of(o->of, o->what);
}

tamis_scope tamis_scope_begin(void) { return (tamis_scope){++depth}; }

void tamis_scope_end(const tamis_scope *scope) {
    while (newest && newest->depth >= scope->depth) {
        owned *const last = newest;
        newest = last->before;
        release(last);
        tamis_release(last);
    }
    depth = scope->depth - 1;
}

static tamis_status own(const owned *given) {
    if (!given->what) return TAMIS_OK;
    owned *made = NULL;
    const tamis_status status = depth > 0 ? tamis_allocate(1, sizeof *made, "an owner", (void **)&made)
                                          : tamis_fail(TAMIS_ERROR_INTERNAL, "there is no scope to own memory");
    if (status != TAMIS_OK) {
        release(given);
        return status;
    }
    *made = *given;
    made->before = newest;
    made->depth = depth;
    newest = made;
    return TAMIS_OK;
}

tamis_status tamis_scope_own(tamis_scope_release *how, void *what) {
    return own(&(owned){.release = how, .what = what});
}

tamis_status tamis_scope_own_of(tamis_scope_release_of *how, void *of, void *what) {
    return own(&(owned){.release_of = how, .of = of, .what = what});
}

void tamis_scope_drop(const void *what) {
    for (owned **at = &newest; *at; at = &(*at)->before) {
        owned *const found = *at;
        if (found->what != what) continue;
        *at = found->before;
        release(found);
        tamis_release(found);
        return;
    }
}

tamis_status tamis_scope_own_memory(void *memory) { return tamis_scope_own(tamis_release, memory); }

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
