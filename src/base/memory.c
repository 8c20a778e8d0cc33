/*
 * Counts live blocks, and can make the n-th allocation fail. The 64 bytes before each block hold the address to free,
 * so that large zeroed blocks can come from calloc, untouched, and still be aligned.
 */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "base/status.h"

enum { ALIGNMENT = 64, LARGE_PAGE = 2 << 20, LARGE = 8 << 20 };

static atomic_llong live, count_total, bytes_total, fail_at;

bool tamis_memory_fails_now(void) {
    atomic_fetch_add(&count_total, 1);
    if (atomic_load(&fail_at) == 0) return false;
    /* counts down to 1 and stays there: then this and all later allocations fail */
    long long left = atomic_load(&fail_at);
    while (left > 1 && !atomic_compare_exchange_weak(&fail_at, &left, left - 1)) {}
    return left == 1;
}

tamis_status tamis_bytes_check(size_t bytes, const char *what) {
    if (bytes < TAMIS_TOO_MANY) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW, "the bytes of %s do not fit the address space", what);
}

static tamis_status allocate(int64_t count, size_t size, const char *what, bool zeroed, void **memory) {
    const size_t bytes = tamis_bytes(count, size), header = (size_t)2 * ALIGNMENT;
    *memory = NULL;
    if (bytes >= TAMIS_TOO_MANY) /* or the count is negative */
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%lld elements of %zu bytes for %s do not fit the address space",
                          (long long)count, size, what);
    if (bytes == 0) return TAMIS_OK;
    char *const block = tamis_memory_fails_now() ? NULL : zeroed ? calloc(1, bytes + header) : malloc(bytes + header);
    if (!block) return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for %s: %zu bytes", what, bytes);
    char *const aligned = block + ALIGNMENT + (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT;
    memcpy(aligned - sizeof block, &block, sizeof block);
    atomic_fetch_add(&live, 1);
    atomic_fetch_add(&bytes_total, (long long)bytes);
    *memory = aligned;
    return TAMIS_OK;
}

tamis_status tamis_allocate(int64_t count, size_t size, const char *what, void **memory) {
    return allocate(count, size, what, false, memory);
}

tamis_status tamis_allocate_zeroed(int64_t count, size_t size, const char *what, void **memory) {
    return allocate(count, size, what, true, memory);
}

tamis_status tamis_reallocate(int64_t old_count, int64_t count, size_t size, const char *what, void **memory) {
    void *fresh;
    TRY(allocate(count, size, what, false, &fresh));
    const int64_t kept = old_count < count ? old_count : count;
    if (kept > 0 && fresh && *memory) memcpy(fresh, *memory, (size_t)kept * size);
    tamis_release(*memory);
    *memory = fresh;
    return TAMIS_OK;
}

void tamis_prefer_large_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    const size_t before = (LARGE_PAGE - (uintptr_t)memory % LARGE_PAGE) % LARGE_PAGE;
    if (bytes >= LARGE)
        (void)madvise((char *)memory + before, (bytes - before) / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

void tamis_release(void *memory) {
    if (!memory) return;
    void *block;
    memcpy(&block, (char *)memory - sizeof block, sizeof block);
    atomic_fetch_sub(&live, 1);
    free(block);
}

void tamis_memory_fail_at(int64_t n) { atomic_store(&fail_at, n); }
void tamis_memory_note(int64_t change) { atomic_fetch_add(&live, change); }
int64_t tamis_memory_live(void) { return atomic_load(&live); }
int64_t tamis_memory_count(void) { return atomic_load(&count_total); }
int64_t tamis_memory_bytes(void) { return atomic_load(&bytes_total); }
