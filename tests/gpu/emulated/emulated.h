/*
 * CUDA's threads, one group after another, on one thread of the processor: each thread of a group is a context of its
 * own, which runs until it waits for others. Included before the text of a kernel, which translate.py has rewritten.
 *
 * What asynchronous instructions do is done when they are issued: a wait that is missing goes unnoticed here, as do
 * races. What is noticed: wrong results, reads beyond memory (with sanitizers), and waits that never end.
 */
#pragma GCC system_header
#define index                           libc_index /* kernels have a type of that name */
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS 1 /* C's own: the templates of C++ take as long to read as most kernels do */
#include <math.h>
#include <stdint.h>
#include <string.h>
#undef index

struct emulated_dimensions {
    unsigned x, y, z;
};

/* What the driver (emulate.c) gives: where threads are, shared memory, and waiting. */
extern "C" {
extern struct emulated_dimensions emulated_group, emulated_grid, emulated_thread;
extern char *emulated_shared_memory;
void emulated_last_launch(void); /* the thread waits for it */
void emulated_wait(void);        /* lets the other threads of the group go on */
void emulated_barrier(void);     /* of the group */
void emulated_warp(void);        /* of the 32 threads; all that are left must come */
void *emulated_slot(int lane);   /* 64 bytes of each lane of this thread's warp, for exchanges */
}

#define blockIdx   emulated_group
#define gridDim    emulated_grid
#define threadIdx  emulated_thread
#define __global__ __kernel__
#define __device__
#define __forceinline__        inline __attribute__((always_inline))
#define __noinline__           __attribute__((noinline))
#define __launch_bounds__(...) KERNEL_BOUNDS
#define __align__(bytes)       alignas(bytes)
#define __restrict__
#define __grid_constant__
#define __builtin_assume(x)
#define KERNEL_BOUNDS

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) longlong2 {
    long long x, y;
};
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

static inline char *emulated_shared(void) { return emulated_shared_memory; }
static inline size_t __cvta_generic_to_shared(const void *p) { return (const char *)p - emulated_shared_memory; }
static inline char *shared_at(unsigned address) { return emulated_shared_memory + address; }

static inline float __uint_as_float(unsigned x) {
    float y;
    memcpy(&y, &x, 4);
    return y;
}
static inline float __int_as_float(int x) {
    float y;
    memcpy(&y, &x, 4);
    return y;
}
static inline unsigned __float_as_uint(float x) {
    unsigned y;
    memcpy(&y, &x, 4);
    return y;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int min(int x, int y) { return x < y ? x : y; }
static inline unsigned min(unsigned x, unsigned y) { return x < y ? x : y; }
static inline long long min(long long x, long long y) { return x < y ? x : y; }
static inline unsigned long long min(unsigned long long x, unsigned long long y) { return x < y ? x : y; }
static inline int max(int x, int y) { return x > y ? x : y; }
static inline unsigned max(unsigned x, unsigned y) { return x > y ? x : y; }
static inline long long max(long long x, long long y) { return x > y ? x : y; }

/* ---- the group and the warp */

static inline void __syncthreads(void) { emulated_barrier(); }
static inline void __syncwarp(unsigned = ~0u) { emulated_warp(); }

template <typename T> static inline T emulated_exchange(T x, int from) {
    const int lane = threadIdx.x % 32;
    memcpy(emulated_slot(lane), &x, sizeof x);
    emulated_warp();
    memcpy(&x, emulated_slot(from & 31), sizeof x);
    emulated_warp();
    return x;
}
template <typename T> static inline T __shfl_sync(unsigned, T x, int from, int width = 32) {
    return emulated_exchange(x, (int)(threadIdx.x % 32) / width * width + from % width);
}
template <typename T> static inline T __shfl_xor_sync(unsigned, T x, int mask) {
    return emulated_exchange(x, (int)(threadIdx.x % 32) ^ mask);
}
template <typename T> static inline T __shfl_up_sync(unsigned, T x, int lanes) {
    const int lane = threadIdx.x % 32;
    return emulated_exchange(x, lane < lanes ? lane : lane - lanes);
}
static inline unsigned __reduce_or_sync(unsigned, unsigned x) {
    for (int mask = 16; mask; mask /= 2) x |= __shfl_xor_sync(~0u, x, mask);
    return x;
}
template <typename T> static inline T __reduce_max_sync(unsigned, T x) {
    for (int mask = 16; mask; mask /= 2) {
        const T y = __shfl_xor_sync(~0u, x, mask);
        x = y > x ? y : x;
    }
    return x;
}
template <typename T> static inline T __reduce_min_sync(unsigned all, T x) { return ~__reduce_max_sync(all, ~x); }
template <typename T> static inline T __reduce_add_sync(unsigned, T x) {
    for (int mask = 16; mask; mask /= 2) x += __shfl_xor_sync(~0u, x, mask);
    return x;
}
static inline unsigned __ballot_sync(unsigned, int x) {
    unsigned bits = x != 0 ? 1u << threadIdx.x % 32 : 0;
    for (int other = 16; other > 0; other /= 2) bits |= __shfl_xor_sync(~0u, bits, other);
    return bits;
}
static inline int __any_sync(unsigned, int x) { return __reduce_max_sync(~0u, x != 0 ? 1 : 0); }
static inline int __all_sync(unsigned, int x) { return !__any_sync(~0u, !x); }
template <typename T> static inline T atomicAdd(T *to, T x) {
    const T before = *to;
    *to += x;
    return before;
}
static inline int atomicMax(int *to, int x) {
    const int before = *to;
    if (x > before) *to = x;
    return before;
}
static inline unsigned atomicMax(unsigned *to, unsigned x) {
    const unsigned before = *to;
    if (x > before) *to = x;
    return before;
}
static inline unsigned atomicOr(unsigned *to, unsigned x) {
    const unsigned before = *to;
    *to |= x;
    return before;
}

/* ---- numbers */

typedef float emulated_floats __attribute__((vector_size(16)));
typedef short emulated_shorts __attribute__((vector_size(16)));
static inline float float_of_half(unsigned short bits) {
    const emulated_shorts x = {(short)bits};
    return __builtin_ia32_vcvtph2ps(x)[0];
}
static inline unsigned short half_of_float(float x) {
    const emulated_floats all = {x};
    return (unsigned short)__builtin_ia32_vcvtps2ph(all, 0)[0]; /* to nearest */
}

static inline void ptx_cvt_f32_f16(float &x, unsigned short bits) { x = float_of_half(bits); }
static inline void ptx_cvt_rn_f16_f32(unsigned short &bits, float x) { bits = half_of_float(x); }
static inline void ptx_cvt_rn_f16x2_f32(unsigned &both, float high, float low) {
    both = (unsigned)half_of_float(high) << 16 | half_of_float(low);
}
static inline unsigned bf16_of_float(float x) {
    const unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
static inline void ptx_cvt_rn_bf16x2_f32(unsigned &both, float high, float low) {
    both = bf16_of_float(high) << 16 | bf16_of_float(low);
}
static inline void ptx_cvt_rna_tf32_f32(unsigned &to, float x) { to = (__float_as_uint(x) + 0x1000u) & 0xffffe000u; }
template <typename T> static inline void ptx_mad_wide_s32(T &to, int x, int y, T z) {
    to = (T)((long long)x * y + (long long)z);
}

/* ---- barriers in shared memory: 16 bits each of arrivals expected, arrivals to come, and turns passed; bytes to come
   arrive with their copies at once, so that they need no count */

struct emulated_gate {
    unsigned short expected, pending;
    unsigned turns;
};
static inline emulated_gate *gate_at(unsigned address) { return (emulated_gate *)shared_at(address); }
static inline void ptx_mbarrier_init_shared_cta_b64(unsigned gate, int arrivals) {
    *gate_at(gate) = {(unsigned short)arrivals, (unsigned short)arrivals, 0};
}
static inline void gate_arrives(unsigned gate) {
    emulated_gate *const at = gate_at(gate);
    if (--at->pending == 0) at->pending = at->expected, at->turns++;
}
static inline void ptx_mbarrier_arrive_shared_cta_b64(unsigned gate) { gate_arrives(gate); }
static inline void ptx_cp_async_mbarrier_arrive_noinc_shared_cta_b64(unsigned gate) { gate_arrives(gate); }
static inline void ptx_mbarrier_try_wait_parity_shared_cta_b64(unsigned gate, unsigned turn) {
    while ((gate_at(gate)->turns & 1) == (turn & 1)) emulated_wait();
}
static emulated_gate emulated_some[16]; /* barriers of some of the group */
static inline void ptx_barrier_cta_arrive(int number, int count) {
    emulated_gate *const at = emulated_some + number;
    if (at->pending == 0) at->pending = (unsigned short)count;
    if (--at->pending == 0) at->turns++;
}
static inline void ptx_barrier_cta_sync(int number, int count) {
    emulated_gate *const at = emulated_some + number;
    const unsigned turns = at->turns;
    ptx_barrier_cta_arrive(number, count);
    while (at->turns == turns) emulated_wait();
}
static inline void ptx_mbarrier_expect_tx_shared_cta_b64(unsigned, unsigned) {}
static inline void ptx_cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(unsigned to, const void *from,
                                                                                      unsigned bytes, unsigned) {
    memcpy(shared_at(to), from, bytes);
}
/* A tile of a matrix that fake_cuda.c has described, with the 128-byte swizzle; zeros outside the matrix. */
static inline void ptx_cp_async_bulk_tensor_3d_shared_cluster_global_tile_mbarrier_complete_tx_bytes(
    unsigned to, const void *map, int column, int row, int member, unsigned) {
    enum { ADDRESS, SIZES, STRIDES = SIZES + 3, ROWS = STRIDES + 2, WORDS };
    unsigned long long of[WORDS];
    memcpy(of, map, sizeof of);
    for (unsigned i = 0; i < of[ROWS]; i++)
        for (unsigned j = 0; j < 64; j++) {
            unsigned short number = 0;
            const unsigned long long x = (unsigned)column + j, y = (unsigned)row + i, z = (unsigned)member;
            if (x < of[SIZES] && y < of[SIZES + 1] && z < of[SIZES + 2])
                memcpy(&number, (const char *)of[ADDRESS] + z * of[STRIDES + 1] + y * of[STRIDES] + x * 2, 2);
            memcpy(shared_at(to + i * 128 + ((j / 8 ^ i % 8) << 4) + j % 8 * 2), &number, 2);
        }
}
static inline void ptx_cp_async_cg_shared_global(unsigned to, const void *from) { memcpy(shared_at(to), from, 16); }
static inline void ptx_cp_async_cg_shared_global(unsigned to, const void *from, int bytes) {
    memset(shared_at(to), 0, 16);
    memcpy(shared_at(to), from, (size_t)bytes);
}
static inline void ptx_cp_async_ca_shared_global(unsigned to, const void *from, int bytes = 4) {
    memcpy(shared_at(to), from, (size_t)bytes);
}
static inline void ptx_cp_async_commit_group(void) {}
static inline void ptx_cp_async_wait_group(int = 0) {}
static inline void ptx_fence_proxy_async_shared_cta(void) {}
static inline void ptx_setmaxnreg_dec_sync_aligned_u32(int) {}
static inline void ptx_setmaxnreg_inc_sync_aligned_u32(int) {}
static inline void ptx_st_shared_b16(unsigned at, unsigned short high, unsigned short low, unsigned number,
                                     unsigned count, int apart) {
    if (number >= count) return;
    memcpy(shared_at(at), &high, 2);
    memcpy(shared_at(at + apart), &low, 2);
}

static inline void ptx_st_shared_b16(unsigned at, unsigned short high, unsigned number, unsigned count) {
    if (number < count) memcpy(shared_at(at), &high, 2);
}

static inline void ptx_st_shared_v4_b32(unsigned at, unsigned x, unsigned y, unsigned z, unsigned w) {
    const unsigned words[4] = {x, y, z, w};
    memcpy(shared_at(at), words, sizeof words);
}

static inline void ptx_fence_acq_rel_gpu(void) {}
static inline void ptx_griddepcontrol_wait(void) { emulated_last_launch(); }
static inline void ptx_griddepcontrol_launch_dependents(void) {}
template <typename T> static inline T __ldcg(const T *from) { return *from; }

static inline void ptx_mad_wide_u32(unsigned long long &y, unsigned a, unsigned b, unsigned long long c) {
    y = (unsigned long long)a * b + c;
}
static inline void ptx_ex2_approx_ftz_f32(float &y, float x) {
    y = exp2f(x);
    if (y < 0x1p-126f) y = 0;
}

static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline void ptx_mov_u32(unsigned &to) { to = 0; } /* of tid.z, which no kernel has */
static inline void ptx_rcp_approx_ftz_f32(float &y, float x) { y = 1 / x; }
static inline void ptx_rsqrt_approx_ftz_f32(float &y, float x) { y = 1 / sqrtf(x); }
static inline void ptx_min_NaN_xorsign_abs_f32(float &z, float x, float most) {
    z = x != x ? x : copysignf(fminf(fabsf(x), most), x);
}

/* ---- products */

static inline void ptx_wgmma_fence_sync_aligned(void) {}
static inline void ptx_wgmma_commit_group_sync_aligned(void) {}
static inline void ptx_wgmma_wait_group_sync_aligned(int) {}

/* A factor: fp16, or bf16. */
template <bool BF16> static inline float factor_of(unsigned bits) {
    return BF16 ? __uint_as_float(bits << 16) : float_of_half((unsigned short)bits);
}

/* A number of an operand in shared memory, by its description: rows of 128 bytes, whose 16-byte pieces are exchanged by
   the address; `across`: K from row to row, 64 of the other side in a row, the next 64 `leading` bytes further. */
template <bool BF16> static inline float operand_number(unsigned long long what, int row, int k, bool across) {
    const unsigned start = (unsigned)(what & 0x3fff) << 4, leading = (unsigned)(what >> 16 & 0x3fff) << 4;
    const unsigned stride = (unsigned)(what >> 32 & 0x3fff) << 4; /* of eight rows */
    unsigned at;
    if (across)
        at = start + row / 64 * leading + k / 8 * stride + k % 8 * 128 + row % 64 * 2;
    else
        at = start + row / 8 * stride + row % 8 * 128 + k * 2;
    at ^= (at >> 7 & 7) << 4;
    unsigned short bits;
    memcpy(&bits, shared_at(at), 2);
    return factor_of<BF16>(bits);
}

/* The numbers of b that a warp multiplies by: each is read by one lane, and all of them use it. */
static float emulated_factors[32][16][256];

/* d of this thread: of 64 rows and `columns` columns; its two rows of a. Two sums of each row, of neighbouring columns,
   at once. */
template <bool BF16>
static inline void emulated_products(float *const *d, int columns, const float (*a)[16], unsigned long long b, int add,
                                     bool across) {
    const int lane = threadIdx.x % 32;
    float(*const factors)[256] = emulated_factors[threadIdx.x / 32];
    for (int column = lane; column < columns; column += 32)
        for (int k = 0; k < 16; k++) factors[k][column] = operand_number<BF16>(b, column, k, across);
    emulated_floats rows[16];
    for (int k = 0; k < 16; k++) rows[k] = emulated_floats{a[0][k], a[0][k], a[1][k], a[1][k]};
    emulated_warp();
    for (int i = 0; i < columns / 2; i += 4) {
        const int column = 2 * i + 2 * (lane % 4);
        emulated_floats sums = {};
        if (add) sums = emulated_floats{*d[i], *d[i + 1], *d[i + 2], *d[i + 3]};
        for (int k = 0; k < 16; k++) {
            const float x = factors[k][column], y = factors[k][column + 1];
            sums += rows[k] * emulated_floats{x, y, x, y};
        }
        for (int j = 0; j < 4; j++) *d[i + j] = sums[j];
    }
    emulated_warp();
}

/* Numbers of a that threads have in registers: four words of this thread's, of rows lane / 4 (and 8 on) and of K
   2 (lane % 4) (and 8 on). */
template <bool BF16> static inline void emulated_rows(float (*a)[16], const unsigned long long *words) {
    unsigned mine[4] = {(unsigned)words[0], (unsigned)words[1], (unsigned)words[2], (unsigned)words[3]};
    memcpy(emulated_slot(threadIdx.x % 32), mine, sizeof mine);
    emulated_warp();
    for (int other = 0; other < 4; other++) {
        memcpy(mine, emulated_slot(threadIdx.x % 32 / 4 * 4 + other), sizeof mine);
        for (int word = 0; word < 4; word++)
            for (int half = 0; half < 2; half++)
                a[word % 2][word / 2 * 8 + 2 * other + half] = factor_of<BF16>(mine[word] >> 16 * half & 0xffffu);
    }
    emulated_warp();
}

/* The sums, then a (where it lies, or four words of it), b, and whether to add. */
template <bool BF16, typename... T> static inline void emulated_wgmma(bool across, T &&...given) {
    float *d[sizeof...(T)];
    unsigned long long rest[sizeof...(T)];
    int sums = 0, count = 0;
    auto take = [&](auto &&x) {
        if constexpr (__is_same(__typeof__(x + 0), float))
            d[sums++] = &x;
        else
            rest[count++] = (unsigned long long)x;
    };
    (take(given), ...);
    float a[2][16];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    if (count == 6) {
        emulated_rows<BF16>(a, rest);
    } else {
        for (int k = 0; k < 16; k++)
            for (int half = 0; half < 2; half++)
                a[half][k] = operand_number<BF16>(rest[0], 16 * warp + lane / 4 + 8 * half, k, false);
    }
    emulated_products<BF16>(d, 2 * sums, a, rest[count - 2], (int)rest[count - 1], across);
}

/* What another lane of the warp has left for exchange; `slots` is that of lane 0. */
#define SLOT_OF(slots, lane) ((slots) + 64 * (lane))

/* 16 x 8 sums of 8 numbers of TF32 each. */
static inline void ptx_mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32(float &d0, float &d1, float &d2, float &d3,
                                                                          unsigned a0, unsigned a1, unsigned a2,
                                                                          unsigned a3, unsigned b0, unsigned b1,
                                                                          float c0, float c1, float c2, float c3) {
    const int group = (int)(threadIdx.x % 32) / 4, member = threadIdx.x % 4;
    const unsigned mine[6] = {a0, a1, a2, a3, b0, b1};
    float sums[4] = {c0, c1, c2, c3};
    char *const slots = (char *)emulated_slot(0);
    memcpy(SLOT_OF(slots, threadIdx.x % 32), mine, sizeof mine);
    emulated_warp();
    for (int k = 0; k < 8; k++) {
        const float *const x = (const float *)SLOT_OF(slots, group * 4 + k % 4) + k / 4 * 2;
        for (int i = 0; i < 4; i++)
            sums[i] += x[i / 2] * ((const float *)SLOT_OF(slots, (2 * member + i % 2) * 4 + k % 4))[4 + k / 4];
    }
    emulated_warp();
    d0 = sums[0], d1 = sums[1], d2 = sums[2], d3 = sums[3];
}

/* Four matrices of 8 x 8 halves, whose rows are where the lanes say: of each a lane gets two neighbours of a row, or,
   turned, of a column. */
static inline void emulated_matrices(unsigned *to, unsigned at, bool turned) {
    const int lane = threadIdx.x % 32, eighth = lane / 4, pair = lane % 4 * 2;
    char *const slots = (char *)emulated_slot(0);
    memcpy(SLOT_OF(slots, lane), &at, sizeof at);
    emulated_warp();
    for (int i = 0; i < 4; i++) {
        to[i] = 0;
        for (int k = 0; k < 2; k++) {
            const int row = turned ? pair + k : eighth, column = turned ? eighth : pair + k;
            unsigned short bits;
            memcpy(&at, SLOT_OF(slots, 8 * i + row), sizeof at);
            memcpy(&bits, shared_at(at) + 2 * column, sizeof bits);
            to[i] |= (unsigned)bits << 16 * k;
        }
    }
    emulated_warp();
}
static inline void ptx_ldmatrix_sync_aligned_m8n8_x4_shared_b16(unsigned &a, unsigned &b, unsigned &c, unsigned &d,
                                                                unsigned at) {
    unsigned to[4];
    emulated_matrices(to, at, false);
    a = to[0], b = to[1], c = to[2], d = to[3];
}
static inline void ptx_ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(unsigned &a, unsigned &b, unsigned &c,
                                                                      unsigned &d, unsigned at) {
    unsigned to[4];
    emulated_matrices(to, at, true);
    a = to[0], b = to[1], c = to[2], d = to[3];
}

/* 16 x 8 sums of 16 halves each: four words of a, two of b. */
template <bool BF16> static inline void emulated_mma(float *d, const unsigned *words, const float *c) {
    const int lane = threadIdx.x % 32, group = lane / 4, member = lane % 4;
    float sums[4] = {c[0], c[1], c[2], c[3]};
    char *const slots = (char *)emulated_slot(0);
    float *const mine = (float *)SLOT_OF(slots, lane);
    for (int i = 0; i < 12; i++) mine[i] = factor_of<BF16>(words[i / 2] >> 16 * (i % 2) & 0xffffu);
    emulated_warp();
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < 4; i++) {
            const float *const x = (const float *)SLOT_OF(slots, group * 4 + k % 8 / 2);
            const float *const y = (const float *)SLOT_OF(slots, (2 * member + i % 2) * 4 + k % 8 / 2);
            sums[i] += x[k / 8 * 4 + i / 2 * 2 + k % 2] * y[8 + k / 8 * 2 + k % 2];
        }
    emulated_warp();
    memcpy(d, sums, sizeof sums);
}
#define EMULATED_MMA(type, bf16)                                                                                       \
    static inline void ptx_mma_sync_aligned_m16n8k16_row_col_f32_##type##_##type##_f32(                                \
        float &d0, float &d1, float &d2, float &d3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,   \
        unsigned b1, float c0, float c1, float c2, float c3) {                                                         \
        const unsigned words[6] = {a0, a1, a2, a3, b0, b1};                                                            \
        const float c[4] = {c0, c1, c2, c3};                                                                           \
        float d[4];                                                                                                    \
        emulated_mma<bf16>(d, words, c);                                                                               \
        d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];                                                                    \
    }
EMULATED_MMA(f16, false)
EMULATED_MMA(bf16, true)
