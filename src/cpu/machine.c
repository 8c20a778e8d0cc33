/* A description of this machine, from the C library, /proc and /sys. */
#include "cpu/parts.h"

#include <pthread.h>
#include <sched.h>
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

/* Processors that this process may use; of more than 1024, the first of them. */
static cpu_set_t allowed;

static void read_allowed(void) {
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) return;
    CPU_ZERO(&allowed);
    CPU_SET(0, &allowed);
}

static int next_allowed(int processor) {
    while (processor < CPU_SETSIZE && !CPU_ISSET((size_t)processor, &allowed)) processor++;
    return processor;
}

/* Reads a file that describes cache number `index` of a processor; false if there is none. */
static bool read_about(int processor, int index, const char *what, char *text, int bytes) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", processor, index, what);
    FILE *const file = fopen(path, "re");
    if (!file) return false;
    const bool read = fgets(text, bytes, file) != NULL;
    fclose(file);
    return read;
}

/* Returns the number of a processor's data cache of this level; -1 if the system does not say. */
static int find_cache(int processor, int wanted_level) {
    char level[32], type[32];
    for (int index = 0; read_about(processor, index, "level", level, sizeof level) &&
                        read_about(processor, index, "type", type, sizeof type);
         index++)
        if (strtol(level, NULL, 10) == wanted_level && strncmp(type, "Instruction", 11) != 0) return index;
    return -1;
}

/* The first processor's cache. Its size is written as "32K", "1024K" or "32M"; `usual` if the system does not say. */
static int64_t read_size(int level, int64_t usual) {
    const int processor = next_allowed(0), index = find_cache(processor, level);
    char size[32], *unit;
    if (index < 0 || !read_about(processor, index, "size", size, sizeof size)) return usual;
    const long long number = strtoll(size, &unit, 10);
    return number <= 0 ? usual : (int64_t)number * (*unit == 'M' ? 1 << 20 : *unit == 'K' ? 1 << 10 : 1);
}

/* Returns how many of the allowed processors a list such as "0-3,64-67" has. */
static int count_listed(const char *list) {
    int count = 0;
    for (char *end; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
        const long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long i = first; i <= last && i < CPU_SETSIZE; i++) count += CPU_ISSET((size_t)i, &allowed) != 0;
    }
    return count;
}

static int read_sharers(int level) {
    const int processor = next_allowed(0), index = find_cache(processor, level);
    char list[512];
    const bool read = index >= 0 && read_about(processor, index, "shared_cpu_list", list, sizeof list);
    const int count = read ? count_listed(list) : 1;
    return count < 1 ? 1 : count;
}

static void read_machine(void) {
    read_model(machine.model, sizeof machine.model);
    read_allowed();
    machine.processors = CPU_COUNT(&allowed);
    machine.cache_l1 = read_size(1, 32 << 10);
    machine.cache_l2 = read_size(2, 512 << 10);
    machine.cache_l3 = read_size(3, 8 << 20);
    machine.sharers_l1 = read_sharers(1);
    machine.sharers_l2 = read_sharers(2);
    machine.sharers_l3 = read_sharers(3);
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    machine.memory = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
}

const tamis_cpu_machine *tamis_cpu_machine_read(void) {
    pthread_once(&once, read_machine);
    return &machine;
}

/* Threads are spread over the caches before two of them share one. */
int64_t tamis_cpu_cache_of_thread(int64_t bytes, int sharers, int threads) {
    const int caches = (machine.processors + sharers - 1) / sharers, most = (threads + caches - 1) / caches;
    return bytes / (most < 1 ? 1 : most < sharers ? most : sharers);
}
