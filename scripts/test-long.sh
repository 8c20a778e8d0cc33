#!/bin/sh
# Runs the tests that take hours: the long tier, every width on OpenCL, every instruction set under the sanitizers, fuzzing for
# minutes, and the static analyser at full depth.
cd "$(dirname "$0")/.." || exit
. scripts/test-steps.sh
export TAMIS_TEST_WHOLE=1

step 'format and static checks at full depth'
build release -DBUILD_TESTING=ON -DTAMIS_CPU_INLINE=ON
check lint scripts/lint.sh

step 'release: all tests, groups of processes too'
check mpi scripts/install-dependencies.sh mpi
build release -DBUILD_TESTING=ON -DTAMIS_CPU_INLINE=ON -DTAMIS_MPI=ON
suite release 'quick|medium|long'

for preset in asan tsan ndebug; do
    step "$preset: quick and medium tests, every instruction set"
    build $preset -DTAMIS_CPU_ISA= -DTAMIS_SANITIZE_TESTS=ON
    UBSAN_OPTIONS=print_stacktrace=1 suite $preset 'quick|medium'
    [ $preset != asan ] || UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 check draws build/asan/tests/tamis_test_operations --draw 60
done

step 'aarch64: NEON, and SVE of 128, 256 and 512 bits, in every arrangement'
check aarch64 scripts/test-aarch64.sh --all

step 'the manual: a new GPU method, as its page says'
check new-method scripts/test-new-method.sh

step 'the manual: a new edge, as its page says'
check new-edge scripts/test-new-edge.sh

step 'the build without the laboratory'
check lab-off sh -c "cmake --preset check -B build/lab-off -DTAMIS_LAB=OFF -DBUILD_TESTING=OFF >build/lab-off.log &&
    cmake --build build/lab-off >>build/lab-off.log"

step 'the Python package: its wheel beside PyTorch, long fuzzing'
check python sh -c 'TAMIS_FUZZ_EXAMPLES=5000 scripts/python.sh torch'

step 'the wheels for x86-64 and aarch64, and packages of conda'
check wheels scripts/wheels.sh

step 'fuzzing'
check fuzz scripts/fuzz.sh 120

finish
