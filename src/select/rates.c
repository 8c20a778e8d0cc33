/*
 * Rates of devices. `tamis tune-device` fits them to timings of the user's own chip; the built-in ones were made the
 * same way. The file of a device has a line for each rate: its name and its value. Its first line names the library's
 * version, since rates hold for one version's predictions and kernels only.
 */
#include "select/rates.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <tamis/version.h>

#include "base/c_locale.h"
#include "base/cache_folder.h"
#include "base/fork_lock.h"
#include "select/device_key.h"

enum { DEVICES = 64 };
#ifdef TAMIS_SLOW_KERNELS
#define BUILD ", kernels for tests"
#else
#define BUILD ""
#endif
static const char *const format_version = "tamis rates 1 of " TAMIS_VERSION_STRING BUILD;
static const char *const prefix = "rates-";

typedef struct known {
    char key[TAMIS_DEVICE_KEY];
    double rates[TAMIS_RATES_MOST];
    tamis_rates_source source;
} known;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
TAMIS_FORK_LOCK(lock)
static known devices[DEVICES];
static int device_count;

/* ------------------------------------------------------------------------------------------ built in */

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

tamis_rates_source tamis_rates_built_in(const tamis_backend *backend, int number, double rates[TAMIS_RATES_MOST]) {
    const tamis_rate_table *const table = backend->rates;
    tamis_rates_source source = {.of = number < 0 ? TAMIS_RATES_EVERYWHERE : TAMIS_RATES_OTHER_CHIP};
    tamis_device_description device;
    int at = 0;
    if (number >= 0 && backend->describe(number, &device) == TAMIS_OK)
        for (int i = 0; i < table->profile_count && source.of == TAMIS_RATES_OTHER_CHIP; i++)
            if (begins(device.model, table->profiles[i].chip) &&
                begins(device.instruction_set, table->profiles[i].instruction_set))
                at = i, source.of = TAMIS_RATES_CHIP;
    memcpy(rates, table->profiles[at].rates, (size_t)table->count * sizeof *rates);
    source.chip = table->profiles[at].chip;
    return source;
}

void tamis_rates_say(tamis_text_buffer *text, const tamis_rates_source *source) {
    static const char *const texts[] = {
        [TAMIS_RATES_OWN] = "fitted to this device",
        [TAMIS_RATES_SITE] = "fitted to this device, from the folder TAMIS_CEILINGS",
        [TAMIS_RATES_CHIP] = "built in for this chip: %s",
        [TAMIS_RATES_OTHER_CHIP] = "built in for another chip, %s: tamis tune-device fits them to this one",
        [TAMIS_RATES_EVERYWHERE] = "built in for %s, the same on all chips with TAMIS_PROBE=0"};
    const char *const format = texts[source->of], *const chip = strstr(format, "%s");
    if (chip)
        tamis_text_add(text, "%.*s%s%s", (int)(chip - format), format, source->chip, chip + 2);
    else
        tamis_text_add(text, "%s", format);
}

/* ------------------------------------------------------------------------------------------ on disk */

/* Reads and closes a file; false if it is invalid. */
static bool load_from(FILE *file, const tamis_rate_table *table, const char *key, double *rates) {
    char name[64];
    double value;
    bool read[TAMIS_RATES_MOST] = {false};
    int count = 0;
    if (!file) return false;
    const locale_t before = tamis_c_locale_enter();
    bool good = tamis_device_file_begins(file, format_version, key);
    while (good && fscanf(file, " .%63s = %lf", name, &value) == 2) {
        int i = 0;
        while (i < table->count && strcmp(table->rows[i].name, name) != 0) i++;
        good = i < table->count && !read[i] && isfinite(value) && fgetc(file) == ',' &&
               (value > 0 || (value == 0 && table->rows[i].kind == TAMIS_RATE_FIGURE));
        if (!good) break;
        read[i] = true;
        rates[table->rows[i].place] = value;
        count++;
    }
    good = good && count == table->count && fscanf(file, " %63s", name) == EOF; /* and nothing else */
    tamis_c_locale_leave(before);
    fclose(file);
    return good;
}

static bool load(const tamis_rate_table *table, known *device) {
    for (int of_site = 0; of_site < 2; of_site++) {
        device->source.of = of_site ? TAMIS_RATES_SITE : TAMIS_RATES_OWN;
        if (load_from(tamis_device_file_open(prefix, device->key, of_site), table, device->key, device->rates))
            return true;
    }
    return false;
}

void tamis_rates_write(FILE *file, const tamis_rate_table *table, const double *rates) {
    for (int i = 0; i < table->count; i++)
        fprintf(file, ".%s = %.4g,\n", table->rows[i].name, rates[table->rows[i].place]);
}

/* Removes the device's file. */
static bool forget(const known *device) {
    char name[TAMIS_DEVICE_FILE];
    tamis_device_file(prefix, device->key, name);
    tamis_cache_remove(NULL, name);
    return !tamis_cache_has(NULL, name);
}

static bool save(const tamis_rate_table *table, const known *device) {
    char name[TAMIS_DEVICE_FILE];
    tamis_cache_draft draft;
    tamis_device_file(prefix, device->key, name);
    if (!tamis_cache_draft_open(NULL, name, &draft)) return false;
    const locale_t before = tamis_c_locale_enter();
    fprintf(draft.file, "%s\n%s\n", format_version, device->key);
    tamis_rates_write(draft.file, table, device->rates);
    tamis_c_locale_leave(before);
    return tamis_cache_draft_close(&draft);
}

/* ------------------------------------------------------------------------------------------ in memory */

/* Reads the device's rates from disk; without a file there, they are its chip's. */
static void read_rates(const tamis_backend *backend, int number, known *device) {
    if (!load(backend->rates, device)) device->source = tamis_rates_built_in(backend, number, device->rates);
}

static known *find_known(const char *key) {
    for (int i = 0; i < device_count; i++)
        if (strcmp(devices[i].key, key) == 0) return &devices[i];
    return NULL;
}

/* The entry of a device, read on first use; NULL if there are too many devices. */
static known *find(const tamis_backend *backend, int number, const char *given) {
    char key[TAMIS_DEVICE_KEY];
    known *const same = find_known(given); /* a single call has no time for more */
    if (same) return same;
    snprintf(key, sizeof key, "%s", given);
    tamis_device_key_of_chip(key);
    known *const of_chip = find_known(key);
    if (of_chip) return of_chip;
    if (device_count == DEVICES) return NULL;
    known *const made = &devices[device_count++];
    snprintf(made->key, sizeof made->key, "%s", key);
    read_rates(backend, number, made);
    return made;
}

tamis_rates_source tamis_rates_get(const tamis_backend *backend, int number, const char *key,
                                   double rates[TAMIS_RATES_MOST]) {
    tamis_rates_source source = {.of = TAMIS_RATES_OWN};
    pthread_mutex_lock(&lock);
    const known *const device = find(backend, number, key);
    if (device) {
        memcpy(rates, device->rates, (size_t)backend->rates->count * sizeof *rates);
        source = device->source;
    }
    pthread_mutex_unlock(&lock);
    return device ? source : tamis_rates_built_in(backend, number, rates);
}

bool tamis_rates_set(const tamis_backend *backend, int number, int threads, const double *rates) {
    char key[TAMIS_DEVICE_KEY];
    if (!tamis_device_key(backend, number, threads, key)) return false;
    pthread_mutex_lock(&lock);
    known *const device = find(backend, number, key);
    if (device && rates) {
        memcpy(device->rates, rates, (size_t)backend->rates->count * sizeof *rates);
        device->source = (tamis_rates_source){.of = TAMIS_RATES_OWN};
    }
    const bool kept = device && (rates ? save(backend->rates, device) : forget(device));
    if (kept && !rates) read_rates(backend, number, device);
    pthread_mutex_unlock(&lock);
    return kept;
}

int64_t tamis_rates_clear(void) {
    pthread_mutex_lock(&lock);
    device_count = 0;
    const int64_t removed = tamis_device_files(prefix, true);
    pthread_mutex_unlock(&lock);
    return removed;
}
