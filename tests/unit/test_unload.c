/* The library is loaded, used and unloaded many times: no thread of it stays. test_unload LIBRARY [TIMES] */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <tamis/tamis.h>

enum { WIDTH = 8 };

typedef tamis_status open_function(const char *name, tamis_device **device);
typedef void close_function(tamis_device *device);
typedef tamis_status spmm_function(tamis_device *device, const tamis_sparse *S, const tamis_dense *B,
                                   const tamis_dense *C, const tamis_options *options,
                                   const tamis_execution *execution);

static const char *use(void *library) {
    open_function *const open_device = (open_function *)dlsym(library, "tamis_device_open");
    close_function *const close_device = (close_function *)dlsym(library, "tamis_device_close");
    spmm_function *const spmm = (spmm_function *)dlsym(library, "tamis_spmm");
    int32_t offsets[] = {0, 2, 3}, columns[] = {0, 1, 1};
    float values[] = {1, 2, 3}, b[2 * WIDTH], c[2 * WIDTH] = {0};
    tamis_device *device = NULL;
    if (!open_device || !close_device || !spmm) return "a function is missing";
    for (int i = 0; i < 2 * WIDTH; i++) b[i] = (float)i;
    const tamis_sparse S = {.rows = 2,
                            .cols = 2,
                            .nnz = 3,
                            .offset_type = TAMIS_I32,
                            .offsets = offsets,
                            .columns = columns,
                            .values = values};
    const tamis_dense B = {.data = b, .rows = 2, .cols = WIDTH}, C = {.data = c, .rows = 2, .cols = WIDTH};
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.threads = 4;
    if (open_device("cpu", &device) != TAMIS_OK) return "the device does not open";
    const tamis_status status = spmm(device, &S, &B, &C, &options, NULL);
    close_device(device);
    return status != TAMIS_OK || c[2 * WIDTH - 1] != 45 ? "the result is wrong" : NULL;
}

int main(int count, char **arguments) {
    const int times = count > 2 ? atoi(arguments[2]) : 300;
    for (int i = 0; i < times; i++) {
        void *const library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
        const char *const wrong = library ? use(library) : "it does not load";
        if (wrong) {
            fprintf(stderr, "time %d: %s\n", i + 1, wrong);
            return 1;
        }
        dlclose(library);
        if (dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD)) {
            fprintf(stderr, "it is still loaded\n");
            return 1;
        }
    }
    printf("%d times loaded, used and unloaded\n", times);
    return 0;
}
