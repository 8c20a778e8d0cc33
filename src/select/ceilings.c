/*
 * Ceilings of devices: probes, repeated until two agree, and the process's cache of results. Other work on the machine
 * can only lower a rate, so the best of each number counts.
 */
#include "select/ceilings.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/c_locale.h"
#include "base/cache_folder.h"
#include "base/clock.h"
#include "base/fork_lock.h"
#include "base/load.h"
#include "base/status.h"
#include "select/device_key.h"
#include "select/rates.h"

enum { KEPT = 64, PROBES_MOST = 4, SIZES_FROM = 12, SIZES = 6, NUMBERS = 2 * 6 + SIZES + 2 * 6 };
static const double APART = 1.25; /* probes agree within this factor of the best rate */
/* Unless it is asked for, a device is not probed again in the same call if that would take longer than this, as it does
   on a processor: its ceilings are doubtful, and get better in later processes. */
static const double SECONDS_MOST = 0.25;

/* Doubtful ceilings are measured again at this age; then at four times the age each time, up to a day, for a machine
   that is always busy. */
static const double DOUBTED_SECONDS = 60, DAY = 86400;

typedef struct entry {
    char key[TAMIS_DEVICE_KEY];
    const tamis_backend *backend;
    int number, threads;
    bool measured; /* otherwise nothing is on disk, and the call that found that out could not measure */
    tamis_ceilings ceilings;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
TAMIS_FORK_LOCK(lock)
static entry kept[KEPT];
static int kept_count;

/* One thread measures at a time, without holding `lock`, which a fork waits for. In a child nobody measures. */
static pthread_mutex_t measuring = PTHREAD_MUTEX_INITIALIZER;
static void nobody_measures(void) { measuring = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }
__attribute__((constructor)) static void watch_forks_of_probes(void) { pthread_atfork(NULL, NULL, nobody_measures); }

/* ------------------------------------------------------------------------------------------ on disk */

/* One small text file per machine and number of threads, with one number per line, in a private folder of the user
   (0700). It is replaced atomically by renaming. */
static const char *const format_version = "tamis ceilings 3", *const prefix = "ceilings-";

/* The ceilings as numbers in the order of the file: rates, except numbers 12 .. 17, which are sizes of tables. */
static void to_numbers(const tamis_ceilings *c, double *numbers) {
    const double *const pairs[6] = {c->fp32_gflops, c->fp64_gflops, c->l1_gbs, c->l2_gbs, c->l3_gbs, c->memory_gbs};
    for (int i = 0; i < 6; i++) memcpy(numbers + 2 * i, pairs[i], 2 * sizeof(double));
    for (int i = 0; i < SIZES; i++) numbers[SIZES_FROM + i] = (double)c->gather_bytes[i];
    memcpy(numbers + SIZES_FROM + SIZES, c->gather_gbs, sizeof c->gather_gbs);
}

static void from_numbers(const double *numbers, tamis_ceilings *c) {
    double *const pairs[6] = {c->fp32_gflops, c->fp64_gflops, c->l1_gbs, c->l2_gbs, c->l3_gbs, c->memory_gbs};
    for (int i = 0; i < 6; i++) memcpy(pairs[i], numbers + 2 * i, 2 * sizeof(double));
    for (int i = 0; i < SIZES; i++) c->gather_bytes[i] = (int64_t)numbers[SIZES_FROM + i];
    memcpy(c->gather_gbs, numbers + SIZES_FROM + SIZES, sizeof c->gather_gbs);
}

/* Reads and closes a file; false if it is invalid. */
static bool load_from(FILE *file, const char *key, tamis_ceilings *ceilings, int *tries, double *age) {
    double numbers[NUMBERS], others = 0;
    struct stat written;
    int threads = 0, doubtful = 0;
    if (!file) return false;
    const locale_t before = tamis_c_locale_enter();
    bool good = tamis_device_file_begins(file, format_version, key) &&
                fscanf(file, "%d threads, %lf others, %d doubtful", &threads, &others, &doubtful) == 3 && threads > 0;
    for (int i = 0; good && i < NUMBERS; i++)
        good = fscanf(file, "%lf", &numbers[i]) == 1 && numbers[i] > 0 && numbers[i] < 1e18;
    tamis_c_locale_leave(before);
    *age = fstat(fileno(file), &written) == 0 ? difftime(time(NULL), written.st_mtime) : 0;
    fclose(file);
    if (!good) return false;
    *ceilings =
        (tamis_ceilings){.measured = true, .threads = threads, .others_processors = others, .doubtful = doubtful != 0};
    from_numbers(numbers, ceilings);
    *tries = doubtful;
    return true;
}

/* Reads the file in the cache, else the site's. False if there is no file for this key, or if it is damaged or of
   another version. *tries: number of doubtful measurements; *age: seconds since it was written. */
static bool load(const char *key, tamis_ceilings *ceilings, int *tries, double *age) {
    if (load_from(tamis_device_file_open(prefix, key, false), key, ceilings, tries, age)) return true;
    if (!load_from(tamis_device_file_open(prefix, key, true), key, ceilings, tries, age)) return false;
    *tries = 0; /* a site's ceilings are not doubtful, and nothing can be written there */
    return true;
}

static void save(const char *key, const tamis_ceilings *ceilings, int tries) {
    char name[TAMIS_DEVICE_FILE];
    double numbers[NUMBERS];
    tamis_cache_draft draft;
    tamis_device_file(prefix, key, name);
    if (!tamis_cache_draft_open(NULL, name, &draft)) return;
    to_numbers(ceilings, numbers);
    const locale_t before = tamis_c_locale_enter();
    fprintf(draft.file, "%s\n%s\n%d threads, %.3f others, %d doubtful\n", format_version, key, ceilings->threads,
            ceilings->others_processors, tries);
    for (int i = 0; i < NUMBERS; i++) fprintf(draft.file, "%.17g\n", numbers[i]);
    tamis_c_locale_leave(before);
    tamis_cache_draft_close(&draft);
}

/* ------------------------------------------------------------------------------------------ probing */

/* True if two probes agree on each rate, within the factor APART. */
static bool agree(double probes[PROBES_MOST][NUMBERS], int count, const double *best) {
    for (int k = 0; k < NUMBERS; k++) {
        int near = 0;
        for (int i = 0; i < count; i++) near += probes[i][k] * APART >= best[k];
        if (near < 2) return false;
    }
    return true;
}

/* Probes until two agree, a processor's until its two passes do, or until another one would end after `most` seconds.
   If *ceilings are measured, they come from earlier probes, and count as one. brief: one short, incomplete probe. */
static tamis_status probe(const tamis_backend *backend, int number, int threads, bool brief, double most,
                          tamis_ceilings *ceilings) {
    double probes[PROBES_MOST][NUMBERS], best[NUMBERS] = {0};
    const bool on_host = backend->location == TAMIS_HOST;
    const tamis_load_point begin = tamis_load_begin();
    const double start = tamis_clock_seconds();
    bool agreed = false;
    int count = 0;
    if (ceilings->measured) {
        to_numbers(ceilings, best);
        memcpy(probes[count++], best, sizeof best);
    }
    for (; count < (brief ? 1 : PROBES_MOST) && !agreed; count++) {
        TRY(backend->ceilings(number, threads, brief, ceilings));
        to_numbers(ceilings, probes[count]);
        for (int k = 0; k < NUMBERS; k++) best[k] = fmax(best[k], probes[count][k]);
        agreed = (on_host && !brief && !ceilings->doubtful) || agree(probes, count + 1, best);
        const double spent = tamis_clock_seconds() - start;
        if (spent * (count + 2) / (count + 1) > most) break;
    }
    from_numbers(best, ceilings);
    const tamis_load load = tamis_load_since(&begin, on_host ? threads : 0);
    ceilings->others_processors = isfinite(load.others) ? load.others : 0;
    ceilings->doubtful = !agreed || load.disturbed;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ known ceilings */

/* Copies the entry of a device, found by its number or its key; false if there is none. A GPU does not change, so its
   number identifies it. The processor's instruction set may have changed. */
static bool look_up(const tamis_backend *backend, int number, int threads, const char *key, entry *copy) {
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < kept_count && !found; i++) {
        const entry *const one = &kept[i];
        found = key ? strcmp(one->key, key) == 0
                    : backend->location == TAMIS_DEVICE && one->backend == backend && one->number == number &&
                          one->threads == threads;
        if (found) *copy = *one;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void keep(const entry *made) {
    pthread_mutex_lock(&lock);
    int at = 0;
    while (at < kept_count && strcmp(kept[at].key, made->key) != 0) at++;
    if (at == kept_count && kept_count < KEPT) kept_count++;
    kept[at < KEPT ? at : KEPT - 1] = *made;
    pthread_mutex_unlock(&lock);
}

static bool is_old(double age, int tries) { return age >= fmin(DAY, DOUBTED_SECONDS * pow(4, fmin(tries, 16) - 1)); }

/* Fills in an entry whose ceilings are unknown, not measured, or due for a new measurement. Doubtful ceilings are
   measured again; their best numbers still count. */
static void make(entry *e, tamis_probing probing) {
    tamis_ceilings fresh = {.measured = false};
    double age = 0;
    int tries = 0; /* doubtful measurements so far */
    bool found = probing != TAMIS_PROBE_ANEW && load(e->key, &fresh, &tries, &age);
    const bool doubted = found && tries > 0 && is_old(age, tries);
    char path[PATH_MAX]; /* results that cannot be kept would be measured again by each process */
    const bool brief = probing != TAMIS_PROBE_ANEW && !tamis_cache_path(NULL, path, sizeof path);
    if (probing != TAMIS_PROBE_NEVER && (!found || doubted) &&
        probe(e->backend, e->number, e->threads, brief, probing == TAMIS_PROBE_ANEW ? INFINITY : SECONDS_MOST,
              &fresh) == TAMIS_OK) {
        found = fresh.measured;
        if (!brief) save(e->key, &fresh, fresh.doubtful ? tries + 1 : 0);
    }
    e->measured = found;
    if (found) e->ceilings = fresh;
    keep(e);
}

static bool is_missing(bool known, const entry *e, tamis_probing probing) {
    return !known || (!e->measured && probing != TAMIS_PROBE_NEVER);
}

/* ------------------------------------------------------------------------------------------ public functions */

void tamis_ceilings_get(const tamis_backend *backend, int number, int threads, tamis_probing probing,
                        tamis_ceilings *ceilings, double *rates, tamis_rates_source *source) {
    entry e = {.backend = backend, .number = number, .threads = threads};
    *ceilings = backend->default_ceilings(number, threads);
    const char *const wish = getenv("TAMIS_PROBE");
    if (wish && strcmp(wish, "0") == 0) {
        if (rates) *source = tamis_rates_built_in(backend, -1, rates);
        return;
    }

    bool known = look_up(backend, number, threads, NULL, &e);
    if (!known && tamis_device_key(backend, number, threads, e.key))
        known = look_up(backend, number, threads, e.key, &e);
    if (e.key[0] && (probing == TAMIS_PROBE_ANEW || is_missing(known, &e, probing))) {
        if (probing == TAMIS_PROBE_NEVER) {
            make(&e, probing);
        } else {
            pthread_mutex_lock(&measuring);
            known = look_up(backend, number, threads, e.key, &e); /* by another thread, meanwhile */
            if (probing == TAMIS_PROBE_ANEW || is_missing(known, &e, probing)) make(&e, probing);
            pthread_mutex_unlock(&measuring);
        }
    }
    if (e.measured) *ceilings = e.ceilings;
    if (rates)
        *source =
            e.key[0] ? tamis_rates_get(backend, number, e.key, rates) : tamis_rates_built_in(backend, number, rates);
    tamis_clear_error(); /* a probe that cannot run is not an error of the caller */
}

int64_t tamis_ceilings_count(void) { return tamis_device_files(prefix, false); }

int64_t tamis_ceilings_clear(void) {
    pthread_mutex_lock(&lock);
    kept_count = 0;
    const int64_t removed = tamis_device_files(prefix, true);
    pthread_mutex_unlock(&lock);
    return removed;
}
