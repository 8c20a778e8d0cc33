#!/bin/sh
# Does what docs/manual/new-method.md says in a copy of the tree, and checks the method that comes of it: the page's own
# blocks are the files.
set -eu
cd "$(dirname "$0")/.."
page=docs/manual/new-method.md
copy=build/new-method
rm -rf "$copy/tree"
mkdir -p "$copy/tree"
git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C "$copy/tree"
awk -v to="$copy/tree" '
    /^`src\/gpu\/.*`:$/ { file = to "/" substr($0, 2, length($0) - 3); next }
    /^```c$/ && file != "" { folder = file; sub("/[^/]*$", "", folder); system("mkdir -p " folder); writing = 1; next }
    /^```$/ && writing { close(file); writing = 0; file = ""; next }
    writing { print > file }' "$page"
sed -i 's/    tamis_gpu_two_steps;/    tamis_gpu_two_steps, tamis_gpu_example;/' "$copy/tree/src/gpu/methods.h"
sed -i 's/    &tamis_gpu_two_steps,/&\n    \&tamis_gpu_example,/' "$copy/tree/src/gpu/algorithms.c"
cmake -S "$copy/tree" --preset check -B "$copy/build" >"$copy/configure.log"
cmake --build "$copy/build" --target tamis_program >"$copy/build.log" || { cat "$copy/build.log" >&2; exit 1; }
for type in fp32 fp64 fp16 bf16; do
    tests/gpu/with.sh optimised "$copy" "$copy/build/tools/tamis/tamis" check tests/gpu/check.mtx --device opencl:0 --quick \
        --inner 37 --algorithm gpu-example --type "$type" >"$copy/$type.log" || { cat "$copy/$type.log"; exit 1; }
    echo "$type: $(tail -1 "$copy/$type.log")"
done
