#!/bin/sh
# Strong scaling: several devices against the first of them alone, on matrices of four kinds.
#   scripts/strong-scaling.sh PROGRAM DEVICES OUT.jsonl [small|full]
#   scripts/strong-scaling.sh build/release/tools/tamis/tamis cuda:0,cuda:1 scaling.jsonl
# Lines of JSON are added to OUT.jsonl (record "scaling" of docs/manual/json.md); tables and the geometric means go to standard
# output. One operation after another on all matrices, so that what was measured until an interruption is of use. SECONDS_A_CASE
# (0.5), OPERATIONS ("sddmm spmm fused"), INNER (32,128,512), TYPE (fp32) and OVERLAP (auto) change what is measured; MATRICES is a
# folder for the matrices, which are made once.
set -eu
[ $# -ge 3 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 devices=$2 out=$3 tier=${4:-full}
folder=${MATRICES:-$(mktemp -d)}
[ -n "${MATRICES:-}" ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"

case $tier in
full)
    docs="rmat --rows 299752 --cols 102660 --nnz 20M" graph="rmat --rows 262144 --nnz 16M"
    mesh="fem --rows 503712 --nnz 36M --block 3" dense="uniform --rows 32768 --cols 8192 --density 0.2"
    ;;
small)
    docs="rmat --rows 3000 --cols 1000 --nnz 100k" graph="rmat --rows 2048 --nnz 60k"
    mesh="fem --rows 6000 --nnz 400k --block 3" dense="uniform --rows 1024 --cols 256 --density 0.2"
    ;;
*)
    echo "$0: $tier is neither small nor full" >&2
    exit 2
    ;;
esac

# in parallel, since a generator uses one core
jobs=
for matrix in "docs $docs" "graph $graph" "mesh $mesh" "dense $dense"; do
    file=$folder/${matrix%% *}-$tier.npz
    # shellcheck disable=SC2086 # words are options
    [ -e "$file" ] || { "$program" generate ${matrix#* } --pattern --quiet -o "$file" & jobs="$jobs $!"; }
done
for job in $jobs; do wait "$job"; done

code=0
for operation in ${OPERATIONS:-sddmm spmm fused}; do
    echo "== $operation on $devices"
    "$program" bench "$folder/docs-$tier.npz" "$folder/graph-$tier.npz" "$folder/mesh-$tier.npz" "$folder/dense-$tier.npz" \
        --devices "$devices" --op "$operation" --inner "${INNER:-32,128,512}" --type "${TYPE:-fp32}" --values random \
        --overlap "${OVERLAP:-auto}" --seconds "${SECONDS_A_CASE:-0.5}" --json "$out" || code=$?
    [ $code -le 1 ] || exit $code # 1: a result was wrong, which the table shows
done
awk -F'"speedup": ' '/"record": "scaling"/ { split($2, part, /[,}]/); if (part[1] > 0) { sum += log(part[1]); n++ } }
    END { if (n) printf "speed-up of %d cases in the file: geometric mean %.2f\n", n, exp(sum / n) }' "$out"
exit $code
