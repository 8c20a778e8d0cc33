/* Gathers rows of a matrix: those that a group sends, and those that its plan reads. */
#include <string.h>

#include "base/threads.h"
#include "cpu/parts.h"
#include "sparse/structure.h"

enum { SMALL = 1 << 16 /* fewer bytes do not pay for a second thread */ };

/* One row of a column-major matrix: elements `stride` apart. */
static inline void collect(char *to, const char *from, int64_t count, int64_t stride, size_t size) {
    for (int64_t k = 0; k < count; k++) memcpy(to + (size_t)k * size, from + (size_t)(k * stride) * size, size);
}

static void copy_row(const tamis_gathering *x, int64_t row, char *to) {
    const size_t size = tamis_type_size(x->type);
    const char *const from = tamis_cpu_address(x->from);
    if (x->layout == TAMIS_ROW_MAJOR)
        memcpy(to, from + (size_t)(row * x->stride) * size, (size_t)x->cols * size);
    else if (size == 4) /* with a constant size it is one load and one store */
        collect(to, from + (size_t)row * size, x->cols, x->stride, 4);
    else if (size == 8)
        collect(to, from + (size_t)row * size, x->cols, x->stride, 8);
    else
        collect(to, from + (size_t)row * size, x->cols, x->stride, 2);
}

static void copy_share(void *context, int thread, int threads) {
    const tamis_gathering *const x = context;
    const int64_t *const rows = x->rows;
    const int64_t to_stride = x->to_stride * (int64_t)tamis_type_size(x->type);
    char *const to = tamis_cpu_address(x->to);
    TAMIS_EACH_OF_SHARE(i, x->count, threads, thread)
    copy_row(x, rows ? rows[i] : i, to + i * to_stride);
}

tamis_status tamis_cpu_gather(void *device, void *stream, const tamis_gathering *gathering) {
    tamis_gathering x = *gathering;
    (void)device;
    (void)stream;
    if (x.count == 0 || x.cols == 0) return TAMIS_OK;
    const int64_t bytes = x.count * x.cols * (int64_t)tamis_type_size(x.type);
    tamis_threads_run(bytes < SMALL ? 1 : x.threads, copy_share, &x);
    return TAMIS_OK;
}
