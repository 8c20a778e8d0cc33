/* Opens and closes ends of groups. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "core/device.h"
#include "group/nccl.h"
#include "group/rank.h"
#include "group/share.h"
#include "group/threads.h"

/* ------------------------------------------------------------------------------------------ opening */

tamis_status tamis_transport_fail(tamis_status status, const char *message) {
    return tamis_fail(status, "%s", message ? message : "");
}

/* Copies the caller's table; a table of a later version must have no further entries set. */
static tamis_status read_transport(const tamis_transport *given, tamis_transport *transport) {
    if (!given) return tamis_fail(TAMIS_ERROR_ARGUMENT, "transport = NULL: expected a table of functions");
    const size_t least = offsetof(tamis_transport, device_begin);
    if (given->size < least)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "transport.size = %zu: expected sizeof(tamis_transport), %zu",
                          given->size, sizeof *given);
    for (size_t i = sizeof *given; i < given->size; i++)
        if (((const char *)given)[i])
            return tamis_fail(
                TAMIS_ERROR_UNSUPPORTED,
                "transport.size = %zu: version %s knows the first %zu bytes, and those behind them are not zero",
                given->size, TAMIS_VERSION_STRING, sizeof *given);
    *transport = (tamis_transport){.size = 0};
    memcpy(transport, given, given->size < sizeof *given ? given->size : sizeof *given);
    if (given->size < sizeof *given) transport->device_begin = NULL, transport->device_end = NULL;
    const struct {
        const char *name;
        bool present;
    } entries[] = {{"name", transport->name},
                   {"gather", transport->gather},
                   {"exchange_begin", transport->exchange_begin},
                   {"exchange_end", transport->exchange_end},
                   {"abort", transport->abort}};
    for (int i = 0; i < 5; i++)
        if (!entries[i].present) return tamis_fail(TAMIS_ERROR_ARGUMENT, "transport.%s = NULL", entries[i].name);
    if (!transport->device_begin != !transport->device_end)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "transport.%s = NULL, but not transport.%s: expected both or neither",
                          transport->device_begin ? "device_end" : "device_begin",
                          transport->device_begin ? "device_begin" : "device_end");
    if (transport->ranks < 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "transport.ranks = %d: expected 1 or more", transport->ranks);
    if (transport->rank < 0 || transport->rank >= transport->ranks)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "transport.rank = %d is not in 0 .. %d", transport->rank,
                          transport->ranks - 1);
    return TAMIS_OK;
}

static tamis_status make(tamis_device *device, const tamis_transport *transport, tamis_group **result) {
    tamis_group *group = NULL;
    void *records = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *group, "a group", (void **)&group));
    const tamis_status status =
        tamis_allocate(transport->ranks, TAMIS_TRANSPORT_RECORD, "the records of a group", &records);
    if (status != TAMIS_OK) {
        tamis_release(group);
        return status;
    }
    *group = (tamis_group){.device = device, .transport = *transport, .sharing = 1, .records = records};
    *result = group;
    return TAMIS_OK;
}

/* Record with which ranks introduce themselves. */
typedef struct identity {
    int rank, ranks;
    int32_t devices;  /* the transport moves device memory */
    char backend[20]; /* "" on the host */
} identity;

static identity identity_of(const tamis_group *group) {
    const tamis_transport *const t = &group->transport;
    identity mine = {.rank = t->rank, .ranks = t->ranks, .devices = t->device_begin != NULL};
    if (group->device && tamis_group_on_device(group))
        snprintf(mine.backend, sizeof mine.backend, "%s", group->device->backend->name);
    return mine;
}

/* Collective check that all ranks succeeded, and that their numbers are consistent. */
static tamis_status meet(tamis_group *group) {
    const tamis_transport *const t = &group->transport;
    const identity mine = identity_of(group);
    TRY(tamis_group_share(group, tamis_device_check(group->device), &mine, sizeof mine));
    group->direct = mine.backend[0] != 0;
    for (int r = 0; r < t->ranks; r++) {
        identity theirs;
        memcpy(&theirs, tamis_group_shared(group, r, sizeof theirs), sizeof theirs);
        if (theirs.rank != r || theirs.ranks != t->ranks)
            return tamis_fail(TAMIS_ERROR_ARGUMENT,
                              "transport: rank %d of %d gathered the record of rank %d of %d as that of rank %d",
                              t->rank, t->ranks, theirs.rank, theirs.ranks, r);
        group->direct = group->direct && theirs.devices && strcmp(theirs.backend, mine.backend) == 0;
    }
    return TAMIS_OK;
}

tamis_status tamis_group_open(tamis_device *device, const tamis_transport *transport, tamis_group **group) {
    tamis_transport t;
    tamis_group *made = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    if (!group) return tamis_fail(TAMIS_ERROR_ARGUMENT, "group = NULL: expected an address for the result");
    *group = NULL;
    TRY(read_transport(transport, &t));
    TRY_GOTO(failed, make(device, &t, &made));
    TRY_GOTO(failed, meet(made));
    *group = made;
    return TAMIS_OK;
failed:
    if (!made) t.abort(t.context, tamis_last_error()); /* the others wait */
    tamis_group_close(made);
    return status;
}

static tamis_status read_options(const tamis_transport_options *given, tamis_transport_options *options) {
    static const tamis_transport_options initial = TAMIS_TRANSPORT_OPTIONS_INIT;
    *options = given ? *given : initial;
    TRY(TAMIS_RESERVED(options, "options"));
    if ((int)options->link < 0 || options->link > TAMIS_LINK_NCCL)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.link = %d is not a valid tamis_link", (int)options->link);
    if (options->time_limit > 0) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.time_limit = %g: expected a positive number of seconds",
                      options->time_limit);
}

static tamis_status check_local(tamis_device *const *devices, int ranks, tamis_group **groups) {
    if (!groups) return tamis_fail(TAMIS_ERROR_ARGUMENT, "groups = NULL: expected an address for the results");
    if (ranks < 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "ranks = %d: expected 1 or more", ranks);
    if (!devices) return tamis_fail(TAMIS_ERROR_ARGUMENT, "devices = NULL: expected %d devices", ranks);
    for (int r = 0; r < ranks; r++) {
        groups[r] = NULL;
        if (!devices[r])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "devices[%d] = NULL: open one with tamis_device_open", r);
    }
    return TAMIS_OK;
}

/* Devices of one kind copy from each other; others exchange through the host's memory. */
static bool are_alike(tamis_device *const *devices, int ranks) {
    for (int r = 0; r < ranks; r++)
        if (devices[r]->backend != devices[0]->backend) return false;
    return devices[0]->backend->location == TAMIS_DEVICE;
}

tamis_status tamis_group_open_local(tamis_device *const *devices, int ranks, const tamis_transport_options *options,
                                    tamis_group **groups) {
    tamis_transport_options o;
    void *memory = NULL;
    tamis_status status = TAMIS_OK;
    int made = 0;
    tamis_clear_error();
    TRY(check_local(devices, ranks, groups));
    TRY(read_options(options, &o));
    TRY(tamis_allocate(ranks, sizeof(tamis_transport), "the tables of a group", &memory));
    tamis_transport *const transports = memory;
    TRY_GOTO(done, tamis_threads_open(ranks, &o, transports));
    for (; made < ranks; made++) {
        if (o.link == TAMIS_LINK_NCCL)
            TRY_GOTO(failed, tamis_nccl_wrap(devices[made], tamis_threads_close, &transports[made]));
        status = make(devices[made], &transports[made], &groups[made]);
        if (status != TAMIS_OK && o.link == TAMIS_LINK_NCCL) {
            tamis_nccl_unwrap(transports[made].context);
            transports[made].context = NULL;
        }
        TRY_GOTO(failed, status);
        groups[made]->close = o.link == TAMIS_LINK_NCCL ? tamis_nccl_unwrap : tamis_threads_close;
        groups[made]->sharing = ranks;
        groups[made]->direct = are_alike(devices, ranks);
    }
    goto done;
failed: /* a transport without a group is closed by itself */
    for (int r = 0; r < ranks; r++) {
        if (r >= made && transports[r].context) tamis_threads_close(transports[r].context);
        tamis_group_close(groups[r]);
        groups[r] = NULL;
    }
done:
    tamis_release(memory);
    return status;
}

void tamis_group_close(tamis_group *group) {
    if (!group) return;
    if (group->close) group->close(group->transport.context);
    tamis_release(group->records);
    tamis_release(group);
}

tamis_status tamis_group_describe(const tamis_group *group, tamis_group_description *description) {
    tamis_clear_error();
    if (!group) return tamis_fail(TAMIS_ERROR_ARGUMENT, "group = NULL: open one with tamis_group_open_local");
    if (!description) return tamis_fail(TAMIS_ERROR_ARGUMENT, "description = NULL: expected an address for the result");
    *description = (tamis_group_description){
        .rank = group->transport.rank, .ranks = group->transport.ranks, .transport = group->transport.name};
    return TAMIS_OK;
}
