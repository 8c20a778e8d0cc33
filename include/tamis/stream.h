/*
 * Streams, events, and memory in the order of a stream: what programs need that keep several streams or devices busy.
 * On the CPU a stream is NULL, and everything is done when a call returns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_STREAM_H
#define TAMIS_STREAM_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- streams */

/* A stream of the device that runs beside the default one, for programs that have no CUDA or OpenCL of their own; the
   CPU gives NULL. *stream is the caller's, for tamis_stream_destroy, which waits for it. */
TAMIS_API tamis_status tamis_stream_create(tamis_device *device, void **stream);
TAMIS_API void tamis_stream_destroy(tamis_device *device, void *stream);

/* Waits until all work of the stream is done. */
TAMIS_API tamis_status tamis_stream_synchronize(tamis_device *device, void *stream);

/* ---------------------------------------------------------------------------------------------- events */

/*
 * A point in a stream's work, by the device's own clock. *event = NULL makes one, else it is moved to the present end
 * of the stream. tamis_stream_wait has later work of a stream wait for the event, without the host; the stream may be
 * another one than the event was recorded in, and one of another device, `device` being the waiting stream's (on OpenCL
 * the host then waits).
 * tamis_event_elapsed waits for `end` and gives the seconds from `start` to it.
 */
TAMIS_API tamis_status tamis_event_record(tamis_device *device, void *stream, void **event);
TAMIS_API tamis_status tamis_stream_wait(tamis_device *device, void *stream, void *event);
TAMIS_API tamis_status tamis_event_elapsed(tamis_device *device, void *start, void *end, double *seconds);
TAMIS_API void tamis_event_destroy(tamis_device *device, void *event); /* NULL is allowed */

/* ---------------------------------------------------------------------------------------------- memory */

/* tamis_device_allocate and tamis_device_free in the order of the stream: memory may be used by what comes into the
   stream afterwards, and is free when what came before has ended. Nothing waits. */
TAMIS_API tamis_status tamis_device_allocate_async(tamis_device *device, void *stream, size_t bytes, void **memory);
TAMIS_API void tamis_device_free_async(tamis_device *device, void *stream, void *memory);

/*
 * tamis_device_upload and tamis_device_download that do not wait: the host's memory must stay as it is until the stream
 * has come there. They overlap with other work only where the host's memory is pinned: tamis_host_allocate.
 */
TAMIS_API tamis_status tamis_device_upload_async(tamis_device *device, void *stream, void *to, size_t offset,
                                                 const void *from, size_t bytes);
TAMIS_API tamis_status tamis_device_download_async(tamis_device *device, void *stream, void *to, const void *from,
                                                   size_t offset, size_t bytes);

/* A copy within the device's memory; does not wait. The two places must not overlap. */
TAMIS_API tamis_status tamis_device_copy(tamis_device *device, void *stream, void *to, size_t to_offset,
                                         const void *from, size_t from_offset, size_t bytes);

/*
 * A copy between the memories of two devices of one kind, in a stream of the first; does not wait. Between GPUs it goes
 * over their link where they have one; on OpenCL it passes through the host, which waits. The other device's stream
 * must have written `from` before: see tamis_stream_wait.
 */
TAMIS_API tamis_status tamis_device_copy_from(tamis_device *device, void *stream, void *to, size_t to_offset,
                                              const tamis_device *from_device, const void *from, size_t from_offset,
                                              size_t bytes);

/* Host memory that the device copies from and to at full speed, by itself. Plain memory on the CPU and on OpenCL. */
TAMIS_API tamis_status tamis_host_allocate(tamis_device *device, size_t bytes, void **memory);
TAMIS_API void tamis_host_free(tamis_device *device, void *memory); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
