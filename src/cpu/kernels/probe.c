/*
 * Measures the best rates that kernels could reach on this machine: fused multiply-adds from registers, reads of a
 * buffer in whole vectors, and reads of random rows of 512 bytes. It is compiled like dense_table.c; TAMIS_PROBE_TABLE
 * is the table's name.
 */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/vector.h"

extern const tamis_cpu_probe TAMIS_PROBE_TABLE;

/* Hides the value of x from the optimiser, and makes it count as used. */
#if defined(__x86_64__)
#define OPAQUE(x) __asm__ volatile("" : "+x"(x))
#if VECTOR_BYTES == 64
#undef OPAQUE
#define OPAQUE(x) __asm__ volatile("" : "+v"(x))
#endif
#elif VECTOR_SVE
#define OPAQUE(x)                                                                                                      \
    do {                                                                                                               \
        sizeless_vector y = x; /* clang needs this type here */                                                        \
        __asm__ volatile("" : "+w"(y));                                                                                \
        x = y;                                                                                                         \
    } while (0)
#elif defined(__aarch64__)
#define OPAQUE(x) __asm__ volatile("" : "+w"(x))
#else
#define OPAQUE(x) __asm__ volatile("" : : "m"(x) : "memory")
#endif

static double probe_multiply_add(int64_t repeats) {
    vector sum[12];
    vector factor = vector_of((real)0.5), step = vector_of((real)1.25);
    for (int i = 0; i < 12; i++) sum[i] = vector_of((real)i);
    OPAQUE(factor);
    OPAQUE(step);
    for (int64_t r = 0; r < repeats; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) sum[i] = sum[i] * factor + step;
    }
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++) OPAQUE(sum[i]);
    return 2.0 * 12 * LANES * (double)repeats;
}

static double probe_read(const void *data, int64_t bytes, int64_t repeats) {
    const char *const p = data;
    int64_t read = 0;
    for (int64_t r = 0; r < repeats; r++) {
        for (int64_t i = 0; i + 8 * VECTOR_BYTES <= bytes; i += 8 * VECTOR_BYTES) {
#pragma GCC unroll 8
            for (int u = 0; u < 8; u++) {
                vector x = vector_load(p + i + u * VECTOR_BYTES, REAL);
                OPAQUE(x);
            }
        }
        read += bytes / (8 * VECTOR_BYTES) * (8 * VECTOR_BYTES);
    }
    return (double)read;
}

static double probe_gather(const void *table, const uint32_t *rows, int64_t count, int64_t ahead) {
    for (int64_t t = 0; t < count; t++) {
        const char *const p = (const char *)table + 512 * (int64_t)rows[t];
        if (ahead > 0 && t + ahead < count) {
            const char *const next = (const char *)table + 512 * (int64_t)rows[t + ahead];
#pragma GCC unroll 8
            for (int line = 0; line < 8; line++) __builtin_prefetch(next + 64 * line);
        }
#pragma GCC unroll 8
        for (int u = 0; u < 512 / VECTOR_BYTES; u++) {
            vector x = vector_load(p + u * VECTOR_BYTES, REAL);
            OPAQUE(x);
        }
    }
    return 512.0 * (double)count;
}

const tamis_cpu_probe TAMIS_PROBE_TABLE = {probe_multiply_add, probe_read, probe_gather};
