/* The files are in a folder of the user's own (0700). */
#include "select/device_key.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_folder.h"

enum { PATH_BYTES = 1024 };

int tamis_processors_of(const tamis_backend *backend, int threads) {
    const int processors = backend->processors ? backend->processors() : threads;
    return processors < threads ? processors : threads;
}

bool tamis_device_key(const tamis_backend *backend, int number, int threads, char key[TAMIS_DEVICE_KEY]) {
    tamis_device_description device;
    if (backend->describe(number, &device) != TAMIS_OK) return false;
    const int processors = tamis_processors_of(backend, threads);
    char fewer[32] = ""; /* what is measured of threads that take turns holds for no others */
    if (processors < threads) snprintf(fewer, sizeof fewer, " on %d processors", processors);
    snprintf(key, TAMIS_DEVICE_KEY, "%s %s %s %d threads%s %lld %lld %lld", device.name, device.model,
             device.instruction_set, threads, fewer, (long long)device.cache_l1, (long long)device.cache_l2,
             (long long)device.cache_l3);
    return true;
}

/* Makes the file's name from the key: letters and digits stay, all else becomes '-'. */
bool tamis_device_file(const char *prefix, const char *key, char *path, size_t bytes) {
    char folder[PATH_BYTES], name[TAMIS_DEVICE_KEY];
    size_t i = 0;
    if (!tamis_cache_folder(NULL, folder, sizeof folder)) return false;
    for (; key[i] && i + 1 < sizeof name; i++) {
        const char c = key[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name[i] = plain ? c : '-';
    }
    name[i] = 0;
    const int n = snprintf(path, bytes, "%s/%s%.200s.txt", folder, prefix, name);
    return n > 0 && (size_t)n < bytes;
}

int64_t tamis_device_files(const char *prefix, bool remove) {
    char folder[PATH_BYTES], path[PATH_BYTES + 288];
    int64_t count = 0;
    if (!tamis_cache_folder(NULL, folder, sizeof folder)) return 0;
    DIR *const listing = opendir(folder);
    if (!listing) return 0;
    for (const struct dirent *at = readdir(listing); at; at = readdir(listing)) {
        const size_t length = strlen(at->d_name);
        if (strncmp(at->d_name, prefix, strlen(prefix)) != 0 || length < 4 ||
            strcmp(at->d_name + length - 4, ".txt") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%.255s", folder, at->d_name);
        if (!remove || unlink(path) == 0) count++;
    }
    closedir(listing);
    return count;
}
