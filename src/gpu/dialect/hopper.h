/*
 * PTX of compute capability 9.0: bulk copies of whole tiles by one thread (cp.async.bulk), products of a warpgroup with
 * operands in shared memory (wgmma), and register reallocation (setmaxnreg). A kernel compiled with this file runs on
 * that chip only (COMPILE_FOR_CHIP). Included by tensor_cores.h.
 */
#define COMPILE_FOR_CHIP 1 /* sm_90a, not sm_90 */

/* ------------------------------------------------------------------------------------------ barriers and copies */

#define BULK 1 /* one thread copies contiguous bytes */

FUNCTION void gate_arrive(uint32 gate) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(gate) : "memory");
}

/* Waits until the gate has opened `turn` + 1 times, counted modulo 2. */
FUNCTION void gate_wait(uint32 gate, uint32 turn) {
    asm volatile("{.reg .pred open;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 open, [%0], %1;\n"
                 "@!open bra again;}" ::"r"(gate),
                 "r"(turn)
                 : "memory");
}

/* Adds to the bytes that must arrive before the gate opens. */
FUNCTION void gate_expect(uint32 gate, uint32 bytes) {
    asm volatile("mbarrier.expect_tx.shared::cta.b64 [%0], %1;" ::"r"(gate), "r"(bytes) : "memory");
}

/* One thread copies whole pieces of 16 bytes and signals the gate. */
FUNCTION void copy_bulk(uint32 to, const void *from, uint32 bytes, uint32 gate) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(gate)
                 : "memory");
}

/* The same, called by `copiers` threads; this thread is number `item`. */
FUNCTION void copy_together(uint32 to, const void *from, uint32 bytes, uint32 gate, int item, int copiers) {
    (void)copiers;
    if (item == 0) copy_bulk(to, from, bytes, gate);
}

/* A matrix whose tiles are copied (tamis_gpu_tiles), a parameter of a kernel. */
typedef struct __align__(128) tile_map {
    uint64 words[16];
}
tile_map;
#define MAP(name) const __grid_constant__ tile_map name

/* One thread copies a tile and signals the gate: 64 numbers from `column` on of the map's rows from `row` on, as
   operand_of and operand_across take them. What lies outside the matrix becomes 0, and counts as bytes that arrive. */
FUNCTION void copy_tile(uint32 to, const tile_map *map, int column, int row, int member, uint32 gate) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
                 "%4}], [%5];" ::"r"(to),
                 "l"(map), "r"(column), "r"(row), "r"(member), "r"(gate)
                 : "memory");
}

/* Proxy fence. wgmma and bulk copies use the async proxy, threads the generic one: this makes the thread's earlier
   writes, its finished copies and its initialised gates visible to the async proxy. It waits for the thread's
   outstanding reads and writes. */
FUNCTION void proxies_meet(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* ------------------------------------------------------------------------------------------ products */

/* Descriptor of a K-major operand with the 128-byte swizzle: rows of 128 bytes in groups of eight, piece q (16 bytes)
   of row r at q ^ (r & 7). The first row's address is a multiple of 1024; adding 32 bytes steps along K. */
FUNCTION uint64 operand_of(uint32 address) {
    return (uint64)(address >> 4 & 0x3fff) | (uint64)1 << 16 | (uint64)(1024 >> 4) << 32 | (uint64)1 << 62;
}

/* Descriptor of an MN-major operand: rows run along K, each with 64 numbers of the other side in 128 bytes, swizzled as
   above; the next 64 lie `step` bytes further. 16 of K are 2048 bytes. */
FUNCTION uint64 operand_across(uint32 address, int step) {
    return (uint64)(address >> 4 & 0x3fff) | (uint64)(step >> 4) << 16 | (uint64)(1024 >> 4) << 32 | (uint64)1 << 62;
}

#define PRODUCTS_AT_ONCE 0 /* products are asynchronous */
FUNCTION void products_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FUNCTION void products_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/* Waits for all but the `pending` latest commit groups; the sums d of the others may then be read. */
#define PRODUCTS_WAIT(pending) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory")

/* Keeps the compiler from moving accesses to d across this point. */
#define PRODUCTS_PIN(d, count) _Pragma("unroll") for (int i_ = 0; i_ < (count); i_++) asm volatile("" : "+f"((d)[i_]))

/* The same for factors in registers: the compiler then has them before the products begin. */
#define FACTORS_PIN(a, count) _Pragma("unroll") for (int i_ = 0; i_ < (count); i_++) asm volatile("" : "+r"((a)[i_]))

/* Operand lists of 16, 32 and 64 registers per thread. */
#define NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_32                                                                                                       \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                           \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64                                                                                                       \
    NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                      \
             "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SUMS_8(d, i)                                                                                                   \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]),        \
        "+f"(d[i + 7])
#define SUMS_32(d, i) SUMS_8(d, i), SUMS_8(d, i + 8), SUMS_8(d, i + 16), SUMS_8(d, i + 24)

/* d = a b' for 64 rows of a, 128 or 64 of b and 16 of K; d += a b' if `add`. Accumulator layout of a thread of the four
   warps: d[i], i = 0 .. 63, is row 16 warp + lane / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (lane % 4) + i % 2. */
FUNCTION void multiply_64x128(float *d, uint64 a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." FACTORS " {" NAMES_64 "}, %64, %65, add, 1, 1, 0, 0;}"
                 : SUMS_32(d, 0), SUMS_32(d, 32)
                 : "l"(a), "l"(b), "r"(add));
}

FUNCTION void multiply_64x64(float *d, uint64 a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." FACTORS " {" NAMES_32 "}, %32, %33, add, 1, 1, 0, 0;}"
                 : SUMS_32(d, 0)
                 : "l"(a), "l"(b), "r"(add));
}

FUNCTION void multiply_64x32(float *d, uint64 a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %18, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32." FACTORS " {" NAMES_16 "}, %16, %17, add, 1, 1, 0, 0;}"
                 : SUMS_8(d, 0), SUMS_8(d, 8)
                 : "l"(a), "l"(b), "r"(add));
}

/* The same with b MN-major (across): 16 rows of K, 128 or 64 columns. */
FUNCTION void multiply_64x128_across(float *d, uint64 a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." FACTORS " {" NAMES_64 "}, %64, %65, add, 1, 1, 0, 1;}"
                 : SUMS_32(d, 0), SUMS_32(d, 32)
                 : "l"(a), "l"(b), "r"(add));
}
FUNCTION void multiply_64x64_across(float *d, uint64 a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." FACTORS " {" NAMES_32 "}, %32, %33, add, 1, 1, 0, 1;}"
                 : SUMS_32(d, 0)
                 : "l"(a), "l"(b), "r"(add));
}

/* The same with a MN-major too (operand_across): d = a' b' for 16 rows of K of both, 64 columns of a. */
FUNCTION void multiply_64x128_turned(float *d, uint64 a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." FACTORS " {" NAMES_64 "}, %64, %65, add, 1, 1, 1, 1;}"
                 : SUMS_32(d, 0), SUMS_32(d, 32)
                 : "l"(a), "l"(b), "r"(add));
}
FUNCTION void multiply_64x64_turned(float *d, uint64 a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." FACTORS " {" NAMES_32 "}, %32, %33, add, 1, 1, 1, 1;}"
                 : SUMS_32(d, 0)
                 : "l"(a), "l"(b), "r"(add));
}

/* Adds the sums of 64 columns of a over 16 rows of K, each eight times: b has ones (operand_of). */
FUNCTION void add_columns_64(float *d, uint64 a, uint64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32." FACTORS " {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
}

/* The same with a in registers, and 64 or 128 columns of b: four words of two numbers, laid out as d is: words 2 j and
   2 j + 1 hold what is at i = 4 j and 4 j + 2. */
FUNCTION void multiply_64x64_across_held(float *d, const uint32 *a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." FACTORS " {" NAMES_32
                 "}, {%32, %33, %34, %35}, %36, add, 1, 1, 1;}"
                 : SUMS_32(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

FUNCTION void multiply_64x128_across_held(float *d, const uint32 *a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." FACTORS " {" NAMES_64
                 "}, {%64, %65, %66, %67}, %68, add, 1, 1, 1;}"
                 : SUMS_32(d, 0), SUMS_32(d, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

/* The same with b K-major (operand_of). */
FUNCTION void multiply_64x64_held(float *d, const uint32 *a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." FACTORS " {" NAMES_32
                 "}, {%32, %33, %34, %35}, %36, add, 1, 1, 0;}"
                 : SUMS_32(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

FUNCTION void multiply_64x128_held(float *d, const uint32 *a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." FACTORS " {" NAMES_64
                 "}, {%64, %65, %66, %67}, %68, add, 1, 1, 0;}"
                 : SUMS_32(d, 0), SUMS_32(d, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

/* Registers per thread: the copying warps give some up to the multiplying warps. */
#define REGISTERS_LESS(count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))
#define REGISTERS_MORE(count) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))
