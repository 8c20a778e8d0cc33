/*
 * A source of memory: the caller's tamis_options.allocator. Backends allocate in many places, some deep within a
 * method. So a source is in force for a thread from enter to leave, and backends allocate from it in between. The
 * source keeps the sizes of blocks, which it passes to the caller's `release`.
 */
#ifndef TAMIS_BASE_MEMORY_SOURCE_H
#define TAMIS_BASE_MEMORY_SOURCE_H

#include <tamis/tamis.h>

typedef struct tamis_memory_source tamis_memory_source;

/* Makes a source from options.allocator, which is copied; NULL if there is none. Memory without a particular stream is
   requested in options.stream. handles: memory is identified by handles rather than addresses. */
tamis_status tamis_memory_source_create(const tamis_options *options, bool handles, tamis_memory_source **source);

/* Destroys a source, after all its memory has been released. NULL is allowed. */
void tamis_memory_source_destroy(tamis_memory_source *source);

/* Makes a source (NULL: none) current for this thread. Returns the previous one, for tamis_memory_source_leave. */
tamis_memory_source *tamis_memory_source_enter(tamis_memory_source *source);
void tamis_memory_source_leave(tamis_memory_source *before);

/* Returns the current source; NULL: backends use their own memory. */
tamis_memory_source *tamis_memory_source_now(void);

/* Allocates from the current source, in stream order; any_stream: for no particular stream. */
tamis_status tamis_memory_source_allocate(void *stream, bool any_stream, size_t bytes, const char *what, void **memory);

/* Returns memory to the current source; false if it is not from there. */
bool tamis_memory_source_release(void *stream, bool any_stream, void *memory);

#endif
