/*
 * ALS, implicit ALS, CCD++ and sparse factor analysis against their equations in double: ml_recommender_*.c.
 *   test_ml_recommenders [DEVICE]
 */
#include "test_ml_recommenders.h"

#include "named_device.h"

static const char *device_name = "cpu";
static int64_t live;

static int set_up(void **state) {
    live = tamis_memory_live();
    return tamis_device_open(device_name, &device) == TAMIS_OK ? 0 : -1;
}

static int tear_down(void **state) {
    tamis_device_close(device);
    return tamis_memory_live() == live ? 0 : -1;
}

TEST_RUN() {
    if (!named_device_is_here(argc, argv, &device_name)) return 77;
    on_cpu = strcmp(device_name, "cpu") == 0;
    return test_run("recommenders", NULL, set_up, tear_down);
}
