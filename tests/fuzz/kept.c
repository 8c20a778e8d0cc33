/*
 * What the library reads back of its own: models, measured plans and compiled kernels. Each input is written into a
 * folder of this process, which is the cache's, too.
 */
#include "crafted.h"
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tamis/ml.h>

#include "base/cache_folder.h"
#include "base/memory.h"
#include "gpu/compile/program_cache.h"
#include "ml/files/model_file.h"
#include "select/remembered.h"

enum { PATH = 1200, MODEL_MOST = 1 << 16 };

static char folder[64], programs[PATH], plans[PATH], program[2 * PATH], model[PATH];
static const char *const key = "fuzz";
static tamis_device *device;

static void remove_all(void) {
    tamis_device_close(device);
    unlink(program);
    unlink(plans);
    unlink(model);
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
