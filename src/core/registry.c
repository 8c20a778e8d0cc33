/* The backends of this build, and the public list of algorithms over them. */
#include "core/registry.h"

#include "base/status.h"
#include "cpu/backend.h"
#include "gpu/backend.h"

static const tamis_backend *const backends[] = {&tamis_cpu_backend, &tamis_cuda_backend, &tamis_opencl_backend};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

const tamis_backend *tamis_backend_at(int number) { return number >= 0 && number < BACKENDS ? backends[number] : NULL; }

/* CUDA and OpenCL have the same algorithms, which are listed once. */
static const tamis_algorithm *listed(int number) {
    for (int b = 0; b < BACKENDS; b++) {
        const tamis_algorithm *algorithm;
        if (b > 0 && backends[b]->algorithm == backends[b - 1]->algorithm) continue;
        for (int i = 0; (algorithm = backends[b]->algorithm(i)) != NULL; i++)
            if (number-- == 0) return algorithm;
    }
    return NULL;
}

int tamis_algorithm_count(void) {
    int count = 0;
    while (listed(count)) count++;
    return count;
}

tamis_status tamis_algorithm_at(int number, tamis_algorithm_description *description) {
    tamis_clear_error();
    if (!description) return tamis_fail(TAMIS_ERROR_ARGUMENT, "description = NULL: expected an address for the result");
    const tamis_algorithm *const algorithm = number >= 0 ? listed(number) : NULL;
    if (!algorithm)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "number = %d is not in 0 .. %d", number, tamis_algorithm_count() - 1);
    *description = algorithm->description;
    return TAMIS_OK;
}
