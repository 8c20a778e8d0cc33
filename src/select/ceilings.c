/*
 * The ceilings' cache. On disk it is a small text file of one line a number, in a folder of the user's own (0700),
 * written beside and renamed; a file of another machine, version or shape is ignored and written anew.
 */
#include "select/ceilings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache_folder.h"
#include "base/fork_lock.h"
#include "base/status.h"

enum { KEPT = 8, NUMBERS = 2 * 6 + 6 + 2 * 6, PATH_BYTES = 1024 };
static const char *const format_version = "tamis ceilings 1";

typedef struct entry {
    char key[256];
    const tamis_backend *backend;
    int number, threads;
    bool measured; /* else there is nothing on disk, and the call that found that out could not measure */
    tamis_ceilings ceilings;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
TAMIS_FORK_LOCK(lock)
static entry kept[KEPT];
static int kept_count;

/* ------------------------------------------------------------------------------------------ numbers in order */

static void to_numbers(const tamis_ceilings *c, double *numbers) {
    const double *const pairs[6] = {c->fp32_gflops, c->fp64_gflops, c->l1_gbs, c->l2_gbs, c->l3_gbs, c->memory_gbs};
    for (int i = 0; i < 6; i++) memcpy(numbers + 2 * i, pairs[i], 2 * sizeof(double));
    for (int i = 0; i < 6; i++) numbers[12 + i] = (double)c->gather_bytes[i];
    memcpy(numbers + 18, c->gather_gbs, sizeof c->gather_gbs);
}

static void from_numbers(const double *numbers, int threads, tamis_ceilings *c) {
    *c = (tamis_ceilings){.measured = true, .threads = threads};
    double *const pairs[6] = {c->fp32_gflops, c->fp64_gflops, c->l1_gbs, c->l2_gbs, c->l3_gbs, c->memory_gbs};
    for (int i = 0; i < 6; i++) memcpy(pairs[i], numbers + 2 * i, 2 * sizeof(double));
    for (int i = 0; i < 6; i++) c->gather_bytes[i] = (int64_t)numbers[12 + i];
    memcpy(c->gather_gbs, numbers + 18, sizeof c->gather_gbs);
}

/* ------------------------------------------------------------------------------------------ the file */

/* A file name out of the key: letters and digits stay, the rest becomes '-'. */
static bool cache_path(const char *key, char *path, size_t bytes) {
    char folder[PATH_BYTES], name[256];
    size_t i = 0;
    if (!tamis_cache_folder(NULL, folder, sizeof folder)) return false;
    for (; key[i] && i + 1 < sizeof name; i++) {
        const char c = key[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name[i] = plain ? c : '-';
    }
    name[i] = 0;
    const int n = snprintf(path, bytes, "%s/ceilings-%.200s.txt", folder, name);
    return n > 0 && (size_t)n < bytes;
}

static bool load(const char *key, int threads, tamis_ceilings *ceilings) {
    char path[PATH_BYTES + 256], line[320];
    double numbers[NUMBERS];
    if (!cache_path(key, path, sizeof path)) return false;
    FILE *const file = tamis_cache_open(path);
    if (!file) return false;
    bool good = fgets(line, sizeof line, file) && strncmp(line, format_version, strlen(format_version)) == 0 &&
                fgets(line, sizeof line, file) && strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == '\n';
    for (int i = 0; good && i < NUMBERS; i++)
        good = fscanf(file, "%lf", &numbers[i]) == 1 && numbers[i] > 0 && numbers[i] < 1e18;
    fclose(file);
    if (good) from_numbers(numbers, threads, ceilings);
    return good;
}

static void save(const char *key, const tamis_ceilings *ceilings) {
    char path[PATH_BYTES + 256];
    double numbers[NUMBERS];
    tamis_cache_draft draft;
    if (!cache_path(key, path, sizeof path) || !tamis_cache_draft_open(path, &draft)) return;
    to_numbers(ceilings, numbers);
    fprintf(draft.file, "%s\n%s\n", format_version, key);
    for (int i = 0; i < NUMBERS; i++) fprintf(draft.file, "%.17g\n", numbers[i]);
    tamis_cache_draft_close(&draft);
}

/* ------------------------------------------------------------------------------------------ the way through */

/* A GPU stays what it is, so that its number is as good as its description; the processor's instruction set may be
   another one than before. */
static entry *find_quickly(const tamis_backend *backend, int number, int threads) {
    for (int i = 0; backend->location == TAMIS_DEVICE && i < kept_count; i++)
        if (kept[i].backend == backend && kept[i].number == number && kept[i].threads == threads) return &kept[i];
    return NULL;
}

static entry *find(const char *key) {
    for (int i = 0; i < kept_count; i++)
        if (strcmp(kept[i].key, key) == 0) return &kept[i];
    return NULL;
}

/* The entry of what is not there yet, or was not measured. */
static entry *make(entry *known, const char *key, const tamis_backend *backend, int number, int threads,
                   bool may_measure) {
    tamis_ceilings fresh;
    bool found = load(key, threads, &fresh);
    if (!found && may_measure && backend->ceilings(number, threads, &fresh) == TAMIS_OK) {
        found = true;
        save(key, &fresh);
    }
    entry *const to = known ? known : &kept[kept_count < KEPT ? kept_count++ : KEPT - 1];
    *to = (entry){.backend = backend, .number = number, .threads = threads, .measured = found};
    memcpy(to->key, key, sizeof to->key);
    if (found) to->ceilings = fresh;
    return to;
}

void tamis_ceilings_get(const tamis_backend *backend, int number, int threads, bool may_measure,
                        tamis_ceilings *ceilings) {
    tamis_device_description device;
    char key[sizeof kept[0].key];
    *ceilings = backend->default_ceilings(number, threads);
    const char *const probe = getenv("TAMIS_PROBE");
    if (probe && strcmp(probe, "0") == 0) return;

    pthread_mutex_lock(&lock);
    entry *known = find_quickly(backend, number, threads);
    if (!known && backend->describe(number, &device) == TAMIS_OK) {
        snprintf(key, sizeof key, "%s %s %s %d threads %lld %lld %lld", device.name, device.model,
                 device.instruction_set, threads, (long long)device.cache_l1, (long long)device.cache_l2,
                 (long long)device.cache_l3);
        known = find(key);
        if (!known) known = make(NULL, key, backend, number, threads, may_measure);
    }
    if (known && !known->measured && may_measure) {
        memcpy(key, known->key, sizeof key);
        known = make(known, key, backend, number, threads, true);
    }
    if (known && known->measured) *ceilings = known->ceilings;
    pthread_mutex_unlock(&lock);
    tamis_clear_error(); /* a probe that could not run is no error of the caller's */
}
