/* An open device. */
#ifndef TAMIS_CORE_DEVICE_H
#define TAMIS_CORE_DEVICE_H

#include "base/backend.h"

struct tamis_device {
    const tamis_backend *backend;
    int number;   /* of the backend's devices */
    void *handle; /* the backend's own */
    tamis_device_description description;
};

/* Whether a view's data are where the device computes; the error names the argument and the calls that mend it. */
tamis_status tamis_device_check_location(const tamis_device *device, tamis_location location, const char *name);

#endif
