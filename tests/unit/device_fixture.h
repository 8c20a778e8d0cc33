/* The device that a program's first argument names, open for a file's tests; afterwards nothing may be left of it. */
#ifndef TAMIS_TESTS_DEVICE_FIXTURE_H
#define TAMIS_TESTS_DEVICE_FIXTURE_H

#include "base/memory.h"
#include "base/random.h"
#include "named_device.h"
#include "support/seed.h"

#ifndef TEST_DEVICE
#define TEST_DEVICE "cpu"
#endif
static const char *name = TEST_DEVICE;
static tamis_device *device;
static bool is_cpu; /* as it is open */
static int64_t live;
static uint64_t drawn_by; /* the seed */
static tamis_random dice;

static inline bool heads(void) { return tamis_random_below(&dice, 2); }

static inline int set_up(void **state) {
    tamis_device_description about;
    live = tamis_memory_live();
    if (tamis_device_open(name, &device) != TAMIS_OK || tamis_device_describe(device, &about) != TAMIS_OK) return -1;
    is_cpu = about.location == TAMIS_HOST;
    return 0;
}

static inline int tear_down(void **state) {
    tamis_device_close(device);
    return tamis_memory_live() == live ? 0 : -1;
}

/* False where it is not here. TAMIS_TEST_SEED repeats what has been drawn. */
static inline bool device_is_named(int argc, char **argv) {
    drawn_by = test_seed();
    dice = tamis_random_start(drawn_by, 0);
    return named_device_is_here(argc, argv, &name);
}

/* All tests of the file, on the device that is named, or none where it is not here. */
#define TEST_ON_DEVICE(before, after)                                                                                  \
    TEST_RUN() { return device_is_named(argc, argv) ? test_run(name, NULL, before, after) : 77; }

#endif
