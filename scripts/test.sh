#!/bin/sh
# Runs all that CI runs, in some twelve minutes on two cores, and prints each step with its time and at last the counts of all tests.
# A failed build ends it. test-long.sh has the longer tests, and check.sh those to run while working.
cd "$(dirname "$0")/.." || exit
. scripts/test-steps.sh

step 'format and static checks'
beside aarch64 scripts/test-aarch64.sh # while one process configures or links alone
# kernels of the best instruction set that runs here are compiled as for users, the others quickly, unlike in
# test-long.sh
inlined='v3;neon;generic'
pairs=bf16
! grep -qsw avx512_bf16 /proc/cpuinfo || pairs=bf16_pairs
! grep -qsw avx512vl /proc/cpuinfo || inlined="v4_f32;v4_f64;v4_f16;v4_$pairs;v4_dense_f32;v4_dense_f64"
TARGET=tamis_kernel_tests build release -DBUILD_TESTING=ON "-DTAMIS_CPU_INLINE=$inlined"
check lint scripts/lint.sh quick

step 'release: quick and medium tests, but those of files and structure'
suite release 'quick|medium' host

step 'AddressSanitizer and UndefinedBehaviorSanitizer: quick tests'
beside docs scripts/docs.sh
build asan
TAMIS_TEST_BRIEF=1 UBSAN_OPTIONS=print_stacktrace=1 suite asan quick release # shortened, as they just ran in full

step 'ThreadSanitizer: tests where threads share something'
TARGET=tamis_thread_tests build tsan
TAMIS_TEST_BRIEF=1 suite tsan threads

step 'aarch64: the kernels of NEON and SVE against the oracle, under emulation'
check aarch64 besides aarch64

step 'the manual'
check docs besides docs

step 'evidence from GPUs'
scripts/gpu-stale.sh

finish '12 min on two cores that do nothing else, nothing built or cached before'
