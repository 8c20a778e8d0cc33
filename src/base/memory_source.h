/*
 * A source of memory: the allocator that the caller gave in tamis_options.allocator. Backends allocate in many places,
 * some of them deep within a method. So a source is in force for a thread from enter to leave, and what a backend
 * allocates in between comes from it. The source keeps the sizes, since the caller's `release` is told them.
 */
#ifndef TAMIS_BASE_MEMORY_SOURCE_H
#define TAMIS_BASE_MEMORY_SOURCE_H

#include <tamis/tamis.h>

typedef struct tamis_memory_source tamis_memory_source;

/* Makes a source of options.allocator, which is copied; NULL if there is none. Memory that is for no stream in
   particular is asked for in options.stream. `handles`: the memory is known by handles, which are no addresses. */
tamis_status tamis_memory_source_create(const tamis_options *options, bool handles, tamis_memory_source **source);

/* Is called after all its memory has been given back. NULL is allowed. */
void tamis_memory_source_destroy(tamis_memory_source *source);

/* Puts a source, or none (NULL), into force. Returns the one before, for tamis_memory_source_leave. */
tamis_memory_source *tamis_memory_source_enter(tamis_memory_source *source);
void tamis_memory_source_leave(tamis_memory_source *before);

/* Returns the source in force; NULL: backends use their own memory. */
tamis_memory_source *tamis_memory_source_now(void);

/* Allocates from the source in force, in the order of the stream; `any_stream`: for no stream in particular. */
tamis_status tamis_memory_source_allocate(void *stream, bool any_stream, size_t bytes, const char *what, void **memory);

/* Gives memory back to the source in force. Returns false if it is not from there. */
bool tamis_memory_source_release(void *stream, bool any_stream, void *memory);

#endif
