/*
 * NCCL as a transport. The transport below gathers records, moves host memory and detects failures, since NCCL itself
 * waits for ever for a missing rank. So the ranks synchronise before each exchange, when all are about to submit it,
 * and after it, when all have. If one has failed, all abort the work in their streams.
 */
#include "group/nccl.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/status.h"
#include "core/device.h"

typedef struct nccl {
    tamis_transport below;
    void (*close)(void *context);
    tamis_device *device;
    const tamis_messenger *messenger;
    void *place; /* NCCL's communicator, from the first exchange on */
} nccl;

/* ------------------------------------------------------------------------------------------ of the one below */

static tamis_status gather(void *context, const void *record, size_t bytes, void *records) {
    const tamis_transport *const t = &((nccl *)context)->below;
    return t->gather(t->context, record, bytes, records);
}

static tamis_status exchange_begin(void *context, const tamis_transfer *transfer) {
    const tamis_transport *const t = &((nccl *)context)->below;
    return t->exchange_begin(t->context, transfer);
}

static tamis_status exchange_end(void *context) {
    const tamis_transport *const t = &((nccl *)context)->below;
    return t->exchange_end(t->context);
}

static void abort_all(void *context, const char *message) {
    const tamis_transport *const t = &((nccl *)context)->below;
    t->abort(t->context, message);
}

/* ------------------------------------------------------------------------------------------ device memory */

static void drop(nccl *n, bool abort) {
    if (n->place) n->messenger->leave(n->device->handle, n->place, abort);
    n->place = NULL;
}

/* Shares the ranks' statuses. A rank that has failed aborts the transport below, and keeps its message. */
static tamis_status meet(nccl *n, tamis_status mine) {
    const tamis_transport *const t = &n->below;
    void *records;
    char record = 0;
    TAMIS_SCOPE;
    if (mine != TAMIS_OK) {
        tamis_message kept;
        tamis_message_keep(&kept);
        t->abort(t->context, kept.text);
        tamis_message_restore(&kept);
        return mine;
    }
    TRY(tamis_scope_allocate(t->ranks, 1, "the records of an exchange", &records));
    return t->gather(t->context, &record, 1, records);
}

/* Creates the communicator: rank 0 distributes the id, and all ranks join. */
static tamis_status join(nccl *n) {
    const tamis_transport *const t = &n->below;
    char meeting[TAMIS_MEETING_BYTES] = {0};
    tamis_status status = TAMIS_OK;
    void *records;
    TAMIS_SCOPE;
    if (t->rank == 0) status = n->messenger->invite(n->device->handle, meeting);
    TRY(meet(n, status));
    TRY(tamis_scope_allocate(t->ranks, sizeof meeting, "the records of an exchange", &records));
    TRY(t->gather(t->context, meeting, sizeof meeting, records));
    return n->messenger->join(n->device->handle, records, t->rank, t->ranks, &n->place);
}

static tamis_status submit(nccl *n, void *stream, const tamis_transfer *transfer) {
    const tamis_messages messages = {.rank = n->below.rank,
                                     .ranks = n->below.ranks,
                                     .send = transfer->send,
                                     .receive = transfer->receive,
                                     .send_starts = transfer->send_starts,
                                     .receive_starts = transfer->receive_starts};
    if (!n->place) TRY(join(n));
    TRY(meet(n, n->messenger->check(n->device->handle, n->place)));
    return n->messenger->exchange(n->device->handle, n->place, stream, &messages);
}

static tamis_status device_begin(void *context, tamis_device *device, void *stream, const tamis_transfer *transfer) {
    nccl *const n = context;
    (void)device; /* n's */
    const tamis_status status = submit(n, stream, transfer);
    if (status == TAMIS_OK) return TAMIS_OK;
    (void)meet(n, status); /* the others wait */
    drop(n, true);
    return status;
}

/* Stream order already protects the sent buffers, so the hosts only synchronise here. */
static tamis_status device_end(void *context) {
    nccl *const n = context;
    const tamis_status status = meet(n, TAMIS_OK);
    if (status != TAMIS_OK) drop(n, true);
    return status;
}

/* ------------------------------------------------------------------------------------------ opening */

tamis_status tamis_nccl_wrap(tamis_device *device, void (*close)(void *context), tamis_transport *transport) {
    nccl *n = NULL;
    TRY(tamis_device_check(device));
    if (!device->backend->messenger)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "link = nccl: expected CUDA devices, but %s is not one",
                          device->description.name);
    TRY(device->backend->messenger->open());
    TRY(tamis_allocate_zeroed(1, sizeof *n, "a transport over NCCL", (void **)&n));
    *n = (nccl){.below = *transport, .close = close, .device = device, .messenger = device->backend->messenger};
    *transport = (tamis_transport){.size = sizeof *transport,
                                   .name = "nccl",
                                   .context = n,
                                   .rank = n->below.rank,
                                   .ranks = n->below.ranks,
                                   .gather = gather,
                                   .exchange_begin = exchange_begin,
                                   .exchange_end = exchange_end,
                                   .abort = abort_all,
                                   .device_begin = device_begin,
                                   .device_end = device_end};
    return TAMIS_OK;
}

void tamis_nccl_unwrap(void *context) {
    nccl *const n = context;
    drop(n, false);
    if (n->close) n->close(n->below.context);
    tamis_release(n);
}

tamis_status tamis_nccl_open(tamis_device *device, const tamis_transport *below, tamis_transport *transport) {
    tamis_clear_error();
    if (!transport) return tamis_fail(TAMIS_ERROR_ARGUMENT, "transport = NULL: expected an address for the result");
    if (!below) return tamis_fail(TAMIS_ERROR_ARGUMENT, "below = NULL: expected a transport between the same ranks");
    if (below->size < offsetof(tamis_transport, device_begin))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "below.size = %zu: expected sizeof(tamis_transport), %zu", below->size,
                          sizeof *below);
    tamis_transport made = {.size = 0};
    memcpy(&made, below, offsetof(tamis_transport, device_begin));
    TRY(tamis_nccl_wrap(device, NULL, &made));
    *transport = made;
    return TAMIS_OK;
}

void tamis_nccl_close(tamis_transport *transport) {
    if (!transport || !transport->context) return;
    tamis_nccl_unwrap(transport->context);
    *transport = (tamis_transport){.size = 0};
}
