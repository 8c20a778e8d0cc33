/* Memory and events of the CPU backend: host memory, and a clock. */
#include "base/memory.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory_source.h"
#include "base/status.h"
#include "cpu/memory.h"
#include "cpu/parts.h"

tamis_status tamis_cpu_allocate(void *device, void *stream, size_t bytes, const char *what, void **memory) {
    (void)device;
    if (tamis_memory_source_now())
        return tamis_memory_source_allocate(stream, stream == TAMIS_ALL_STREAMS, bytes, what, memory);
    return tamis_allocate((int64_t)bytes, 1, what, memory);
}

void tamis_cpu_release_memory(void *device, void *stream, void *memory) {
    (void)device;
    if (!tamis_memory_source_release(stream, stream == TAMIS_ALL_STREAMS, memory)) tamis_release(memory);
}

void tamis_cpu_release_event(void *device, void *event) {
    (void)device;
    tamis_release(event);
}

tamis_status tamis_cpu_copy_in(void *device, void *stream, tamis_place to, const void *from, size_t bytes) {
    (void)device;
    (void)stream;
    if (bytes) memcpy(tamis_cpu_address(to), from, bytes);
    return TAMIS_OK;
}

tamis_status tamis_cpu_copy_out(void *device, void *stream, void *to, tamis_place from, size_t bytes) {
    (void)device;
    (void)stream;
    if (bytes) memcpy(to, tamis_cpu_address(from), bytes);
    return TAMIS_OK;
}

tamis_status tamis_cpu_copy_within(void *device, void *stream, tamis_place to, tamis_place from, size_t bytes) {
    (void)device;
    (void)stream;
    if (bytes) memmove(tamis_cpu_address(to), tamis_cpu_address(from), bytes);
    return TAMIS_OK;
}

tamis_status tamis_cpu_copy_from(void *device, void *stream, tamis_place to, void *from_device, tamis_place from,
                                 size_t bytes) {
    (void)from_device;
    return tamis_cpu_copy_within(device, stream, to, from, bytes);
}

tamis_status tamis_cpu_host_allocate(void *device, size_t bytes, void **memory) {
    (void)device;
    return tamis_allocate((int64_t)bytes, 1, "host memory", memory);
}

tamis_status tamis_cpu_stream_create(void *device, bool urgent, void **stream) {
    (void)device;
    (void)urgent;
    *stream = NULL;
    return TAMIS_OK;
}

tamis_status tamis_cpu_stream_wait(void *device, void *stream, void *event) {
    (void)device;
    (void)stream;
    (void)event;
    return TAMIS_OK;
}

tamis_status tamis_cpu_finish(void *device, void *stream) {
    (void)device;
    (void)stream;
    return TAMIS_OK;
}

tamis_status tamis_cpu_record(void *device, void *stream, void **event) {
    (void)device;
    (void)stream;
    if (!*event) TRY(tamis_allocate(1, sizeof(double), "a point in time", event));
    *(double *)*event = tamis_clock_seconds();
    return TAMIS_OK;
}

tamis_status tamis_cpu_elapsed(void *device, void *start, void *end, double *seconds) {
    (void)device;
    *seconds = *(const double *)end - *(const double *)start;
    return TAMIS_OK;
}
