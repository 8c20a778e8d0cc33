/* Clock speeds, from /proc/cpuinfo and from NVIDIA's management library (NVML), which is opened if it is installed. */
#include "bench/clock_speed.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers.h"

static double of_processor(void) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return NAN;
    char line[512];
    double sum = 0, value = 0;
    int count = 0;
    while (fgets(line, sizeof line, file)) {
        const char *colon = strncmp(line, "cpu MHz", 7) == 0 ? strchr(line, ':') : NULL;
        if (!colon) continue;
        value = strtod(colon + 1, NULL);
        sum += value;
        count++;
    }
    fclose(file);
    return count > 0 && sum > 0 ? sum / count : (double)NAN;
}

/* The required functions of NVML; they return 0 on success. */
static struct {
    bool tried;
    void *library;
    int (*init)(void);
    int (*handle)(unsigned number, void **device);
    int (*clock)(void *device, int kind, unsigned *mhz);
} management;

static bool open_management(void) {
    if (management.tried) return management.library != NULL;
    management.tried = true;
    management.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!management.library) return false;
    const tool_peer_symbol symbols[] = {{"nvmlInit_v2", &management.init},
                                        {"nvmlDeviceGetHandleByIndex_v2", &management.handle},
                                        {"nvmlDeviceGetClockInfo", &management.clock},
                                        {0}};
    const char *missing = tool_peer_load(management.library, symbols);
    if (missing || management.init() != 0) management.library = NULL;
    return management.library != NULL;
}

/* NVML numbers all GPUs of the machine, CUDA only the visible ones: the numbers differ if CUDA_VISIBLE_DEVICES is
   set. */
static double of_cuda(const char *name) {
    enum { MULTIPROCESSORS = 1 };
    void *device = NULL;
    unsigned mhz = 0;
    if (getenv("CUDA_VISIBLE_DEVICES") || !open_management()) return NAN;
    const char *colon = strchr(name, ':');
    if (management.handle(colon ? (unsigned)atoi(colon + 1) : 0, &device) != 0) return NAN;
    return management.clock(device, MULTIPROCESSORS, &mhz) == 0 ? (double)mhz : (double)NAN;
}

double tool_clock_mhz(const tool_device *device) {
    if (!device->gpu) return of_processor();
    return strncmp(device->description.name, "cuda:", 5) == 0 ? of_cuda(device->description.name) : (double)NAN;
}
