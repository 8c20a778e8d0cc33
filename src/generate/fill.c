/*
 * Seeded uniform values. Element (i, j) of a matrix comes from draw i * cols + j, so layout, stride and threads make no
 * difference. This file is compiled without contraction to fused multiply-adds, which would round differently on other
 * machines.
 */
#include <math.h>
#include <tamis/matrix.h>

#include "base/random.h"
#include "base/status.h"
#include "base/threads.h"
#include "generate/recipe.h"
#include "sparse/check.h"
#include "sparse/element.h"
#include "sparse/structure.h"

enum {
    RUN = 256,      /* values drawn at once */
    TILE_ROWS = 16, /* column-major: rows drawn before their columns are written */
    TILE_COLUMNS = 64,
    SHARE = 1 << 15 /* elements that justify a thread */
};

typedef struct filling {
    tamis_dense dense;
    int64_t stride;
    uint64_t seed, stream;
    double low, width, top; /* top: the largest value of the type below high */
} filling;

/* Converts 32 bits to a double. Compilers vectorise this only for signed integers. */
TAMIS_INLINE double double_of_word(uint32_t word) { return (double)(int32_t)(word ^ 0x80000000u) + 2147483648.0; }

static void make_values(const filling *f, uint64_t first, int64_t count, double *values) {
    uint64_t bits[RUN];
    tamis_random_fill(f->seed, f->stream, first, count, bits);
    for (int64_t i = 0; i < count; i++) {
        const double high_word = double_of_word((uint32_t)(bits[i] >> 32));
        const double uniform = (high_word * 0x1p21 + (double)(int32_t)((uint32_t)bits[i] >> 11)) * 0x1p-53;
        const double scaled = f->width * uniform;
        const double value = f->low + scaled;
        values[i] = value < f->top ? value : f->top; /* rounding may have given high */
    }
}

TAMIS_INLINE void store_run(void *data, tamis_type type, int64_t begin, int64_t count, const double *values) {
    for (int64_t i = 0; i < count; i++) tamis_element_store(data, type, begin + i, values[i]);
}

static void store_values(void *data, tamis_type type, int64_t begin, int64_t count, const double *values) {
    switch (type) {
    case TAMIS_F32: store_run(data, TAMIS_F32, begin, count, values); return;
    case TAMIS_F64: store_run(data, TAMIS_F64, begin, count, values); return;
    case TAMIS_F16: store_run(data, TAMIS_F16, begin, count, values); return;
    case TAMIS_BF16: store_run(data, TAMIS_BF16, begin, count, values); return;
    }
}

/* Row-major: fills elements begin .. end, which are counted row by row. */
static void fill_rows(const filling *f, int64_t begin, int64_t end) {
    const tamis_dense *const dense = &f->dense;
    const bool packed = f->stride == dense->cols;
    double values[RUN];
    while (begin < end) {
        const int64_t row = begin / dense->cols, column = begin % dense->cols;
        const int64_t left = packed || end - begin < dense->cols - column ? end - begin : dense->cols - column;
        const int64_t count = left < RUN ? left : RUN;
        make_values(f, (uint64_t)begin, count, values);
        store_values(dense->data, dense->type, row * f->stride + column, count, values);
        begin += count;
    }
}

/* Column-major: fills columns begin .. end, in tiles. */
static void fill_columns(const filling *f, int64_t begin, int64_t end) {
    const tamis_dense *const dense = &f->dense;
    double tile[TILE_ROWS][TILE_COLUMNS], line[TILE_ROWS];
    for (int64_t column = begin; column < end; column += TILE_COLUMNS) {
        const int64_t width = end - column < TILE_COLUMNS ? end - column : TILE_COLUMNS;
        for (int64_t row = 0; row < dense->rows; row += TILE_ROWS) {
            const int64_t height = dense->rows - row < TILE_ROWS ? dense->rows - row : TILE_ROWS;
            for (int64_t i = 0; i < height; i++)
                make_values(f, (uint64_t)(row + i) * (uint64_t)dense->cols + (uint64_t)column, width, tile[i]);
            for (int64_t j = 0; j < width; j++) {
                for (int64_t i = 0; i < height; i++) line[i] = tile[i][j];
                store_values(dense->data, dense->type, (column + j) * f->stride + row, height, line);
            }
        }
    }
}

static void fill_thread(void *context, int thread, int threads) {
    const filling *const f = context;
    const bool row_major = f->dense.layout == TAMIS_ROW_MAJOR;
    const int64_t all = row_major ? f->dense.rows * f->dense.cols : f->dense.cols;
    const int64_t begin = tamis_partition_even(all, threads, thread);
    const int64_t end = tamis_partition_even(all, threads, thread + 1);
    if (row_major)
        fill_rows(f, begin, end);
    else
        fill_columns(f, begin, end);
}

/* Returns the next smaller value of a 16-bit type, whose words are ordered by sign and magnitude. */
static uint16_t half_below(uint16_t word) {
    if (word & 0x8000u) return (uint16_t)(word + 1u);
    return word ? (uint16_t)(word - 1u) : 0x8001u;
}

/* Returns the largest value of the type below high; infinity if that lies below low, since no value would be left. */
static double top_below(tamis_type type, double low, double high) {
    double top = high;
    if (type == TAMIS_F64) {
        top = nextafter(high, -INFINITY);
    } else if (type == TAMIS_F32) {
        float nearest = (float)high;
        if ((double)nearest >= high) nearest = nextafterf(nearest, -INFINITY);
        top = (double)nearest;
    } else {
        uint16_t word = 0;
        tamis_element_store(&word, type, 0, high);
        if (tamis_element_load(&word, type, 0) >= high) word = half_below(word);
        top = tamis_element_load(&word, type, 0);
    }
    return top < low ? INFINITY : top;
}

static void fill(const filling *f) {
    const int64_t elements = f->dense.rows * f->dense.cols;
    if (elements == 0) return;
    filling copy = *f;
    tamis_threads_run(tamis_threads_for(0, elements, SHARE), fill_thread, &copy);
}

void tamis_fill_values(void *data, tamis_type type, int64_t count, uint64_t seed, uint64_t stream, double low,
                       double high) {
    fill(&(filling){.dense = {.data = data, .rows = 1, .cols = count, .type = type},
                    .stride = count,
                    .seed = seed,
                    .stream = stream,
                    .low = low,
                    .width = high - low,
                    .top = top_below(type, low, high)});
}

tamis_status tamis_fill_uniform(const tamis_dense *dense, uint64_t seed, double low, double high) {
    tamis_clear_error();
    TRY(tamis_dense_check_any(dense, "dense"));
    if (!isfinite(low) || !isfinite(high) || low > high || !isfinite(high - low))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "low = %g, high = %g: expected finite values, low <= high", low, high);
    fill(&(filling){.dense = *dense,
                    .stride = tamis_dense_stride(dense),
                    .seed = seed,
                    .low = low,
                    .width = high - low,
                    .top = top_below(dense->type, low, high)});
    return TAMIS_OK;
}
