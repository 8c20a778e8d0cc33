#!/bin/sh
# Compares every algorithm with the naive loop, in one run: bench.sh PROGRAM [FILE...]. Without files it uses the matrices in
# the folders of TAMIS_MATRIX_PATH (colon-separated), or else the demo's matrices and generated stand-ins.
set -eu
program=$1
shift
out=${OUT:-build/bench.jsonl}
if [ $# -eq 0 ] && [ -n "${TAMIS_MATRIX_PATH:-}" ]; then
    list=$(echo "$TAMIS_MATRIX_PATH" | tr ':' '\n' | while read -r folder; do
        find "$folder" -type f \( -name '*.mtx*' -o -name '*.npz' -o -name '*.smtx*' -o -name '*.graph*' -o -name '*.rsa*' \) | sort
    done)
    # shellcheck disable=SC2086
    set -- $list
fi
if [ $# -eq 0 ]; then
    set -- generate:fem:rows=52329,nnz=2600000 generate:uniform:rows=8192,density=0.1 generate:rmat:rows=65536,nnz=1000000 \
        generate:window:rows=8192,band=256
fi
rm -f "$out"
"$program" bench "$@" --op "${OP:-sddmm,spmm,fused}" --inner "${INNER:-32,128,512}" --algorithm auto \
    --baseline naive --threads "${THREADS:-1,$(nproc)}" --repeat "${REPEAT:-9}" --json "$out"
# tables of the ratios to the naive loop and to the floor
! command -v python3 >/dev/null || python3 "$(dirname "$0")/speed-table.py" "$out"
echo
echo "one line of JSON a measurement: $out"
