#!/bin/sh
# Does what docs/manual/new-method.md says in a copy of the tree, and checks the resulting method: the page's own blocks are the
# files and the changes.
set -eu
cd "$(dirname "$0")/.."
page=docs/manual/new-method.md
copy=build/new-method
rm -rf "$copy/tree"
mkdir -p "$copy/tree"
git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C "$copy/tree"
scripts/new-method-files.py "$page" "$copy/tree" "$copy/tree"
cmake -S "$copy/tree" --preset check -B "$copy/build" >"$copy/configure.log"
cmake --build "$copy/build" --target tamis_program >"$copy/build.log" || { cat "$copy/build.log" >&2; exit 1; }
for type in fp32 fp64 fp16 bf16; do
    tests/gpu/with.sh optimised "$copy" "$copy/build/tools/tamis/tamis" check tests/gpu/check.mtx --device opencl:0 --quick \
        --inner 37 --algorithm gpu-example --type "$type" >"$copy/$type.log" || { cat "$copy/$type.log"; exit 1; }
    echo "$type: $(tail -1 "$copy/$type.log")"
done
