/*
 * An entry is a file named after the hash of its key: a format line, the lengths of key and content and a checksum of
 * both, then the key, then the content. The whole key is compared, so equal hashes do no harm.
 */
#include "gpu/compile/program_cache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/memory.h"
#include "base/status.h"

enum { PATH_BYTES = 1024, ENTRY_MOST = 64 << 20 };
static const char *const format_line = "tamis program 1";
static const char *const suffix = ".program";

/* FNV-1a, 64 bits: enough to tell a damaged file; nothing here defends against who can write the user's files */
static uint64_t hash(uint64_t seed, const void *data, size_t bytes) {
    const unsigned char *const at = data;
    uint64_t h = seed;
    for (size_t i = 0; i < bytes; i++) h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

static const uint64_t seed_a = 0xcbf29ce484222325u, seed_b = 0x9ae16a3b2f90404fu;

static bool path_of(const char *key, char *path, size_t bytes) {
    char folder[PATH_BYTES];
    if (!tamis_cache_folder("programs", folder, sizeof folder)) return false;
    const size_t length = strlen(key);
    const int n = snprintf(path, bytes, "%s/%016llx%016llx%s", folder, (unsigned long long)hash(seed_a, key, length),
                           (unsigned long long)hash(seed_b, key, length), suffix);
    return n > 0 && (size_t)n < bytes;
}

static bool read_entry(FILE *file, const char *key, tamis_gpu_binary *binary) {
    char line[64];
    unsigned long long key_bytes, bytes, sum;
    bool good = fgets(line, sizeof line, file) && strncmp(line, format_line, strlen(format_line)) == 0 &&
                fscanf(file, "%llu %llu %llx", &key_bytes, &bytes, &sum) == 3 && fgetc(file) == '\n' &&
                key_bytes == strlen(key) && bytes > 0 && bytes <= ENTRY_MOST;
    if (!good || tamis_allocate((int64_t)(key_bytes + bytes), 1, "a cached kernel", &binary->memory) != TAMIS_OK)
        return false;
    char *const content = binary->memory;
    good = fread(content, 1, key_bytes + bytes, file) == key_bytes + bytes && fgetc(file) == EOF &&
           memcmp(content, key, key_bytes) == 0 && hash(seed_a, content, key_bytes + bytes) == sum;
    if (good) {
        memmove(content, content + key_bytes, bytes);
        binary->bytes = (size_t)bytes;
        return true;
    }
    tamis_release(binary->memory);
    binary->memory = NULL;
    return false;
}

bool tamis_program_cache_has(const char *key) {
    char path[PATH_BYTES + 64];
    return path_of(key, path, sizeof path) && access(path, R_OK) == 0;
}

bool tamis_program_cache_load(const char *key, tamis_gpu_binary *binary) {
    char path[PATH_BYTES + 64];
    *binary = (tamis_gpu_binary){NULL, 0};
    if (!path_of(key, path, sizeof path)) return false;
    FILE *const file = tamis_cache_open(path);
    if (!file) return false;
    const bool good = read_entry(file, key, binary);
    fclose(file);
    if (!good) unlink(path); /* damaged: it will be made again */
    tamis_clear_error();
    return good;
}

/* Calls `visit` for each entry; returns how many there are. */
static int64_t each(void (*visit)(void *context, const char *path, const struct stat *entry), void *context) {
    char folder[PATH_BYTES], path[PATH_BYTES + 288];
    int64_t count = 0;
    if (!tamis_cache_folder("programs", folder, sizeof folder)) return 0;
    DIR *const listing = opendir(folder);
    if (!listing) return 0;
    for (const struct dirent *at = readdir(listing); at; at = readdir(listing)) {
        struct stat entry;
        if (!strstr(at->d_name, suffix)) continue;
        snprintf(path, sizeof path, "%s/%.255s", folder, at->d_name);
        if (lstat(path, &entry) != 0 || !S_ISREG(entry.st_mode)) continue;
        count++;
        visit(context, path, &entry);
    }
    closedir(listing);
    return count;
}

typedef struct survey {
    int64_t bytes;
    time_t oldest;
    char oldest_path[PATH_BYTES + 288];
} survey;

static void weigh(void *context, const char *path, const struct stat *entry) {
    survey *const s = context;
    s->bytes += entry->st_size;
    if (s->oldest_path[0] && entry->st_mtime >= s->oldest) return;
    s->oldest = entry->st_mtime;
    snprintf(s->oldest_path, sizeof s->oldest_path, "%s", path);
}

/* Removes the oldest entries until what is left fits; another process may be doing the same. */
static void shrink(int64_t most) {
    for (int round = 0; round < 4096; round++) {
        survey s = {0};
        each(weigh, &s);
        if (s.bytes <= most || !s.oldest_path[0] || unlink(s.oldest_path) != 0) return;
    }
}

void tamis_program_cache_save(const char *key, const tamis_gpu_binary *binary) {
    char path[PATH_BYTES + 64];
    const size_t key_bytes = strlen(key);
    const int64_t most = tamis_cache_bytes();
    tamis_cache_draft draft;
    if (binary->bytes > ENTRY_MOST || (int64_t)binary->bytes > most || !path_of(key, path, sizeof path) ||
        !tamis_cache_draft_open(path, &draft))
        return;
    const uint64_t sum = hash(hash(seed_a, key, key_bytes), binary->memory, binary->bytes);
    fprintf(draft.file, "%s\n%zu %zu %llx\n", format_line, key_bytes, binary->bytes, (unsigned long long)sum);
    fwrite(key, 1, key_bytes, draft.file);
    fwrite(binary->memory, 1, binary->bytes, draft.file);
    if (tamis_cache_draft_close(&draft)) shrink(most);
}

void tamis_program_cache_measure(char *path, size_t path_bytes, int64_t *entries, int64_t *bytes, int64_t *most) {
    survey s = {0};
    if (!tamis_cache_folder("programs", path, path_bytes)) path[0] = 0;
    *entries = each(weigh, &s);
    *bytes = s.bytes;
    *most = tamis_cache_bytes();
}

static void erase(void *context, const char *path, const struct stat *entry) {
    (void)entry;
    if (unlink(path) == 0) ++*(int64_t *)context;
}

int64_t tamis_program_cache_clear(void) {
    int64_t removed = 0;
    each(erase, &removed);
    return removed;
}
