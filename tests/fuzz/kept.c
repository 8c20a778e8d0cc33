/*
 * What the library reads back of its own: models, measured plans, compiled kernels, timings and rates. Each input but
 * timings is written into a folder of this process, which is the cache's, too.
 */
#include "crafted.h"
#include "fuzz.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tamis/ceilings.h>
#include <tamis/ml.h>

#include "base/cache_folder.h"
#include "base/memory.h"
#include "cpu/backend.h"
#include "cpu/rates.h"
#include "gpu/compile/program_cache.h"
#include "ml/files/model_file.h"
#include "select/device_key.h"
#include "select/rates.h"
#include "select/remembered.h"

enum { PATH = 1200, MODEL_MOST = 1 << 16, TIMINGS_MOST = 1 << 13, RATES_MOST = 1 << 14 };

static char folder[64], programs[PATH], plans[PATH], program[2 * PATH], model[PATH], rates[2 * PATH];
static char device_key[TAMIS_DEVICE_KEY], rates_head[2 * TAMIS_DEVICE_KEY]; /* the first two lines of their file */
static const char *const key = "fuzz";
static tamis_device *device;

static void remove_all(void) {
    tamis_device_close(device);
    unlink(program);
    unlink(plans);
    unlink(model);
    unlink(rates);
    rmdir(programs);
    char cache[PATH];
    snprintf(cache, sizeof cache, "%s/tamis", folder);
    rmdir(cache);
    rmdir(folder);
}

/* The name of an entry is a hash of its key: one that was saved has it. */
static void find_program(void) {
    char byte = 1;
    tamis_program_cache_save(key, &(tamis_gpu_binary){&byte, 1});
    DIR *const listing = opendir(programs);
    fuzz_demand(listing != NULL, "there is no folder of compiled kernels");
    for (const struct dirent *at; (at = readdir(listing)) != NULL;)
        if (at->d_name[0] != '.') snprintf(program, sizeof program, "%s/%.255s", programs, at->d_name);
    closedir(listing);
    fuzz_demand(*program, "no compiled kernel was kept");
}

/* Rates are kept only for the version that wrote them: a file that was written says which. */
static void find_rates(const char *cache) {
    double built_in[TAMIS_RATES_MOST];
    char name[TAMIS_DEVICE_FILE], line[TAMIS_DEVICE_KEY + 1] = "";
    tamis_rates_built_in(&tamis_cpu_backend, -1, built_in);
    fuzz_demand(tamis_device_key(&tamis_cpu_backend, 0, 1, device_key), "the CPU has no key");
    fuzz_demand(tamis_rates_set(&tamis_cpu_backend, 0, 1, built_in), "no rates were kept");
    tamis_device_file("rates-", device_key, name);
    snprintf(rates, sizeof rates, "%s/%s", cache, name);
    FILE *const file = fopen(rates, "r");
    for (int i = 0; file && i < 2 && fgets(line, sizeof line, file); i++)
        strncat(rates_head, line, sizeof rates_head - strlen(rates_head) - 1);
    fuzz_demand(file && strstr(rates_head, device_key), "rates without their device");
    fclose(file);
}

static void begin(void) {
    static bool begun;
    if (begun) return;
    begun = true;
    const char *const temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/tamis-fuzz-XXXXXX", temporary ? temporary : "/tmp");
    fuzz_demand(mkdtemp(folder) != NULL, "there is no temporary folder");
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("TAMIS_PROBE", "0", 0);
    char cache[PATH - 16];
    fuzz_demand(tamis_cache_path(NULL, cache, sizeof cache), "the cache cannot be used");
    fuzz_demand(tamis_cache_path("programs", programs, sizeof programs), "the cache cannot be used");
    snprintf(plans, sizeof plans, "%s/plans.txt", cache);
    snprintf(model, sizeof model, "%s/a.model", folder);
    find_program();
    find_rates(cache);
    fuzz_demand(tamis_device_open("cpu", &device) == TAMIS_OK, "the CPU cannot be opened");
    atexit(remove_all);
}

static void put(const char *path, const void *data, size_t size) {
    unlink(path);
    FILE *const file = fopen(path, "wb");
    fuzz_demand(file && (size == 0 || fwrite(data, 1, size, file) == size), "a file cannot be written");
    fclose(file);
    fuzz_demand(chmod(path, 0600) == 0, "a file cannot be closed to others");
}

/* ------------------------------------------------------------------------------------------ models */

static void load_model(const uint8_t *data, size_t size) {
    const int64_t live = tamis_memory_live();
    tamis_model *loaded = NULL;
    put(model, data, size);
    const tamis_status status = tamis_model_load(device, model, &loaded);
    fuzz_demand((status == TAMIS_OK) == (loaded != NULL), "a model without success, or the reverse");
    fuzz_demand((status == TAMIS_OK) == (*tamis_last_error() == '\0'), "message and status disagree");
    if (loaded) {
        tamis_model_description about;
        fuzz_demand(tamis_model_describe(loaded, &about) == TAMIS_OK, "a loaded model is not described");
        fuzz_demand(tamis_model_save(loaded, model) == TAMIS_OK, "a loaded model is not saved");
        tamis_model_free(loaded);
        fuzz_demand(tamis_model_load(device, model, &loaded) == TAMIS_OK, "what was saved is not loaded");
        tamis_model_free(loaded);
        for (int way = 0; way < FUZZ_USES; way++) {
            fuzz_demand(tamis_model_load(device, model, &loaded) == TAMIS_OK, "what was loaded is not loaded again");
            fuzz_use_model(loaded, way);
            tamis_model_free(loaded);
        }
    }
    fuzz_demand(tamis_memory_live() == live, "leaked");
}

/* As it is, and with the size and the checksum that it should have: what is behind these is to be reached. */
void fuzz_model(const fuzz_target *target, const uint8_t *data, size_t size) {
    static uint8_t mended[MODEL_MOST];
    begin();
    load_model(data, size);
    if (size < ML_FILE_PREAMBLE + 8 || size > sizeof mended) return;
    memcpy(mended, data, size);
    fuzz_mend_model(mended, size);
    load_model(mended, size);
}

/* ------------------------------------------------------------------------------------------ the cache */

/* Whatever is there: it is read, a plan is kept beside it, and what was kept is found. */
void fuzz_plans(const fuzz_target *target, const uint8_t *data, size_t size) {
    begin();
    put(plans, data, size);
    const int64_t before = tamis_remembered_count();
    tamis_remembered plan = {.algorithm = "cpu-nonzeros", .seconds = 0.5, .doubtful = size & 1}, found = {.seconds = 0};
    const bool known = tamis_remembered_find(key, &found);
    if (known) {
        fuzz_demand(memchr(found.algorithm, 0, sizeof found.algorithm) != NULL, "a name without an end");
        fuzz_demand(*found.algorithm && found.seconds > 0 && found.seconds <= 1e9, "found what is no plan");
    }
    tamis_remembered_keep(key, &plan);
    const int64_t after = tamis_remembered_count();
    fuzz_demand(after >= 1 && after <= before + !known, "plans that were not there");
    fuzz_demand(tamis_remembered_find(key, &found) && strcmp(found.algorithm, plan.algorithm) == 0 &&
                    found.seconds == plan.seconds && found.doubtful == plan.doubtful,
                "what was kept is not found");
}

void fuzz_program(const fuzz_target *target, const uint8_t *data, size_t size) {
    begin();
    const int64_t live = tamis_memory_live();
    tamis_gpu_binary binary;
    put(program, data, size);
    const bool good = tamis_program_cache_load(key, &binary);
    fuzz_demand(good == (access(program, F_OK) == 0), "a damaged entry is left, or a good one removed");
    fuzz_demand(good == (binary.memory != NULL), "an entry without content, or the reverse");
    if (good) {
        const size_t bytes = binary.bytes, key_bytes = strlen(key);
        fuzz_demand(bytes > 0 && bytes + key_bytes < size, "more than there is");
        fuzz_demand(memcmp(binary.memory, data + size - bytes, bytes) == 0, "another content");
        fuzz_demand(memcmp(data + size - bytes - key_bytes, key, key_bytes) == 0, "the entry of another key");
        tamis_release(binary.memory);
    }
    fuzz_demand(tamis_memory_live() == live, "leaked");
}

/* ------------------------------------------------------------------------------------------ timings and rates */

static char *timings_text(const tamis_timings *timings) {
    size_t bytes = 0;
    fuzz_demand(tamis_timings_write(timings, NULL, 0, &bytes) == TAMIS_OK, "timings are not written");
    char *const text = malloc(bytes);
    fuzz_demand(text && tamis_timings_write(timings, text, bytes, NULL) == TAMIS_OK, "timings are not written");
    return text;
}

/* What is accepted is written and read again to the same text, and predictions of it can be judged. */
void fuzz_timings(const fuzz_target *target, const uint8_t *data, size_t size) {
    begin();
    const int64_t live = tamis_memory_live();
    char *const text = strndup((const char *)data, size);
    tamis_timings *timings = NULL, *again = NULL;
    fuzz_demand(text && tamis_timings_create(device, &timings) == TAMIS_OK, "no timings");
    const tamis_status status = tamis_timings_read(timings, text, "fuzz");
    fuzz_demand((status == TAMIS_OK) == (*tamis_last_error() == '\0'), "message and status disagree");
    if (status == TAMIS_OK) {
        char *const first = timings_text(timings);
        tamis_fit fit = {.rates = 0};
        fuzz_demand(tamis_timings_create(device, &again) == TAMIS_OK, "no timings");
        fuzz_demand(tamis_timings_read(again, first, "written") == TAMIS_OK, "what was written is refused");
        char *const second = timings_text(again);
        fuzz_demand(strcmp(first, second) == 0, "read otherwise than written");
        free(first);
        free(second);
        tamis_timings_destroy(again);
        if (size < TIMINGS_MOST && tamis_timings_fit(timings, &fit) == TAMIS_OK)
            fuzz_demand(fit.after.mean >= 1 && fit.after.within >= 0 && fit.after.within <= 1, "a fit of nothing");
    }
    tamis_timings_destroy(timings);
    free(text);
    fuzz_demand(tamis_memory_live() == live, "leaked");
}

/* As they are, and behind the lines that a file of this version begins with. */
static void load_rates(const void *data, size_t size) {
    double read[TAMIS_RATES_MOST];
    const tamis_rate_table *const table = &tamis_cpu_rate_table;
    tamis_rates_clear();
    put(rates, data, size);
    tamis_rates_get(&tamis_cpu_backend, 0, device_key, read);
    for (int i = 0; i < table->count; i++) {
        const double value = read[table->rows[i].place];
        fuzz_demand(isfinite(value) && (value > 0 || (value == 0 && table->rows[i].kind == TAMIS_RATE_FIGURE)),
                    "a rate that is none");
    }
}

void fuzz_rates(const fuzz_target *target, const uint8_t *data, size_t size) {
    static char whole[2 * TAMIS_DEVICE_KEY + RATES_MOST];
    begin();
    load_rates(data, size);
    if (size > RATES_MOST) return;
    const size_t head = strlen(rates_head);
    memcpy(whole, rates_head, head);
    if (size > 0) memcpy(whole + head, data, size);
    load_rates(whole, head + size);
}
