#!/bin/sh
# Configures and builds a preset in build/<preset>, with little output: build.sh PRESET [cmake options]. TARGET limits
# what is built.
set -eu
preset=$1
shift
folder=build/$preset
mkdir -p "$folder"
log=$folder/configure.log
cmake --preset "$preset" "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
log=$folder/build.log
start=$(date +%s)
[ ! -t 1 ] || printf 'building %s ...' "$preset"
cmake --build "$folder" ${JOBS:+-j "$JOBS"} ${TARGET:+--target "$TARGET"} >"$log" 2>&1 || { echo; cat "$log" >&2; exit 1; }
[ ! -t 1 ] || printf '\r'
echo "built $preset in $(($(date +%s) - start)) s"
