#!/bin/sh
# An iteration of the models that fit on groups, on several devices and on the first of them alone, in turn:
# group-models.sh PROGRAM DEVICES OUT.jsonl. Prints a table; the lines of `tamis train --json` are added to OUT.jsonl, each with
# its devices. MATRICES is a folder for the data, which are made once.
#   NNZ (60M), ROWS (2000000), COLUMNS (200000)   of a power law
#   MODELS ("als implicit-als"), FACTORS (64), ITERATIONS (12), TURNS (2)
set -eu
[ $# -eq 3 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 devices=$2 out=$3
# shellcheck source=lab/bench/lines.sh
. "$(dirname "$0")/lines.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=${MATRICES:-$work}
mkdir -p "$folder"

# ratings for als and pairs for implicit-als, in parallel, since a generator uses one core
jobs=
for model in ${MODELS:=als implicit-als}; do
    file=$folder/$model-${NNZ:=60M}.npz pattern=
    [ "$model" = als ] || pattern=--pattern
    [ -e "$file" ] ||
        { "$program" generate rmat --rows "${ROWS:-2000000}" --cols "${COLUMNS:-200000}" --nnz "$NNZ" $pattern --quiet -o "$file" & jobs="$jobs $!"; }
done
for job in $jobs; do wait "$job"; done

echo '| model | nonzeros | one, ms an iteration | all, ms | speed-up | loss of one | of all |'
echo '|---|---|---|---|---|---|---|'
for model in $MODELS; do
    weights=
    [ "$model" = als ] || weights='--weights ones' # no inner split, which takes longer than the iterations
    for turn in $(seq "${TURNS:-2}"); do
        for where in "${devices%%,*}" "$devices"; do
            if [ "$where" = "$devices" ]; then on=all placed="--devices $where --spread always"; else on=one placed="--device $where"; fi
            json=$work/$model-$turn-$on
            # shellcheck disable=SC2086 # words are options
            "$program" train "$model" "$folder/$model-$NNZ.npz" --factors "${FACTORS:-64}" --iterations "${ITERATIONS:-12}" --seed 1 \
                --regularization 0.1 $weights $placed --quiet -o "$work/model" --json "$json"
            sed "s/^{/{\"on\": \"$where\", \"turn\": $turn, /" "$json" >>"$out"
            rm -f "$work/model"
        done
    done
    one=$(median "$work/$model"-*-one) all=$(median "$work/$model"-*-all)
    awk -v model="$model" -v nnz="$NNZ" -v one="$one" -v all="$all" -v loss="$(number loss "$work/$model-1-one")" -v losses="$(number loss "$work/$model-1-all")" \
        'BEGIN { printf "| %s | %s | %.4g | %.4g | %.2f | %s | %s |\n", model, nnz, 1000 * one, 1000 * all, one / all, loss, losses }'
done
