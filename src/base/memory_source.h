/*
 * Where the memory of a plan comes from where its caller has said so: tamis_options.allocator. Backends allocate in
 * many places, some of them deep within a method; so a source is in force for a thread from enter to leave, and what a
 * backend allocates in between is the source's. It knows the sizes of what it gave, which the caller's table is told.
 */
#ifndef TAMIS_BASE_MEMORY_SOURCE_H
#define TAMIS_BASE_MEMORY_SOURCE_H

#include <tamis/tamis.h>

typedef struct tamis_memory_source tamis_memory_source;

/* Of options.allocator, which is copied, NULL where there is none; options.stream stands in the place of none in
   particular. `handles`: what it gives are no addresses. */
tamis_status tamis_memory_source_create(const tamis_options *options, bool handles, tamis_memory_source **source);

/* After all that it gave has been given back; NULL is allowed. */
void tamis_memory_source_destroy(tamis_memory_source *source);

/* Puts a source (NULL: none) into force and returns the one before, for tamis_memory_source_leave. */
tamis_memory_source *tamis_memory_source_enter(tamis_memory_source *source);
void tamis_memory_source_leave(tamis_memory_source *before);

/* The source in force; NULL: backends use their own memory. */
tamis_memory_source *tamis_memory_source_now(void);

/* Memory of the source in force, in the order of the stream; `any_stream`: of none in particular. */
tamis_status tamis_memory_source_allocate(void *stream, bool any_stream, size_t bytes, const char *what, void **memory);

/* Gives memory back to the source in force; false where it is not from there. */
bool tamis_memory_source_release(void *stream, bool any_stream, void *memory);

#endif
