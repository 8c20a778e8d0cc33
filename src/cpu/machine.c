/* A description of this machine, from the C library and /proc. */
#include "cpu/parts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Reads what the system says of cache number `index` of the first core; false if it says nothing. */
static bool read_about(int index, const char *what, char *text, int bytes) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
    FILE *const file = fopen(path, "re");
    if (!file) return false;
    const bool read = fgets(text, bytes, file) != NULL;
    fclose(file);
    return read;
}

/* The size of a cache, which is written as "32K", "1024K" or "32M"; 0 if the system does not say. */
static int64_t read_cache(int wanted_level) {
    for (int index = 0; index < 8; index++) {
        char level[32], type[32], size[32], *unit;
        if (!read_about(index, "level", level, sizeof level) || !read_about(index, "type", type, sizeof type)) return 0;
        if (strtol(level, NULL, 10) != wanted_level || strncmp(type, "Instruction", 11) == 0) continue;
        if (!read_about(index, "size", size, sizeof size)) return 0;
        const long long number = strtoll(size, &unit, 10);
        return number <= 0 ? 0 : (int64_t)number * (*unit == 'M' ? 1 << 20 : *unit == 'K' ? 1 << 10 : 1);
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
