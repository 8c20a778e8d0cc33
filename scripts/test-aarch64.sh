#!/bin/sh
# Builds for aarch64 and checks the NEON kernels against the oracle under emulation: every algorithm, edge and type over
# small matrices with empty rows, hubs, odd K. Compressed files are left out, they need no second look.
set -eu
cd "$(dirname "$0")/.."
folder=build/aarch64
mkdir -p "$folder/headers"
# Random123 is headers only; alone in a folder, it does not bring this machine's other headers along
ln -sfn /usr/include/Random123 "$folder/headers/Random123"
cmake -S . -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_TESTING=OFF -DTAMIS_WITH_ZLIB=OFF -DTAMIS_WITH_LZMA=OFF -DTAMIS_WITH_ZSTD=OFF \
    -DTAMIS_RANDOM123_INCLUDE="$PWD/$folder/headers" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; exit 1; }
cmake --build "$folder" >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }
run() { qemu-aarch64-static -L /usr/aarch64-linux-gnu "$folder/tools/tamis/tamis" "$@"; }
export TAMIS_PROBE=0
run devices
run generate rmat --rows 300 --nnz 2500 --seed 3 -o "$folder/rmat.mtx" >/dev/null
run check "$folder/rmat.mtx"
