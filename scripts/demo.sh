#!/bin/sh
# Runs the main operations on real input: demo.sh [FILE...]. Without files it uses three meshes of Debian's libmetis-doc and a
# generated R-MAT graph, a stand-in for a social network. It uses the build of `make` if there is one. Otherwise it builds build/demo
# in a minute, which optimises only the fp32 kernels for this processor.
set -eu
build=build/release
if [ ! -e build/release/tools/tamis/tamis ] && [ "$(uname -m)" = x86_64 ]; then
    build=build/demo
    scripts/build.sh demo -DTAMIS_CPU_ISA=native -DTAMIS_CPU_INLINE=native_f32
else
    scripts/build.sh release
fi
program=$build/tools/tamis/tamis
data=build/demo-data
mkdir -p "$data"

fetch_meshes() {
    [ -f "$data/mdual.graph" ] && [ -f "$data/copter2.graph" ] && [ -f "$data/4elt.graph" ] && return
    echo 'Fetching the mesh graphs mdual, copter2 and 4elt from Debian package libmetis-doc (unpacked here, not installed)'
    (
        cd "$data"
        apt-get download -q libmetis-doc >download.log 2>&1 || {
            if [ "$(id -u)" -eq 0 ]; then apt-get update -q >/dev/null; else sudo apt-get update -q >/dev/null; fi
            apt-get download -q libmetis-doc >download.log 2>&1 || { cat download.log >&2; exit 1; }
        }
        dpkg-deb -x libmetis-doc_*.deb unpacked
        for name in mdual copter2 4elt; do
            find unpacked -name "$name.graph" -exec cp {} . \;
        done
        rm -rf unpacked libmetis-doc_*.deb
    )
}

if [ $# -eq 0 ]; then
    fetch_meshes
    if [ ! -f "$data/rmat-standin.npz" ]; then
        "$program" generate rmat --rows 65536 --nnz 1000000 --seed 1 -o "$data/rmat-standin.npz" >/dev/null
    fi
    set -- "$data/mdual.graph" "$data/copter2.graph" "$data/4elt.graph" "$data/rmat-standin.npz"
fi

rule() { printf '\n== %s\n\n' "$*"; }

rule 'The machine'
"$program" devices
for file in "$@"; do
    rule "$(basename "$file")"
    "$program" info "$file"
done
rule 'SDDMM, SpMM and fused at K = 128: each result checked against the oracle (error), its speed,' \
    'the time over the floor of this machine (x floor), and over the naive loop (x naive)'
"$program" bench "$@" --op sddmm,spmm,fused --inner 128 --algorithm auto --baseline naive --repeat 9
rule "Why: what a plan says of $(basename "$1")"
"$program" explain "$1" --inner 128
