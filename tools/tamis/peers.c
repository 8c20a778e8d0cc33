/* Opens the peers' libraries and the context that they share with Tamis: the device's primary one. */
#include "peers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "text.h"

enum { KINDS = 2 };
static const tool_peer_kind *const kinds[KINDS] = {&tool_peer_cusparse, &tool_peer_cublas};

const tool_peer_kind *tool_peer_find(const char *name) {
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i]->name, name) == 0 || strcmp(kinds[i]->library, name) == 0) return kinds[i];
    }
    return NULL;
}

int tool_peer_type(tamis_type type) {
    static const int types[] = {[TAMIS_F32] = 0, [TAMIS_F64] = 1, [TAMIS_F16] = 2, [TAMIS_BF16] = 14};
    return (size_t)type < sizeof types / sizeof *types ? types[type] : -1;
}

/* The first of the files that loads, or the one that the variable names. `tried` lists those that do not. */
static void *open_library(const char *variable, const char *const *candidates, tool_text *tried) {
    const char *named = getenv(variable);
    const char *const only[] = {named, NULL};
    for (const char *const *file = named && *named ? only : candidates; *file; file++) {
        void *library = dlopen(*file, RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
        const char *error = dlerror();
        tool_text_add(tried, "%s%s", tried->length ? ", " : "", *file);
        if (error && !strstr(error, "No such file")) tool_text_add(tried, " (%s)", error);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------ the driver */

/* What of CUDA's driver is needed to make a device's primary context the thread's. */
static struct {
    void *library;
    int (*init)(unsigned flags);
    int (*device)(int *device, int number);
    int (*retain)(void **context, int device);
    int (*set)(void *context);
    int (*memory)(size_t *left, size_t *total);
} driver;

static const char *load_driver(void) {
    const struct {
        const char *name;
        void *to;
    } symbols[] = {{"cuInit", &driver.init},
                   {"cuDeviceGet", &driver.device},
                   {"cuDevicePrimaryCtxRetain", &driver.retain},
                   {"cuCtxSetCurrent", &driver.set},
                   {"cuMemGetInfo_v2", &driver.memory}};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(driver.library, symbols[i].name);
        if (!found) return symbols[i].name;
        memcpy(symbols[i].to, &found, sizeof found);
    }
    return NULL;
}

static bool open_driver(void) {
    static const char *const candidates[] = {"libcuda.so.1", "libcuda.so", NULL};
    static bool tried = false;
    if (tried) return driver.library != NULL;
    tried = true;
    tool_text files = {0};
    driver.library = open_library("TAMIS_CUDA_DRIVER", candidates, &files);
    const char *missing = driver.library ? load_driver() : NULL;
    if (!driver.library) tool_warning("peers: no CUDA driver; looked for %s", tool_text_get(&files));
    if (missing) {
        tool_warning("peers: the CUDA driver lacks %s", missing);
        driver.library = NULL;
    }
    tool_text_free(&files);
    return driver.library != NULL;
}

/* Makes the primary context of the device the thread's: the libraries use the one that is current. */
static bool enter(const tool_device *device) {
    enum { MOST = 64 };
    static void *contexts[MOST];
    const char *colon = strchr(device->description.name, ':');
    const int number = colon ? atoi(colon + 1) : 0;
    if (!open_driver() || number < 0 || number >= MOST) return false;
    int handle = 0;
    if (!contexts[number] &&
        (driver.init(0) != 0 || driver.device(&handle, number) != 0 || driver.retain(&contexts[number], handle) != 0)) {
        tool_warning("peers: %s has no context", device->description.name);
        return false;
    }
    return driver.set(contexts[number]) == 0;
}

size_t tool_peer_free_memory(void) {
    size_t left = 0, total = 0;
    return driver.library && driver.memory(&left, &total) == 0 ? left : 0;
}

/* ------------------------------------------------------------------------------------------ making */

/* Whether the library of that kind is there; says so once when not. */
static bool open_kind(const tool_peer_kind *kind) {
    static enum { UNTRIED, THERE, ABSENT } found[KINDS];
    int number = 0;
    while (number < KINDS - 1 && kinds[number] != kind) number++;
    if (found[number] != UNTRIED) return found[number] == THERE;
    tool_text files = {0};
    void *library = open_library(kind->variable, kind->candidates, &files);
    const char *missing = library ? kind->load(library) : NULL;
    found[number] = library && !missing ? THERE : ABSENT;
    if (!library) {
        tool_warning("%s is not there: looked for %s; %s may name the file", kind->library, tool_text_get(&files),
                     kind->variable);
    } else if (missing) {
        tool_warning("%s is too old: it lacks %s", kind->library, missing);
    }
    tool_text_free(&files);
    return found[number] == THERE;
}

tool_peer *tool_peer_make(const tool_peer_kind *kind, const tool_mirror *mirror, char *why, size_t bytes) {
    *why = 0;
    if (!open_kind(kind) || !enter(mirror->device)) return NULL;
    tool_peer *peer = tool_allocate(1, sizeof *peer);
    *peer = (tool_peer){.name = kind->name, .mirror = mirror};
    if (kind->make(peer, why, bytes)) return peer;
    tool_peer_free(peer);
    return NULL;
}

void tool_peer_free(tool_peer *peer) {
    if (!peer) return;
    if (peer->release) peer->release(peer);
    free(peer);
}
