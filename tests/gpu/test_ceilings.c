/*
 * A GPU's probes read within their table, whatever the driver says of its cache: processors have a last cache of
 * hundreds of megabytes, and OpenCL calls it the device's. test_ceilings [DEVICE]      opencl:0 unless told otherwise
 */
#include "support/test.h"

#include "gpu/ceilings/ceilings.h"
#include "gpu/runtime/runtime.h"
#include "unit/named_device.h"

static const char *device_name = "opencl:0";
static const tamis_gpu_runtime *runtime = &tamis_gpu_opencl;
static int number;

static const int64_t caches[] = {0, 1, 64 << 10, INT64_C(1) << 40};
static int64_t cache;

static tamis_status open_with_cache(int at, tamis_gpu_device **device) {
    const tamis_status status = runtime->open(at, device);
    if (status == TAMIS_OK) (*device)->limits.cache_l2 = cache;
    return status;
}

TEST(test_any_cache) {
    tamis_gpu_runtime with_cache = *runtime;
    with_cache.open = open_with_cache;
    tamis_gpu_device *device;
    works(runtime->open(number, &device));
    const int64_t own = device->limits.cache_l2;
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        tamis_ceilings c;
        cache = caches[i];
        const tamis_status status = tamis_gpu_measure_ceilings(&with_cache, number, &c);
        if (status != TAMIS_OK) print_error("cache of %lld bytes: %s\n", (long long)cache, tamis_last_error());
        works(status);
        assert_true(c.measured && c.memory_gbs[0] > 0 && c.l2_gbs[0] > 0);
        for (int k = 0; k < 6; k++) {
            assert_true(c.gather_gbs[0][k] > 0);
            assert_true(c.gather_bytes[k] > (k > 0 ? c.gather_bytes[k - 1] : 0));
        }
    }
    device->limits.cache_l2 = own;
}

TEST_RUN() {
    if (!named_device_is_here(argc, argv, &device_name)) return 77;
    if (strncmp(device_name, "cuda:", 5) == 0) runtime = &tamis_gpu_cuda;
    number = device_name[5] ? atoi(strchr(device_name, ':') + 1) : 0;
    return test_run(NULL, NULL, NULL, NULL);
}
