/*
 * The dialect: one kernel source, compiled as CUDA C++ by NVRTC and as OpenCL C by a device's driver.
 *
 * Constants come as definitions:
 *   GROUP       work-items of a group, a power of two
 *   TEAM        lanes of a team, a power of two of at most 32 that divides GROUP
 *   ELEMENT     storage of values and dense operands: 32, 64 (floats), 16 (fp16), 116 (bf16)
 *   VALUE, OUTPUT  storage of S's values and of the output: ELEMENT by default, or 32 if ELEMENT has 16 bits
 *   INDEX       bits of column and row indices: 32 or 64
 *   OFFSET      bits of row offsets: 32 or 64
 *   GROUPS      (optional, by a kernel) wanted resident groups of a multiprocessor
 *   BATCHED     1: the grid's z is the member of a batch; 0: there is one
 *   TEAMS_TOGETHER (optional, by a kernel) 1: all lanes of a warp reach each collective together, so no warp diverges
 *   SIMT_SUBGROUP  OpenCL: lanes that shuffle; a subgroup has as many or a multiple; 0: teams exchange through shared
 *               memory and the group's barrier
 *   SIMT_KHRONOS   1: they use cl_khr_subgroup_shuffle, in which a team alone may take part; 0: Intel's extension
 *   SIMT_REQUIRED  subgroup size that kernels request; 0: they cannot
 *
 * warp_barrier() synchronises 32 consecutive work-items, which must all reach it; without CUDA it is a group barrier.
 *
 * A team reduces together. Its collectives (team_...) and group_barrier() must be reached by every work-item of the
 * GROUP the same number of times, unless the kernel is only ever built with GROUP == TEAM where SIMT_SUBGROUP is 0 (the
 * host says so by ONE_TEAM): where there are no shuffles a collective is a barrier of the group. A branch with
 * collectives that all work-items take must have a constant condition, or end with a collective or group_barrier():
 * PoCL executes the code after the last one as the first work-item decides, for all (3.1 if it optimises, 6.0 always).
 *
 * A kernel's pointers are IN(type, name), OUT(type, name) in its parameters, and plain pointers in its body: the loader
 * opens the body with a TAKE or TAKE_OUT for each, which OpenCL needs (gpu/runtime/signature.h). `real` is the
 * accumulator type, `element` the storage type, `piece` 16 bytes of elements.
 */

#if defined(SIMT_OPENCL) /* ------------------------------------------------------------------ OpenCL C */

#if ELEMENT == 64 || defined(NEEDS_FP64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define KERNEL          __kernel void __attribute__((reqd_work_group_size(GROUP, 1, 1)))
#define FUNCTION        static inline
#define GLOBAL          __global
#define LOCAL           __local
#define IN(type, name)  __global const type *restrict name##_buffer, long name##_bytes
#define OUT(type, name) __global type *name##_buffer, long name##_bytes
#define TAKE(type, name)                                                                                               \
    __global const type *restrict name = (__global const type *)((__global const char *)name##_buffer + name##_bytes)
#define TAKE_OUT(type, name)      __global type *name = (__global type *)((__global char *)name##_buffer + name##_bytes)
#define SHARED(type, name, count) __local type name[count]
/* `name`: SHARED_BYTES bytes, 16-byte aligned, shared by the group */
#define SHARED_ARRAY(name) __local char name[SHARED_BYTES] __attribute__((aligned(16)))
#define GROUP_X            ((long)get_group_id(0))
#define GROUP_Y            ((long)get_group_id(1))
#define GROUP_Z            ((long)get_group_id(2))
#define GROUPS_X           ((long)get_num_groups(0))
#define GROUPS_Y           ((long)get_num_groups(1))
#define LOCAL_ID           ((int)get_local_id(0))
#if SIMT_CPU
#define UNROLL      _Pragma("nounroll") /* unrolled, compilers for processors take seconds to minutes per kernel */
#define UNROLL_BY_4 UNROLL
#else
#define UNROLL      _Pragma("unroll")
#define UNROLL_BY_4 _Pragma("unroll 4")
#endif
#define ONE_BY_ONE _Pragma("nounroll") /* a loop whose body is large enough */
typedef int int32;
typedef long int64;
typedef uint uint32;
typedef ulong uint64;

FUNCTION void group_barrier(void) { barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
FUNCTION void warp_barrier(void) { group_barrier(); }
FUNCTION float float_of_bits(uint32 bits) { return as_float(bits); }
FUNCTION uint32 bits_of_float(float x) { return as_uint(x); }
FUNCTION float half_to_float(ushort bits) { return vload_half(0, (const half *)&bits); }
FUNCTION ushort float_to_half(float x) {
    ushort bits;
    vstore_half_rte(x, 0, (half *)&bits);
    return bits;
}
FUNCTION int atomic_add_int(GLOBAL int *to, int x) { return atomic_add(to, x); }
FUNCTION int atomic_add_shared(LOCAL int *to, int x) { return atomic_add(to, x); }
FUNCTION int atomic_max_int(GLOBAL int *to, int x) { return atomic_max(to, x); }
FUNCTION void atomic_or_shared(LOCAL uint32 *to, uint32 x) { atomic_or(to, x); }
FUNCTION int bits_set(uint32 x) { return (int)popcount(x); }

#else /* -------------------------------------------------------------------------------------------- CUDA */

#if defined(GROUPS) /* limits registers so that GROUPS groups fit a multiprocessor */
#define KERNEL extern "C" __global__ void __launch_bounds__(GROUP, GROUPS)
#else
#define KERNEL extern "C" __global__ void __launch_bounds__(GROUP)
#endif
#define SIMT_SUBGROUP 32
#define FUNCTION      static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define restrict __restrict__
#define IN(type, name)  const type *__restrict__ name
#define OUT(type, name) type *name
#define TAKE(type, name)
#define TAKE_OUT(type, name)
#define SHARED(type, name, count) __shared__ type name[count]
#define SHARED_ARRAY(name)        extern __shared__ __align__(16) char name[]
#define GROUP_X                   ((int64)blockIdx.x)
#define GROUP_Y                   ((int64)blockIdx.y)
#define GROUP_Z                   ((int64)blockIdx.z)
#define GROUPS_X                  ((int64)gridDim.x)
#define GROUPS_Y                  ((int64)gridDim.y)
#define LOCAL_ID                  ((int)threadIdx.x)
#define UNROLL                    _Pragma("unroll")
#define UNROLL_BY_4               _Pragma("unroll 4")
#define ONE_BY_ONE                _Pragma("unroll 1") /* a loop whose body is large enough */
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
typedef int int32;
typedef long long int64;
typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef unsigned short ushort;

FUNCTION void group_barrier(void) { __syncthreads(); }
FUNCTION void warp_barrier(void) { __syncwarp(); }
FUNCTION float float_of_bits(uint32 bits) { return __uint_as_float(bits); }
FUNCTION uint32 bits_of_float(float x) { return __float_as_uint(x); }
FUNCTION float half_to_float(ushort bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
FUNCTION ushort float_to_half(float x) {
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
FUNCTION int atomic_add_int(int *to, int x) { return atomicAdd(to, x); }
FUNCTION int atomic_add_shared(int *to, int x) { return atomicAdd(to, x); }
FUNCTION int atomic_max_int(int *to, int x) { return atomicMax(to, x); }
FUNCTION void atomic_or_shared(uint32 *to, uint32 x) { atomicOr(to, x); }
FUNCTION int bits_set(uint32 x) { return __popc(x); }

#endif

/* Hashes numbers that are close together over all 32 bits. */
FUNCTION uint32 mixed(uint64 x) {
    uint32 y = (uint32)(x ^ (x >> 32));
    y = (y ^ (y >> 16)) * 0x7feb352du;
    y = (y ^ (y >> 15)) * 0x846ca68bu;
    return y ^ (y >> 16);
}

/* Grid-stride loop over 0 .. count - 1. */
#define FOR_EACH(i, count) for (int64 i = GROUP_X * GROUP + LOCAL_ID; i < (count); i += GROUPS_X * GROUP)

/*
 * Batches: strides between the arrays of successive members, in elements (scratch: in reals). MEMBER advances a pointer
 * to the member of the group (the grid's z); without BATCHED it costs nothing. The loader writes it for each pointer
 * `x` of a kernel that takes `x_batch_stride`; a kernel writes it for scratch.
 */
#define BATCH_PARAMETERS                                                                                               \
    int64 values_batch_stride, int64 a_batch_stride, int64 b_batch_stride, int64 d_batch_stride,                       \
        int64 out_batch_stride, int64 scratch_batch_stride
#if BATCHED
#define MEMBER(name, batch_stride) name += GROUP_Z * (batch_stride)
#else
#define MEMBER(name, batch_stride)
#endif

/* 1 if rows allow vector loads of units (below). On CUDA a constant, with a kernel compiled for each, since a test
   would cost a branch per load; elsewhere a bit of the argument `wide`. */
#ifndef WIDE
#define WIDE (wide & 1)
#endif

/* 1: one kernel serves both cases and decides at run time, because the compiler then uses fewer registers. */
#ifndef BOTH_WIDTHS
#define BOTH_WIDTHS 0
#endif

/* ---------------------------------------------------------------------------------------------- elements */

#if INDEX == 64
typedef int64 index;
#else
typedef int32 index;
#endif
#if OFFSET == 64
typedef int64 offset;
#else
typedef int32 offset;
#endif

FUNCTION float bf16_to_float(ushort bits) { return float_of_bits((uint32)bits << 16); }
FUNCTION ushort float_to_bf16(float x) { /* nearest, ties to even; NaN stays NaN */
#if !defined(SIMT_OPENCL) && __CUDA_ARCH__ >= 800
    ushort rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(x));
    return rounded;
#else
    const uint32 bits = bits_of_float(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (ushort)((bits >> 16) | 0x40u);
    return (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
}

#if ELEMENT == 64
typedef double real;
typedef double element;
#define PIECE 2
FUNCTION real real_of(element x) { return x; }
FUNCTION element element_of(real x) { return x; }
#elif ELEMENT == 16
typedef float real;
typedef ushort element;
#define PIECE 8
FUNCTION real real_of(element x) { return half_to_float(x); }
FUNCTION element element_of(real x) { return float_to_half(x); }
#elif ELEMENT == 116
typedef float real;
typedef ushort element;
#define PIECE 8
FUNCTION real real_of(element x) { return bf16_to_float(x); }
FUNCTION element element_of(real x) { return float_to_bf16(x); }
#else
typedef float real;
typedef float element;
#define PIECE 4
FUNCTION real real_of(element x) { return x; }
FUNCTION element element_of(real x) { return x; }
#endif

/* The shift of a row's scores before exp, and the divisor of the exponentials. If all scores are -infinity (a masked
   row), the exponentials are zeros, and stay zeros; NaN stays NaN. */
#define SHIFT(most)  ((most) == -INFINITY ? (real)0 : (most))
#define DIVISOR(sum) ((sum) == 0 ? (real)1 : (sum))

/* exp of a score relative to the largest one of its row; also the factor that rescales sums to a higher `most`. */
FUNCTION real relative_exp(real score, real most) { return exp(score - SHIFT(most)); }

/* The factors of two parts of a softmax that are joined, relative to the larger of their largest scores. */
typedef struct softmax_factors {
    real most, mine, theirs;
} softmax_factors;
FUNCTION softmax_factors softmax_joined(real most, real other) {
    softmax_factors f;
    f.most = other > most ? other : most;
    f.mine = relative_exp(most, f.most);
    f.theirs = relative_exp(other, f.most);
    return f;
}

/* Online softmax: raises the largest score so far, and returns the factor of the sums that are relative to it; that of
   the exponentials, `total`, is rescaled here. */
FUNCTION real raise_most(real *most, real *total, real higher) {
    const real shrink = relative_exp(*most, higher);
    *most = higher;
    *total *= shrink;
    return shrink;
}

#ifndef VALUE
#define VALUE ELEMENT
#endif
#ifndef OUTPUT
#define OUTPUT ELEMENT
#endif
#if VALUE == ELEMENT
typedef element value;
FUNCTION real real_of_value(value x) { return real_of(x); }
#else
typedef real value;
FUNCTION real real_of_value(value x) { return x; }
#endif
#if OUTPUT == ELEMENT
typedef element output;
FUNCTION real real_of_output(output x) { return real_of(x); }
FUNCTION output output_of(real x) { return element_of(x); }
#else
typedef real output;
FUNCTION real real_of_output(output x) { return x; }
FUNCTION output output_of(real x) { return x; }
#endif

#if ELEMENT == 16 || ELEMENT == 116
/* Two 16-bit elements in a word, the first one low. */
FUNCTION void unpack_pair(real *to, uint32 x) {
    to[0] = real_of((ushort)(x & 0xffffu)), to[1] = real_of((ushort)(x >> 16));
}
FUNCTION uint32 pack_pair(const real *from) {
#if !defined(SIMT_OPENCL) && __CUDA_ARCH__ >= 800 /* one instruction for both, rounded alike */
    uint32 pair;
#if ELEMENT == 16
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(from[1]), "f"(from[0]));
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(from[1]), "f"(from[0]));
#endif
    return pair;
#else
    return (uint32)element_of(from[0]) | (uint32)element_of(from[1]) << 16;
#endif
}
#endif

/* `to`[0 .. PIECE) from 16 bytes at a 16-byte aligned address */
FUNCTION void load_piece(real *to, GLOBAL const element *from) {
#if ELEMENT == 64
#if defined(SIMT_OPENCL)
    const double2 x = *(GLOBAL const double2 *)from;
#else
    const double2 x = *(const double2 *)from;
#endif
    to[0] = x.x, to[1] = x.y;
#elif ELEMENT == 32
#if defined(SIMT_OPENCL)
    const float4 x = *(GLOBAL const float4 *)from;
#else
    const float4 x = *(const float4 *)from;
#endif
    to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
#else
#if defined(SIMT_OPENCL)
    const uint4 x = *(GLOBAL const uint4 *)from;
#else
    const uint4 x = *(const uint4 *)from;
#endif
    unpack_pair(to, x.x), unpack_pair(to + 2, x.y), unpack_pair(to + 4, x.z), unpack_pair(to + 6, x.w);
#endif
}

/* Stores a piece at a 16-byte aligned address. */
FUNCTION void store_piece(GLOBAL element *to, const real *from) {
#if ELEMENT == 64
    double2 x;
    x.x = from[0], x.y = from[1];
    *(GLOBAL double2 *)to = x;
#elif ELEMENT == 32
    float4 x;
    x.x = from[0], x.y = from[1], x.z = from[2], x.w = from[3];
    *(GLOBAL float4 *)to = x;
#else
    uint4 x;
    x.x = pack_pair(from);
    x.y = pack_pair(from + 2);
    x.z = pack_pair(from + 4);
    x.w = pack_pair(from + 6);
    *(GLOBAL uint4 *)to = x;
#endif
}

/*
 * A unit: the elements of a lane's vector load. UNIT is the largest power of two, up to 16 bytes, that divides the
 * widths (slow compilers: always 16 bytes). `wide` promises that rows begin at multiples of it. WHOLE_UNITS: 1 if a
 * kernel relies on units being entirely inside or outside a row.
 */
#ifndef UNIT
#define UNIT PIECE
#endif
#ifndef WHOLE_UNITS
#define WHOLE_UNITS 0
#endif
#if UNIT < PIECE /* the word type of a unit */
#if UNIT == 4 || (UNIT == 2 && ELEMENT == 32)
typedef uint2 unit_word;
#elif UNIT == 2
typedef uint32 unit_word;
#else
typedef element unit_word;
#endif
#endif

FUNCTION void load_unit(real *to, GLOBAL const element *from, int wide) {
    if (wide) {
#if UNIT == PIECE
        load_piece(to, from);
        return;
#elif UNIT == 2 && ELEMENT == 32
        const float2 x = *(GLOBAL const float2 *)from;
        to[0] = x.x, to[1] = x.y;
        return;
#elif UNIT == 4
        const uint2 x = *(GLOBAL const uint2 *)from;
        unpack_pair(to, x.x), unpack_pair(to + 2, x.y);
        return;
#elif UNIT == 2
        unpack_pair(to, *(GLOBAL const uint32 *)from);
        return;
#endif
    }
    UNROLL
    for (int i = 0; i < UNIT; i++) to[i] = real_of(from[i]);
}

/* Stores a unit at an address that is aligned to it. */
FUNCTION void store_unit(GLOBAL element *to, const real *from) {
#if UNIT == PIECE
    store_piece(to, from);
#elif UNIT == 2 && ELEMENT == 32
    float2 x;
    x.x = from[0], x.y = from[1];
    *(GLOBAL float2 *)to = x;
#elif UNIT == 4
    uint2 x;
    x.x = pack_pair(from);
    x.y = pack_pair(from + 2);
    *(GLOBAL uint2 *)to = x;
#elif UNIT == 2
    *(GLOBAL uint32 *)to = pack_pair(from);
#else
    to[0] = element_of(from[0]);
#endif
}

/* Stores a unit's worth of outputs at an aligned address, in vectors of up to 16 bytes. */
FUNCTION void store_output_unit(GLOBAL output *to, const real *from) {
#if OUTPUT == ELEMENT
    store_unit(to, from);
#elif UNIT >= 4
    UNROLL
    for (int i = 0; i < UNIT; i += 4) {
        float4 x;
        x.x = from[i], x.y = from[i + 1], x.z = from[i + 2], x.w = from[i + 3];
        *(GLOBAL float4 *)(to + i) = x;
    }
#elif UNIT == 2
    float2 x;
    x.x = from[0], x.y = from[1];
    *(GLOBAL float2 *)to = x;
#else
    to[0] = from[0];
#endif
}

/* Loads a unit, zero-padded after the first `left` elements. */
FUNCTION void load_unit_left(real *to, GLOBAL const element *from, int64 left, int wide) {
    if (WHOLE_UNITS ? left > 0 : wide && left >= UNIT) {
        load_unit(to, from, wide);
    } else {
        UNROLL
        for (int i = 0; i < UNIT; i++) to[i] = !WHOLE_UNITS && i < left ? real_of(from[i]) : (real)0;
    }
}

/* Loads a whole piece by units. */
FUNCTION void load_units(real *to, GLOBAL const element *from, int wide) {
    UNROLL
    for (int i = 0; i < PIECE; i += UNIT) load_unit(to + i, from + i, wide);
}

/* Loads a piece, zero-padded after the first `left` elements. */
FUNCTION void load_piece_left(real *to, GLOBAL const element *from, int64 left, int wide) {
    UNROLL
    for (int i = 0; i < PIECE; i += UNIT) load_unit_left(to + i, from + i, left - i, wide);
}

#if defined(PIECES) && defined(EXACT)
/* Loads the lane's PIECES pieces of a row from `from` on; `row` is the address of its first piece. Zero-padded. */
FUNCTION void load_pieces(const int wide, real *to, GLOBAL const element *row, int lane, int64 from, int64 inner) {
    UNROLL
    for (int p = 0; p < PIECES; p++) {
        const int64 at = from + p * TEAM * PIECE;
        if (EXACT)
            load_units(to + p * PIECE, row + at, wide);
        else
            load_piece_left(to + p * PIECE, row + at, inner - at - lane * PIECE, wide);
    }
}
#endif

/* Loads elements at .. at + PIECE - 1 of a row of `count`, zero-padded; `wide` promises alignment of the row. */
FUNCTION void load_row_piece(real *to, GLOBAL const element *row, int64 at, int64 count, int wide) {
    load_piece_left(to, row + at, count - at, wide);
}

/* Loads a piece from shared memory, which is always aligned. */
FUNCTION void load_piece_shared(real *to, LOCAL const element *from) {
#if ELEMENT == 64
    const double2 x = *(LOCAL const double2 *)from;
    to[0] = x.x, to[1] = x.y;
#elif ELEMENT == 32
    const float4 x = *(LOCAL const float4 *)from;
    to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
#else
    const uint4 x = *(LOCAL const uint4 *)from;
    unpack_pair(to, x.x), unpack_pair(to + 2, x.y), unpack_pair(to + 4, x.z), unpack_pair(to + 6, x.w);
#endif
}

/* Where the piece that a lane reads at step p of `pieces` begins in a row of shared memory, which a team reads
   contiguously. Teams that read in the same cycle start with different pieces (`turn`), to avoid bank conflicts. */
FUNCTION int turned_piece(int lane, int turn, int p, int pieces) {
    return ((int)((uint32)(p + turn) % (uint32)pieces) * TEAM + lane) * PIECE;
}

/* Copies a piece to shared memory unchanged, zero-padded after the first `left` elements. */
FUNCTION void copy_piece_shared(LOCAL element *to, GLOBAL const element *from, int64 left, int wide) {
#if UNIT == PIECE
    if (wide && (WHOLE_UNITS ? left > 0 : left >= PIECE)) {
        *(LOCAL uint4 *)to = *(GLOBAL const uint4 *)from;
        return;
    }
#else
    if (wide) {
        UNROLL
        for (int i = 0; i < PIECE; i += UNIT) {
            if (WHOLE_UNITS ? i < left : i + UNIT <= left)
                *(LOCAL unit_word *)(to + i) = *(GLOBAL const unit_word *)(from + i);
            else
                for (int k = i; k < i + UNIT; k++) to[k] = !WHOLE_UNITS && k < left ? from[k] : (element)0;
        }
        return;
    }
#endif
    UNROLL
    for (int i = 0; i < PIECE; i++) to[i] = i < left ? from[i] : (element)0;
}

/* Loads `count` (4 or 8) consecutive indices; `aligned` promises a 16-byte aligned address. */
FUNCTION void load_indices(index *to, GLOBAL const index *from, int count, int aligned) {
#if INDEX == 32
    if (aligned) {
        UNROLL
        for (int i = 0; i < count; i += 4) {
#if defined(SIMT_OPENCL)
            const int4 x = *(GLOBAL const int4 *)(from + i);
#else
            const int4 x = *(const int4 *)(from + i);
#endif
            to[i] = x.x, to[i + 1] = x.y, to[i + 2] = x.z, to[i + 3] = x.w;
        }
        return;
    }
#endif
    UNROLL
    for (int i = 0; i < count; i++) to[i] = from[i];
}

/* Address of row `at` of a matrix. `wide` also promises that a row's byte stride fits 31 bits, so one instruction
   computes it. PLAIN_ROWS: 1: plain C is also one instruction, and loads use the read-only path; fused gets slower by
   it. */
#ifndef PLAIN_ROWS
#define PLAIN_ROWS 0
#endif
FUNCTION GLOBAL const element *row_at(GLOBAL const element *base, index at, int64 stride, int wide) {
#if !defined(SIMT_OPENCL) && INDEX == 32
    if (wide && PLAIN_ROWS)
        return (const element *)((const char *)base + (int64)at * (int32)(stride * (int64)sizeof(element)));
    if (wide) {
        const element *row;
        asm("mad.wide.s32 %0, %1, %2, %3;"
            : "=l"(row)
            : "r"(at), "r"((int32)(stride * (int64)sizeof(element))), "l"(base));
        __builtin_assume(__isGlobal(row)); /* the asm result has lost the address space */
        return row;
    }
#endif
    return base + (int64)at * stride;
}

/* Loads `count` (4 or 8) consecutive words at a 16-byte aligned address. */
FUNCTION void load_words(uint32 *to, GLOBAL const uint32 *from, int count) {
    UNROLL
    for (int i = 0; i < count; i += 4) {
        const uint4 x = *(GLOBAL const uint4 *)(from + i);
        to[i] = x.x, to[i + 1] = x.y, to[i + 2] = x.z, to[i + 3] = x.w;
    }
}

FUNCTION real real_min(real x, real y) { return x < y ? x : y; }
FUNCTION int32 min32(int32 x, int32 y) { return x < y ? x : y; }
FUNCTION int64 min64(int64 x, int64 y) { return x < y ? x : y; }
FUNCTION int64 max64(int64 x, int64 y) { return x > y ? x : y; }

/* ---------------------------------------------------------------------------------------------- teams */

/*
 * TEAM_SETUP(team), among a kernel's first declarations, makes the handle that collectives take. Lanes are consecutive
 * work-items. All lanes of a team get the result of a collective.
 */
#ifndef TEAMS_TOGETHER
#define TEAMS_TOGETHER 0
#endif
typedef struct simt_team {
    int lane; /* within the team */
#if SIMT_SUBGROUP == 0 && TEAM > 1
    LOCAL real *memory; /* GROUP reals */
#elif !defined(SIMT_OPENCL)
    unsigned mask; /* lanes of this team in its warp */
#endif
} simt_team;

#if defined(SIMT_OPENCL) && SIMT_SUBGROUP > 0
#if SIMT_KHRONOS
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define SHUFFLE(x, lane)     sub_group_shuffle(x, lane)
#define SHUFFLE_XOR(x, mask) sub_group_shuffle_xor(x, mask)
#else
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define SHUFFLE(x, lane)     intel_sub_group_shuffle(x, lane)
#define SHUFFLE_XOR(x, mask) intel_sub_group_shuffle_xor(x, mask)
#endif
#if SIMT_REQUIRED
#undef KERNEL
#define KERNEL                                                                                                         \
    __kernel void __attribute__((reqd_work_group_size(GROUP, 1, 1)))                                                   \
    __attribute__((intel_reqd_sub_group_size(SIMT_REQUIRED)))
#endif
#endif

#if defined(SIMT_OPENCL) && TEAM == 1
/* Without barriers, for it may be in a loop that a work-item leaves alone. The barrier would never be reached, but
   compilers that do not optimise (PoCL's, Intel's) take such a loop for one that the group runs together. */
#define TEAM_SETUP(name)                                                                                               \
    simt_team name;                                                                                                    \
    name.lane = 0
FUNCTION real team_xor(simt_team team, real x, int mask) { return x; }
FUNCTION real team_get(simt_team team, real x, int lane) { return x; }
#elif SIMT_SUBGROUP == 0
#define TEAM_SETUP(name)                                                                                               \
    SHARED(real, name##_memory, GROUP);                                                                                \
    simt_team name;                                                                                                    \
    name.lane = LOCAL_ID % TEAM;                                                                                       \
    name.memory = name##_memory
FUNCTION real team_xor(simt_team team, real x, int mask) {
    team.memory[LOCAL_ID] = x;
    group_barrier();
    const real y = team.memory[LOCAL_ID ^ mask];
    group_barrier();
    return y;
}
FUNCTION real team_get(simt_team team, real x, int lane) {
    team.memory[LOCAL_ID] = x;
    group_barrier();
    const real y = team.memory[LOCAL_ID - team.lane + lane];
    group_barrier();
    return y;
}
#elif defined(SIMT_OPENCL)
#define TEAM_SETUP(name)                                                                                               \
    simt_team name;                                                                                                    \
    name.lane = LOCAL_ID % TEAM
FUNCTION real team_xor(simt_team team, real x, int mask) { return SHUFFLE_XOR(x, (uint)mask); }
FUNCTION real team_get(simt_team team, real x, int lane) {
    return SHUFFLE(x, (uint)((int)get_sub_group_local_id() - team.lane + lane));
}
#else
#define TEAM_SETUP(name)                                                                                               \
    simt_team name;                                                                                                    \
    name.lane = LOCAL_ID % TEAM;                                                                                       \
    name.mask = TEAM == 32 || TEAMS_TOGETHER ? 0xffffffffu : ((1u << (TEAM % 32)) - 1u) << (LOCAL_ID % 32 / TEAM * TEAM)
FUNCTION real team_xor(simt_team team, real x, int mask) { return __shfl_xor_sync(team.mask, x, mask); }
FUNCTION real team_get(simt_team team, real x, int lane) { return __shfl_sync(team.mask, x, lane, TEAM); }
#endif

/* Subgroup-wide operations, whatever the team; all lanes take part. */
#if SIMT_SUBGROUP > 0
#if defined(SIMT_OPENCL)
FUNCTION real subgroup_xor(real x, int mask) { return SHUFFLE_XOR(x, (uint)mask); }
FUNCTION int32 subgroup_xor_int(int32 x, int mask) { return SHUFFLE_XOR(x, (uint)mask); }
FUNCTION int32 subgroup_max(int32 x) { return sub_group_reduce_max(x); } /* also for a wave of 64 */
#else
FUNCTION real subgroup_xor(real x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
FUNCTION int32 subgroup_xor_int(int32 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
FUNCTION int32 subgroup_max(int32 x) { return __reduce_max_sync(0xffffffffu, x); }
#endif
#endif

FUNCTION real team_sum(simt_team team, real x) {
    UNROLL
    for (int mask = TEAM / 2; mask > 0; mask /= 2) x += team_xor(team, x, mask);
    return x;
}

FUNCTION real team_max(simt_team team, real x) {
    UNROLL
    for (int mask = TEAM / 2; mask > 0; mask /= 2) {
        const real y = team_xor(team, x, mask);
        x = y > x ? y : x;
    }
    return x;
}

/*
 * Reduces BATCH values per lane over the team, by a butterfly (recursive halving) that halves the values as it halves
 * the team: about BATCH exchanges instead of BATCH log2(TEAM). BATCH is a power of two. With BATCH <= TEAM, lane l ends
 * with sum number l / (TEAM / BATCH) in x[0]; with BATCH > TEAM, with the sums l * BATCH / TEAM and following.
 */
#if defined(BATCH)
FUNCTION void team_sums(simt_team team, real *x) {
    UNROLL
    for (int mask = TEAM / 2, values = BATCH; mask > 0; mask /= 2) {
        if (values > 1) {
            const int upper = (team.lane & mask) != 0;
            UNROLL
            for (int i = 0; i < BATCH / 2; i++)
                if (i < values / 2) {
                    const real keep = upper ? x[i + values / 2] : x[i], give = upper ? x[i] : x[i + values / 2];
                    x[i] = keep + team_xor(team, give, mask);
                }
            values /= 2;
        } else {
            x[0] += team_xor(team, x[0], mask);
        }
    }
}

#define LANES_A_SUM (BATCH < TEAM ? TEAM / BATCH : 1)
#define SUMS_A_LANE (BATCH > TEAM ? BATCH / TEAM : 1)

/* Afterwards: the number of a lane's sum x[k], k < SUMS_A_LANE, and whether this lane stores it. */
FUNCTION int sum_number(simt_team team, int k) { return team.lane / LANES_A_SUM * SUMS_A_LANE + k; }
FUNCTION int stores_sums(simt_team team) { return team.lane % LANES_A_SUM == 0; }
#endif

/* ---------------------------------------------------------------------------------------------- atomics */

/* Atomic add to memory; the order, and thus the rounding, varies. */
FUNCTION void atomic_add_real(GLOBAL real *to, real x) {
#if !defined(SIMT_OPENCL)
    atomicAdd(to, x);
#elif ELEMENT == 64
    volatile GLOBAL ulong *const bits = (volatile GLOBAL ulong *)to;
    ulong seen = 0, before; /* a first guess: only atomic reads may race with atomic writes */
    do {
        before = seen;
        seen = atom_cmpxchg(bits, before, as_ulong(as_double(before) + x));
    } while (seen != before);
#else
    volatile GLOBAL uint *const bits = (volatile GLOBAL uint *)to;
    uint seen = 0, before;
    do {
        before = seen;
        seen = atomic_cmpxchg(bits, before, as_uint(as_float(before) + x));
    } while (seen != before);
#endif
}

/* ---------------------------------------------------------------------------------------------- searching */

/* Binary search for the row of nonzero t within [low, high): the last row whose offset is <= t. */
FUNCTION int64 row_of(GLOBAL const offset *offsets, int64 low, int64 high, int64 t) {
    while (high - low > 1) {
        const int64 middle = low + (high - low) / 2;
        if ((int64)offsets[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}
