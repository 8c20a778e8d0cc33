/*
 * The tiles and products of tensor_cores.h for compute capability 8.0 and later: ldmatrix, mma.sync.m16n8k16 and
 * cp.async. Each of four warps multiplies 16 of the 64 rows. Its accumulators have the same layout as in hopper.h, so
 * kernels need not know. Products are synchronous; beginning, committing and awaiting them does nothing, except that a
 * warp synchronises its lanes before it frees a tile. All copying threads share a contiguous copy, 16 bytes each.
 *
 * A warp reads 16 x 16 numbers of its rows and all of the other tile: 2.5 KiB for eight products of 16 x 8 x 16, which
 * takes 20 cycles of a multiprocessor's shared memory and, on sm_80, 16 of its tensor cores.
 */
#define BULK 0 /* all threads share a contiguous copy */

/* ------------------------------------------------------------------------------------------ barriers and copies */

FUNCTION void gate_arrive(uint32 gate) {
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0];}" ::"r"(gate) : "memory");
}

/* Waits until the gate has opened `turn` + 1 times, counted modulo 2; the thread sleeps if the chip supports it. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define GATE_TRY "mbarrier.test_wait.parity"
#else
#define GATE_TRY "mbarrier.try_wait.parity"
#endif
FUNCTION void gate_wait(uint32 gate, uint32 turn) {
    asm volatile("{.reg .pred open;\n"
                 "again: " GATE_TRY ".shared::cta.b64 open, [%0], %1;\n"
                 "@!open bra again;}" ::"r"(gate),
                 "r"(turn)
                 : "memory");
}

/* Copies arrive by gate_arrive_with_copies, so no bytes are expected. */
FUNCTION void gate_expect(uint32 gate, uint32 bytes) {
    (void)gate;
    (void)bytes;
}

/* Copies whole pieces of 16 bytes; called by `copiers` threads, this one is number `item`. */
FUNCTION void copy_together(uint32 to, const void *from, uint32 bytes, uint32 gate, int item, int copiers) {
    (void)gate;
#pragma unroll 4
    for (uint32 at = (uint32)item * 16; at < bytes; at += (uint32)copiers * 16)
        copy_16(to + at, (const char *)from + at);
}

FUNCTION void proxies_meet(void) {}

/* ------------------------------------------------------------------------------------------ products */

/* Operands are addresses in units of 16 bytes, as in hopper.h. Rows of 128 bytes are swizzled in groups of eight: piece
   q of row r lies at q ^ (r & 7). Across: the next 64 columns lie `step` bytes further. */
FUNCTION uint64 operand_of(uint32 address) { return address >> 4; }
FUNCTION uint64 operand_across(uint32 address, int step) { return (uint64)(address >> 4) | (uint64)(step >> 4) << 32; }

FUNCTION void products_begin(void) {}
FUNCTION void products_commit(void) {}
#define PRODUCTS_AT_ONCE       1 /* products are synchronous; kernels begin them late, to save registers */
#define PRODUCTS_WAIT(pending) __syncwarp()
#define PRODUCTS_PIN(d, count) (void)0
#define REGISTERS_LESS(count)  (void)0
#define REGISTERS_MORE(count)  (void)0

/* Loads four 8 x 8 matrices. Lanes 0 - 7, 8 - 15, .. give the addresses of their 16-byte rows. `turned`: transposed. */
FUNCTION void load_matrices(uint32 *to, uint32 at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}
FUNCTION void load_matrices_turned(uint32 *to, uint32 at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}

/* Product of 16 rows and 8 columns; a thread has four of the sums. */
FUNCTION void multiply_16x8(float *d, const uint32 *a, const uint32 *b, int add) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32." FACTORS ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(add ? d[0] : 0), "f"(add ? d[1] : 0),
          "f"(add ? d[2] : 0), "f"(add ? d[3] : 0));
}

/* Address for ldmatrix: piece 0 or 1 of row `row` of a tile, counted from the operand's start. */
FUNCTION uint32 piece_at(uint64 operand, int row, int piece) {
    return ((uint32)operand << 4 ^ (uint32)((piece ^ row) & 7) << 4) + (uint32)row * 128;
}

/* Loads the warp's 16 of 64 rows, 16 numbers each. */
FUNCTION void load_own(uint32 *to, uint64 a) {
    const int lane = LOCAL_ID % 32;
    load_matrices(to, piece_at(a, LOCAL_ID / 32 % 4 * 16 + lane % 16, lane / 16));
}

FUNCTION void multiply_held(float *d, const uint32 *a, uint64 b, int columns, int add) {
    const int lane = LOCAL_ID % 32;
    const uint32 at = piece_at(b, lane / 16 * 8 + lane % 8, lane / 8 % 2);
#pragma unroll
    for (int j = 0; j < columns / 16; j++) {
        uint32 both[4];
        load_matrices(both, at + j * 2048);
        multiply_16x8(d + 8 * j, a, both, add);
        multiply_16x8(d + 8 * j + 4, a, both + 2, add);
    }
}

/* Loads 16 rows of K and columns 16 j .. 16 j + 15 of 64 (MN-major). */
FUNCTION void load_across(uint32 *to, uint64 b, int j) {
    const int lane = LOCAL_ID % 32;
    load_matrices_turned(to, piece_at(b, lane % 16, lane / 16) ^ (uint32)j << 5);
}

FUNCTION void multiply_across_held(float *d, const uint32 *a, uint64 b, int columns, int add) {
#pragma unroll
    for (int j = 0; j < columns / 16; j++) {
        uint32 both[4];
        load_across(both, b + (uint64)(j / 4) * (b >> 32), j % 4);
        multiply_16x8(d + 8 * j, a, both, add);
        multiply_16x8(d + 8 * j + 4, a, both + 2, add);
    }
}

/* Products of split numbers: crossed = high x low + low x high, whole = high x high. Each fragment is loaded once. */
FUNCTION void multiply_halves_64x64(float *crossed, float *whole, uint64 x, uint64 x_low, uint64 y, uint64 y_low,
                                    int add_crossed, int add_whole) {
    const int lane = LOCAL_ID % 32;
    uint32 highs[4], lows[4];
    load_own(highs, x);
    load_own(lows, x_low);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        uint32 y_highs[4], y_lows[4];
        load_matrices(y_highs, piece_at(y, lane / 16 * 8 + lane % 8, lane / 8 % 2) + j * 2048);
        load_matrices(y_lows, piece_at(y_low, lane / 16 * 8 + lane % 8, lane / 8 % 2) + j * 2048);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            multiply_16x8(crossed + 8 * j + 4 * i, highs, y_lows + 2 * i, add_crossed);
            multiply_16x8(crossed + 8 * j + 4 * i, lows, y_highs + 2 * i, 1);
            multiply_16x8(whole + 8 * j + 4 * i, highs, y_highs + 2 * i, add_whole);
        }
    }
}

/* The products of hopper.h, with the same names. */
FUNCTION void multiply_64x128(float *d, uint64 a, uint64 b, int add) {
    uint32 own[4];
    load_own(own, a);
    multiply_held(d, own, b, 128, add);
}
FUNCTION void multiply_64x64(float *d, uint64 a, uint64 b, int add) {
    uint32 own[4];
    load_own(own, a);
    multiply_held(d, own, b, 64, add);
}
FUNCTION void multiply_64x128_across(float *d, uint64 a, uint64 b, int add) {
    uint32 own[4];
    load_own(own, a);
    multiply_across_held(d, own, b, 128, add);
}
FUNCTION void multiply_64x64_across(float *d, uint64 a, uint64 b, int add) {
    uint32 own[4];
    load_own(own, a);
    multiply_across_held(d, own, b, 64, add);
}
FUNCTION void multiply_64x64_across_held(float *d, const uint32 *a, uint64 b, int add) {
    multiply_across_held(d, a, b, 64, add);
}
