/* NVIDIA's run-time compiler. */
#include "gpu/nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/cuda_api.h"
#include "gpu/library.h"

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

/* "-D A=1 -D B=2" as separate options */
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
        return tamis_fail(TAMIS_ERROR_DEVICE, "kernel %s (%s) does not compile: %s: %.600s", name, definitions,
                          api.error_string(result), log);
    if (api.cubin_size(program, &binary->bytes) != NVRTC_SUCCESS || binary->bytes == 0)
        return tamis_fail(TAMIS_ERROR_DEVICE, "kernel %s: the compiler made no machine code", name);
    TRY(tamis_allocate((int64_t)binary->bytes, 1, "compiled code", &binary->memory));
    api.cubin(program, binary->memory);
    return TAMIS_OK;
}

tamis_status tamis_nvrtc_compile(int architecture, const char *name, const char *source, const char *definitions,
                                 bool relocatable, tamis_gpu_binary *binary, char **log) {
    tamis_status status = TAMIS_OK;
    nvrtc_program program = NULL;
    const char *options[OPTIONS_MOST];
    char target[48], *text = NULL, *said = NULL;
    int count = 0, version;
    *binary = (tamis_gpu_binary){NULL, 0};
    TRY(tamis_nvrtc_open(&version));
    TRY(tamis_allocate((int64_t)strlen(definitions) + 1, 1, "compiler options", (void **)&text));
    memcpy(text, definitions, strlen(definitions) + 1);
    snprintf(target, sizeof target, "--gpu-architecture=sm_%d", architecture);
    options[count++] = target;
    options[count++] = "--std=c++17";
    options[count++] = "--device-as-default-execution-space";
    options[count++] = "--diag-suppress=177"; /* a kernel uses only some of the dialect */
    options[count++] = "--ptxas-options=-v";
    if (relocatable) options[count++] = "--relocatable-device-code=true";
    count = split(text, options, count);
    nvrtc_result result = api.create(&program, source, name, 0, NULL, NULL);
    if (result != NVRTC_SUCCESS)
        TRY_GOTO(done, tamis_fail(TAMIS_ERROR_DEVICE, "kernel %s: %s", name, api.error_string(result)));
    result = api.compile(program, count, options);
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
    const char *const named = getenv("TAMIS_CUDADEVRT");
    Dl_info information;
    void *function = NULL;
    int version;
    if (named && named[0]) return snprintf(path, bytes, "%s", named) < (int)bytes && access(path, R_OK) == 0;
    if (tamis_nvrtc_open(&version) != TAMIS_OK) return false;
    memcpy(&function, &api.version, sizeof function);
    if (dladdr(function, &information) && information.dli_fname) { /* beside the compiler, as PyPI's packages lie */
        const char *const slash = strrchr(information.dli_fname, '/');
        const int length = slash ? (int)(slash - information.dli_fname) : 0;
        if (slash && snprintf(path, bytes, "%.*s/libcudadevrt.a", length, information.dli_fname) < (int)bytes &&
            access(path, R_OK) == 0)
            return true;
    }
    for (int i = 0; places[i]; i++)
        if (snprintf(path, bytes, "%s", places[i]) < (int)bytes && access(path, R_OK) == 0) return true;
    return false;
}
