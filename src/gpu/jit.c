/*
 * Compiling when first wanted. Modules stay for the process: a plan that comes again finds its kernels at once, and a
 * captured graph never loses them. The table is outside the counted memory, for it has no end of life.
 */
#include "gpu/jit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/program_cache.h"

typedef struct entry {
    struct entry *next;
    tamis_gpu_device *device;
    tamis_gpu_module *module;
    char *key;
} entry;

enum { BUCKETS = 1024 };
static entry *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------------------------------ sources */

static const tamis_gpu_source *find_source(const char *name, size_t length) {
    for (int i = 0; i < tamis_gpu_source_count; i++)
        if (strlen(tamis_gpu_sources[i].name) == length && memcmp(tamis_gpu_sources[i].name, name, length) == 0)
            return &tamis_gpu_sources[i];
    return NULL;
}

typedef struct expansion {
    char *text;
    int64_t used, room;
    bool seen[64];
} expansion;

static tamis_status append(expansion *to, const char *text, int64_t bytes) {
    if (!to->text || to->used + bytes + 1 > to->room) {
        const int64_t room = 2 * to->room + bytes + 4096;
        TRY(tamis_reallocate(to->used, room, 1, "a kernel's source", (void **)&to->text));
        to->room = room;
    }
    memcpy(to->text + to->used, text, (size_t)bytes);
    to->used += bytes;
    to->text[to->used] = 0;
    return TAMIS_OK;
}

/* One file, with `#include "x"` replaced by x the first time and by nothing afterwards. */
static tamis_status expand(expansion *to, const char *name, size_t length) {
    static const char directive[] = "#include \"";
    const tamis_gpu_source *const source = find_source(name, length);
    if (!source) return tamis_fail(TAMIS_ERROR_INTERNAL, "there is no kernel file %.*s", (int)length, name);
    const int64_t number = source - tamis_gpu_sources;
    if (to->seen[number]) return TAMIS_OK;
    to->seen[number] = true;
    const char *at = (const char *)source->text, *const end = at + source->bytes;
    while (at < end) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        const char *const next = newline ? newline + 1 : end;
        if ((size_t)(next - at) > sizeof directive && memcmp(at, directive, sizeof directive - 1) == 0) {
            const char *const file = at + sizeof directive - 1;
            const char *const quote = memchr(file, '"', (size_t)(next - file));
            TRY(expand(to, file, quote ? (size_t)(quote - file) : 0));
        } else {
            TRY(append(to, at, next - at));
        }
        at = next;
    }
    return TAMIS_OK;
}

tamis_status tamis_gpu_source_text(const char *name, char **text) {
    expansion to = {0};
    tamis_status status = append(&to, "", 0); /* a text even of an empty file */
    if (status == TAMIS_OK) status = expand(&to, name, strlen(name));
    if (status != TAMIS_OK) {
        tamis_release(to.text);
        to.text = NULL;
    }
    *text = to.text;
    return status;
}

static uint64_t hash_text(uint64_t h, const char *text) {
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

uint64_t tamis_gpu_sources_hash(void) {
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < tamis_gpu_source_count; i++) {
        h = hash_text(h, tamis_gpu_sources[i].name);
        for (size_t j = 0; j < tamis_gpu_sources[i].bytes; j++) h = (h ^ tamis_gpu_sources[i].text[j]) * 0x100000001b3u;
    }
    return h;
}

void tamis_gpu_define_text(tamis_gpu_definitions *definitions, const char *name, const char *value) {
    const int n = snprintf(definitions->text + definitions->used, sizeof definitions->text - definitions->used,
                           "-D %s=%s ", name, value);
    if (n > 0 && definitions->used + (size_t)n < sizeof definitions->text) definitions->used += (size_t)n;
}

void tamis_gpu_define(tamis_gpu_definitions *definitions, const char *name, int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    tamis_gpu_define_text(definitions, name, digits);
}

/* ------------------------------------------------------------------------------------------ modules */

static tamis_status compile_and_load(tamis_gpu_device *device, const char *key, const char *name, const char *source,
                                     const char *definitions, bool linked, tamis_gpu_module **module) {
    tamis_gpu_binary binary;
    if (tamis_program_cache_load(key, &binary)) {
        const tamis_status loaded = device->runtime->load(device, &binary, module);
        tamis_release(binary.memory);
        if (loaded == TAMIS_OK) return TAMIS_OK; /* else: whole, but not what this driver takes */
    }
    TRY(device->runtime->compile(device, name, source, definitions, linked, &binary, module));
    const tamis_status status = *module ? TAMIS_OK : device->runtime->load(device, &binary, module);
    if (status == TAMIS_OK && binary.bytes > 0) tamis_program_cache_save(key, &binary);
    tamis_release(binary.memory);
    return status;
}

/* Everything that the code depends on. */
static tamis_status make_key(const tamis_gpu_device *device, const char *name, const char *source,
                             const char *definitions, char **key) {
    const tamis_gpu_limits *const l = &device->limits;
    const int64_t bytes = (int64_t)(strlen(name) + strlen(definitions) + sizeof *l + 64);
    TRY(tamis_allocate(bytes, 1, "a kernel's key", (void **)key));
    snprintf(*key, (size_t)bytes, "%s\n%s\n%s %s\n%s\n%s\n%016llx\n", name, definitions, l->model, l->architecture,
             l->compiler, l->driver, (unsigned long long)hash_text(0xcbf29ce484222325u, source));
    return TAMIS_OK;
}

static entry *find_entry(const tamis_gpu_device *device, const char *key, uint64_t bucket) {
    for (entry *e = buckets[bucket]; e; e = e->next)
        if (e->device == device && strcmp(e->key, key) == 0) return e;
    return NULL;
}

static void keep(tamis_gpu_device *device, const char *key, uint64_t bucket, tamis_gpu_module *module) {
    entry *const e = malloc(sizeof *e);
    char *const copy = malloc(strlen(key) + 1);
    if (!e || !copy) { /* it still serves this caller; the next one loads it again */
        free(e);
        free(copy);
        return;
    }
    memcpy(copy, key, strlen(key) + 1);
    *e = (entry){buckets[bucket], device, module, copy};
    buckets[bucket] = e;
}

tamis_status tamis_gpu_module_get(tamis_gpu_device *device, const char *name, const char *definitions, bool linked,
                                  tamis_gpu_module **module) {
    tamis_status status = TAMIS_OK;
    char *source = NULL, *key = NULL;
    TRY_GOTO(done, tamis_gpu_source_text(name, &source));
    TRY_GOTO(done, make_key(device, name, source, definitions, &key));
    const uint64_t bucket = hash_text(0xcbf29ce484222325u, key) % BUCKETS;
    pthread_mutex_lock(&lock); /* two plans that want the same kernel compile it once */
    const entry *const known = find_entry(device, key, bucket);
    if (known) {
        *module = known->module;
    } else {
        status = compile_and_load(device, key, name, source, definitions, linked, module);
        if (status == TAMIS_OK) keep(device, key, bucket, *module);
    }
    pthread_mutex_unlock(&lock);
done:
    tamis_release(source);
    tamis_release(key);
    return status;
}

tamis_status tamis_gpu_kernel_get(tamis_gpu_device *device, const char *name, const char *definitions, bool linked,
                                  const char *kernel, int64_t shared_bytes, tamis_gpu_kernel **made) {
    tamis_gpu_module *module = NULL;
    TRY(tamis_gpu_module_get(device, name, definitions, linked, &module));
    return device->runtime->kernel(device, module, kernel, shared_bytes, made);
}
