/* Scratch for the sums of the dense companions. It has room for the partial sums of any matrix within its limits. */
#include "core/dense_workspace.h"
#include "base/memory.h"
#include "base/status.h"
#include "sparse/check.h"

tamis_status tamis_dense_check_type(const char *name, tamis_type type) {
    if (type != TAMIS_F16 && type != TAMIS_BF16) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s = %s: dense companions support only fp32 and fp64", name,
                      tamis_type_name(type));
}

tamis_status tamis_dense_check_device(const tamis_device *device, const void *stream) {
    TRY(tamis_device_check_stream(device, stream));
    if (device->backend->dense) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "device = %s: its backend has no dense companions",
                      device->description.name);
}

tamis_status tamis_dense_check_workspace(const tamis_device *device, const tamis_dense_workspace *workspace,
                                         tamis_type type, int64_t columns) {
    if (!workspace)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace = NULL: make one with tamis_dense_workspace_create");
    if (workspace->device != device)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace was made on %s, not on this device",
                          workspace->device->description.name);
    if (workspace->type != type)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace was made for %s, not for %s",
                          tamis_type_name(workspace->type), tamis_type_name(type));
    if (workspace->columns < columns)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace was made for %lld columns, not for %lld",
                          (long long)workspace->columns, (long long)columns);
    return TAMIS_OK;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Upper bound of the partial sums of any matrix of up to `columns` columns, by tamis_dense_chunks(). */
static int64_t places_of(int64_t columns) {
    const int64_t gram = columns < TAMIS_DENSE_GRAM_MOST ? columns : TAMIS_DENSE_GRAM_MOST;
    const int64_t chunks = TAMIS_DENSE_CHUNKS, most = TAMIS_DENSE_PARTIALS;
    const int64_t squares = gram * gram > most / chunks ? most : chunks * gram * gram;
    const int64_t sums = columns > most / chunks ? larger(most, columns) : chunks * columns;
    return larger(chunks, larger(squares, sums));
}

tamis_status tamis_dense_workspace_create(tamis_device *device, int64_t columns, tamis_type type,
                                          tamis_dense_workspace **workspace) {
    tamis_status status = TAMIS_OK;
    tamis_dense_workspace *made = NULL;
    tamis_clear_error();
    if (!workspace) return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace = NULL: expected an address for the result");
    TRY(tamis_dense_check_device(device, NULL));
    TRY(tamis_size_check("", "columns", columns));
    TRY(tamis_dense_check_type("type", type));
    if (type != TAMIS_F32 && type != TAMIS_F64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "type = %d: expected 0 .. %d", (int)type, (int)TAMIS_F64);
    TRY(device->backend->dense->ready(device->handle, type));
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a dense workspace", (void **)&made));
    *made = (tamis_dense_workspace){.device = device, .columns = columns, .type = type};
    TRY_GOTO(failed, device->backend->allocate(device->handle, TAMIS_ALL_STREAMS,
                                               tamis_bytes(places_of(columns), sizeof(double)), "a dense workspace",
                                               &made->memory));
    *workspace = made;
    return TAMIS_OK;
failed:
    tamis_release(made);
    return status;
}

void tamis_dense_workspace_destroy(tamis_dense_workspace *workspace) {
    if (!workspace) return;
    workspace->device->backend->release_memory(workspace->device->handle, TAMIS_ALL_STREAMS, workspace->memory);
    tamis_release(workspace);
}
