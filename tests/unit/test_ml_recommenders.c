/*
 * ALS, implicit ALS, CCD++ and sparse factor analysis against their equations in double: ml_recommender_*.c.
 *   test_ml_recommenders [DEVICE]
 */
#include "test_ml_recommenders.h"

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
    if (argc > 1) device_name = argv[1];
    on_cpu = strcmp(device_name, "cpu") == 0;
    if (tamis_device_open(device_name, &device) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    tamis_device_close(device);
    return test_run("recommenders", NULL, set_up, tear_down);
}
