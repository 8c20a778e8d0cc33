#pragma once

/* The part of DLPack's C interface by which PyTorch 2.10 and newer describe a tensor without a call of Python.
   Source: DLPack 1.2, "C Exchange API". */

#include <stdint.h>

enum { DLPACK_CUDA = 2 };

typedef struct dlpack_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t type_code, type_bits;
    uint16_t type_lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dlpack_tensor;

/* The functions after the first four members are there in every version of the same major number. */
typedef struct dlpack_exchange {
    uint32_t major, minor;
    struct dlpack_exchange *previous;
    int (*allocate)(dlpack_tensor *prototype, void **out, void *context,
                    void (*failed)(void *, const char *, const char *));
    int (*owned_of)(void *object, void **out);
    int (*object_of)(void *owned, void **out);
    int (*describe)(void *object, dlpack_tensor *out);
    int (*stream_of)(int32_t device_type, int32_t device_id, void **out);
} dlpack_exchange;
