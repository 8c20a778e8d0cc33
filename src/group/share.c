/* Calls of a group's transport; their errors break the group. */
#include "group/share.h"

#include <stdio.h>
#include <string.h>

#include "core/device.h"
#include "group/rank.h"

/* ------------------------------------------------------------------------------------------ failing */

static tamis_status fail_broken(const tamis_group *group) {
    return tamis_fail(TAMIS_ERROR_DEVICE, "the group has failed: %.400s", group->reason.text);
}

/* Handles a status of the transport, which may have set a message. An error breaks the group. */
static tamis_status note(tamis_group *group, tamis_status status) {
    const tamis_transport *const t = &group->transport;
    if (status == TAMIS_OK) return TAMIS_OK;
    const char *const why = tamis_last_error();
    snprintf(group->reason.text, sizeof group->reason.text, "transport %.40s: %.400s", t->name,
             *why ? why : tamis_status_name(status));
    group->broken = true;
    return fail_broken(group);
}

tamis_status tamis_group_abort(tamis_group *group, tamis_status status) {
    const tamis_transport *const t = &group->transport;
    tamis_message_keep(&group->reason);
    group->broken = true;
    t->abort(t->context, group->reason.text);
    tamis_message_restore(&group->reason);
    return status;
}

/* ------------------------------------------------------------------------------------------ sharing */

/* Distributes the message of the first rank that failed to all. */
static tamis_status fail_all(tamis_group *group, int rank, tamis_status status) {
    const tamis_transport *const t = &group->transport;
    char text[TAMIS_TRANSPORT_RECORD] = "";
    tamis_message mine;
    tamis_message_keep(&mine);
    snprintf(text, sizeof text, "%s", mine.text);
    tamis_clear_error();
    TRY(note(group, t->gather(t->context, text, sizeof text, group->records)));
    memcpy(text, group->records + (size_t)rank * sizeof text, sizeof text);
    return tamis_fail(status, "rank %d: %.*s", rank, (int)sizeof text - 1, text);
}

tamis_status tamis_group_share(tamis_group *group, tamis_status mine, const void *record, size_t bytes) {
    const tamis_transport *const t = &group->transport;
    char whole[TAMIS_TRANSPORT_RECORD] = {0};
    int64_t status = (int64_t)mine;
    if (group->broken) return fail_broken(group);
    memcpy(whole, &status, sizeof status);
    if (bytes > 0) memcpy(whole + sizeof status, record, bytes);
    /* if the transport fails, too, this rank's own error is kept, as it is more specific */
    tamis_message kept;
    tamis_message_keep(&kept);
    tamis_clear_error();
    const tamis_status gathered = note(group, t->gather(t->context, whole, sizeof status + bytes, group->records));
    if (gathered != TAMIS_OK && mine == TAMIS_OK) return gathered;
    tamis_message_restore(&kept);
    if (gathered != TAMIS_OK) return mine;
    for (int r = 0; r < t->ranks; r++) {
        memcpy(&status, group->records + (size_t)r * (sizeof status + bytes), sizeof status);
        if (status != TAMIS_OK) return fail_all(group, r, (tamis_status)status);
    }
    return TAMIS_OK;
}

const void *tamis_group_shared(const tamis_group *group, int rank, size_t bytes) {
    return group->records + (size_t)rank * (sizeof(int64_t) + bytes) + sizeof(int64_t);
}

tamis_device *tamis_group_device(const tamis_group *group) { return group->device; }

int tamis_group_threads(const tamis_group *group) {
    const int threads = group->device->description.threads;
    return threads > group->sharing ? threads / group->sharing : 1;
}

tamis_status tamis_group_exchange_begin(tamis_group *group, const tamis_transfer *transfer) {
    const tamis_transport *const t = &group->transport;
    tamis_clear_error();
    return group->broken ? fail_broken(group) : note(group, t->exchange_begin(t->context, transfer));
}

/* Ends an exchange even if the group has failed since: waits until nobody reads this rank's memory. */
static tamis_status end(tamis_group *group, tamis_status (*end_exchange)(void *context)) {
    const bool broken = group->broken;
    tamis_clear_error();
    const tamis_status status = end_exchange(group->transport.context);
    return broken ? fail_broken(group) : note(group, status);
}

tamis_status tamis_group_exchange_end(tamis_group *group) { return end(group, group->transport.exchange_end); }

tamis_status tamis_group_exchange(tamis_group *group, const tamis_transfer *transfer) {
    TRY(tamis_group_exchange_begin(group, transfer));
    return tamis_group_exchange_end(group);
}

tamis_status tamis_group_device_begin(tamis_group *group, void *stream, const tamis_transfer *transfer) {
    const tamis_transport *const t = &group->transport;
    tamis_clear_error();
    return group->broken ? fail_broken(group)
                         : note(group, t->device_begin(t->context, group->device, stream, transfer));
}

tamis_status tamis_group_device_end(tamis_group *group) { return end(group, group->transport.device_end); }
