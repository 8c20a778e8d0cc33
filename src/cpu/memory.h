/* The functions for memory and events that src/backend/backend.h requires. */
#ifndef TAMIS_CPU_MEMORY_H
#define TAMIS_CPU_MEMORY_H

#include "backend/backend.h"

tamis_status tamis_cpu_allocate(void *device, void *stream, size_t bytes, const char *what, void **memory);
void tamis_cpu_release_memory(void *device, void *stream, void *memory);
tamis_status tamis_cpu_copy_in(void *device, void *stream, tamis_place to, const void *from, size_t bytes);
tamis_status tamis_cpu_copy_out(void *device, void *stream, void *to, tamis_place from, size_t bytes);
tamis_status tamis_cpu_copy_within(void *device, void *stream, tamis_place to, tamis_place from, size_t bytes);
tamis_status tamis_cpu_copy_from(void *device, void *stream, tamis_place to, void *from_device, tamis_place from,
                                 size_t bytes);
tamis_status tamis_cpu_host_allocate(void *device, size_t bytes, void **memory);
tamis_status tamis_cpu_stream_create(void *device, bool urgent, void **stream);
tamis_status tamis_cpu_stream_wait(void *device, void *stream, void *event);
tamis_status tamis_cpu_finish(void *device, void *stream);
tamis_status tamis_cpu_record(void *device, void *stream, void **event);
tamis_status tamis_cpu_elapsed(void *device, void *start, void *end, double *seconds);
void tamis_cpu_release_event(void *device, void *event);

#endif
