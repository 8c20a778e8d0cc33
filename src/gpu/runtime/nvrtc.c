/* NVIDIA's run-time compiler. */
#include "gpu/runtime/nvrtc.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/runtime/cuda_api.h"
#include "gpu/runtime/library.h"

static nvrtc_api api;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool opened;
static int opened_version;
static char failure[768];

static void open_library(void) {
    static const char *const candidates[] = {"libnvrtc.so.13",
                                             "libnvrtc.so.12",
                                             "libnvrtc.so",
                                             "/usr/local/cuda/lib64/libnvrtc.so.13",
                                             "/usr/local/cuda/lib64/libnvrtc.so.12",
                                             "/usr/local/cuda/lib64/libnvrtc.so",
                                             NULL};
    const tamis_symbol symbols[] = {{"nvrtcVersion", (void (**)(void)) & api.version},
                                    {"nvrtcGetErrorString", (void (**)(void)) & api.error_string},
                                    {"nvrtcCreateProgram", (void (**)(void)) & api.create},
                                    {"nvrtcDestroyProgram", (void (**)(void)) & api.destroy},
                                    {"nvrtcCompileProgram", (void (**)(void)) & api.compile},
                                    {"nvrtcGetProgramLogSize", (void (**)(void)) & api.log_size},
                                    {"nvrtcGetProgramLog", (void (**)(void)) & api.log},
                                    {"nvrtcGetCUBINSize", (void (**)(void)) & api.cubin_size},
                                    {"nvrtcGetCUBIN", (void (**)(void)) & api.cubin},
                                    {"nvrtcGetNumSupportedArchs", (void (**)(void)) & api.architecture_count},
                                    {"nvrtcGetSupportedArchs", (void (**)(void)) & api.architectures},
                                    {NULL, NULL}};
    int major = 0, minor = 0;
    opened = tamis_library_open("TAMIS_NVRTC", candidates, symbols, failure, sizeof failure);
    if (opened && api.version(&major, &minor) == NVRTC_SUCCESS) opened_version = 1000 * major + minor;
}

tamis_status tamis_nvrtc_open(int *version) {
    pthread_once(&once, open_library);
    if (!opened)
        return tamis_fail(TAMIS_ERROR_DEVICE,
                          "no run-time compiler for CUDA: %s; install NVRTC or name it in TAMIS_NVRTC", failure);
    *version = opened_version;
    return TAMIS_OK;
}

bool tamis_nvrtc_knows(int architecture) {
    int count = 0, version, numbers[128];
    if (tamis_nvrtc_open(&version) != TAMIS_OK || api.architecture_count(&count) != NVRTC_SUCCESS || count > 128)
        return false;
    if (api.architectures(numbers) != NVRTC_SUCCESS) return false;
    for (int i = 0; i < count; i++)
        if (numbers[i] == architecture) return true;
    return false;
}

/* Options of every compilation; they are part of the keys of cached code. */
static const char *const usual_options[] = {"--std=c++17", "--device-as-default-execution-space",
                                            "--diag-suppress=177" /* a kernel uses some of the dialect */};
/* Options that save compile time: without the declarations of textures and of CUDA's runtime; and, for code that hardly
   ever runs, without the most expensive optimisations. An older compiler rejects an unknown option: options are then
   dropped from the last on, and not tried again. */
static const char *const sparing_options[] = {"--minimal", "--Ofast-compile=min"};
enum {
    USUAL_OPTIONS = sizeof usual_options / sizeof usual_options[0],
    SPARING_OPTIONS = sizeof sparing_options / sizeof sparing_options[0]
};
static int sparing_known = SPARING_OPTIONS;

static const char *library_path(void) {
    Dl_info information;
    void *function = NULL;
    memcpy(&function, &api.version, sizeof function);
    return dladdr(function, &information) && information.dli_fname ? information.dli_fname : "";
}

void tamis_nvrtc_build(char *text, size_t bytes) {
    char whole[PATH_MAX];
    struct stat file;
    int version;
    size_t used = 0;
    if (bytes > 0) text[0] = 0;
    if (tamis_nvrtc_open(&version) != TAMIS_OK) return;
    for (int i = 0; i < USUAL_OPTIONS; i++) {
        const int n = snprintf(text + used, bytes - used, "%s ", usual_options[i]);
        if (n > 0 && used + (size_t)n < bytes) used += (size_t)n;
    }
    for (int i = 0; i < SPARING_OPTIONS; i++) {
        const int n = snprintf(text + used, bytes - used, "%s ", sparing_options[i]);
        if (n > 0 && used + (size_t)n < bytes) used += (size_t)n;
    }
    if (!realpath(library_path(), whole) || stat(whole, &file) != 0) return;
    const char *const slash = strrchr(whole, '/');
    snprintf(text + used, bytes - used, "%.100s of %lld bytes", slash ? slash + 1 : whole, (long long)file.st_size);
}

/* Splits "-D A=1 -D B=2" into separate options. */
enum { OPTIONS_MOST = 96 };

static int split(char *text, const char **options, int count) {
    for (char *at = strtok_r(text, " ", &text); at && count < OPTIONS_MOST; at = strtok_r(NULL, " ", &text))
        options[count++] = at;
    return count;
}

static tamis_status fetch_log(nvrtc_program program, char **log) {
    size_t bytes = 0;
    *log = NULL;
    if (api.log_size(program, &bytes) != NVRTC_SUCCESS || bytes == 0) bytes = 1;
    TRY(tamis_allocate((int64_t)bytes, 1, "a compiler's log", (void **)log));
    (*log)[0] = 0;
    if (bytes > 1) api.log(program, *log);
    (*log)[bytes - 1] = 0;
    return TAMIS_OK;
}

static tamis_status compiled(nvrtc_program program, nvrtc_result result, const char *name, const char *definitions,
                             tamis_gpu_binary *binary, const char *log) {
    if (result != NVRTC_SUCCESS)
        return tamis_fail(TAMIS_ERROR_DEVICE, "kernel %s does not compile: %s: %s (with %s)", name,
                          api.error_string(result), log, definitions);
    if (api.cubin_size(program, &binary->bytes) != NVRTC_SUCCESS || binary->bytes == 0)
        return tamis_fail(TAMIS_ERROR_DEVICE, "kernel %s: the compiler made no machine code", name);
    TRY(tamis_allocate((int64_t)binary->bytes, 1, "compiled code", &binary->memory));
    api.cubin(program, binary->memory);
    return TAMIS_OK;
}

/* Compiles the program with these options and the first `sparing` of those that save time. */
static tamis_status run(nvrtc_program *program, const char *source, const char *name, const char **options, int count,
                        int sparing, nvrtc_result *result) {
    const int known = __atomic_load_n(&sparing_known, __ATOMIC_RELAXED);
    if (sparing > known) sparing = known;
    const nvrtc_result created = api.create(program, source, name, 0, NULL, NULL);
    if (created != NVRTC_SUCCESS)
        return tamis_fail(TAMIS_ERROR_DEVICE, "kernel %s: %s", name, api.error_string(created));
    for (int i = 0; i < sparing && i < SPARING_OPTIONS; i++) options[count + i] = sparing_options[i];
    *result = api.compile(*program, count + sparing, options);
    if (*result != NVRTC_ERROR_INVALID_OPTION || sparing == 0) return TAMIS_OK;
    for (int now = known; now >= sparing;) /* another thread may have lowered it further */
        if (__atomic_compare_exchange_n(&sparing_known, &now, sparing - 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
    api.destroy(program);
    *program = NULL;
    return run(program, source, name, options, count, sparing - 1, result);
}

/* Kernels that launch kernels need CUDA's runtime declarations; those for unaligned operands hardly ever run. */
static int sparing_of(const char *definitions, bool relocatable) {
    return relocatable ? 0 : strstr(definitions, "-D WIDE=0 ") ? 2 : 1;
}

bool tamis_nvrtc_launches(const char *source) { return strstr(source, "#define LAUNCHES_KERNELS 1") != NULL; }

/* True if a kernel uses features of one chip only: it includes hopper.h, unless MMA selects mma.h instead. */
static bool for_chip(const char *source, const char *definitions) {
    return strstr(source, "#define COMPILE_FOR_CHIP 1") != NULL && strstr(definitions, "-D MMA=1 ") == NULL;
}

tamis_status tamis_nvrtc_compile(int architecture, const char *name, const char *source, const char *definitions,
                                 tamis_gpu_binary *binary, char **log) {
    tamis_status status = TAMIS_OK;
    const bool relocatable = tamis_nvrtc_launches(source);
    nvrtc_program program = NULL;
    const char *options[OPTIONS_MOST + SPARING_OPTIONS];
    char target[48], *text = NULL, *said = NULL;
    int count = 0, version;
    nvrtc_result result = NVRTC_SUCCESS;
    *binary = (tamis_gpu_binary){NULL, 0};
    TRY(tamis_nvrtc_open(&version));
    TRY(tamis_allocate((int64_t)strlen(definitions) + 1, 1, "compiler options", (void **)&text));
    memcpy(text, definitions, strlen(definitions) + 1);
    snprintf(target, sizeof target, "--gpu-architecture=sm_%d%s", architecture,
             for_chip(source, definitions) ? "a" : "");
    options[count++] = target;
    for (int i = 0; i < USUAL_OPTIONS; i++) options[count++] = usual_options[i];
    if (log) options[count++] = "--ptxas-options=-v"; /* does not change the code */
    if (relocatable) options[count++] = "--relocatable-device-code=true";
    count = split(text, options, count);
    TRY_GOTO(done, run(&program, source, name, options, count, sparing_of(definitions, relocatable), &result));
    TRY_GOTO(done, fetch_log(program, &said));
    TRY_GOTO(done, compiled(program, result, name, definitions, binary, said));
    if (log) {
        *log = said;
        said = NULL;
    }
done:
    if (program) api.destroy(&program);
    tamis_release(text);
    tamis_release(said);
    return status;
}

bool tamis_nvrtc_device_library(char *path, size_t bytes) {
    static const char *const places[] = {"/usr/local/cuda/lib64/libcudadevrt.a",
                                         "/usr/lib/x86_64-linux-gnu/libcudadevrt.a", NULL};
    const char *const named = secure_getenv("TAMIS_CUDADEVRT");
    int version;
    if (named && named[0]) return snprintf(path, bytes, "%s", named) < (int)bytes && access(path, R_OK) == 0;
    if (tamis_nvrtc_open(&version) != TAMIS_OK) return false;
    const char *const library = library_path(), *const slash = strrchr(library, '/');
    const int length = slash ? (int)(slash - library) : 0; /* next to the compiler, as in PyPI's packages */
    if (slash && snprintf(path, bytes, "%.*s/libcudadevrt.a", length, library) < (int)bytes && access(path, R_OK) == 0)
        return true;
    for (int i = 0; places[i]; i++)
        if (snprintf(path, bytes, "%s", places[i]) < (int)bytes && access(path, R_OK) == 0) return true;
    return false;
}
