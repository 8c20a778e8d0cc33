/* The backends of this build and, over them, the public list of algorithms. */
#include "core/device.h"

#include "base/status.h"
#include "cpu/backend.h"
#include "gpu/backend.h"

static const tamis_backend *const backends[] = {&tamis_cpu_backend, &tamis_cuda_backend, &tamis_opencl_backend};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

const tamis_backend *tamis_backend_at(int number) { return number >= 0 && number < BACKENDS ? backends[number] : NULL; }

/* CUDA and OpenCL share a table: it is listed once. */
static const tamis_algorithm *listed(int b, int *count) {
    int others;
    const tamis_algorithm *const table = backends[b]->algorithms(count);
    for (int i = 0; i < b; i++)
        if (backends[i]->algorithms(&others) == table) *count = 0;
    return table;
}

int tamis_algorithm_count(void) {
    int total = 0;
    for (int b = 0; b < BACKENDS; b++) {
        int count;
        listed(b, &count);
        total += count;
    }
    return total;
}

tamis_status tamis_algorithm_at(int number, tamis_algorithm_description *description) {
    tamis_clear_error();
    if (!description) return tamis_fail(TAMIS_ERROR_ARGUMENT, "description = NULL: where to put the result");
    int left = number;
    for (int b = 0; b < BACKENDS && left >= 0; b++) {
        int count;
        const tamis_algorithm *const table = listed(b, &count);
        if (left < count) {
            *description = table[left].description;
            return TAMIS_OK;
        }
        left -= count;
    }
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "number = %d is not in 0 .. %d", number, tamis_algorithm_count() - 1);
}
