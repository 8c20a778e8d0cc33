/*
 * An entry is a file named after the hash of its key: a format line, the lengths of key and content and a checksum of
 * both, then the key, then the content. The whole key is compared, so equal hashes do no harm.
 */
#include "gpu/compile/program_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cache_folder.h"
#include "base/fnv.h"
#include "base/memory.h"
#include "base/status.h"

enum { NAME_BYTES = 64, ENTRY_MOST = 64 << 20 };
static const char *const format_line = "tamis program 1";
static const char *const suffix = ".program", *const below = "programs";

static const uint64_t seed_a = TAMIS_FNV_START, seed_b = 0x9ae16a3b2f90404fu;

static void name_of(const char *key, char name[NAME_BYTES]) {
    const size_t length = strlen(key);
    snprintf(name, NAME_BYTES, "%016llx%016llx%s", (unsigned long long)tamis_fnv_bytes(seed_a, key, length),
             (unsigned long long)tamis_fnv_bytes(seed_b, key, length), suffix);
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
           memcmp(content, key, key_bytes) == 0 && tamis_fnv_bytes(seed_a, content, key_bytes + bytes) == sum;
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
    char name[NAME_BYTES];
    name_of(key, name);
    return tamis_cache_has(below, name);
}

bool tamis_program_cache_load(const char *key, tamis_gpu_binary *binary) {
    char name[NAME_BYTES];
    *binary = (tamis_gpu_binary){NULL, 0};
    name_of(key, name);
    FILE *const file = tamis_cache_open(below, name);
    if (!file) return false;
    const bool good = read_entry(file, key, binary);
    fclose(file);
    if (!good) tamis_cache_remove(below, name); /* damaged: it is made again */
    tamis_clear_error();
    return good;
}

typedef struct survey {
    int64_t entries, bytes;
    time_t oldest;
    char oldest_name[NAME_MAX + 1];
} survey;

static bool is_entry(const char *name) { return strstr(name, suffix) != NULL; }

static bool weigh(void *context, const char *name, const struct stat *entry) {
    survey *const s = context;
    if (!is_entry(name)) return false;
    s->entries++;
    s->bytes += entry->st_size;
    if (s->oldest_name[0] && entry->st_mtime >= s->oldest) return false;
    s->oldest = entry->st_mtime;
    snprintf(s->oldest_name, sizeof s->oldest_name, "%s", name);
    return false;
}

/* Removes the oldest entries until the rest fits; another process may be doing the same. */
static void shrink(int64_t most) {
    for (int round = 0; round < 4096; round++) {
        survey s = {0};
        tamis_cache_each(below, weigh, &s);
        if (s.bytes <= most || !s.oldest_name[0] || !tamis_cache_remove(below, s.oldest_name)) return;
    }
}

void tamis_program_cache_save(const char *key, const tamis_gpu_binary *binary) {
    char name[NAME_BYTES];
    const size_t key_bytes = strlen(key);
    const int64_t most = tamis_cache_bytes();
    tamis_cache_draft draft;
    name_of(key, name);
    if (binary->bytes > ENTRY_MOST || (int64_t)binary->bytes > most || !tamis_cache_draft_open(below, name, &draft))
        return;
    const uint64_t sum = tamis_fnv_bytes(tamis_fnv_bytes(seed_a, key, key_bytes), binary->memory, binary->bytes);
    fprintf(draft.file, "%s\n%zu %zu %llx\n", format_line, key_bytes, binary->bytes, (unsigned long long)sum);
    fwrite(key, 1, key_bytes, draft.file);
    fwrite(binary->memory, 1, binary->bytes, draft.file);
    if (tamis_cache_draft_close(&draft)) shrink(most);
}

void tamis_program_cache_measure(char *path, size_t path_bytes, int64_t *entries, int64_t *bytes, int64_t *most) {
    survey s = {0};
    if (!tamis_cache_path(below, path, path_bytes)) path[0] = 0;
    tamis_cache_each(below, weigh, &s);
    *entries = s.entries;
    *bytes = s.bytes;
    *most = tamis_cache_bytes();
}

static bool is_erased(void *context, const char *name, const struct stat *entry) {
    (void)context;
    (void)entry;
    return is_entry(name);
}

int64_t tamis_program_cache_clear(void) { return tamis_cache_each(below, is_erased, NULL); }
