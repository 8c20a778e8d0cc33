/* The set-up and teardown of tests that run on the CPU alone: the device, and at the end nothing left behind. */
#ifndef TAMIS_TESTS_CPU_DEVICE_H
#define TAMIS_TESTS_CPU_DEVICE_H

#include <tamis/tamis.h>

#include "base/memory.h"

static tamis_device *device;

static int set_up(void **state) { return tamis_device_open("cpu", &device) != TAMIS_OK; }

static int tear_down(void **state) {
    tamis_device_close(device);
    return tamis_memory_live() != 0;
}

#endif
