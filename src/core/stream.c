/* Public API of streams, events and stream-ordered memory. */
#include <tamis/stream.h>

#include "base/status.h"
#include "core/device.h"

/* ------------------------------------------------------------------------------------------ streams */

tamis_status tamis_stream_create(tamis_device *device, void **stream) {
    tamis_clear_error();
    TRY(tamis_device_check(device));
    if (!stream) return tamis_fail(TAMIS_ERROR_ARGUMENT, "stream = NULL: expected an address for the result");
    *stream = NULL;
    return device->backend->stream_create(device->handle, false, stream);
}

void tamis_stream_destroy(tamis_device *device, void *stream) {
    if (device && stream) device->backend->stream_destroy(device->handle, stream);
}

tamis_status tamis_stream_synchronize(tamis_device *device, void *stream) {
    tamis_clear_error();
    TRY(tamis_device_check_stream(device, stream));
    return device->backend->finish(device->handle, stream);
}

/* ------------------------------------------------------------------------------------------ events */

tamis_status tamis_event_record(tamis_device *device, void *stream, void **event) {
    tamis_clear_error();
    TRY(tamis_device_check_stream(device, stream));
    if (!event) return tamis_fail(TAMIS_ERROR_ARGUMENT, "event = NULL: expected an address for the result");
    return device->backend->record(device->handle, stream, event);
}

static tamis_status need_event(const void *event, const char *name) {
    if (event) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected an event of tamis_event_record", name);
}

tamis_status tamis_stream_wait(tamis_device *device, void *stream, void *event) {
    tamis_clear_error();
    TRY(tamis_device_check_stream(device, stream));
    TRY(need_event(event, "event"));
    return device->backend->stream_wait(device->handle, stream, event);
}

tamis_status tamis_event_elapsed(tamis_device *device, void *start, void *end, double *seconds) {
    tamis_clear_error();
    TRY(tamis_device_check(device));
    TRY(need_event(start, "start"));
    TRY(need_event(end, "end"));
    if (!seconds) return tamis_fail(TAMIS_ERROR_ARGUMENT, "seconds = NULL: expected an address for the result");
    return device->backend->elapsed(device->handle, start, end, seconds);
}

void tamis_event_destroy(tamis_device *device, void *event) {
    if (device && event) device->backend->release_event(device->handle, event);
}

/* ------------------------------------------------------------------------------------------ memory */

tamis_status tamis_device_allocate_async(tamis_device *device, void *stream, size_t bytes, void **memory) {
    tamis_clear_error();
    TRY(tamis_device_check_stream(device, stream));
    if (!memory) return tamis_fail(TAMIS_ERROR_ARGUMENT, "memory = NULL: expected an address for the result");
    *memory = NULL;
    return device->backend->allocate(device->handle, stream, bytes, "the caller", memory);
}

void tamis_device_free_async(tamis_device *device, void *stream, void *memory) {
    if (device && memory) device->backend->release_memory(device->handle, stream, memory);
}

tamis_status tamis_device_upload_async(tamis_device *device, void *stream, void *to, size_t offset, const void *from,
                                       size_t bytes) {
    tamis_clear_error();
    TRY(tamis_device_check_copy(device, stream, to, from, bytes));
    return device->backend->copy_in_async(device->handle, stream, (tamis_place){to, (int64_t)offset}, from, bytes);
}

tamis_status tamis_device_download_async(tamis_device *device, void *stream, void *to, const void *from, size_t offset,
                                         size_t bytes) {
    tamis_clear_error();
    TRY(tamis_device_check_copy(device, stream, to, from, bytes));
    return device->backend->copy_out_async(device->handle, stream, to, tamis_place_at(from, offset), bytes);
}

tamis_status tamis_device_copy(tamis_device *device, void *stream, void *to, size_t to_offset, const void *from,
                               size_t from_offset, size_t bytes) {
    tamis_clear_error();
    TRY(tamis_device_check_copy(device, stream, to, from, bytes));
    const size_t apart = to_offset > from_offset ? to_offset - from_offset : from_offset - to_offset;
    if (to == from && apart < bytes)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "to_offset = %zu, from_offset = %zu: ranges of %zu bytes overlap, since to = from", to_offset,
                          from_offset, bytes);
    return device->backend->copy_within(device->handle, stream, (tamis_place){to, (int64_t)to_offset},
                                        tamis_place_at(from, from_offset), bytes);
}

tamis_status tamis_device_copy_from(tamis_device *device, void *stream, void *to, size_t to_offset,
                                    const tamis_device *from_device, const void *from, size_t from_offset,
                                    size_t bytes) {
    tamis_clear_error();
    TRY(tamis_device_check_copy(device, stream, to, from, bytes));
    if (!from_device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "from_device = NULL: open one with tamis_device_open");
    if (from_device->backend != device->backend)
        return tamis_fail(
            TAMIS_ERROR_UNSUPPORTED,
            "from_device = %s: %s can copy only from devices of the same kind; copy through host memory instead",
            from_device->description.name, device->description.name);
    return device->backend->copy_from(device->handle, stream, (tamis_place){to, (int64_t)to_offset},
                                      from_device->handle, tamis_place_at(from, from_offset), bytes);
}

tamis_status tamis_host_allocate(tamis_device *device, size_t bytes, void **memory) {
    tamis_clear_error();
    TRY(tamis_device_check(device));
    if (!memory) return tamis_fail(TAMIS_ERROR_ARGUMENT, "memory = NULL: expected an address for the result");
    *memory = NULL;
    return device->backend->host_allocate(device->handle, bytes, memory);
}

void tamis_host_free(tamis_device *device, void *memory) {
    if (device && memory) device->backend->host_release(device->handle, memory);
}
