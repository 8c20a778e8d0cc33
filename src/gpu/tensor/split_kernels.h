/*
 * Numbers split into two fp16 numbers, a high and a low, for gradients of fp32 (backward_wgmma.cu, backward_wide.cu):
 * products of cells of 64 x 64, and the factors of the second products. The kernels define LOWS. Included after
 * tensor_cores.h and cell_kernels.h.
 */

/* Starts the products of 64 rows at x and 64 rows at y, over 64 numbers; the lows, if any, are one tile further. They
   are done after PRODUCTS_WAIT. */
FUNCTION void begin_rows_products(float *sum, float *crossed, uint64 x, uint64 x_low, uint64 y, uint64 y_low) {
#if PRODUCTS_AT_ONCE && PRODUCTS == 3
#pragma unroll
    for (int k = 0; k < 4; k++)
        multiply_halves_64x64(crossed, sum, x + 2 * k, x_low + 2 * k, y + 2 * k, y_low + 2 * k, k > 0, k > 0);
#else
    if (LOWS) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            multiply_64x64(crossed, x + 2 * k, y_low + 2 * k, k > 0);
            multiply_64x64(crossed, x_low + 2 * k, y + 2 * k, 1);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) multiply_64x64(sum, x + 2 * k, y + 2 * k, k > 0);
#endif
}

FUNCTION void add_crossed(float *sum, float *crossed) {
    PRODUCTS_PIN(sum, 32);
    if (LOWS) {
        PRODUCTS_PIN(crossed, 32);
#pragma unroll
        for (int i = 0; i < 32; i++) sum[i] = fmaf(crossed[i], 0x1p-11f, sum[i]);
        PRODUCTS_PIN(sum, 32);
    }
}

/* Starts d = factors of 64 own rows and 64 other rows, times the rows at y. With LOWS `crossed` selects the small
   terms, 2^11 times as large: lows times highs (y) and highs times lows (z); otherwise highs times highs. */
FUNCTION void begin_factors(float *d, const uint32 *highs, const uint32 *lows, uint64 y, uint64 z, int crossed) {
    PRODUCTS_PIN(d, 32);
    products_begin();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (!LOWS || !crossed) continue;
        multiply_64x64_across_held(d, lows + 4 * k, y + 128 * k, k > 0);
        multiply_64x64_across_held(d, highs + 4 * k, z + 128 * k, 1);
    }
#pragma unroll
    for (int k = 0; k < 4 && !crossed; k++) multiply_64x64_across_held(d, highs + 4 * k, y + 128 * k, k > 0);
    products_commit();
}

/* Adds part of a result: `back` undoes the scale of each row's factors. */
FUNCTION void add_factors(float *out, float *d, const float *back, float by) {
    PRODUCTS_PIN(d, 32);
#pragma unroll
    for (int i = 0; i < 32; i++) out[i] = fmaf(d[i], back[i / 2 % 2] * by, out[i]);
    PRODUCTS_PIN(out, 32);
}

/* Splits two numbers into two fp16 numbers each. */
FUNCTION void split_two(float y, float z, uint32 &high, uint32 &low) {
    high = halves_of(y, z);
    low = LOWS ? halves_of((y - half_to_float((ushort)high)) * 2048, (z - half_to_float((ushort)(high >> 16))) * 2048)
               : 0;
}

/* The scale 2^13 / largest, and its inverse, as powers of two. */
FUNCTION float to_halves(float largest, float &back) {
    const uint32 bits = max(bits_of_float(largest), bits_of_float(0x1p-113f)) & 0x7f800000u;
    back = float_of_bits(bits - (13u << 23));
    return float_of_bits(((127u + 13 + 127) << 23) - bits);
}

/* Splits factors into two fp16 numbers each. Each row is scaled by a power of two that brings its largest to 2^13 or
   more; all are multiplied by the row's `more`. */
FUNCTION void split_factors(const float *x, const float *more, uint32 *highs, uint32 *lows, float *back, float *top) {
    float by[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float largest = 0;
#pragma unroll
        for (int i = 2 * half; i < 32; i += 4) largest = fmaxf(largest, fmaxf(fabsf(x[i]), fabsf(x[i + 1])));
#pragma unroll
        for (int other = 1; other < 4; other *= 2)
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, other));
        by[half] = to_halves(largest, back[half]);
        back[half] *= more[half];
        top[half] = fmaxf(top[half], largest * more[half]);
    }
#pragma unroll
    for (int i = 0; i < 32; i += 2)
        split_two(x[i] * by[i / 2 % 2], x[i + 1] * by[i / 2 % 2], highs[i / 2], lows[i / 2]);
}
