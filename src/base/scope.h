/*
 * Scopes own what a block makes, and free it at the block's end, also when TRY leaves it. A function opens one by
 * TAMIS_SCOPE; the innermost open scope of the thread owns what tamis_scope_own and the allocations below are given. So
 * a function that makes something for its caller opens none, and needs no clean-up of its own.
 *
 * No scope owns what outlives a call: the parts of a model or a plan, and what is returned to the user.
 */
#ifndef TAMIS_BASE_SCOPE_H
#define TAMIS_BASE_SCOPE_H

#include "base/private.h"
#include <stddef.h>
#include <stdint.h>
#include <tamis/types.h>

typedef struct tamis_scope {
    int depth; /* the number of scopes that are open in the thread, with this one */
} tamis_scope;

/* Opens a scope that ends with the block. One in a line, behind the local structures whose contents it will own. */
#define TAMIS_SCOPE          TAMIS_SCOPE_IN(__LINE__)
#define TAMIS_SCOPE_IN(line) TAMIS_SCOPE_NAMED(line)
#define TAMIS_SCOPE_NAMED(line)                                                                                        \
    __attribute__((cleanup(tamis_scope_end))) const tamis_scope scope_##line = tamis_scope_begin()

TAMIS_PRIVATE_API tamis_scope tamis_scope_begin(void);
TAMIS_PRIVATE_API void tamis_scope_end(const tamis_scope *scope);

/* Give `what` to the scope, whose end calls release(what), or release(of, what), the last given first. A failure
   releases it at once. NULL needs no owner. */
typedef void tamis_scope_release(void *what);
typedef void tamis_scope_release_of(void *of, void *what);
TAMIS_PRIVATE_API tamis_status tamis_scope_own(tamis_scope_release *release, void *what);
TAMIS_PRIVATE_API tamis_status tamis_scope_own_of(tamis_scope_release_of *release, void *of, void *what);

/* Gives it memory of memory.h. */
TAMIS_PRIVATE_API tamis_status tamis_scope_own_memory(void *memory);

/* Releases now what the thread's scopes own. */
TAMIS_PRIVATE_API void tamis_scope_drop(const void *what);

/* Allocate memory (memory.h) that the scope frees. `array`: a pointer to elements, which is set. */
#define tamis_allocate_array(count, what, array) tamis_scope_allocate(count, sizeof *(array), what, (void **)&(array))
#define tamis_allocate_zeros(count, what, array)                                                                       \
    tamis_scope_allocate_zeroed(count, sizeof *(array), what, (void **)&(array))
TAMIS_PRIVATE_API tamis_status tamis_scope_allocate(int64_t count, size_t size, const char *what, void **memory);
TAMIS_PRIVATE_API tamis_status tamis_scope_allocate_zeroed(int64_t count, size_t size, const char *what, void **memory);

#endif
