/*
 * Packs B as the right-hand side of tile products: 32 x 32 numbers are two tiles of sixteen columns, whose rows
 * interleave pairs.
 *
 *   SDDMM   B^T: the two tiles of cell c and slice s have columns 32 c + ... of S and elements 32 s + ... of B's rows
 *   SpMM    B: the two tiles of slice s and cell c have elements 32 s + ... of C's rows and columns 32 c + ... of S
 *
 * Tiles are stored in the order of use: for SDDMM the slices of a cell, for SpMM the cells of a slice. They are
 * zero-padded past the last column or element. All threads share the tiles, which are packed once per execution.
 */
#ifndef TAMIS_CPU_METHODS_AMX_PACK_H
#define TAMIS_CPU_METHODS_AMX_PACK_H

#include "cpu/kernels/vector.h"
#include "cpu/methods/amx/index.h"

enum { AMX_SIDE = TAMIS_CPU_AMX_SIDE, AMX_TILES = TAMIS_CPU_AMX_TILES };

/* The first packed tile. */
INLINE char *amx_tiles(const tamis_cpu_job *job) {
    return job->packed + tamis_cpu_amx_head(((const tamis_cpu_amx_index *)job->state)->threads);
}

/* Transposes sixteen rows of B, `bytes` of each: word k of row n becomes word n of row k. */
static void amx_turn(char *tile, const char *rows, int64_t stride, int count, int64_t bytes) {
#if defined(__AVX512F__)
    /* butterfly over 1, 2, 4 and 8 rows: two rows exchange words */
    __m512i x[16];
    const __mmask32 last = (__mmask32)(UINT64_C(0xffffffff) >> (32 - bytes / 2));
    for (int n = 0; n < 16; n++)
        x[n] = n < count ? _mm512_maskz_loadu_epi16(last, rows + n * stride) : _mm512_setzero_si512();
    const __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#pragma GCC unroll 4
    for (int step = 1; step < 16; step *= 2) {
        /* the upper row of a pair takes its own words where a bit of the number is clear, else the lower row's */
        const __mmask16 odd = _mm512_test_epi32_mask(number, _mm512_set1_epi32(step));
        const __m512i own = number, other = _mm512_add_epi32(number, _mm512_set1_epi32(16));
        const __m512i first = _mm512_mask_sub_epi32(own, odd, other, _mm512_set1_epi32(step));
        const __m512i second = _mm512_mask_mov_epi32(_mm512_add_epi32(own, _mm512_set1_epi32(step)), odd, other);
#pragma GCC unroll 16
        for (int n = 0; n < 16; n++)
            if (!(n & step)) {
                const __m512i a = x[n], b = x[n + step];
                x[n] = _mm512_permutex2var_epi32(a, first, b);
                x[n + step] = _mm512_permutex2var_epi32(a, second, b);
            }
    }
    for (int k = 0; k < 16; k++) _mm512_storeu_si512(tile + 64 * k, x[k]);
#else
    memset(tile, 0, 1024);
    for (int n = 0; n < count; n++)
        for (int64_t at = 0; at < bytes; at += 4)
            memcpy(tile + at * 16 + 4 * n, rows + n * stride + at, bytes - at < 4 ? 2 : 4);
#endif
}

static void amx_pack_sddmm(const tamis_cpu_job *job, int share, int shares) {
    const tamis_cpu_amx_index *const index = job->state;
    const int64_t slices = tamis_cpu_amx_parts(job->inner), end = index->cells * (share + 1) / shares;
    for (int64_t c = index->cells * share / shares; c < end; c++)
        for (int64_t s = 0; s < slices; s++)
            for (int64_t i = 0; i < 2; i++) {
                const int64_t column = AMX_SIDE * c + 16 * i, left = job->cols - column;
                const int64_t bytes = 2 * (job->inner - AMX_SIDE * s);
                amx_turn(amx_tiles(job) + (c * slices + s) * AMX_TILES + 1024 * i,
                         job->b + column * job->b_stride + 64 * s, job->b_stride,
                         left < 16 ? left < 0 ? 0 : (int)left : 16, bytes < 64 ? bytes : 64);
            }
}

/* Packs row k / 2 of a tile from rows k and k + 1 of B, with `count` elements. Returns the largest of `most` and the
   numbers' magnitude bits. */
INLINE uint32_t amx_pair(char *to, const char *even, const char *odd, int64_t count, uint32_t most) {
    for (int64_t n = 0; n < 16; n++) {
        uint16_t x = 0, y = 0;
        if (n < count) {
            memcpy(&x, even + 2 * n, 2);
            memcpy(&y, odd + 2 * n, 2);
        }
        const uint32_t pair = x | (uint32_t)y << 16;
        memcpy(to + 4 * n, &pair, 4);
        most = (x & 0x7fffu) > most ? x & 0x7fffu : most;
        most = (y & 0x7fffu) > most ? y & 0x7fffu : most;
    }
    return most;
}

static void amx_pack_spmm(const tamis_cpu_job *job, int share, int shares) {
    static const char zeros[64] = {0};
    const tamis_cpu_amx_index *const index = job->state;
    const int64_t slices = tamis_cpu_amx_parts(job->width), end = index->cells * (share + 1) / shares;
    uint32_t most = 0;
    for (int64_t c = index->cells * share / shares; c < end; c++)
        for (int64_t s = 0; s < slices; s++)
            for (int64_t k = 0; k < AMX_SIDE; k += 2) {
                const int64_t column = AMX_SIDE * c + k;
                const char *const row = job->b + column * job->b_stride + 64 * s;
                const char *const even = column < job->cols ? row : zeros;
                const char *const odd = column + 1 < job->cols ? row + job->b_stride : zeros;
                char *const to = amx_tiles(job) + (s * index->cells + c) * AMX_TILES + 32 * k;
                const int64_t left = job->width - AMX_SIDE * s;
                if (left >= AMX_SIDE) { /* a constant count lets the compiler vectorise these loops */
                    most = amx_pair(to, even, odd, 16, most);
                    most = amx_pair(to + 1024, even + 32, odd + 32, 16, most);
                } else {
                    most = amx_pair(to, even, odd, left, most);
                    most = amx_pair(to + 1024, even + 32, odd + 32, left - 16, most);
                }
            }
    ((int *)(void *)job->packed)[share] = most >= 0x7f80;
}

#endif
