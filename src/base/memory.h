/* All memory of the library passes through here, so that a test can fail the n-th allocation and count leaks. */
#ifndef TAMIS_BASE_MEMORY_H
#define TAMIS_BASE_MEMORY_H

#include "base/private.h"
#include <stddef.h>
#include <stdint.h>
#include <tamis/types.h>

/* count * size bytes, 64-byte aligned, not initialised; *memory is NULL for zero bytes and on failure.
   TAMIS_ERROR_MEMORY says what `what` would have needed; TAMIS_ERROR_OVERFLOW when the product has no size_t. */
TAMIS_PRIVATE_API tamis_status tamis_allocate(int64_t count, size_t size, const char *what, void **memory);

/* The same, zeroed (large blocks cost no time: they come from the system as zeros). */
TAMIS_PRIVATE_API tamis_status tamis_allocate_zeroed(int64_t count, size_t size, const char *what, void **memory);

/* Grows or shrinks, keeping the content; *memory stays valid on failure. `old_count` is what *memory holds now. */
TAMIS_PRIVATE_API tamis_status tamis_reallocate(int64_t old_count, int64_t count, size_t size, const char *what,
                                                void **memory);

/* Frees; NULL is allowed. */
TAMIS_PRIVATE_API void tamis_release(void *memory);

/* For tests: the n-th allocation from now on (1 = the next), and all after it, fails; 0 turns that off. */
void tamis_memory_fail_at(int64_t n);
/* For memory that does not come from here (a device's): whether this allocation is to fail, and what lives. */
bool tamis_memory_fails_now(void);
void tamis_memory_note(int64_t change);

/* For tests: blocks allocated and not yet released by the whole process; allocations since start. */
int64_t tamis_memory_live(void);
int64_t tamis_memory_count(void);

#endif
