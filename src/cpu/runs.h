/*
 * Which instruction sets this machine runs, one function for each variant of the kernels. variants.c asks when a
 * program runs; src/cpu/CMakeLists.txt asks for TAMIS_CPU_ISA=native, when the library is built.
 */
#ifndef TAMIS_CPU_RUNS_H
#define TAMIS_CPU_RUNS_H

#include <stdbool.h>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

/* some builds do not use all of these */
#define UNUSED __attribute__((unused))

UNUSED static bool runs_always(void) { return true; }

#if defined(__x86_64__)
/* The features that the kernels of each level use. Compilers before gcc 12 and clang 17 do not know the levels' names.
 */
UNUSED static bool runs_v2(void) { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"); }
UNUSED static bool runs_v3(void) {
    return runs_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
}
UNUSED static bool runs_v4(void) {
    return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
UNUSED static bool runs_v4_bf16(void) { return runs_v4() && __builtin_cpu_supports("avx512bf16"); }
UNUSED static bool runs_v4_vbmi2(void) { return runs_v4() && __builtin_cpu_supports("avx512vbmi2"); }
#endif

#if defined(HWCAP_SVE) && defined(PR_SVE_GET_VL)
/* True for SVE with registers of this many bytes. A thread inherits the length from its creator, so this is true for
   all threads unless the program changes it. Kernels for another length would be wrong. */
static bool runs_sve(int bytes) {
    if (!(getauxval(AT_HWCAP) & HWCAP_SVE)) return false;
    const int length = prctl(PR_SVE_GET_VL);
    return length >= 0 && (length & PR_SVE_VL_LEN_MASK) == bytes;
}
UNUSED static bool runs_sve512(void) { return runs_sve(64); }
UNUSED static bool runs_sve256(void) { return runs_sve(32); }
UNUSED static bool runs_sve128(void) { return runs_sve(16); }
#endif

#endif
