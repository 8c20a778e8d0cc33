/* Routes zlib's allocations through the library's allocator. Include only if TAMIS_HAVE_ZLIB. */
#ifndef TAMIS_IO_ZLIB_MEMORY_H
#define TAMIS_IO_ZLIB_MEMORY_H

#include <zlib.h>

#include "base/memory.h"

static inline voidpf tamis_zlib_allocate(voidpf context, uInt items, uInt size) {
    (void)context;
    void *memory = NULL;
    return tamis_allocate((int64_t)items, size, "zlib", &memory) == TAMIS_OK ? memory : NULL;
}

static inline void tamis_zlib_free(voidpf context, voidpf memory) {
    (void)context;
    tamis_release(memory);
}

#endif
