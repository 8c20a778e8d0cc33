/*
 * Corrections of predictions. The cost model was fitted on few chips; on another one its times are off by a factor that
 * differs between algorithms. `tamis tune-device` measures these factors, and each prediction is multiplied by its own.
 *
 * The file of a device has one line per factor: algorithm, operation, type, columns, factor, cases. Its first line
 * names the library version; the factors are only valid for that version's predictions and kernels.
 */
#include "select/corrections.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/version.h>

#include "base/c_locale.h"
#include "base/cache_folder.h"
#include "base/fork_lock.h"
#include "select/device_key.h"

enum { DEVICES = 64, ROWS = TAMIS_CORRECTIONS_MOST };
#ifdef TAMIS_SLOW_KERNELS
#define BUILD ", kernels for tests"
#else
#define BUILD ""
#endif
static const char *const format_version = "tamis corrections 2 of " TAMIS_VERSION_STRING BUILD;
static const char *const prefix = "corrections-";

typedef struct list {
    char key[TAMIS_DEVICE_KEY];
    atomic_int count;
    tamis_correction rows[ROWS];
} list;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
TAMIS_FORK_LOCK(lock)
static list lists[DEVICES];
static int list_count;

/* ------------------------------------------------------------------------------------------ on disk */

bool tamis_correction_is_sound(const tamis_correction *row) {
    const size_t length = strnlen(row->algorithm, sizeof row->algorithm);
    return length > 0 && length < sizeof row->algorithm && strcspn(row->algorithm, " \t\r\n") == length &&
           isfinite(row->factor) && row->factor > 0 && row->columns > 0 && row->cases > 0 &&
           row->operation >= TAMIS_OP_SDDMM && row->operation <= TAMIS_OP_FUSED && row->type >= TAMIS_F32 &&
           row->type <= TAMIS_BF16;
}

static void load(list *to) {
    char name[TAMIS_DEVICE_FILE], line[TAMIS_DEVICE_KEY + 64];
    to->count = 0;
    tamis_device_file(prefix, to->key, name);
    FILE *const file = tamis_cache_open(NULL, name);
    if (!file) return;
    const locale_t before = tamis_c_locale_enter();
    bool good = tamis_device_file_begins(file, format_version, to->key);
    while (good && to->count < ROWS && fgets(line, sizeof line, file)) {
        tamis_correction *const row = &to->rows[to->count];
        int operation, type;
        long long columns, cases;
        *row = (tamis_correction){.factor = 0};
        good = sscanf(line, "%47s %d %d %lld %lf %lld", row->algorithm, &operation, &type, &columns, &row->factor,
                      &cases) == 6;
        row->operation = (tamis_operation)operation;
        row->type = (tamis_type)type;
        row->columns = columns;
        row->cases = cases;
        good = good && tamis_correction_is_sound(row);
        if (good) to->count++;
    }
    tamis_c_locale_leave(before);
    fclose(file);
    if (!good) to->count = 0; /* a damaged file corrects nothing */
}

static bool save(const list *from) {
    char name[TAMIS_DEVICE_FILE];
    tamis_cache_draft draft;
    tamis_device_file(prefix, from->key, name);
    if (!tamis_cache_draft_open(NULL, name, &draft)) return false;
    const locale_t before = tamis_c_locale_enter();
    fprintf(draft.file, "%s\n%s\n", format_version, from->key);
    for (int i = 0; i < from->count; i++) {
        const tamis_correction *const row = &from->rows[i];
        fprintf(draft.file, "%s %d %d %lld %.6g %lld\n", row->algorithm, (int)row->operation, (int)row->type,
                (long long)row->columns, row->factor, (long long)row->cases);
    }
    tamis_c_locale_leave(before);
    return tamis_cache_draft_close(&draft);
}

/* ------------------------------------------------------------------------------------------ in memory */

/* The list of a device, read from disk on first use; NULL if there are too many devices. */
static list *find(const char *key) {
    for (int i = 0; i < list_count; i++)
        if (strcmp(lists[i].key, key) == 0) return &lists[i];
    if (list_count == DEVICES) return NULL;
    list *const made = &lists[list_count++];
    snprintf(made->key, sizeof made->key, "%s", key);
    load(made);
    return made;
}

int tamis_corrections_of(const char *key) {
    pthread_mutex_lock(&lock);
    const list *const known = find(key);
    pthread_mutex_unlock(&lock);
    return known ? (int)(known - lists) + 1 : 0;
}

bool tamis_corrections_set(const tamis_backend *backend, int number, int threads, const tamis_correction *rows,
                           int64_t count) {
    char key[TAMIS_DEVICE_KEY];
    if (!tamis_device_key(backend, number, threads, key)) return false;
    pthread_mutex_lock(&lock);
    list *const to = find(key);
    if (to) {
        to->count = (int)count;
        if (count > 0) memcpy(to->rows, rows, (size_t)count * sizeof *rows);
    }
    const bool kept = to && save(to);
    pthread_mutex_unlock(&lock);
    return kept;
}

int64_t tamis_corrections_get(int corrections, tamis_correction *rows, int64_t most) {
    if (corrections == 0) return 0;
    pthread_mutex_lock(&lock);
    const list *const from = &lists[corrections - 1];
    const int64_t count = from->count;
    for (int64_t i = 0; i < count && i < most; i++) rows[i] = from->rows[i];
    pthread_mutex_unlock(&lock);
    return count;
}

/* The factor of the row with the nearest number of columns; `algorithm` NULL: the geometric mean over the operation's
   and type's rows with that number. 0: there is no row. */
static double factor_of(const list *from, const tamis_problem *problem, int64_t columns, const char *algorithm) {
    double logs = 0, nearest = INFINITY;
    int count = 0;
    for (int i = 0; i < from->count; i++) {
        const tamis_correction *const row = &from->rows[i];
        if (row->operation != problem->operation || row->type != problem->type ||
            (algorithm && strcmp(row->algorithm, algorithm) != 0))
            continue;
        const double apart = fabs(log((double)columns / (double)row->columns));
        if (apart > nearest) continue;
        if (apart < nearest) logs = 0, count = 0;
        nearest = apart;
        logs += log(row->factor);
        count++;
    }
    return count == 0 ? 0 : exp(logs / count);
}

double tamis_correction_factor(int corrections, const tamis_problem *problem, const char *algorithm) {
    if (corrections == 0 || atomic_load(&lists[corrections - 1].count) == 0) return 1;
    const int64_t given = problem->operation == TAMIS_OP_SPMM ? problem->width : problem->inner;
    const int64_t columns = given > 0 ? given : 1;
    const list *const from = &lists[corrections - 1];
    pthread_mutex_lock(&lock);
    double factor = factor_of(from, problem, columns, algorithm);
    if (factor == 0)
        factor = factor_of(from, problem, columns, NULL); /* not measured: assumed to be as far off as the others */
    pthread_mutex_unlock(&lock);
    return factor == 0 ? 1 : factor;
}

int64_t tamis_corrections_clear(void) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < list_count; i++) lists[i].count = 0; /* handles stay valid */
    const int64_t removed = tamis_device_files(prefix, true);
    pthread_mutex_unlock(&lock);
    return removed;
}
