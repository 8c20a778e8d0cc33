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

/* Allocates zeroed memory. Large blocks cost no time, since the system provides zeroed pages. */
TAMIS_PRIVATE_API tamis_status tamis_allocate_zeroed(int64_t count, size_t size, const char *what, void **memory);

/* Grows or shrinks *memory, which has old_count elements, and keeps its content; NULL has none. On failure *memory
   stays valid. */
TAMIS_PRIVATE_API tamis_status tamis_reallocate(int64_t old_count, int64_t count, size_t size, const char *what,
                                                void **memory);

/* For memory from elsewhere: refuses impossible sizes, such as those that tamis_bytes() saturated. */
tamis_status tamis_bytes_check(size_t bytes, const char *what);

/* Requests pages of 2 MiB for memory of at least 8 MiB that is written completely: the first touch then takes a third
   of the time, and scattered writes have fewer TLB misses. Not for memory that is touched gradually or in part, which
   would take more memory than is used. */
void tamis_prefer_large_pages(void *memory, size_t bytes);

/* Frees; NULL is allowed. */
TAMIS_PRIVATE_API void tamis_release(void *memory);

/* For tests: makes the n-th allocation from now on (1: the next) and all after it fail; 0 turns that off. */
void tamis_memory_fail_at(int64_t n);
/* For memory of devices: returns true if this allocation must fail; counts blocks in and out. */
bool tamis_memory_fails_now(void);
void tamis_memory_note(int64_t change);

/* For tests: return the number of live blocks, and of all allocations since the start of the process. */
int64_t tamis_memory_live(void);
int64_t tamis_memory_count(void);
/* Returns the bytes of all these allocations. */
int64_t tamis_memory_bytes(void);

#endif
