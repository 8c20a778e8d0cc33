/*
 * Prefix sums and sorting on a device that computes, against loops on the host: sizes on both sides of a tile, of a
 * tile of tiles, and of a tile of those.
 *   test_structure [DEVICE]      opencl:0 unless told otherwise
 */
#include "unit/cmocka_first.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "core/device.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/sort.h"
#include "unit/named_device.h"

static const char *device_name = "opencl:0";
static tamis_device *device;
static tamis_random dice;
static int64_t live; /* before it was opened */

enum { TILE = TAMIS_GPU_GROUP * 8 }; /* of sort.simt */

static void *on_device(const void *from, size_t bytes) {
    void *memory = NULL;
    if (tamis_device_allocate(device, bytes, &memory) != TAMIS_OK ||
        tamis_device_upload(device, NULL, memory, 0, from, bytes) != TAMIS_OK)
        fail_msg("%s", tamis_last_error());
    return memory;
}

static void *host(int64_t count) {
    void *const memory = calloc((size_t)count + 1, 8);
    if (!memory) abort();
    return memory;
}

static void expect_sums(int64_t count) {
    int64_t *const x = host(count), *const got = host(count), sum = 0;
    void *scratch = NULL;
    for (int64_t i = 0; i < count; i++) x[i] = tamis_random_below(&dice, 1000) - 300;
    void *const values = on_device(x, (size_t)count * 8);
    const size_t room = tamis_gpu_scan_scratch(count);
    int64_t behind = 77;
    assert_int_equal(tamis_device_allocate(device, room + sizeof behind, &scratch), TAMIS_OK);
    assert_int_equal(tamis_device_upload(device, NULL, scratch, room, &behind, sizeof behind), TAMIS_OK);
    if (tamis_gpu_scan(device->handle, NULL, values, count, (tamis_place){scratch, 0}) != TAMIS_OK ||
        tamis_device_download(device, NULL, got, values, 0, (size_t)count * 8) != TAMIS_OK)
        fail_msg("%s", tamis_last_error());
    for (int64_t i = 0; i < count; sum += x[i], i++)
        if (got[i] != sum)
            fail_msg("of %lld, sum %lld is %lld, expected %lld", (long long)count, (long long)i, (long long)got[i],
                     (long long)sum);
    assert_int_equal(tamis_device_download(device, NULL, &behind, scratch, room, sizeof behind), TAMIS_OK);
    assert_int_equal(behind, 77); /* it needs no more scratch than it asks for */
    tamis_device_free(device, scratch);
    tamis_device_free(device, values);
    free(x);
    free(got);
}

static void prefix_sums(void **state) {
    (void)state;
    static const int64_t sizes[] = {1,
                                    2,
                                    100,
                                    TILE - 1,
                                    TILE,
                                    TILE + 1,
                                    5 * TILE,
                                    TILE * TILE - 1,
                                    TILE * TILE,
                                    TILE * TILE + 1,
                                    TILE * TILE + 3 * TILE + 7};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) expect_sums(sizes[i]);
}

/* Nothing is launched for it. */
static void no_sums_of_nothing(void **state) {
    (void)state;
    assert_int_equal(tamis_gpu_scan(device->handle, NULL, NULL, 0, (tamis_place){NULL, 0}), TAMIS_OK);
}

static void expect_sorted(int64_t count, uint64_t limit) {
    uint64_t *const keys = host(count), *const sorted = host(count);
    int64_t *const order = host(count);
    bool *const seen = host(count);
    for (int64_t t = 0; t < count; t++) {
        keys[t] = (uint64_t)tamis_random_below(&dice, (int64_t)limit);
        order[t] = t;
    }
    void *device_keys = on_device(keys, (size_t)count * 8), *device_order = on_device(order, (size_t)count * 8);
    if (tamis_gpu_sort(device->handle, NULL, count, limit, &device_keys, &device_order, NULL) != TAMIS_OK ||
        tamis_device_download(device, NULL, sorted, device_keys, 0, (size_t)count * 8) != TAMIS_OK ||
        tamis_device_download(device, NULL, order, device_order, 0, (size_t)count * 8) != TAMIS_OK)
        fail_msg("%s", tamis_last_error());
    for (int64_t t = 0; t < count; t++) {
        assert_true(order[t] >= 0 && order[t] < count && !seen[order[t]] && keys[order[t]] == sorted[t]);
        seen[order[t]] = true;
        if (t > 0) assert_true(sorted[t - 1] < sorted[t] || (sorted[t - 1] == sorted[t] && order[t - 1] < order[t]));
    }
    tamis_device_free(device, device_keys);
    tamis_device_free(device, device_order);
    free(keys);
    free(sorted);
    free(order);
    free(seen);
}

/* Stably, by as many passes as the limit asks for; counts of 16 * TILE keys and more fill several tiles. */
static void sorting(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 300, TILE, TILE + 1, TILE * (TILE / 16) + 1};
    static const uint64_t limits[] = {1, 2, 16, 17, 1000, 1ULL << 33, 1ULL << 62};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t j = 0; j < sizeof limits / sizeof limits[0]; j++)
            if (sizes[i] < TILE * 4 || j == 4) expect_sorted(sizes[i], limits[j]);
}

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

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(prefix_sums), cmocka_unit_test(no_sums_of_nothing),
                                       cmocka_unit_test(sorting)};
    dice = tamis_random_start(8, 0);
    if (!named_device_is_here(argc, argv, &device_name)) return 77;
    return cmocka_run_group_tests_name(device_name, tests, set_up, tear_down);
}
