/*
 * Tiles of rows in shared memory; gates, which are mbarriers (arrival-counting barriers) there; asynchronous copies
 * that signal a gate; and products of tiles on tensor cores. Two forms have the same names, tile layouts and
 * accumulator registers:
 *
 *   hopper.h  compute capability 9.0: a warpgroup multiplies operands in shared memory (wgmma)
 *   mma.h     8.0 and up (MMA = 1): each warp multiplies its own 16 rows (ldmatrix, mma.sync)
 *
 * So a kernel is written once. The host side chooses the form (tensor/form.h).
 */

/* Not inlined: rarely executed code, compiled once. */
#define NOINLINE static __device__ __noinline__

FUNCTION uint32 shared_address(const void *p) { return (uint32)__cvta_generic_to_shared(p); }

/* ------------------------------------------------------------------------------------------ barriers */

FUNCTION void gate_make(uint32 gate, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gate), "r"(arrivals) : "memory");
}

/* Arrives when this thread's copies so far have finished. */
FUNCTION void gate_arrive_with_copies(uint32 gate) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(gate) : "memory");
}

/* A position in a ring buffer of `size`, and the parity of its passes. */
typedef struct turn {
    int place;
    uint32 passed;
} turn;
FUNCTION void next_turn(turn &t, int size) {
    if (++t.place == size) {
        t.place = 0;
        t.passed ^= 1;
    }
}

/* ------------------------------------------------------------------------------------------ copies */

FUNCTION void copy_16(uint32 to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

/* Copies the first `bytes` of 16 (0 to 16), zero-padded. */
FUNCTION void copy_16_or_less(uint32 to, const void *from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

FUNCTION void copy_8(uint32 to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(8) : "memory");
}

FUNCTION void copy_4(uint32 to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/* Commits this thread's copies as a group. COPIES_WAIT: waits until at most `pending` later groups are unfinished. */
FUNCTION void copies_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define COPIES_WAIT(pending) asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory")

/* Named barrier: waits for `count` threads, whole warps, at barrier `number` of 1 to 15. */
FUNCTION void some_meet(int number, int count) {
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(number), "r"(count) : "memory");
}

/* The same, without waiting. */
FUNCTION void some_pass(int number, int count) {
    asm volatile("barrier.cta.arrive %0, %1;" ::"r"(number), "r"(count) : "memory");
}

/* ------------------------------------------------------------------------------------------ the two forms */

/* The type of both factors of products: fp16, or bf16 if a kernel defines FACTORS_BF16. */
#if defined(FACTORS_BF16) && FACTORS_BF16
#define FACTORS "bf16.bf16"
#else
#define FACTORS "f16.f16"
#endif

#if defined(MMA) && MMA
#include "mma.h"
#else
#include "hopper.h"
#endif
