#include "base/control_groups.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"

enum { PATH_BYTES = 1024, LINE_BYTES = PATH_BYTES / 2 };
static const double NO_LIMIT = 0x1p60; /* version 1 writes a number near 2^63 */

/* Reads the limit of a group's folder; 0: none. unified: version 2. */
typedef double limit_of(const char *folder, bool unified);

/* Reads up to two numbers at the beginning of a file, and returns how many there are. "max" is not a number. */
static int read_numbers(const char *folder, const char *name, double numbers[2]) {
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "re");
    if (!file) return 0;
    const int read = fscanf(file, "%lf %lf", &numbers[0], &numbers[1]);
    fclose(file);
    return read < 0 ? 0 : read;
}

/* Quota and period in microseconds: version 2 has both in one file, "200000 100000"; version 1 has a file for each. */
static double processors_of(const char *folder, bool unified) {
    double numbers[2] = {0, 0}, period[2] = {0, 0};
    if (!unified && read_numbers(folder, "cpu.cfs_period_us", period) < 1) return 0;
    const int read = read_numbers(folder, unified ? "cpu.max" : "cpu.cfs_quota_us", numbers);
    if (!unified) numbers[1] = period[0];
    return read >= 1 && numbers[0] > 0 && numbers[1] > 0 ? numbers[0] / numbers[1] : 0;
}

static double bytes_of(const char *folder, bool unified) {
    double bytes[2] = {0, 0};
    const int read = read_numbers(folder, unified ? "memory.max" : "memory.limit_in_bytes", bytes);
    return read >= 1 && bytes[0] > 0 && bytes[0] < NO_LIMIT ? bytes[0] : 0;
}

static double less(double a, double b) { return a > 0 && (b == 0 || a < b) ? a : b; }

/* Returns the smallest limit of a group and its ancestors. In a container the path may be the host's and not exist, but
   folders above it may. */
static double least_around(const char *root, char *group, bool unified, limit_of *limit) {
    double least = 0;
    for (bool more = true; more;) {
        char folder[PATH_BYTES];
        snprintf(folder, sizeof folder, "%s%s", root, group);
        least = less(limit(folder, unified), least);
        char *const slash = strrchr(group, '/');
        more = slash != NULL;
        if (slash) *slash = 0;
    }
    return least;
}

/* Returns true if a list such as "cpuacct,cpu" contains the controller. */
static bool has(const char *list, const char *controller) {
    const size_t length = strlen(controller);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, controller, length) == 0 && (at[length] == ',' || at[length] == 0)) return true;
    return false;
}

/* Lines are such as "0::/user.slice" in version 2 and "4:cpu,cpuacct:/docker/1f" in version 1. */
static double least_of(const char *groups, const char *root, const char *controller, limit_of *limit) {
    char line[LINE_BYTES], top[LINE_BYTES];
    double least = 0;
    FILE *const file = fopen(groups, "re");
    if (!file) return 0;
    const locale_t before = tamis_c_locale_enter();
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *const controllers = strchr(line, ':');
        char *const group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group = 0;
        const bool unified = controllers[1] == 0;
        if (!unified && !has(controllers + 1, controller)) continue;
        snprintf(top, sizeof top, "%s%s%s", root, unified ? "" : "/", unified ? "" : controller);
        least = less(least_around(top, group + 1, unified, limit), least);
    }
    tamis_c_locale_leave(before);
    fclose(file);
    return least;
}

int tamis_processors_quota(const char *groups, const char *root) {
    const double least = least_of(groups, root, "cpu", processors_of);
    return least >= 1 << 20 ? 0 : (int)least + (least > (int)least);
}

int64_t tamis_memory_limit(const char *groups, const char *root) {
    return (int64_t)least_of(groups, root, "memory", bytes_of);
}
