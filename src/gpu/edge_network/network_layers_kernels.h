/*
 * Layers of an edge network on tensor cores (mma.sync): a warp has 16 edges, and passes them from layer to layer in
 * registers. Thread (g, t) = (lane / 4, lane % 4) has edges g and g + 8, and of their vectors the pieces of 16 bytes
 * number t, t + 4, t + 8, ...: four threads read and write whole sectors, without shared memory.
 *
 *   vector of edge g    | t=0 | t=1 | t=2 | t=3 | t=0 | ...      a stripe = four pieces
 *
 * So the order of inputs and outputs within a product is not that of memory; network_pack.cu puts the weights into that
 * order. What a product gives in a thread is then what the next product takes from it.
 *
 * Definitions beside simt.h's: INNER, HIDDEN, WIDTH (numbers in an edge's vector, a hidden layer and the
 * result: multiples of a stripe), LAYERS (hidden ones), ACTIVATION, TF32.
 */
#define STRIPE          (4 * PIECE)
#define STRIPES(width)  ((width) / STRIPE)
#define TILES(width)    ((width) / 8)           /* products of 16 edges and 8 outputs */
#define FRAGMENTS(m, k) (TILES(m) * STRIPES(k)) /* of 512 bytes, of a matrix of weights with m outputs and k inputs */
#define EDGES           16
#define WARP_LANES      32

/* The compiler does not know that the number is not negative, and would divide it with care for signs. */
FUNCTION int local_id(void) {
    __builtin_assume(threadIdx.x < GROUP);
    return (int)threadIdx.x;
}
#undef LOCAL_ID
#define LOCAL_ID local_id()

/* 0, which the compiler does not know */
FUNCTION uint32 unknown_zero(void) {
    uint32 zero;
    asm("mov.u32 %0, %%tid.z;" : "=r"(zero));
    return zero;
}

/* ------------------------------------------------------------------------------------------ pieces */

/* A thread's piece of a stripe, of edge g (which = 0) or g + 8 (1), is elements 2 which and 2 which + 1 of PIECE / 2
   successive sums. */
#define SUM_OF(sums, stripe, which, i) sums[(stripe) * (PIECE / 2) + (i) / 2][2 * (which) + (i) % 2]

FUNCTION void words_of(uint32 *to, const real *piece) {
#if ELEMENT == 32
    UNROLL
    for (int i = 0; i < 4; i++) to[i] = bits_of_float(piece[i]);
#else
    UNROLL
    for (int i = 0; i < 4; i++) to[i] = pack_pair(piece + 2 * i);
#endif
}

/* Stores a word of one or two elements, at an address aligned to one. */
FUNCTION void store_word(element *to, uint32 word) {
#if ELEMENT == 32
    to[0] = float_of_bits(word);
#else
    to[0] = (element)word;
    to[1] = (element)(word >> 16);
#endif
}

FUNCTION void load_words_16(uint32 *to, const void *from) {
    const uint4 x = *(const uint4 *)from;
    to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
}

FUNCTION void reals_of(float *to, const uint32 *x) {
    UNROLL
    for (int i = 0; i < 4; i++) {
#if ELEMENT == 32
        to[i] = float_of_bits(x[i]);
#else
        unpack_pair(to + 2 * i, x[i]);
#endif
    }
}

/* ------------------------------------------------------------------------------------------ products */

/* d += a b, of 16 edges, 8 outputs and half a stripe of inputs */
#if ELEMENT == 32
#define ONE_WORD 0u /* not used */
FUNCTION void multiply_words(float *d, const uint32 *a, const uint32 *b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]));
}

/* x = high + low, both with at most 11 bits of the number */
FUNCTION void split_words(uint32 *high, uint32 *low, const uint32 *x, int count) {
    UNROLL
    for (int i = 0; i < count; i++) {
        high[i] = x[i] & 0xffffe000u;
        low[i] = bits_of_float(float_of_bits(x[i]) - float_of_bits(high[i]));
    }
}
#else
#if ELEMENT == 116
#define ONE_WORD 0x3f80u
#else
#define ONE_WORD 0x3c00u
#endif
FUNCTION void multiply_words(float *d, const uint32 *a, const uint32 *b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32." FACTORS ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]));
}
#endif

/* The first factor of products wants the words of both edges in turns, in successive registers. The exclusive or with
   a zero that the compiler does not know makes it put them there once, not before each product. */
FUNCTION void take_factors(uint32 (*a)[4], const uint32 (*x)[4]) {
    const uint32 zero = unknown_zero();
    UNROLL
    for (int i = 0; i < 4; i++) {
        a[0][i] = x[i % 2][i / 2] ^ zero;
        a[1][i] = x[i % 2][i / 2 + 2] ^ zero;
    }
}

/* sums += the product of a stripe of inputs, x[edge][word], with its weights, in shared memory. Tiles come in fours, so
   that successive products do not wait for each other. */
FUNCTION void multiply_stripe(float (*sums)[4], const uint32 (*x)[4], const uint4 *weights, int outputs) {
    enum { TOGETHER = 4 };
    uint32 a[2][4];
    take_factors(a, x);
#if ELEMENT == 32 && !TF32
    uint32 highs[8], lows[8];
    split_words(highs, lows, a[0], 8);
#endif
    UNROLL
    for (int n = 0; n < TILES(outputs); n += TOGETHER) {
        uint32 b[TOGETHER][4];
        UNROLL
        for (int i = 0; i < TOGETHER; i++)
            if (n + i < TILES(outputs)) load_words_16(b[i], weights + (n + i) * WARP_LANES + LOCAL_ID % WARP_LANES);
        UNROLL
        for (int half = 0; half < 2; half++) {
#if ELEMENT == 32 && !TF32
            uint32 b_highs[TOGETHER][2], b_lows[TOGETHER][2];
            UNROLL
            for (int i = 0; i < TOGETHER; i++) split_words(b_highs[i], b_lows[i], b[i] + 2 * half, 2);
            UNROLL
            for (int i = 0; i < TOGETHER; i++)
                if (n + i < TILES(outputs)) multiply_words(sums[n + i], highs + 4 * half, b_lows[i]);
            UNROLL
            for (int i = 0; i < TOGETHER; i++)
                if (n + i < TILES(outputs)) multiply_words(sums[n + i], lows + 4 * half, b_highs[i]);
            UNROLL
            for (int i = 0; i < TOGETHER; i++)
                if (n + i < TILES(outputs)) multiply_words(sums[n + i], highs + 4 * half, b_highs[i]);
#else
            UNROLL
            for (int i = 0; i < TOGETHER; i++)
                if (n + i < TILES(outputs)) multiply_words(sums[n + i], a[half], b[i] + 2 * half);
#endif
        }
    }
}

/* sums += a stripe, x[edge][word]: exact. `mixes`: a number that is not finite may make others of its row so, as it
   does in the next product anyway; 16 bits then need no conversions, for a product with an identity adds them. */
FUNCTION void add_stripe(float (*sums)[4], const uint32 (*x)[4], int stripe, int mixes) {
#if ELEMENT == 32
    UNROLL
    for (int i = 0; i < 4; i++) {
        SUM_OF(sums, stripe, 0, i) += float_of_bits(x[0][i]);
        SUM_OF(sums, stripe, 1, i) += float_of_bits(x[1][i]);
    }
#else
    if (!mixes) {
        UNROLL
        for (int which = 0; which < 2; which++) {
            float piece[PIECE];
            reals_of(piece, x[which]);
            UNROLL
            for (int i = 0; i < PIECE; i++) SUM_OF(sums, stripe, which, i) += piece[i];
        }
        return;
    }
    const int lane = LOCAL_ID % WARP_LANES;
    uint32 a[2][4];
    take_factors(a, x);
    const uint32 one = lane % 4 == lane / 8 ? (lane / 4 % 2 ? ONE_WORD << 16 : ONE_WORD) : 0;
    UNROLL
    for (int i = 0; i < PIECE / 2; i++) {
        const uint32 b[2] = {i % 2 ? 0 : one, i % 2 ? one : 0};
        multiply_words(sums[stripe * (PIECE / 2) + i], a[i / 2], b);
    }
#endif
}

/*
 * sums += the product of all inputs, x[stripe][edge][word], with their weights. With TOGETHER_64 a warpgroup multiplies
 * (wgmma): its four warps call this together, and the weights are tiles of 64 outputs, a row of 128 bytes for each
 * input, swizzled (operand_across). Else each warp multiplies by itself, and weights are fragments.
 */
FUNCTION void multiply_all(float (*sums)[4], const uint32 (*x)[2][4], const uint4 *weights, int inputs, int outputs) {
#if TOGETHER_64
    const uint32 tiles = shared_address(weights), tile = (uint32)inputs * 128;
    enum { MOST = INNER > HIDDEN ? INNER : HIDDEN };
    uint32 a[STRIPES(MOST > WIDTH ? MOST : WIDTH)][2][4];
    UNROLL
    for (int s = 0; s < STRIPES(inputs); s++) take_factors(a[s], x[s]);
    FACTORS_PIN(a[0][0], inputs / 4);
    PRODUCTS_PIN(sums[0], outputs / 2);
    products_begin();
    UNROLL
    for (int s = 0; s < STRIPES(inputs); s++) UNROLL
    for (int half = 0; half < 2; half++) UNROLL
    for (int n = 0; n < outputs; n += 128) {
        const uint64 b = operand_across(tiles + (uint32)(n / 64) * tile + (uint32)(2 * s + half) * 2048, (int)tile);
        if (outputs - n >= 128)
            multiply_64x128_across_held(sums[n / 8], a[s][half], b, 1);
        else
            multiply_64x64_across_held(sums[n / 8], a[s][half], b, 1);
    }
    products_commit();
    PRODUCTS_WAIT(0);
    PRODUCTS_PIN(sums[0], outputs / 2);
#else
    UNROLL
    for (int s = 0; s < STRIPES(inputs); s++)
        multiply_stripe(sums, x[s], weights + s * TILES(outputs) * WARP_LANES, outputs);
#endif
}

/* ------------------------------------------------------------------------------------------ activations */

#if ELEMENT == 32
FUNCTION float logistic(float x) { return 1 / (1 + expf(-x)); }
#else /* to 2^-21: two instructions of the special unit, without care for subnormal numbers */
FUNCTION float logistic(float x) {
    float power, result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * -1.4426950408889634f)); /* of 1 / ln 2 */
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(1 + power));
    return result;
}
#endif

#define ROOT_HALF   0.70710678118654752f
#define ROOT_TWO_PI 2.5066282746310002f /* of 2 pi */

/* ACTIVATION is the number of tamis_activation. NaN stays NaN. Those that grow without bound on both sides, or give NaN
   at -infinity, spoil a row that is not finite: MIXES. */
#define MIXES (ACTIVATION == 1 || ACTIVATION == 2)

FUNCTION float activate(float x) {
#if ACTIVATION == 0
    return x > 0 || x != x ? x : 0;
#elif ACTIVATION == 1
    return x * logistic(x);
#elif ACTIVATION == 2
    return x * (0.5f + 0.5f * erff(x * ROOT_HALF));
#else
    return tanhf(x);
#endif
}

/* The same with its derivative */
FUNCTION float activate_with_slope(float x, float *slope) {
#if ACTIVATION == 0
    *slope = x <= 0 ? 0 : 1;
    return x > 0 || x != x ? x : 0;
#elif ACTIVATION == 1
    const float l = logistic(x), y = x * l;
    *slope = l + y * (1 - l);
    return y;
#elif ACTIVATION == 2
    const float below = 0.5f + 0.5f * erff(x * ROOT_HALF);
    *slope = below + x * expf(-0.5f * x * x) * (1 / ROOT_TWO_PI);
    return x * below;
#else
    const float y = tanhf(x);
    *slope = 1 - y * y;
    return y;
#endif
}
