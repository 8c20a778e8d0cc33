/*
 * Transposition between column-major operands and packed row-major scratch, in square blocks whose lines stay in L1 on
 * both sides; threads take bands of rows. Each element moves twice, which is little beside nnz * K reads of them.
 */
#include "cpu/staging.h"

#include <string.h>

#include "base/threads.h"

enum { BLOCK = 16 };

typedef struct transposition {
    char *to;
    const char *from;
    int64_t to_row, to_col, from_row, from_col; /* bytes from one row or column to the next */
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

void tamis_cpu_stage_in(tamis_type type, int threads, void *to, const void *from, int64_t from_stride, int64_t rows,
                        int64_t cols) {
    const int64_t size = (int64_t)tamis_type_size(type);
    transposition t = {to, from, cols * size, size, size, from_stride * size, rows, cols, (size_t)size};
    tamis_threads_run(threads, body, &t);
}

void tamis_cpu_stage_out(tamis_type type, int threads, void *to, int64_t to_stride, const void *from, int64_t rows,
                         int64_t cols) {
    const int64_t size = (int64_t)tamis_type_size(type);
    transposition t = {to, from, size, to_stride * size, cols * size, size, rows, cols, (size_t)size};
    tamis_threads_run(threads, body, &t);
}
