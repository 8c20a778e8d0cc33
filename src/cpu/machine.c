/* A description of this machine, from the C library, /proc and /sys. */
#include "cpu/parts.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/control_groups.h"
#include "base/processors.h"

static tamis_cpu_machine machine;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Reads the text after the colon of the first line that begins with `name`; false if there is none. */
static bool read_line(FILE *file, const char *name, char *value, size_t bytes) {
    char line[256];
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, name, strlen(name)) != 0 || !colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(value, bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
        return true;
    }
    return false;
}

/* On ARM the kernel gives numbers instead of a name. */
static void read_model(char *model, size_t bytes) {
    FILE *const file = fopen("/proc/cpuinfo", "re");
    char maker[24], part[24];
    snprintf(model, bytes, "unknown CPU");
    if (!file) return;
    if (!read_line(file, "model name", model, bytes) && read_line(file, "CPU implementer", maker, sizeof maker) &&
        read_line(file, "CPU part", part, sizeof part))
        snprintf(model, bytes, "CPU part %s of implementer %s", part, maker);
    fclose(file);
}

/* Processors that this process may use; at most PROCESSORS_MOST are considered. */
enum { PROCESSORS_MOST = 1 << 16 };
static cpu_set_t allowed[PROCESSORS_MOST / CPU_SETSIZE];

static bool is_allowed(long processor) { return CPU_ISSET_S((size_t)processor, sizeof allowed, allowed) != 0; }

static void read_allowed(void) {
    if (sched_getaffinity(0, sizeof allowed, allowed) == 0 && CPU_COUNT_S(sizeof allowed, allowed) > 0) return;
    CPU_ZERO_S(sizeof allowed, allowed);
    CPU_SET_S(0, sizeof allowed, allowed);
}

static int next_allowed(int processor) {
    while (processor < PROCESSORS_MOST && !is_allowed(processor)) processor++;
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

/* The size of the first processor's cache, written as "32K", "1024K" or "32M"; `usual` if the system does not say. */
static int64_t read_size(int level, int64_t usual) {
    const int processor = next_allowed(0), index = find_cache(processor, level);
    char size[32], *unit;
    if (index < 0 || !read_about(processor, index, "size", size, sizeof size)) return usual;
    const long long number = strtoll(size, &unit, 10);
    return number <= 0 ? usual : (int64_t)number * (*unit == 'M' ? 1 << 20 : *unit == 'K' ? 1 << 10 : 1);
}

/* Counts the allowed processors in a list such as "0-3,64-67". */
static int count_listed(const char *list) {
    int count = 0;
    for (char *end; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
        const long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long i = first; i <= last && i < PROCESSORS_MOST; i++) count += is_allowed(i);
    }
    return count;
}

/* The number of processors that share the first one's cache; `usual` if the system does not say. */
static int read_sharers(int level, int usual) {
    const int processor = next_allowed(0), index = find_cache(processor, level);
    char list[512];
    if (index < 0 || !read_about(processor, index, "shared_cpu_list", list, sizeof list)) return usual;
    const int count = count_listed(list);
    return count < 1 ? 1 : count;
}

/* Bytes of memory available to this process; 0 if unknown. */
static int64_t read_memory(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const int64_t limit = tamis_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");
    int64_t memory = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
    struct rlimit space;
    if (limit > 0 && (memory == 0 || limit < memory)) memory = limit;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && (int64_t)space.rlim_cur < memory)
        memory = (int64_t)space.rlim_cur;
    return memory;
}

/* The list of nodes is "0", or "0-3". */
static bool has_several_memories(void) {
    FILE *const file = fopen("/sys/devices/system/node/has_memory", "re");
    char list[64] = "";
    if (!file) return false;
    const bool read = fgets(list, sizeof list, file) != NULL;
    fclose(file);
    return read && strpbrk(list, ",-");
}

static void read_machine(void) {
    read_model(machine.model, sizeof machine.model);
    read_allowed();
    machine.processors = CPU_COUNT_S(sizeof allowed, allowed);
    machine.at_once = tamis_processors();
    machine.cache_l1 = read_size(1, 32 << 10);
    machine.cache_l2 = read_size(2, 512 << 10);
    machine.cache_l3 = read_size(3, 8 << 20);
    machine.sharers_l1 = read_sharers(1, 1);
    machine.sharers_l2 = read_sharers(2, 1);
    machine.sharers_l3 = read_sharers(3, machine.processors);
    machine.memory = read_memory();
    machine.several_memories = has_several_memories();
}

const tamis_cpu_machine *tamis_cpu_machine_read(void) {
    pthread_once(&once, read_machine);
    return &machine;
}

/* Assumes that threads are spread over the caches before two of them share one. */
int64_t tamis_cpu_cache_of_thread(int64_t bytes, int sharers, int threads) {
    const int caches = (machine.processors + sharers - 1) / sharers, most = (threads + caches - 1) / caches;
    return bytes / (most < 1 ? 1 : most < sharers ? most : sharers);
}
