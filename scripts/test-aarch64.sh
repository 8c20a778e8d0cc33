#!/bin/sh
# Builds for aarch64 and checks the NEON kernels against the oracle under emulation: every algorithm, edge and type over
# small matrices with empty rows, hubs, odd K. Compressed files are left out, they need no second look. On one thread: emulation is slow
# enough. test-aarch64.sh [--all]: compiled quickly, in one arrangement; with --all
# compiled as for users, in every arrangement.
set -eu
if [ "${1:-}" = --all ]; then
    arrangements=
    set -- -DTAMIS_CPU_INLINE=ON -DCMAKE_C_FLAGS_RELEASE='-O3 -DNDEBUG'
else
    arrangements=--quick
    set -- -DTAMIS_CPU_INLINE=OFF -DCMAKE_C_FLAGS_RELEASE=-Og
fi
cd "$(dirname "$0")/.."
folder=build/aarch64
mkdir -p "$folder/headers"
# Random123 is headers only; alone in a folder, it does not bring this machine's other headers along
ln -sfn /usr/include/Random123 "$folder/headers/Random123"
cmake -S . -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake -DCMAKE_BUILD_TYPE=Release -DTAMIS_WARNINGS_ARE_ERRORS=ON -DTAMIS_LAB=ON "$@" \
    -DBUILD_TESTING=OFF -DTAMIS_WITH_ZLIB=OFF -DTAMIS_WITH_LZMA=OFF -DTAMIS_WITH_ZSTD=OFF \
    -DTAMIS_RANDOM123_INCLUDE="$PWD/$folder/headers" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; exit 1; }
cmake --build "$folder" >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }
run() { qemu-aarch64-static -L /usr/aarch64-linux-gnu "$folder/tools/tamis/tamis" "$@"; }
export TAMIS_PROBE=0 OMP_NUM_THREADS=1
least=$(sed -n 's/^least aarch64 *//p' tests/expected.txt)
run generate rmat --rows 300 --nnz 2500 --seed 3 -o "$folder/rmat.mtx" >/dev/null
result=0
run check "$folder/rmat.mtx" $arrangements >"$folder/check.log" || result=$?
[ $result -eq 0 ] || grep -v ' 0 failed' "$folder/check.log" | head -40
tail -1 "$folder/check.log"
checks=$(tail -1 "$folder/check.log" | sed -n 's/^\([0-9]*\) passed.*/\1/p')
if [ "${checks:-0}" -lt "$least" ]; then
    echo "test-aarch64.sh: ${checks:-no} checks passed, at least $least are expected (tests/expected.txt)"
    result=1
fi
exit $result
