/* The files are in a private folder of the user (0700), and are replaced atomically by renaming. */
#include "select/ceilings_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/c_locale.h"
#include "base/cache_folder.h"
#include "select/device_key.h"

enum { SIZES_FROM = 12, SIZES = 6 };
static const char *const format_version = "tamis ceilings 3", *const prefix = "ceilings-";

void tamis_ceilings_to_numbers(const tamis_ceilings *c, double *numbers) {
    const double *const pairs[6] = {c->fp32_gflops, c->fp64_gflops, c->l1_gbs, c->l2_gbs, c->l3_gbs, c->memory_gbs};
    for (int i = 0; i < 6; i++) memcpy(numbers + 2 * i, pairs[i], 2 * sizeof(double));
    for (int i = 0; i < SIZES; i++) numbers[SIZES_FROM + i] = (double)c->gather_bytes[i];
    memcpy(numbers + SIZES_FROM + SIZES, c->gather_gbs, sizeof c->gather_gbs);
}

void tamis_ceilings_from_numbers(const double *numbers, tamis_ceilings *c) {
    double *const pairs[6] = {c->fp32_gflops, c->fp64_gflops, c->l1_gbs, c->l2_gbs, c->l3_gbs, c->memory_gbs};
    for (int i = 0; i < 6; i++) memcpy(pairs[i], numbers + 2 * i, 2 * sizeof(double));
    for (int i = 0; i < SIZES; i++) c->gather_bytes[i] = (int64_t)numbers[SIZES_FROM + i];
    memcpy(c->gather_gbs, numbers + SIZES_FROM + SIZES, sizeof c->gather_gbs);
}

/* Reads and closes a file; false if it is invalid. */
static bool load(FILE *file, const char *key, tamis_ceilings *ceilings, int *tries, double *age) {
    char line[TAMIS_DEVICE_KEY + 64];
    double numbers[TAMIS_CEILING_NUMBERS], others = 0;
    struct stat written;
    int threads = 0, doubtful = 0;
    if (!file) return false;
    const locale_t before = tamis_c_locale_enter();
    bool good = fgets(line, sizeof line, file) && strncmp(line, format_version, strlen(format_version)) == 0 &&
                line[strlen(format_version)] == '\n' && fgets(line, sizeof line, file) &&
                strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == '\n' &&
                fscanf(file, "%d threads, %lf others, %d doubtful", &threads, &others, &doubtful) == 3 && threads > 0;
    for (int i = 0; good && i < TAMIS_CEILING_NUMBERS; i++)
        good = fscanf(file, "%lf", &numbers[i]) == 1 && numbers[i] > 0 && numbers[i] < 1e18;
    tamis_c_locale_leave(before);
    *age = fstat(fileno(file), &written) == 0 ? difftime(time(NULL), written.st_mtime) : 0;
    fclose(file);
    if (!good) return false;
    *ceilings =
        (tamis_ceilings){.measured = true, .threads = threads, .others_processors = others, .doubtful = doubtful != 0};
    tamis_ceilings_from_numbers(numbers, ceilings);
    *tries = doubtful;
    return true;
}

bool tamis_ceilings_load(const char *key, tamis_ceilings *ceilings, int *tries, double *age) {
    char name[TAMIS_DEVICE_FILE], path[PATH_MAX];
    tamis_device_file(prefix, key, name);
    if (load(tamis_cache_open(NULL, name), key, ceilings, tries, age)) return true;
    const char *const site = secure_getenv("TAMIS_CEILINGS");
    if (!site || snprintf(path, sizeof path, "%s/%s", site, name) >= (int)sizeof path) return false;
    if (!load(fopen(path, "re"), key, ceilings, tries, age)) return false;
    *tries = 0; /* a site's ceilings are not doubtful, and nothing can be written there */
    return true;
}

void tamis_ceilings_save(const char *key, const tamis_ceilings *ceilings, int tries) {
    char name[TAMIS_DEVICE_FILE];
    double numbers[TAMIS_CEILING_NUMBERS];
    tamis_cache_draft draft;
    tamis_device_file(prefix, key, name);
    if (!tamis_cache_draft_open(NULL, name, &draft)) return;
    tamis_ceilings_to_numbers(ceilings, numbers);
    const locale_t before = tamis_c_locale_enter();
    fprintf(draft.file, "%s\n%s\n%d threads, %.3f others, %d doubtful\n", format_version, key, ceilings->threads,
            ceilings->others_processors, tries);
    for (int i = 0; i < TAMIS_CEILING_NUMBERS; i++) fprintf(draft.file, "%.17g\n", numbers[i]);
    tamis_c_locale_leave(before);
    tamis_cache_draft_close(&draft);
}

int64_t tamis_ceilings_files(bool remove) { return tamis_device_files(prefix, remove); }
