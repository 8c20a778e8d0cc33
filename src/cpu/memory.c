/* The CPU's side of what every backend does with memory: the host's own, and a clock for points in time. */
#include "base/memory.h"

#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "cpu/memory.h"

tamis_status tamis_cpu_allocate(void *device, size_t bytes, const char *what, void **memory) {
    (void)device;
    return tamis_allocate((int64_t)bytes, 1, what, memory);
}

void tamis_cpu_release_memory(void *device, void *memory) {
    (void)device;
    tamis_release(memory);
}

tamis_status tamis_cpu_copy_in(void *device, void *stream, tamis_place to, const void *from, size_t bytes) {
    (void)device;
    (void)stream;
    if (bytes) memcpy((char *)to.base + to.bytes, from, bytes);
    return TAMIS_OK;
}

tamis_status tamis_cpu_copy_out(void *device, void *stream, void *to, tamis_place from, size_t bytes) {
    (void)device;
    (void)stream;
    if (bytes) memcpy(to, (const char *)from.base + from.bytes, bytes);
    return TAMIS_OK;
}

tamis_status tamis_cpu_copy_within(void *device, void *stream, tamis_place to, tamis_place from, size_t bytes) {
    (void)device;
    (void)stream;
    if (bytes) memmove((char *)to.base + to.bytes, (const char *)from.base + from.bytes, bytes);
    return TAMIS_OK;
}

tamis_status tamis_cpu_finish(void *device, void *stream) {
    (void)device;
    (void)stream;
    return TAMIS_OK;
}

tamis_status tamis_cpu_mark(void *device, void *stream, void **mark) {
    (void)device;
    (void)stream;
    if (!*mark) TRY(tamis_allocate(1, sizeof(double), "a point in time", mark));
    *(double *)*mark = tamis_clock_seconds();
    return TAMIS_OK;
}

tamis_status tamis_cpu_between(void *device, void *start, void *end, double *seconds) {
    (void)device;
    *seconds = *(const double *)end - *(const double *)start;
    return TAMIS_OK;
}
