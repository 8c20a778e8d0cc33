/*
 * The tiles and products of tensor_cores.h with what compute capability 8.0 and all later ones have: in the PTX ISA
 * ldmatrix, mma.sync.m16n8k16 and cp.async. A warp of each four multiplies its 16 of 64 rows; it holds the sums that it
 * would hold in the form of hopper.h, so kernels need not know. A product is done when the function returns; what
 * begins products, commits and awaits them does nothing here, but that a warp waits for its lanes before it says that
 * a tile is free. What lies together is copied by all threads that copy, 16 bytes each.
 *
 * A warp reads 16 x 16 numbers of its rows and all of the other tile: 2.5 KiB for eight products of 16 x 8 x 16, which
 * takes 20 cycles of a multiprocessor's shared memory and, on sm_80, 16 of its tensor cores.
 */
#define BULK 0 /* all threads copy what lies together */

/* ------------------------------------------------------------------------------------------ barriers and copies */

FUNCTION void gate_arrive(uint32 gate) {
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0];}" ::"r"(gate) : "memory");
}

/* Waits until the gate has opened `turn` + 1 times, counted modulo 2: asleep, where a chip can. */
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

/* Copies arrive by gate_arrive_with_copies: no bytes are expected. */
FUNCTION void gate_expect(uint32 gate, uint32 bytes) {
    (void)gate;
    (void)bytes;
}

/* Whole pieces of 16 bytes, by `copiers` threads, of which this is `item`. */
FUNCTION void copy_together(uint32 to, const void *from, uint32 bytes, uint32 gate, int item, int copiers) {
    (void)gate;
#pragma unroll 4
    for (uint32 at = (uint32)item * 16; at < bytes; at += (uint32)copiers * 16)
        copy_16(to + at, (const char *)from + at);
}

FUNCTION void proxies_meet(void) {}

/* ------------------------------------------------------------------------------------------ products */

/* Operands count addresses in pieces of 16 bytes, as those of hopper.h do. Rows of 128 bytes in groups of eight, whose
   pieces are exchanged: piece q of row r lies at q ^ (r & 7). Across: the next 64 columns lie `step` bytes further. */
FUNCTION uint64 operand_of(uint32 address) { return address >> 4; }
FUNCTION uint64 operand_across(uint32 address, int step) { return (uint64)(address >> 4) | (uint64)(step >> 4) << 32; }

FUNCTION void products_begin(void) {}
FUNCTION void products_commit(void) {}
#define PRODUCTS_AT_ONCE       1 /* they are done where they begin: better late than early, for the sake of registers */
#define PRODUCTS_WAIT(pending) __syncwarp()
#define PRODUCTS_PIN(d, count) (void)0
#define REGISTERS_LESS(count)  (void)0
#define REGISTERS_MORE(count)  (void)0

/* Four matrices of 8 x 8, whose rows of 16 bytes are where lanes 0 - 7, 8 - 15, .. say; or these turned. */
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

/* Of 16 rows and 8 columns, four sums of a thread. */
FUNCTION void multiply_16x8(float *d, const uint32 *a, const uint32 *b, int add) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32." FACTORS ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(add ? d[0] : 0), "f"(add ? d[1] : 0),
          "f"(add ? d[2] : 0), "f"(add ? d[3] : 0));
}

/* Where a lane's row of four matrices is: of row `row` of a tile, and its piece 0 or 1 from the operand on. */
FUNCTION uint32 piece_at(uint64 operand, int row, int piece) {
    return ((uint32)operand << 4 ^ (uint32)((piece ^ row) & 7) << 4) + (uint32)row * 128;
}

/* The warp's 16 of 64 rows, 16 numbers of each. */
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

/* 16 rows of K and columns 16 j to 16 j + 15 of the 64 across. */
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

/* Of numbers that are highs and lows: high x low and low x high, and high x high, from what is loaded once. */
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

/* The products of hopper.h. */
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
