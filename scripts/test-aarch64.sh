#!/bin/sh
# Builds for aarch64 and checks the NEON and SVE kernels against the oracle under emulation: every algorithm, edge and type on small
# matrices with empty rows, hubs and odd K; and the dense operations, by their row. It runs on one thread, as emulation is slow,
# and does not test compressed files, which do not depend on the processor.
# test-aarch64.sh [--all]: by default it compiles with little optimisation, except the dense operations, and tests NEON in one arrangement
# and SVE at 256 bits with fewer widths. --all compiles as for users, in every arrangement, with SVE at 128, 256 and 512 bits.
set -eu
if [ "${1:-}" = --all ]; then
    arrangements=
    lengths='128 256 512'
    widths=
    set -- -DTAMIS_CPU_INLINE=ON -DTAMIS_CPU_ISA= -DCMAKE_C_FLAGS_RELEASE='-O3 -DNDEBUG'
else
    arrangements=--quick
    lengths=256
    widths='--inner 3,37'
    # the compiler vectorises the dense operations only with the optimisation for users
    set -- '-DTAMIS_CPU_INLINE=sve256_dense_f32;sve256_dense_f64;neon_dense_f32;neon_dense_f64' '-DTAMIS_CPU_ISA=sve256;neon' -DCMAKE_C_FLAGS_RELEASE=-Og
fi
cd "$(dirname "$0")/.."
folder=build/aarch64
mkdir -p "$folder"
cmake -S . -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake -DCMAKE_BUILD_TYPE=Release -DTAMIS_WARNINGS_ARE_ERRORS=ON -DTAMIS_LAB=ON "$@" \
    -DBUILD_TESTING=OFF -DTAMIS_WITH_ZLIB=OFF -DTAMIS_WITH_LZMA=OFF -DTAMIS_WITH_ZSTD=OFF \
    >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; exit 1; }
cmake --build "$folder" --target tamis_program tamis_static >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }
# there is no cmocka for aarch64; a header replaces it
aarch64-linux-gnu-gcc -std=gnu17 -O1 -Itests/aarch64 -Itests -Isrc -Iinclude -I"$folder/include" tests/operations/dense.c tests/support/[b-v]*.c \
    -o "$folder/rows" "$folder/src/libtamis.a" -lm -pthread
# emulate BITS PROGRAM ARGUMENT...: runs on a processor whose SVE registers have BITS bits
emulate() {
    bits=$1
    shift
    qemu-aarch64-static -cpu "max,sve-default-vector-length=$((bits / 8))" -L /usr/aarch64-linux-gnu "$@"
}
run() {
    bits=$1
    shift
    emulate "$bits" "$folder/tools/tamis/tamis" "$@"
}
export TAMIS_PROBE=0 OMP_NUM_THREADS=1
least=$(sed -n 's/^least aarch64 *//p' tests/expected.txt)
run 512 generate rmat --rows 300 --nnz 2500 --seed 3 -o "$folder/rmat.mtx" >/dev/null
result=0
# the kernels of one instruction set: NAME BITS OPTION...
check() {
    log=$folder/check-$1.log
    export TAMIS_CPU_ISA="$1"
    bits=$2
    shift 2
    run "$bits" check "$folder/rmat.mtx" $arrangements "$@" >"$log" || result=$?
    grep -v ' 0 failed' "$log" | head -40
    echo "$TAMIS_CPU_ISA: $(tail -1 "$log")"
    checks=$(tail -1 "$log" | sed -n 's/^\([0-9]*\) passed.*/\1/p')
    if [ "${checks:-0}" -lt "$least" ]; then
        echo "test-aarch64.sh: ${checks:-no} checks passed, at least $least are expected (tests/expected.txt)"
        result=1
    fi
}
check neon 128
for bits in $lengths; do
    check "sve$bits" "$bits" $widths
    # this test goes through all instruction sets itself, also NEON
    (unset TAMIS_CPU_ISA && TAMIS_TEST_BRIEF=1 emulate "$bits" "$folder/rows" dense) || result=1
done
# no SVE kernels exist for this register length: the NEON kernels must run
unset TAMIS_CPU_ISA
if ! run 1024 devices --no-ceilings | grep -q 'instruction set  *neon'; then
    echo 'test-aarch64.sh: SVE of 1024 bits does not take the NEON kernels'
    result=1
fi
exit $result
