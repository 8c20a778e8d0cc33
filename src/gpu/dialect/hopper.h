/*
 * What compute capability 9.0 has and CUDA C++ does not name: barriers in shared memory that count what has arrived,
 * copies that arrive there by themselves, and products of a group of four warps with operands in shared memory. PTX
 * ISA: mbarrier, cp.async, wgmma. A kernel that includes this is compiled for that chip alone (COMPILE_FOR_CHIP).
 */
#define COMPILE_FOR_CHIP 1 /* sm_90a, not sm_90 */

FUNCTION uint32 shared_address(const void *p) { return (uint32)__cvta_generic_to_shared(p); }

/* ------------------------------------------------------------------------------------------ barriers */

FUNCTION void gate_make(uint32 gate, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gate), "r"(arrivals) : "memory");
}

FUNCTION void gate_arrive(uint32 gate) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(gate) : "memory");
}

/* Arrives when the copies that this thread has begun are done. */
FUNCTION void gate_arrive_with_copies(uint32 gate) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(gate) : "memory");
}

/* Waits until the gate has opened `turn` + 1 times, counted modulo 2. */
FUNCTION void gate_wait(uint32 gate, uint32 turn) {
    asm volatile("{.reg .pred open;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 open, [%0], %1;\n"
                 "@!open bra again;}" ::"r"(gate),
                 "r"(turn)
                 : "memory");
}

/* So many bytes more must come before it opens. */
FUNCTION void gate_expect(uint32 gate, uint32 bytes) {
    asm volatile("mbarrier.expect_tx.shared::cta.b64 [%0], %1;" ::"r"(gate), "r"(bytes) : "memory");
}

/* One thread brings whole pieces of 16 bytes, which the gate expects. */
FUNCTION void copy_bulk(uint32 to, const void *from, uint32 bytes, uint32 gate) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(gate)
                 : "memory");
}

FUNCTION void copy_16(uint32 to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

FUNCTION void copy_4(uint32 to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/* Products and bulk copies go another way to shared memory than threads do: what threads and their copies wrote there,
   and a gate made known, they see after this. It waits for what the thread reads and writes. */
FUNCTION void proxies_meet(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* ------------------------------------------------------------------------------------------ products */

/* Rows of 128 bytes in groups of eight, whose 16-byte pieces are exchanged: piece q of row r lies at q ^ (r & 7). The
   address of the first row is a multiple of 1024; one within that row, of 32, begins later in K. */
FUNCTION uint64 operand_of(uint32 address) {
    return (uint64)(address >> 4 & 0x3fff) | (uint64)1 << 16 | (uint64)(1024 >> 4) << 32 | (uint64)1 << 62;
}

FUNCTION void products_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FUNCTION void products_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/* Waits for all but the `pending` last commits: d of the others may be read. */
#define PRODUCTS_WAIT(pending) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory")

/* Keeps the compiler from moving what touches d over this point. */
FUNCTION void products_pin(float *d) {
#pragma unroll
    for (int i = 0; i < 64; i++) asm volatile("" : "+f"(d[i]));
}

/* d = a b' of 64 rows of a, 128 of b and 16 of K, fp16, or d += it where `add`. A thread of the four warps has of d, at
   i = 0 .. 63, row 16 warp + lane / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (lane % 4) + i % 2. */
FUNCTION void multiply_64x128(float *d, uint64 a, uint64 b, int add) {
    asm volatile("{.reg .pred add; setp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, add, 1, 1, 0, 0;}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
                   "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                   "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]),
                   "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
                   "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]),
                   "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]),
                   "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "l"(a), "l"(b), "r"(add));
}

/* Registers of a thread: the warps that copy need few, those that multiply many. */
#define REGISTERS_LESS(count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))
#define REGISTERS_MORE(count) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))
