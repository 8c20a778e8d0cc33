/* The workspace of the dense companions, their checks, and the chunks that sums are cut into. */
#ifndef TAMIS_CORE_DENSE_WORKSPACE_H
#define TAMIS_CORE_DENSE_WORKSPACE_H

#include "backend/dense.h"
#include "core/device.h"

struct tamis_dense_workspace {
    tamis_device *device;
    int64_t columns;
    tamis_type type;
    void *memory;
};

static inline int64_t tamis_dense_clamp(int64_t value, int64_t most) {
    return value > most ? most : value < 1 ? 1 : value;
}

/* Returns the number of chunks of rows, if each chunk has `places` sums. */
static inline int64_t tamis_dense_chunks(int64_t rows, int64_t places) {
    const int64_t most = tamis_dense_clamp(TAMIS_DENSE_PARTIALS / places, TAMIS_DENSE_CHUNKS);
    return tamis_dense_clamp(rows / TAMIS_DENSE_CHUNK_ROWS, most);
}

/* Checks that the device has these functions, and that the stream can be one of its streams. */
tamis_status tamis_dense_check_device(const tamis_device *device, const void *stream);

/* Rejects 16-bit types. `name`: the argument or field. */
tamis_status tamis_dense_check_type(const char *name, tamis_type type);

/* Checks that the workspace is of this device and type, and large enough for `columns` columns. */
tamis_status tamis_dense_check_workspace(const tamis_device *device, const tamis_dense_workspace *workspace,
                                         tamis_type type, int64_t columns);

#endif
