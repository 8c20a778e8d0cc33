/*
 * The set-up and teardown of tests of graphs on any device, and which of their calls are drawn:
 *   test_... [DEVICE [STEP [FIRST]]]   every STEP-th call, from number FIRST on
 */
#ifndef TAMIS_TESTS_DRAWN_DEVICE_H
#define TAMIS_TESTS_DRAWN_DEVICE_H

#include <stdlib.h>

#include "base/memory.h"
#include "named_device.h"

static const char *name = "cpu";
static tamis_device *device;
static int64_t live, step = 1, number;

static bool is_drawn(void) { return number++ % step == 0; }

/* Whether the device is here; the arguments of main(). */
static bool device_is_drawn(int argc, char **argv) {
    if (!named_device_is_here(argc, argv, &name)) return false;
    if (argc > 2) step = strtoll(argv[2], NULL, 10);
    if (argc > 3) number = step - strtoll(argv[3], NULL, 10);
    return true;
}

static int set_up(void **state) {
    (void)state;
    live = tamis_memory_live();
    return tamis_device_open(name, &device) != TAMIS_OK;
}

static int tear_down(void **state) {
    (void)state;
    tamis_device_close(device);
    return tamis_memory_live() != live;
}

#endif
