/*
 * The ceilings of devices: probes that are repeated until two agree, and the ceilings that the process knows. Other
 * work on the machine can only lower a rate, so the best of each number counts.
 */
#include "select/ceilings.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork_lock.h"
#include "base/load.h"
#include "base/status.h"
#include "select/ceilings_file.h"
#include "select/corrections.h"
#include "select/device_key.h"

enum { KEPT = 8, PROBES_MOST = 4 };
static const double APART = 1.25;         /* probes agree within this factor of the best rate */
static const double DOUBTED_SECONDS = 60; /* doubtful ceilings of this age are measured again */

typedef struct entry {
    char key[TAMIS_DEVICE_KEY];
    const tamis_backend *backend;
    int number, threads;
    int corrections; /* a handle: see select/corrections.h */
    bool measured;   /* else nothing is on disk, and the call that found that out could not measure */
    tamis_ceilings ceilings;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
TAMIS_FORK_LOCK(lock)
static entry kept[KEPT];
static int kept_count;

/* ------------------------------------------------------------------------------------------ probing */

/* Whether two of the probes reached each rate within a fifth. */
static bool agree(double probes[PROBES_MOST][TAMIS_CEILING_NUMBERS], int count, const double *best) {
    for (int k = 0; k < TAMIS_CEILING_NUMBERS; k++) {
        int near = 0;
        for (int i = 0; i < count; i++) near += probes[i][k] * APART >= best[k];
        if (near < 2) return false;
    }
    return true;
}

/* If *ceilings are measured, they are those of earlier probes. */
static tamis_status probe(const tamis_backend *backend, int number, int threads, tamis_ceilings *ceilings) {
    double probes[PROBES_MOST][TAMIS_CEILING_NUMBERS], best[TAMIS_CEILING_NUMBERS] = {0};
    const bool on_host = backend->location == TAMIS_HOST;
    const tamis_load_point begin = tamis_load_begin();
    bool agreed = false;
    if (ceilings->measured) tamis_ceilings_to_numbers(ceilings, best);
    for (int i = 0; i < PROBES_MOST && !agreed; i++) {
        TRY(backend->ceilings(number, threads, ceilings));
        tamis_ceilings_to_numbers(ceilings, probes[i]);
        for (int k = 0; k < TAMIS_CEILING_NUMBERS; k++) best[k] = fmax(best[k], probes[i][k]);
        agreed = agree(probes, i + 1, best);
    }
    tamis_ceilings_from_numbers(best, ceilings);
    const tamis_load load = tamis_load_since(&begin, on_host ? threads : 0);
    ceilings->others_processors = isfinite(load.others) ? load.others : 0;
    ceilings->doubtful = !agreed || load.disturbed;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ known ceilings */

/* A GPU does not change, so its number identifies it. The processor's instruction set may have changed. */
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

/* Makes the entry of ceilings that are not known, not measured, or to be measured anew. Doubtful ceilings are measured
   again; their best numbers still count. */
static entry *make(entry *known, const char *key, const tamis_backend *backend, int number, int threads,
                   tamis_probing probing) {
    tamis_ceilings fresh = {.measured = false};
    double age = 0;
    bool found = probing != TAMIS_PROBE_ANEW && tamis_ceilings_load(key, &fresh, &age);
    const bool doubted = found && fresh.doubtful && age >= DOUBTED_SECONDS;
    if (probing != TAMIS_PROBE_NEVER && (!found || doubted) && probe(backend, number, threads, &fresh) == TAMIS_OK) {
        found = true;
        tamis_ceilings_save(key, &fresh);
    }
    entry *const to = known ? known : &kept[kept_count < KEPT ? kept_count++ : KEPT - 1];
    *to = (entry){.backend = backend,
                  .number = number,
                  .threads = threads,
                  .corrections = tamis_corrections_of(key),
                  .measured = found};
    snprintf(to->key, sizeof to->key, "%s", key);
    if (found) to->ceilings = fresh;
    return to;
}

/* ------------------------------------------------------------------------------------------ public functions */

void tamis_ceilings_get(const tamis_backend *backend, int number, int threads, tamis_probing probing,
                        tamis_ceilings *ceilings, int *corrections) {
    char key[sizeof kept[0].key];
    *ceilings = backend->default_ceilings(number, threads);
    *corrections = 0;
    const char *const wish = getenv("TAMIS_PROBE");
    if (wish && strcmp(wish, "0") == 0) return;

    pthread_mutex_lock(&lock);
    entry *known = find_quickly(backend, number, threads);
    bool named = known != NULL;
    if (named) {
        memcpy(key, known->key, sizeof key);
    } else if (tamis_device_key(backend, number, threads, key)) {
        named = true;
        known = find(key);
    }
    if (named && (!known || probing == TAMIS_PROBE_ANEW || (!known->measured && probing != TAMIS_PROBE_NEVER)))
        known = make(known, key, backend, number, threads, probing);
    if (known && known->measured) *ceilings = known->ceilings;
    if (known) *corrections = known->corrections;
    pthread_mutex_unlock(&lock);
    tamis_clear_error(); /* a probe that cannot run is not an error for the caller */
}

int64_t tamis_ceilings_count(void) { return tamis_ceilings_files(false); }

int64_t tamis_ceilings_clear(void) {
    pthread_mutex_lock(&lock);
    kept_count = 0;
    const int64_t removed = tamis_ceilings_files(true);
    pthread_mutex_unlock(&lock);
    return removed;
}
