#!/bin/sh
# Does what docs/manual/new-method.md says in a copy of the tree, and checks the CPU's method by a library that compiles quickly,
# which PROGRAM loads: test-new-cpu-method.sh FOLDER PROGRAM
set -eu
cd "$(dirname "$0")/.."
folder=$1
tree=$folder/tree
rm -rf "$tree"
mkdir -p "$tree"
tar -cf - CMakeLists.txt CMakePresets.json LICENSE README.md cmake include lab src | tar -xf - -C "$tree"
scripts/new-method-files.py docs/manual/new-method.md "$tree" "$tree"
{ cmake -S "$tree" --preset release -B "$folder/build" -DCMAKE_C_FLAGS_RELEASE=-O0 -DTAMIS_CPU_INLINE=OFF '-DTAMIS_CPU_ISA=v2;neon' \
    -DTAMIS_PROGRAM=OFF -DTAMIS_MPI=OFF -DBUILD_TESTING=OFF &&
    cmake --build "$folder/build" --target tamis_shared; } >"$folder/build.log" 2>&1 || { tail -40 "$folder/build.log"; exit 1; }
export LD_LIBRARY_PATH="$folder/build/src" TAMIS_PROBE=0
for type in fp32 fp64 fp16 bf16; do
    "$2" check tests/gpu/check.mtx --device cpu --quick --inner 37 --algorithm cpu-example --type "$type" >"$folder/$type.log" ||
        { cat "$folder/$type.log"; exit 1; }
    echo "$type: $(tail -1 "$folder/$type.log")"
done
