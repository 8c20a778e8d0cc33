/* What tests of single parts share: the device that main() names, opened for all of them, and their random numbers. */
#ifndef TAMIS_TESTS_OPENED_DEVICE_H
#define TAMIS_TESTS_OPENED_DEVICE_H

#include "base/memory.h"
#include "base/random.h"
#include "core/device.h"
#include "unit/named_device.h"

static const char *device_name = "opencl:0";
static tamis_device *device;
static tamis_random dice;
static int64_t live; /* before it was opened */

static int set_up(void **state) {
    (void)state;
    live = tamis_memory_live();
    return tamis_device_open(device_name, &device) != TAMIS_OK;
}

static int tear_down(void **state) {
    (void)state;
    tamis_device_close(device);
    return tamis_memory_live() == live ? 0 : -1;
}

#endif
