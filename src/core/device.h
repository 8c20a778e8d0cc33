/* An open device. */
#ifndef TAMIS_CORE_DEVICE_H
#define TAMIS_CORE_DEVICE_H

#include "base/backend.h"

struct tamis_device {
    const tamis_backend *backend;
    int number; /* of the backend's devices */
    tamis_device_description description;
};

#endif
