#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* By the vendor's data sheets and its guide's table of compute capabilities. */
const fake_chip fake_chips[] = {
    {"A100", 80, 108, 163 << 10, 164 << 10, 40 << 20, (int64_t)80 << 30},
    {"H200", 90, 132, 227 << 10, 228 << 10, 50 << 20, (int64_t)141 << 30},
    {"B200", 100, 148, 227 << 10, 228 << 10, 126 << 20, (int64_t)180 << 30},
    {"A10", 86, 72, 99 << 10, 100 << 10, 6 << 20, (int64_t)24 << 30},
    {"L40S", 89, 142, 99 << 10, 100 << 10, 96 << 20, (int64_t)48 << 30},
    {"RTX 5090", 120, 170, 99 << 10, 100 << 10, 96 << 20, (int64_t)32 << 30},
};
const int fake_chip_count = sizeof fake_chips / sizeof fake_chips[0];

enum { DEVICES_MOST = 1024 };
static fake_device *made[DEVICES_MOST]; /* the last of each number */
static const tamis_gpu_runtime fake_runtime;

void fake_device_make(fake_device *device, const fake_chip *chip, int number) {
    tamis_gpu_limits *const l = &device->shared.limits;
    *device = (fake_device){.shared = {.runtime = &fake_runtime, .number = number}, .chip = chip};
    snprintf(l->name, sizeof l->name, "cuda:%d", number);
    snprintf(l->model, sizeof l->model, "%s", chip->model);
    snprintf(l->architecture, sizeof l->architecture, "sm_%d", chip->architecture);
    snprintf(l->compiler, sizeof l->compiler, "a test's");
    snprintf(l->driver, sizeof l->driver, "none");
    l->has_fp64 = true;
    l->subgroup = 32;
    l->multiprocessors = chip->multiprocessors;
    l->group_most = 1024;
    l->shared_most = chip->shared_most;
    l->threads_most = 2048;
    l->cache_l1 = chip->shared_of_multiprocessor;
    l->cache_l2 = chip->cache_l2;
    l->memory = l->memory_most = chip->memory;
    l->groups_most[0] = INT32_MAX;
    l->groups_most[1] = l->groups_most[2] = 65535;
    made[number] = device;
}

static int fake_count(const char **why) {
    if (why) *why = "";
    return DEVICES_MOST;
}

static tamis_status fake_open(int number, tamis_gpu_device **device) {
    *device = number >= 0 && number < DEVICES_MOST && made[number] ? &made[number]->shared : NULL;
    return *device ? TAMIS_OK : tamis_fail(TAMIS_ERROR_DEVICE, "cuda:%d has not been made", number);
}

static tamis_status fake_compile(tamis_gpu_device *device, const char *name, const char *source,
                                 const char *definitions, tamis_gpu_binary *binary, tamis_gpu_module **module) {
    fake_device *const self = (fake_device *)device;
    *module = NULL;
    *binary = (tamis_gpu_binary){NULL, 0};
    if (self->compile) TRY(self->compile(self, name, source, definitions));
    TRY(tamis_allocate_zeroed(1, 1, "code that is none", &binary->memory));
    binary->bytes = 1;
    return TAMIS_OK;
}

static tamis_status fake_load(tamis_gpu_device *device, const tamis_gpu_binary *binary, tamis_gpu_module **module) {
    *module = (tamis_gpu_module *)device; /* any address will do */
    return TAMIS_OK;
}

static void fake_unload(tamis_gpu_device *device, tamis_gpu_module *module) {}

static tamis_status fake_function(tamis_gpu_device *device, tamis_gpu_module *module, const char *name,
                                  int64_t shared_bytes, void **function) {
    if (shared_bytes > device->limits.shared_most)
        return tamis_fail(TAMIS_ERROR_DEVICE, "%s asks for %lld bytes of shared memory of %lld", name,
                          (long long)shared_bytes, (long long)device->limits.shared_most);
    *function = module;
    return TAMIS_OK;
}

static void fake_release_function(tamis_gpu_device *device, void *function) {}

static tamis_status check_stream_of(const tamis_gpu_device *device, const void *stream, const char *what) {
    const fake_device *const self = (const fake_device *)device;
    if (stream == self->stream) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_INTERNAL, "%s in stream %p, not in %p", what, stream, self->stream);
}

static tamis_status fake_launch(tamis_gpu_device *device, void *stream, tamis_gpu_kernel *kernel,
                                const tamis_gpu_launch *launch, const tamis_gpu_argument *arguments, int count) {
    TRY(check_stream_of(device, stream, kernel->name));
    if (launch->group_size < 1 || launch->group_size > device->limits.group_most)
        return tamis_fail(TAMIS_ERROR_DEVICE, "%s: groups of %d", kernel->name, launch->group_size);
    ((fake_device *)device)->launches++;
    return TAMIS_OK;
}

enum { HEAD = 64 }; /* before each piece of memory: the stream that it came with */

/* Zeros, of which the system gives as many as are touched: real matrices are large. */
static tamis_status fake_allocate(tamis_gpu_device *device, void *stream, size_t bytes, void **memory) {
    *memory = NULL;
    if (bytes == 0) return TAMIS_OK;
    if (stream != TAMIS_ALL_STREAMS) TRY(check_stream_of(device, stream, "memory"));
    char *const block = calloc(1, bytes + HEAD);
    if (!block) return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory", device->limits.name);
    memcpy(block, &stream, sizeof stream);
    *memory = block + HEAD;
    return TAMIS_OK;
}

static bool fake_release(tamis_gpu_device *device, void *stream, void *memory) {
    char *const block = (char *)memory - HEAD;
    if (memcmp(block, &stream, sizeof stream) != 0) ((fake_device *)device)->released_wrongly++;
    free(block);
    return true;
}

static tamis_status fake_host_memory(tamis_gpu_device *device, size_t bytes, void **memory) {
    *memory = calloc(1, bytes);
    return *memory ? TAMIS_OK : tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory", device->limits.name);
}

static tamis_status fake_write(tamis_gpu_device *device, void *stream, tamis_place to, const void *from, size_t bytes) {
    TRY(check_stream_of(device, stream, "a write"));
    if (bytes) memcpy((char *)to.base + to.bytes, from, bytes);
    return TAMIS_OK;
}

static tamis_status fake_read(tamis_gpu_device *device, void *stream, void *to, tamis_place from, size_t bytes) {
    TRY(check_stream_of(device, stream, "a read"));
    if (bytes) memcpy(to, (const char *)from.base + from.bytes, bytes);
    return TAMIS_OK;
}

static tamis_status fake_copy(tamis_gpu_device *device, void *stream, tamis_place to, tamis_place from, size_t bytes) {
    TRY(check_stream_of(device, stream, "a copy"));
    if (bytes) memcpy((char *)to.base + to.bytes, (const char *)from.base + from.bytes, bytes);
    return TAMIS_OK;
}

static tamis_status fake_fill(tamis_gpu_device *device, void *stream, tamis_place to, int byte, size_t bytes) {
    TRY(check_stream_of(device, stream, "filling"));
    if (bytes && byte) memset((char *)to.base + to.bytes, byte, bytes); /* zeros are there already */
    return TAMIS_OK;
}

static tamis_status fake_finish(tamis_gpu_device *device, void *stream) {
    return check_stream_of(device, stream, "waiting");
}

static tamis_status fake_check_stream(tamis_gpu_device *device, void *stream) { return TAMIS_OK; }

static tamis_status fake_memory(tamis_gpu_device *device, int64_t *free_bytes) {
    *free_bytes = device->limits.memory;
    return TAMIS_OK;
}

static tamis_status fake_record(tamis_gpu_device *device, void *stream, void **event) {
    TRY(check_stream_of(device, stream, "a mark"));
    *event = device;
    return TAMIS_OK;
}

static tamis_status fake_elapsed(tamis_gpu_device *device, void *start, void *end, double *seconds) {
    *seconds = 1e-3;
    return TAMIS_OK;
}

static void fake_release_event(tamis_gpu_device *device, void *event) {}

/* The words stay zeros: nothing is copied. */
static bool fake_describe_tiles(tamis_gpu_device *device, tamis_gpu_tiles *tiles) {
    return ((fake_device *)device)->chip->architecture == 90;
}

/* Named cuda: algorithms that need CUDA ask for that name. */
static const tamis_gpu_runtime fake_runtime = {.name = "cuda",
                                               .count = fake_count,
                                               .open = fake_open,
                                               .compile = fake_compile,
                                               .load = fake_load,
                                               .unload = fake_unload,
                                               .function = fake_function,
                                               .release_function = fake_release_function,
                                               .launch = fake_launch,
                                               .describe_tiles = fake_describe_tiles,
                                               .allocate = fake_allocate,
                                               .release = fake_release,
                                               .host_memory = fake_host_memory,
                                               .write = fake_write,
                                               .read = fake_read,
                                               .copy = fake_copy,
                                               .fill = fake_fill,
                                               .finish = fake_finish,
                                               .check_stream = fake_check_stream,
                                               .memory = fake_memory,
                                               .record = fake_record,
                                               .elapsed = fake_elapsed,
                                               .release_event = fake_release_event};
