#!/bin/sh
# Follows the pages on adding a method, a model and a format in a copy of the tree, with the files and changes from the pages' own code
# blocks, and uses the result.
set -eu
cd "$(dirname "$0")/.."
copy=build/new-method
rm -rf "$copy/tree"
mkdir -p "$copy/tree"
git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C "$copy/tree"
for what in method model format; do
    scripts/new-method-files.py "docs/manual/new-$what.md" "$copy/tree" "$copy/tree"
done
cmake -S "$copy/tree" --preset check -B "$copy/build" >"$copy/configure.log"
cmake --build "$copy/build" --target tamis_program >"$copy/build.log" || { cat "$copy/build.log" >&2; exit 1; }
for type in fp32 fp64 fp16 bf16; do
    for device in cpu opencl:0; do
        method=gpu-example
        [ $device != cpu ] || method=cpu-example
        tests/gpu/with.sh optimised "$copy" "$copy/build/tools/tamis/tamis" check tests/gpu/check.mtx --device $device --quick \
            --inner 37 --algorithm $method --type "$type" >"$copy/$type.log" || { cat "$copy/$type.log"; exit 1; }
        echo "$method, $type: $(tail -1 "$copy/$type.log")"
    done
done
tamis=$copy/build/tools/tamis/tamis
printf '3 4 5\n0 0 5\n0 1 4\n1 0 3\n1 2 1\n2 3 2\n' >"$copy/small.coo"
"$tamis" info "$copy/small.coo" >"$copy/format.log" || { cat "$copy/format.log"; exit 1; }
"$tamis" train means "$copy/small.coo" -o "$copy/small.model" >"$copy/model.log" || { cat "$copy/model.log"; exit 1; }
"$tamis" recommend "$copy/small.model" 0 --seen "$copy/small.coo" --top 1
