/* Allocates all memory of the library, so that a test can make the n-th allocation fail and count leaks. */
#ifndef TAMIS_BASE_MEMORY_H
#define TAMIS_BASE_MEMORY_H

#include "base/private.h"
#include "base/sizes.h"
#include <stddef.h>
#include <stdint.h>
#include <tamis/types.h>

/* Allocates count * size bytes, 64-byte aligned, not initialised. *memory is NULL for zero bytes and on failure. The
   message of TAMIS_ERROR_MEMORY names `what` and its bytes; TAMIS_ERROR_OVERFLOW: the product exceeds the address
   space. A count that is a product comes from tamis_times(), and bytes from tamis_bytes(). */
TAMIS_PRIVATE_API tamis_status tamis_allocate(int64_t count, size_t size, const char *what, void **memory);

/* Allocates zeros. Large blocks cost no time, since the system gives them as zeros. */
TAMIS_PRIVATE_API tamis_status tamis_allocate_zeroed(int64_t count, size_t size, const char *what, void **memory);

/* Grows or shrinks *memory, which holds old_count elements, and keeps its content. It stays valid on failure. */
TAMIS_PRIVATE_API tamis_status tamis_reallocate(int64_t old_count, int64_t count, size_t size, const char *what,
                                                void **memory);

/* For memory from elsewhere: refuses more bytes than there are, such as those that tamis_bytes() could not count. */
tamis_status tamis_bytes_check(size_t bytes, const char *what);

/* Asks for pages of 2 MiB for memory of 8 MiB and more that is written whole: the first touch takes a third of the time
   then, and scattered writes miss fewer translations. Not for memory that is touched little by little, or in part: it
   would take more than what is used. */
void tamis_prefer_large_pages(void *memory, size_t bytes);

/* Frees; NULL is allowed. */
TAMIS_PRIVATE_API void tamis_release(void *memory);

/* For tests: makes the n-th allocation from now on (1: the next) and all after it fail; 0 turns that off. */
void tamis_memory_fail_at(int64_t n);
/* For memory of devices: returns whether this allocation is to fail; counts blocks in and out. */
bool tamis_memory_fails_now(void);
void tamis_memory_note(int64_t change);

/* For tests: return the blocks that the process has not released yet, and all allocations since its start. */
int64_t tamis_memory_live(void);
int64_t tamis_memory_count(void);
/* The bytes of all these allocations. */
int64_t tamis_memory_bytes(void);

#endif
