/* The files are in a private folder of the user (0700). */
#include "select/device_key.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache_folder.h"

int tamis_processors_of(const tamis_backend *backend, int threads) {
    const int processors = backend->processors ? backend->processors() : threads;
    return processors < threads ? processors : threads;
}

bool tamis_device_key(const tamis_backend *backend, int number, int threads, char key[TAMIS_DEVICE_KEY]) {
    tamis_device_description device;
    if (backend->describe(number, &device) != TAMIS_OK) return false;
    const int processors = tamis_processors_of(backend, threads);
    char fewer[32] = ""; /* measurements with threads that share processors hold only for those */
    if (processors < threads) snprintf(fewer, sizeof fewer, " on %d processors", processors);
    snprintf(key, TAMIS_DEVICE_KEY, "%s %s %s %d threads%s %lld %lld %lld", device.name, device.model,
             device.instruction_set, threads, fewer, (long long)device.cache_l1, (long long)device.cache_l2,
             (long long)device.cache_l3);
    return true;
}

void tamis_device_key_of_chip(char key[TAMIS_DEVICE_KEY]) {
    char *const colon = key + strcspn(key, ": ");
    if (*colon != ':') return;
    const char *const rest = colon + 1 + strspn(colon + 1, "0123456789");
    if (*rest == ' ') memmove(colon, rest, strlen(rest) + 1);
}

/* Makes the file's name from the key: replaces all but letters and digits by '-'. */
void tamis_device_file(const char *prefix, const char *key, char name[TAMIS_DEVICE_FILE]) {
    char plain[TAMIS_DEVICE_KEY];
    size_t i = 0;
    for (; key[i] && i + 1 < sizeof plain; i++) {
        const char c = key[i];
        const bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        plain[i] = stays ? c : '-';
    }
    plain[i] = 0;
    snprintf(name, TAMIS_DEVICE_FILE, "%.30s%.200s.txt", prefix, plain);
}

FILE *tamis_device_file_open(const char *prefix, const char *key, bool of_site) {
    char name[TAMIS_DEVICE_FILE], path[PATH_MAX];
    tamis_device_file(prefix, key, name);
    if (!of_site) return tamis_cache_open(NULL, name);
    const char *const site = secure_getenv("TAMIS_CEILINGS");
    if (!site || snprintf(path, sizeof path, "%s/%s", site, name) >= (int)sizeof path) return NULL;
    return fopen(path, "re");
}

static bool is_line(FILE *file, const char *text) {
    char line[TAMIS_DEVICE_KEY + 64];
    const size_t length = strlen(text);
    return fgets(line, sizeof line, file) && strncmp(line, text, length) == 0 && line[length] == '\n';
}

bool tamis_device_file_begins(FILE *file, const char *format, const char *key) {
    return is_line(file, format) && is_line(file, key);
}

typedef struct count {
    const char *prefix;
    bool remove;
    int64_t count; /* number of files that stay */
} count;

static bool is_counted(void *context, const char *name, const struct stat *file) {
    count *const c = context;
    const size_t length = strlen(name);
    (void)file;
    const bool counted =
        strncmp(name, c->prefix, strlen(c->prefix)) == 0 && length >= 4 && strcmp(name + length - 4, ".txt") == 0;
    c->count += counted && !c->remove;
    return counted && c->remove;
}

int64_t tamis_device_files(const char *prefix, bool remove) {
    count c = {.prefix = prefix, .remove = remove};
    const int64_t removed = tamis_cache_each(NULL, is_counted, &c);
    return removed + c.count;
}
