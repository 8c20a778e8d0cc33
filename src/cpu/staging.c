/*
 * Permutes values, and transposes between column-major operands and packed row-major scratch. Transposition works on
 * square blocks whose lines stay in L1 on both sides; threads take bands of rows. Each element moves twice, which costs
 * little compared with the nnz * K reads of a kernel.
 */
#include "cpu/parts.h"

#include <string.h>

#include "base/threads.h"

enum { BLOCK = 16 };

typedef struct transposition {
    char *to;
    const char *from;
    int64_t to_row, to_col, from_row, from_col; /* strides in bytes */
    int64_t rows, cols;
    size_t size;
} transposition;

static inline void block(const transposition *t, int64_t i0, int64_t i1, int64_t j0, int64_t j1, size_t size) {
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++)
            memcpy(t->to + i * t->to_row + j * t->to_col, t->from + i * t->from_row + j * t->from_col, size);
}

static void body(void *context, int thread, int threads) {
    const transposition *const t = context;
    const int64_t bands = (t->rows + BLOCK - 1) / BLOCK;
    for (int64_t band = bands * thread / threads; band < bands * (thread + 1) / threads; band++) {
        const int64_t i0 = band * BLOCK, i1 = i0 + BLOCK < t->rows ? i0 + BLOCK : t->rows;
        for (int64_t j0 = 0; j0 < t->cols; j0 += BLOCK) {
            const int64_t j1 = j0 + BLOCK < t->cols ? j0 + BLOCK : t->cols;
            switch (t->size) {
            case 2: block(t, i0, i1, j0, j1, 2); break;
            case 4: block(t, i0, i1, j0, j1, 4); break;
            default: block(t, i0, i1, j0, j1, 8); break;
            }
        }
    }
}

tamis_status tamis_cpu_ready(void *device, tamis_type type, bool transposes, bool permutes) {
    (void)device;
    (void)type;
    (void)transposes;
    (void)permutes;
    return TAMIS_OK;
}

tamis_status tamis_cpu_transpose(void *device, void *stream, const tamis_transposition *x) {
    const int64_t size = (int64_t)tamis_type_size(x->type), row = x->cols * size, column = x->stride * size;
    (void)device;
    (void)stream;
    for (int64_t i = 0; i < x->members; i++) {
        char *const packed = tamis_cpu_address(x->packed) + i * x->packed_step * size;
        char *const strided = tamis_cpu_address(x->strided) + i * x->strided_step * size;
        transposition t =
            x->out ? (transposition){strided, packed, size, column, row, size, x->rows, x->cols, (size_t)size}
                   : (transposition){packed, strided, row, size, size, column, x->rows, x->cols, (size_t)size};
        tamis_threads_run(x->threads, body, &t);
    }
    return TAMIS_OK;
}

static inline void permute(const tamis_permutation *x, int64_t first, int64_t end, size_t size) {
    const int64_t *const permutation = x->permutation;
    for (int64_t member = 0; member < x->members; member++) {
        char *const packed = tamis_cpu_address(x->packed) + (size_t)(member * x->packed_step) * size;
        char *const scattered = tamis_cpu_address(x->scattered) + (size_t)(member * x->scattered_step) * size;
        for (int64_t t = first; t < end; t++) {
            char *const at = packed + (size_t)t * size, *const other = scattered + (size_t)permutation[t] * size;
            memcpy(x->out ? other : at, x->out ? at : other, size);
        }
    }
}

static void permute_part(void *context, int thread, int threads) {
    const tamis_permutation *const x = context;
    const int64_t first = x->nnz * thread / threads, end = x->nnz * (thread + 1) / threads;
    switch (tamis_type_size(x->type)) {
    case 2: permute(x, first, end, 2); break;
    case 4: permute(x, first, end, 4); break;
    default: permute(x, first, end, 8); break;
    }
}

tamis_status tamis_cpu_permute(void *device, void *stream, const tamis_permutation *x) {
    tamis_permutation copy = *x;
    (void)device;
    (void)stream;
    tamis_threads_run(x->threads, permute_part, &copy);
    return TAMIS_OK;
}
