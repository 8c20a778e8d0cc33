/*
 * Streams, events and stream-ordered memory, for programs that use several streams or devices at the same time.
 * On the CPU a stream is NULL, and all work is complete when a call returns.
 */
#ifndef TAMIS_STREAM_H
#define TAMIS_STREAM_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- streams */

/* Makes a stream that runs concurrently with the default one, for programs that do not use CUDA or OpenCL themselves.
   NULL on the CPU. The caller must destroy *stream with tamis_stream_destroy, which waits for it. */
TAMIS_API tamis_status tamis_stream_create(tamis_device *device, void **stream);
TAMIS_API void tamis_stream_destroy(tamis_device *device, void *stream);

/* Waits until all work in the stream is complete. */
TAMIS_API tamis_status tamis_stream_synchronize(tamis_device *device, void *stream);

/* ---------------------------------------------------------------------------------------------- events */

/*
 * An event is a point in a stream's work, timed by the device's clock. tamis_event_record sets it to the current end of
 * the stream; it makes a new event if *event is NULL.
 * tamis_stream_wait makes later work of a stream wait for the event, without blocking the host. The stream may differ
 * from the one in which the event was recorded. It may also belong to another device; `device` is that of the waiting
 * stream (on OpenCL the host then waits).
 * tamis_event_elapsed waits for `end` and returns the seconds from `start` to `end`.
 */
TAMIS_API tamis_status tamis_event_record(tamis_device *device, void *stream, void **event);
TAMIS_API tamis_status tamis_stream_wait(tamis_device *device, void *stream, void *event);
TAMIS_API tamis_status tamis_event_elapsed(tamis_device *device, void *start, void *end, double *seconds);
TAMIS_API void tamis_event_destroy(tamis_device *device, void *event); /* NULL is allowed */

/* ---------------------------------------------------------------------------------------------- memory */

/* tamis_device_allocate and tamis_device_free in stream order: later work in the stream may use the memory, and the
   memory is freed once earlier work is complete. They do not wait. */
TAMIS_API tamis_status tamis_device_allocate_async(tamis_device *device, void *stream, size_t bytes, void **memory);
TAMIS_API void tamis_device_free_async(tamis_device *device, void *stream, void *memory);

/*
 * Asynchronous tamis_device_upload and tamis_device_download. The host memory must not change until the stream has
 * completed the copy. A copy overlaps with other work only if the host memory is pinned: see tamis_host_allocate.
 */
TAMIS_API tamis_status tamis_device_upload_async(tamis_device *device, void *stream, void *to, size_t offset,
                                                 const void *from, size_t bytes);
TAMIS_API tamis_status tamis_device_download_async(tamis_device *device, void *stream, void *to, const void *from,
                                                   size_t offset, size_t bytes);

/* Copies within the device's memory; does not wait. Source and destination must not overlap. */
TAMIS_API tamis_status tamis_device_copy(tamis_device *device, void *stream, void *to, size_t to_offset,
                                         const void *from, size_t from_offset, size_t bytes);

/*
 * Copies between two devices of one kind, in a stream of the first; does not wait. GPUs use their link if they have
 * one. On OpenCL the copy passes through the host, which waits. The other device's stream must have written `from`
 * before: see tamis_stream_wait.
 */
TAMIS_API tamis_status tamis_device_copy_from(tamis_device *device, void *stream, void *to, size_t to_offset,
                                              const tamis_device *from_device, const void *from, size_t from_offset,
                                              size_t bytes);

/* Pinned host memory, which the device can copy at full speed by itself. Plain memory on the CPU and on OpenCL. */
TAMIS_API tamis_status tamis_host_allocate(tamis_device *device, size_t bytes, void **memory);
TAMIS_API void tamis_host_free(tamis_device *device, void *memory); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
