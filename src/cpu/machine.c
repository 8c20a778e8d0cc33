/* A description of this machine, from the C library and /proc. */
#include "cpu/parts.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static tamis_cpu_machine machine;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_model(char *model, size_t bytes) {
    FILE *const file = fopen("/proc/cpuinfo", "re");
    char line[256];
    snprintf(model, bytes, "unknown CPU");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "model name", 10) != 0) continue;
        const char *value = strchr(line, ':');
        if (!value) continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(model, bytes, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    fclose(file);
}

/* The size of a cache of the first core, from a file with "32K", "1024K" or "32M"; 0 if there is no such file. */
static int64_t read_cache(int wanted_level) {
    for (int index = 0; index < 8; index++) {
        char path[96], type[32] = "", unit = 0;
        long long size = 0;
        int level = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", index);
        FILE *file = fopen(path, "re");
        if (!file) return 0;
        const int got_level = fscanf(file, "%d", &level);
        fclose(file);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", index);
        file = fopen(path, "re");
        if (!file) return 0;
        const int got_type = fscanf(file, "%31s", type);
        fclose(file);
        if (got_level != 1 || got_type != 1 || level != wanted_level || strcmp(type, "Instruction") == 0) continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        file = fopen(path, "re");
        if (!file) return 0;
        const int got_size = fscanf(file, "%lld%c", &size, &unit);
        fclose(file);
        if (got_size < 1 || size <= 0) return 0;
        return (int64_t)size * (unit == 'M' ? 1 << 20 : unit == 'K' ? 1 << 10 : 1);
    }
    return 0;
}

static void read_machine(void) {
    read_model(machine.model, sizeof machine.model);
    machine.cache_l1 = read_cache(1);
    machine.cache_l2 = read_cache(2);
    machine.cache_l3 = read_cache(3);
    if (machine.cache_l1 <= 0) machine.cache_l1 = 32 << 10;
    if (machine.cache_l2 <= 0) machine.cache_l2 = 512 << 10;
    if (machine.cache_l3 <= 0) machine.cache_l3 = 8 << 20;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    machine.memory = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
}

const tamis_cpu_machine *tamis_cpu_machine_read(void) {
    pthread_once(&once, read_machine);
    return &machine;
}
