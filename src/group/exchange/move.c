/*
 * An exchange of rows between ranks, in three steps and by one of three ways: in host memory; between devices, in
 * stream order; or between devices through host memory, if the transport only knows that. On a GPU the exchange has its
 * own stream. Events order it with the caller's; the host waits for neither, unless rows pass through its memory.
 */
#include "group/exchange/exchange.h"

#include "group/share.h"

static const tamis_device *device_of(const tamis_move *m) { return m->exchange->group->device; }

static void set_starts(tamis_move *m, int64_t send_first, int64_t send_gap, int64_t receive_gap) {
    tamis_row_exchange *const e = m->exchange;
    for (int rank = 0; rank <= e->group->transport.ranks; rank++) {
        const bool behind = rank > e->group->transport.rank;
        e->send_starts[rank] = send_first + m->send_starts[rank] * m->row_bytes + (behind ? send_gap : 0);
        e->receive_starts[rank] = m->receive_starts[rank] * m->row_bytes + (behind ? receive_gap : 0);
    }
    m->transfer = (tamis_transfer){
        .send = m->send, .send_starts = e->send_starts, .receive = m->receive, .receive_starts = e->receive_starts};
}

static int64_t bytes_of(const tamis_move *m, const int64_t *starts) {
    return starts[m->exchange->group->transport.ranks] * m->row_bytes;
}

tamis_status tamis_move_follow(const tamis_move *m) {
    const tamis_device *const device = device_of(m);
    if (!tamis_group_on_device(m->exchange->group)) return TAMIS_OK;
    TRY(device->backend->record(device->handle, m->stream, &m->exchange->called));
    return device->backend->stream_wait(device->handle, m->exchange->stream, m->exchange->called);
}

tamis_status tamis_move_lead(const tamis_move *m) {
    const tamis_device *const device = device_of(m);
    if (!tamis_group_on_device(m->exchange->group)) return TAMIS_OK;
    TRY(device->backend->record(device->handle, m->exchange->stream, &m->exchange->arrived));
    return device->backend->stream_wait(device->handle, m->stream, m->exchange->arrived);
}

/* ------------------------------------------------------------------------------------------ the ways */

typedef struct route {
    tamis_status (*begin)(tamis_move *m);
    tamis_status (*arrive)(const tamis_move *m);
    tamis_status (*end)(const tamis_move *m);
} route;

static tamis_status nothing(const tamis_move *m) {
    (void)m;
    return TAMIS_OK;
}

static tamis_status begin_on_host(tamis_move *m) {
    set_starts(m, m->send_first, m->send_gap, m->receive_gap);
    return tamis_group_exchange_begin(m->exchange->group, &m->transfer);
}

static tamis_status arrive_on_host(const tamis_move *m) { return tamis_group_exchange_end(m->exchange->group); }

static tamis_status begin_between_devices(tamis_move *m) {
    set_starts(m, m->send_first, m->send_gap, m->receive_gap);
    return tamis_group_device_begin(m->exchange->group, m->exchange->stream, &m->transfer);
}

static tamis_status end_between_devices(const tamis_move *m) { return tamis_group_device_end(m->exchange->group); }

/* Rows before and behind a gap; the copy in host memory has no gap. */
typedef struct halves {
    int64_t begins[2], bytes[2], gap;
} halves;

static halves halves_of(const tamis_move *m, const int64_t *starts, int64_t gap) {
    const int64_t before = starts[m->exchange->group->transport.rank] * m->row_bytes;
    return (halves){{0, before}, {before, bytes_of(m, starts) - before}, gap};
}

static tamis_status copy_out(const tamis_move *m) {
    const tamis_row_exchange *const e = m->exchange;
    const tamis_device *const device = device_of(m);
    const halves x = halves_of(m, m->send_starts, m->send_gap);
    for (int i = 0; i < 2; i++) {
        const tamis_place from = {m->send, m->send_first + x.begins[i] + (i ? x.gap : 0)};
        if (x.bytes[i] == 0) continue;
        TRY(device->backend->copy_out(device->handle, e->stream, (char *)e->host_send + x.begins[i], from,
                                      (size_t)x.bytes[i]));
    }
    return TAMIS_OK;
}

static tamis_status copy_in(const tamis_move *m) {
    const tamis_row_exchange *const e = m->exchange;
    const tamis_device *const device = device_of(m);
    const halves x = halves_of(m, m->receive_starts, m->receive_gap);
    for (int i = 0; i < 2; i++) {
        const tamis_place to = {m->receive, x.begins[i] + (i ? x.gap : 0)};
        if (x.bytes[i] == 0) continue;
        TRY(device->backend->copy_in_async(device->handle, e->stream, to, (char *)e->host_received + x.begins[i],
                                           (size_t)x.bytes[i]));
    }
    return TAMIS_OK;
}

static tamis_status begin_through_host(tamis_move *m) {
    const tamis_row_exchange *const e = m->exchange;
    const tamis_device *const device = device_of(m);
    set_starts(m, 0, 0, 0);
    m->transfer.send = e->host_send;
    m->transfer.receive = e->host_received;
    if (bytes_of(m, m->send_starts) > 0)
        TRY(copy_out(m));
    else /* the last data received may still be being copied to the device */
        TRY(device->backend->finish(device->handle, e->stream));
    return tamis_group_exchange_begin(e->group, &m->transfer);
}

static tamis_status arrive_through_host(const tamis_move *m) {
    TRY(tamis_group_exchange_end(m->exchange->group));
    TRY(copy_in(m));
    return tamis_move_lead(m);
}

static const route on_host = {begin_on_host, arrive_on_host, nothing};
static const route between_devices = {begin_between_devices, tamis_move_lead, end_between_devices};
static const route through_host = {begin_through_host, arrive_through_host, nothing};

static const route *route_of(const tamis_group *group) {
    return group->direct ? &between_devices : tamis_group_on_device(group) ? &through_host : &on_host;
}

tamis_status tamis_move_begin(tamis_move *m) { return route_of(m->exchange->group)->begin(m); }
tamis_status tamis_move_arrive(const tamis_move *m) { return route_of(m->exchange->group)->arrive(m); }

tamis_status tamis_move_end(const tamis_move *m, tamis_status status) {
    tamis_message kept;
    tamis_message_keep(&kept);
    const tamis_status ended = route_of(m->exchange->group)->end(m);
    if (status == TAMIS_OK) return ended;
    tamis_message_restore(&kept);
    return status;
}
