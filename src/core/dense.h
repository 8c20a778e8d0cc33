/* What the dense companions' entry points share with their workspace: how sums are cut, and checks. */
#ifndef TAMIS_CORE_DENSE_H
#define TAMIS_CORE_DENSE_H

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

/* Chunks of rows whose sums are `places` each. */
static inline int64_t tamis_dense_chunks(int64_t rows, int64_t places) {
    const int64_t most = tamis_dense_clamp(TAMIS_DENSE_PARTIALS / places, TAMIS_DENSE_CHUNKS);
    return tamis_dense_clamp(rows / TAMIS_DENSE_CHUNK_ROWS, most);
}

/* A device that has these functions, and a stream that it can have. */
tamis_status tamis_dense_check_device(const tamis_device *device, const void *stream);

/* Half types are refused; `name` is the argument's or the field's. */
tamis_status tamis_dense_check_type(const char *name, tamis_type type);

/* A workspace of this device for the type and so many columns. */
tamis_status tamis_dense_check_workspace(const tamis_device *device, const tamis_dense_workspace *workspace,
                                         tamis_type type, int64_t columns);

#endif
