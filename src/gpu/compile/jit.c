/*
 * Compiles kernels on first use. Modules in use by a plan are never unloaded; idle ones are evicted when there are
 * many. So a plan must outlive the graphs that were captured from its executions.
 */
#include "gpu/compile/jit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "base/memory.h"
#include "base/status.h"
#include "gpu/compile/program_cache.h"
#include "gpu/runtime/arguments.h"

/* ------------------------------------------------------------------------------------------ sources */

static const tamis_gpu_source *find_source(const char *name, size_t length) {
    for (int i = 0; i < tamis_gpu_source_count; i++)
        if (strlen(tamis_gpu_sources[i].name) == length && memcmp(tamis_gpu_sources[i].name, name, length) == 0)
            return &tamis_gpu_sources[i];
    return NULL;
}

enum { SOURCES_MOST = 256 };

typedef struct expansion {
    char *text;
    int64_t used, room;
    bool seen[SOURCES_MOST];
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

/* Adds a #line directive for the compiler's messages: line `line` of the file comes next. */
static tamis_status append_place(expansion *to, const tamis_gpu_source *source, int line) {
    char text[256];
    const int bytes = snprintf(text, sizeof text, "#line %d \"%s\"\n", line, source->name);
    return bytes < (int)sizeof text ? append(to, text, bytes) : TAMIS_OK;
}

static tamis_status no_file(const char *name, size_t length) {
    return tamis_fail(TAMIS_ERROR_INTERNAL,
                      "there is no kernel file %.*s: the library has the *.simt, *.cu and *_kernels.h of src/gpu and "
                      "src/gpu/dialect/*.h",
                      (int)length, name);
}

/* One file, with `#include "x"` replaced by x the first time and by nothing afterwards. */
static tamis_status expand(expansion *to, const char *name, size_t length) {
    static const char directive[] = "#include \"";
    const tamis_gpu_source *const source = find_source(name, length);
    if (!source) return no_file(name, length);
    const int64_t number = source - tamis_gpu_sources;
    int line = 1;
    if (number >= SOURCES_MOST) return tamis_fail(TAMIS_ERROR_INTERNAL, "more than %d kernel files", SOURCES_MOST);
    if (to->seen[number]) return TAMIS_OK;
    to->seen[number] = true;
    TRY(append_place(to, source, line));
    const char *at = (const char *)source->text, *const end = at + source->bytes;
    for (; at < end; line++) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        const char *const next = newline ? newline + 1 : end;
        if ((size_t)(next - at) > sizeof directive && memcmp(at, directive, sizeof directive - 1) == 0) {
            const char *const file = at + sizeof directive - 1;
            const char *const quote = memchr(file, '"', (size_t)(next - file));
            TRY(expand(to, file, quote ? (size_t)(quote - file) : 0));
            TRY(append_place(to, source, line + 1));
        } else {
            TRY(append(to, at, next - at));
        }
        at = next;
    }
    return TAMIS_OK;
}

/* Copies the text and opens each kernel's body with the statements for its pointers. */
static tamis_status open_kernels(expansion *to, const char *text) {
    static const char line[] = "\nKERNEL ";
    char statements[4096];
    const char *at = text, *body;
    for (const char *kernel; (kernel = strstr(at, line)) != NULL; at = body) {
        TRY(tamis_gpu_signature_open(text, kernel + 1, &body, statements, sizeof statements));
        TRY(append(to, at, body - at));
        TRY(append(to, statements, (int64_t)strlen(statements)));
    }
    return append(to, at, (int64_t)strlen(at)); /* an empty file gives an empty text, not NULL */
}

tamis_status tamis_gpu_source_text(const char *name, char **text) {
    expansion read = {0}, opened = {0};
    tamis_status status = expand(&read, name, strlen(name));
    if (status == TAMIS_OK) status = open_kernels(&opened, read.text ? read.text : "");
    tamis_release(read.text);
    if (status != TAMIS_OK) {
        tamis_release(opened.text);
        opened.text = NULL;
    }
    *text = opened.text;
    return status;
}

/* ------------------------------------------------------------------------------------------ definitions */

static void define(tamis_gpu_definitions *definitions, const char *name, const char *value, size_t value_bytes) {
    const size_t name_bytes = strlen(name), bytes = 3 + name_bytes + 1 + value_bytes + 1;
    char *at = definitions->text + definitions->used;
    if (definitions->used + bytes + 1 > sizeof definitions->text) return;
    memcpy(at, "-D ", 3);
    memcpy(at + 3, name, name_bytes);
    at[3 + name_bytes] = '=';
    memcpy(at + 4 + name_bytes, value, value_bytes);
    at[bytes - 1] = ' ';
    at[bytes] = 0;
    definitions->used += bytes;
}

void tamis_gpu_define_text(tamis_gpu_definitions *definitions, const char *name, const char *value) {
    define(definitions, name, value, strlen(value));
}

/* Each plan makes dozens of these. The C library's formatting would take longer than everything else. */
void tamis_gpu_define(tamis_gpu_definitions *definitions, const char *name, int64_t value) {
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0) *--at = '-';
    define(definitions, name, at, (size_t)(digits + sizeof digits - at));
}

static tamis_status join(const char *first, const char *between, const char *last, const char *what, char **all) {
    const size_t bytes = strlen(first) + strlen(between) + strlen(last) + 1;
    TRY(tamis_allocate((int64_t)bytes, 1, what, (void **)all));
    snprintf(*all, bytes, "%s%s%s", first, between, last);
    return TAMIS_OK;
}

tamis_status tamis_gpu_with_code(const tamis_gpu_definitions *definitions, const char *code, char **all) {
    return join(definitions->text, "\n", code, "a kernel's definitions", all);
}

tamis_status tamis_gpu_edge_code(const char *declarations, bool places, char **code) {
    static const char parameters[] =
        "\n#define TEXT_PARAMETERS , int64 cols, int64 first_member, real edge_slope, real edge_epsilon, ARRAY_PARAMETERS\n";
    return join("#define EDGE_TEXT ", declarations, places ? parameters : "\n", "the code of an edge", code);
}

/* ------------------------------------------------------------------------------------------ code */

/*
 * Compiled code of one file and set of definitions on one device. It is reference counted by the kernels that plans
 * hold. Idle code stays for the next plan until there is too much of it. The table is not counted as memory, since it
 * lives as long as the process.
 */
typedef struct known_signature {
    struct known_signature *next;
    char name[TAMIS_GPU_NAME_MOST];
    tamis_gpu_signature signature;
} known_signature;

typedef struct tamis_gpu_code {
    struct tamis_gpu_code *next;
    tamis_gpu_device *device;
    const tamis_gpu_source *source;
    char *definitions;
    bool ready;     /* false: a thread is compiling it */
    bool compiling; /* false: it waits for a device of the same kind to compile, then reads that code from disk */
    tamis_gpu_module *module;
    tamis_gpu_kernel *kernels;
    known_signature *signatures; /* of its kernels, for the life of the code */
    int64_t references, used;    /* `used`: time of the last use, by `clock_now` */
} code;

enum { BUCKETS = 1024, MODULES_USUAL = 256 };
static code *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int64_t clock_now;

/* Independent of the device, so that devices find each other's code. */
static code **bucket_of(const tamis_gpu_source *source, const char *definitions) {
    const uint64_t start = TAMIS_FNV_START + (uint64_t)(source - tamis_gpu_sources);
    return &buckets[tamis_fnv_bytes(start, definitions, strlen(definitions)) % BUCKETS];
}

static code *find_code(code *const *bucket, const tamis_gpu_device *device, const tamis_gpu_source *source,
                       const char *definitions) {
    for (code *c = *bucket; c; c = c->next)
        if (c->source == source && c->device == device && strcmp(c->definitions, definitions) == 0) return c;
    return NULL;
}

/* --- on disk */

/* Hash of a file's text, which never changes while the process lives. */
static uint64_t text_hash(const tamis_gpu_source *source, const char *text) {
    static _Atomic uint64_t known[SOURCES_MOST]; /* 0: not yet */
    _Atomic uint64_t *const own = &known[source - tamis_gpu_sources];
    if (*own == 0) *own = tamis_fnv_bytes(TAMIS_FNV_START, text, strlen(text));
    return *own;
}

/* Everything that the code depends on. */
static tamis_status make_key(const tamis_gpu_device *device, const tamis_gpu_source *source, const char *definitions,
                             const char *text, char **key) {
    const tamis_gpu_limits *const l = &device->limits;
    const int64_t bytes = (int64_t)(strlen(source->name) + strlen(definitions) + sizeof *l + 64);
    TRY(tamis_allocate(bytes, 1, "a kernel's key", (void **)key));
    snprintf(*key, (size_t)bytes, "%s\n%s\n%s %s\n%s\n%s\n%s\n%016llx\n", source->name, definitions, l->model,
             l->architecture, l->compiler, l->build, l->driver, (unsigned long long)text_hash(source, text));
    return TAMIS_OK;
}

static tamis_status compile_and_load(code *c, const char *key, const char *text, const char *options) {
    tamis_gpu_device *const device = c->device;
    tamis_gpu_binary binary;
    if (tamis_program_cache_load(key, &binary)) {
        const tamis_status loaded = device->runtime->load(device, &binary, &c->module);
        tamis_release(binary.memory);
        if (loaded == TAMIS_OK) return TAMIS_OK; /* otherwise it is whole, but this driver rejects it */
    }
    TRY(device->runtime->compile(device, c->source->name, text, options, &binary, &c->module));
    const tamis_status status = c->module ? TAMIS_OK : device->runtime->load(device, &binary, &c->module);
    if (status == TAMIS_OK && binary.bytes > 0) tamis_program_cache_save(key, &binary);
    tamis_release(binary.memory);
    return status;
}

/* Puts the lines behind the definitions, if there are any, before a file's text; *options become the definitions alone.
   Both are the caller's to release. */
static tamis_status put_before(const char *definitions, char **text, char **options) {
    const char *const lines = strchr(definitions, '\n');
    const int64_t length = lines ? lines - definitions : (int64_t)strlen(definitions);
    expansion whole = {0};
    tamis_status status = TAMIS_OK;
    TRY(tamis_allocate(length + 1, 1, "a kernel's definitions", (void **)options));
    memcpy(*options, definitions, (size_t)length);
    (*options)[length] = 0;
    if (!lines) return TAMIS_OK;
    TRY_GOTO(failed, append(&whole, lines + 1, (int64_t)strlen(lines + 1)));
    TRY_GOTO(failed, append(&whole, "\n", 1));
    TRY_GOTO(failed, append(&whole, *text, (int64_t)strlen(*text)));
    tamis_release(*text);
    *text = whole.text;
    return TAMIS_OK;
failed:
    tamis_release(whole.text);
    return status;
}

static tamis_status make_code(code *c) {
    tamis_status status = TAMIS_OK;
    char *text = NULL, *key = NULL, *options = NULL;
    TRY_GOTO(done, tamis_gpu_source_text(c->source->name, &text));
    TRY_GOTO(done, make_key(c->device, c->source, c->definitions, text, &key));
    TRY_GOTO(done, put_before(c->definitions, &text, &options));
    status = compile_and_load(c, key, text, options);
done:
    tamis_release(text);
    tamis_release(key);
    tamis_release(options);
    return status;
}

tamis_status tamis_gpu_is_on_disk(tamis_gpu_device *device, const char *name, const char *definitions, bool *found) {
    const tamis_gpu_source *const source = find_source(name, strlen(name));
    tamis_status status = TAMIS_OK;
    char *text = NULL, *key = NULL;
    if (!source) return no_file(name, strlen(name));
    TRY_GOTO(done, tamis_gpu_source_text(name, &text));
    TRY_GOTO(done, make_key(device, source, definitions, text, &key));
    *found = tamis_program_cache_has(key);
done:
    tamis_release(text);
    tamis_release(key);
    return status;
}

/* --- eviction */

static int64_t modules_most(void) {
    static int64_t known = -1;
    if (known >= 0) return known;
    const char *const text = getenv("TAMIS_MODULES");
    char *end = NULL;
    const long long value = text ? strtoll(text, &end, 10) : 0;
    known = text && end != text && *end == 0 && value >= 0 ? value : MODULES_USUAL;
    return known;
}

static int64_t count_idle(const tamis_gpu_device *device) {
    int64_t count = 0;
    for (int b = 0; b < BUCKETS; b++)
        for (const code *c = buckets[b]; c; c = c->next) count += c->device == device && c->ready && c->references == 0;
    return count;
}

/* Removes the least recently used idle code from the table, unless it was used after `before`. */
static code *take_oldest(const tamis_gpu_device *device, int64_t before) {
    code **oldest = NULL;
    for (int b = 0; b < BUCKETS; b++)
        for (code **at = &buckets[b]; *at; at = &(*at)->next) {
            const code *const c = *at;
            if (c->device != device || !c->ready || c->references > 0 || c->used > before) continue;
            if (!oldest || c->used < (*oldest)->used) oldest = at;
        }
    code *const found = oldest ? *oldest : NULL;
    if (!found) return NULL;
    *oldest = found->next;
    found->device->programs--;
    return found;
}

static void free_code(code *c) {
    while (c->kernels) {
        tamis_gpu_kernel *const kernel = c->kernels;
        c->kernels = kernel->next;
        c->device->runtime->release_function(c->device, kernel->function);
        free(kernel);
    }
    while (c->signatures) {
        known_signature *const known = c->signatures;
        c->signatures = known->next;
        free(known);
    }
    if (c->module) c->device->runtime->unload(c->device, c->module);
    free(c->definitions);
    free(c);
}

/* Waits for the device, since kernels may still be running. To do so seldom, it then evicts down to three quarters of
   the limit. */
void tamis_gpu_unload_idle(tamis_gpu_device *device) {
    pthread_mutex_lock(&lock);
    const int64_t most = modules_most(), before = clock_now;
    int64_t count = device->has_new_programs && device->programs > most ? count_idle(device) : 0;
    device->has_new_programs = false;
    pthread_mutex_unlock(&lock);
    if (count <= most || device->runtime->finish(device, TAMIS_ALL_STREAMS) != TAMIS_OK) return;
    for (; count > most - most / 4; count--) {
        pthread_mutex_lock(&lock);
        code *const oldest = take_oldest(device, before);
        pthread_mutex_unlock(&lock);
        if (!oldest) return;
        free_code(oldest);
    }
}

/* --- requests */

static tamis_status no_memory(const char *what) { return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for %s", what); }

static code *new_code(tamis_gpu_device *device, const tamis_gpu_source *source, const char *definitions) {
    code *const c = calloc(1, sizeof *c);
    const size_t bytes = strlen(definitions) + 1;
    char *const copy = malloc(bytes);
    if (!c || !copy) {
        free(c);
        free(copy);
        return NULL;
    }
    memcpy(copy, definitions, bytes);
    *c = (code){.device = device, .source = source, .definitions = copy, .references = 1};
    return c;
}

static void remove_code(code **bucket, const code *c) {
    while (*bucket != c) bucket = &(*bucket)->next;
    *bucket = c->next;
}

/* True if another device of the same kind is compiling the same code. */
static bool compiled_elsewhere(code *const *bucket, const code *mine) {
    const tamis_gpu_limits *const l = &mine->device->limits;
    for (const code *c = *bucket; c; c = c->next) {
        const tamis_gpu_limits *const other = &c->device->limits;
        if (c->source == mine->source && c->device != mine->device && c->compiling && !c->ready &&
            c->device->runtime == mine->device->runtime && strcmp(other->model, l->model) == 0 &&
            strcmp(c->definitions, mine->definitions) == 0)
            return true;
    }
    return false;
}

/* Returns the code with a reference added. The first to ask compiles; others who ask for the same code wait for it,
   even on another device of the same kind. Nobody waits for other code. */
static tamis_status get_code(tamis_gpu_device *device, const tamis_gpu_source *source, const char *definitions,
                             code **found) {
    code **const bucket = bucket_of(source, definitions);
    pthread_mutex_lock(&lock);
    code *c = find_code(bucket, device, source, definitions);
    while (c && !c->ready) {
        pthread_cond_wait(&changed, &lock);
        c = find_code(bucket, device, source, definitions); /* NULL if it failed: then this thread compiles */
    }
    if (c) {
        c->references++;
        pthread_mutex_unlock(&lock);
        *found = c;
        return TAMIS_OK;
    }
    c = new_code(device, source, definitions);
    if (c) {
        c->next = *bucket;
        *bucket = c;
        while (compiled_elsewhere(bucket, c)) pthread_cond_wait(&changed, &lock);
        c->compiling = true;
    }
    pthread_mutex_unlock(&lock);
    if (!c) return no_memory("compiled code");
    const tamis_status status = make_code(c);
    pthread_mutex_lock(&lock);
    c->ready = true;
    if (status == TAMIS_OK) {
        device->programs++;
        device->has_new_programs = true;
    } else {
        remove_code(bucket, c);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (status != TAMIS_OK) {
        free_code(c);
        return status;
    }
    *found = c;
    return TAMIS_OK;
}

bool tamis_gpu_is_compiled(tamis_gpu_device *device, const char *name, const char *definitions) {
    const tamis_gpu_source *const source = find_source(name, strlen(name));
    if (!source) return false;
    pthread_mutex_lock(&lock);
    const code *const c = find_code(bucket_of(source, definitions), device, source, definitions);
    const bool ready = c && c->ready;
    pthread_mutex_unlock(&lock);
    return ready;
}

static void release_code(code *c) {
    pthread_mutex_lock(&lock);
    c->references--;
    c->used = ++clock_now;
    pthread_mutex_unlock(&lock);
}

/* An idle kernel of that name, and the most shared memory that any kernel of that name was given. */
static tamis_gpu_kernel *idle_kernel(const code *c, const char *name, int64_t shared_bytes, int64_t *shared_most) {
    for (tamis_gpu_kernel *k = c->kernels; k; k = k->next) {
        if (strcmp(k->name, name) != 0) continue;
        if (k->shared_bytes > *shared_most) *shared_most = k->shared_bytes;
        if (!k->held && k->shared_bytes == shared_bytes) return k;
    }
    return NULL;
}

static known_signature *find_signature(const code *c, const char *name) {
    known_signature *k = c->signatures;
    while (k && strcmp(k->name, name) != 0) k = k->next;
    return k;
}

/* Adds the signature, unless another thread has added it meanwhile; returns the one in use. */
static tamis_gpu_signature *add_signature(code *c, known_signature *made) {
    pthread_mutex_lock(&lock);
    known_signature *const other = find_signature(c, made->name);
    if (!other) {
        made->next = c->signatures;
        c->signatures = made;
    }
    pthread_mutex_unlock(&lock);
    if (!other) return &made->signature;
    free(made);
    return &other->signature;
}

/* Parsed once for all kernels of a name: parsing takes longer than the rest of a plan's work on the host. */
static tamis_status get_signature(code *c, const char *name, tamis_gpu_signature **signature) {
    tamis_status status = TAMIS_OK;
    char *text = NULL, *options = NULL;
    const bool real_is_double = strstr(c->definitions, "-D ELEMENT=64 ") != NULL;
    pthread_mutex_lock(&lock);
    known_signature *known = find_signature(c, name);
    pthread_mutex_unlock(&lock);
    if (known) {
        *signature = &known->signature;
        return TAMIS_OK;
    }
    known = calloc(1, sizeof *known);
    if (!known) return no_memory("a kernel's parameters");
    snprintf(known->name, sizeof known->name, "%s", name);
    TRY_GOTO(failed, tamis_gpu_source_text(c->source->name, &text));
    TRY_GOTO(failed, put_before(c->definitions, &text, &options));
    TRY_GOTO(failed, tamis_gpu_signature_read(text, name, real_is_double, &known->signature));
    tamis_release(text);
    tamis_release(options);
    tamis_gpu_signature_common(&known->signature);
    *signature = add_signature(c, known);
    return TAMIS_OK;
failed:
    tamis_release(text);
    tamis_release(options);
    free(known);
    return status;
}

static tamis_status make_kernel(code *c, const char *name, int64_t shared_bytes, int64_t shared_most,
                                tamis_gpu_kernel **made) {
    const int64_t more =
        shared_bytes > shared_most ? shared_bytes : 0; /* the limit applies to all kernels of that name */
    tamis_gpu_kernel *const kernel = calloc(1, sizeof *kernel);
    if (!kernel) return no_memory("a kernel");
    *kernel = (tamis_gpu_kernel){.code = c, .shared_bytes = shared_bytes, .held = true};
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    tamis_status status = get_signature(c, name, &kernel->signature);
    if (status == TAMIS_OK) status = c->device->runtime->function(c->device, c->module, name, more, &kernel->function);
    if (status != TAMIS_OK) {
        free(kernel);
        return status;
    }
    pthread_mutex_lock(&lock);
    kernel->next = c->kernels;
    c->kernels = kernel;
    pthread_mutex_unlock(&lock);
    *made = kernel;
    return TAMIS_OK;
}

static tamis_status get_kernel(code *c, const char *name, int64_t shared_bytes, tamis_gpu_kernel **made) {
    int64_t shared_most = 0;
    pthread_mutex_lock(&lock);
    tamis_gpu_kernel *const idle = idle_kernel(c, name, shared_bytes, &shared_most);
    if (idle) idle->held = true;
    pthread_mutex_unlock(&lock);
    if (!idle) return make_kernel(c, name, shared_bytes, shared_most, made);
    *made = idle;
    return TAMIS_OK;
}

tamis_status tamis_gpu_kernel_get(tamis_gpu_device *device, const char *name, const char *definitions,
                                  const char *kernel, int64_t shared_bytes, tamis_gpu_kernel **made) {
    const tamis_gpu_source *const source = find_source(name, strlen(name));
    code *c = NULL;
    if (!source) return no_file(name, strlen(name));
    TRY(get_code(device, source, definitions, &c));
    const tamis_status status = get_kernel(c, kernel, shared_bytes, made);
    if (status != TAMIS_OK) release_code(c);
    return status;
}

void tamis_gpu_kernel_release(tamis_gpu_kernel *kernel) {
    if (!kernel) return;
    pthread_mutex_lock(&lock);
    kernel->held = false;
    kernel->code->references--;
    kernel->code->used = ++clock_now;
    pthread_mutex_unlock(&lock);
}
