/* Opens libraries and, for CUDA's, the context that they share with Tamis: the device's primary one. */
#include "bench/peer.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/text.h"

int tool_peer_type(tamis_type type) {
    static const int types[] = {[TAMIS_F32] = 0, [TAMIS_F64] = 1, [TAMIS_F16] = 2, [TAMIS_BF16] = 14};
    return (size_t)type < sizeof types / sizeof *types ? types[type] : -1;
}

const char *tool_peer_load(void *library, const tool_peer_symbol *symbols) {
    for (; symbols->name; symbols++) {
        void *found = dlsym(library, symbols->name);
        if (!found) return symbols->name;
        memcpy(symbols->to, &found, sizeof found);
    }
    return NULL;
}

const char *tool_peer_refusal(const tool_problem *problem) {
    if (tool_uses_edge(problem->operation) && problem->edge != TAMIS_EDGE_SCALE && problem->edge != TAMIS_EDGE_MASK)
        return "it supports only the edge mask";
    return tool_peer_refusal_of_form(problem);
}

const char *tool_peer_refusal_of_form(const tool_problem *problem) {
    const tamis_sparse *S = &problem->S;
    enum { MATRICES = 4 };
    const tamis_dense *const dense[MATRICES] = {&problem->A, &problem->B, &problem->D, &problem->output};
    if (problem->beta != 0) return "it does not support beta";
    if (problem->alpha != 1) return "it does not support alpha";
    if (S->format != TAMIS_CSR) return "it supports only CSR";
    for (int i = 0; i < MATRICES; i++)
        if (dense[i]->data && dense[i]->layout != TAMIS_ROW_MAJOR) return "it supports only row-major matrices";
    const bool empty = S->rows == 0 || S->cols == 0 || S->nnz == 0 || problem->inner == 0;
    return empty || (problem->operation == TAMIS_OP_FUSED && problem->width == 0) ? "an empty product" : NULL;
}

void *tool_peer_open_library(const char *variable, const char *const *candidates, tool_text *tried) {
    const char *named = secure_getenv(variable);
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

/* The functions of CUDA's driver that make a device's primary context current. */
static struct {
    void *library;
    int (*init)(unsigned flags);
    int (*device)(int *device, int number);
    int (*retain)(void **context, int device);
    int (*set)(void *context);
    int (*memory)(size_t *left, size_t *total);
} driver;

static const tool_peer_symbol driver_symbols[] = {
    {"cuInit", &driver.init},         {"cuDeviceGet", &driver.device},     {"cuDevicePrimaryCtxRetain", &driver.retain},
    {"cuCtxSetCurrent", &driver.set}, {"cuMemGetInfo_v2", &driver.memory}, {0}};

static bool open_driver(void) {
    static const char *const candidates[] = {"libcuda.so.1", "libcuda.so", NULL};
    static bool tried = false;
    if (tried) return driver.library != NULL;
    tried = true;
    tool_text files = {0};
    driver.library = tool_peer_open_library("TAMIS_CUDA_DRIVER", candidates, &files);
    const char *missing = driver.library ? tool_peer_load(driver.library, driver_symbols) : NULL;
    if (!driver.library) tool_warning("peers: no CUDA driver; tried %s", tool_text_get(&files));
    if (missing) {
        tool_warning("peers: the CUDA driver lacks %s", missing);
        driver.library = NULL;
    }
    tool_text_free(&files);
    return driver.library != NULL;
}

bool tool_peer_enter(const tool_device *device) {
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

size_t tool_peer_free_host_memory(void) {
    long long kibibytes = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && kibibytes == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "MemAvailable:", 13) == 0) kibibytes = strtoll(line + 13, NULL, 10);
    if (file) fclose(file);
    if (kibibytes > 0) return (size_t)kibibytes * 1024;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 2 : 0;
}

bool tool_peer_decline(tool_peer *peer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(peer->why, sizeof peer->why, format, arguments);
    va_end(arguments);
    return false;
}
