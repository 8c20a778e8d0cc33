#!/bin/sh
# Each model trained from a real file on a device and on the CPU, and once more on the device with kill -9 in the middle and --resume,
# which must give the same bytes: models.sh PROGRAM DEVICE OUT.jsonl. Prints a table. On what of these is named:
#   JESTER=jester5k.mtx  MSWEB=visits.csv  KOS=docword.kos.txt[.gz]  AP=ap.dat
#   ITERATIONS (20), KILLED_ITERATIONS (100): of a training that is killed
set -eu
program=$1 device=$2 out=$3
# shellcheck source=lab/bench/lines.sh
. "$(dirname "$0")/lines.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
: >"$out"

train() { "$program" train "$method" "$data" "$width" 32 --seed 1 --hold-out 0.1 --quiet "$@"; }

echo '| model | data | device | an iteration, ms | SDDMM | SpMM | fused | loss | held out | after kill -9 |'
echo '|---|---|---|---|---|---|---|---|---|---|'
one() {
    method=$1 name=$2 data=$3 width=--factors
    [ -n "$data" ] || return 0
    case $method in lda | gap) width=--topics ;; esac
    train --device "$device" --iterations 2 -o "$work/first" # kernels are compiled
    for where in "$device" $([ "$device" = cpu ] || echo cpu); do
        rm -f "$work/run.jsonl"
        train --device "$where" --iterations "${ITERATIONS:-20}" -o "$work/model" --json "$work/run.jsonl"
        sed "s/^{/{\"data\": \"$name\", \"model\": \"$method\", \"on\": \"$where\", /" "$work/run.jsonl" >>"$out"
        same=
        if [ "$where" = "$device" ]; then
            same=$(compare)
            case $same in 'the same bytes after'*) ;; *) failures=$((failures + 1)) ;; esac
            echo "{\"data\": \"$name\", \"model\": \"$method\", \"on\": \"$where\", \"killed\": \"$same\"}" >>"$out"
        fi
        awk -v model="$method" -v data="$name" -v where="$where" -v median="$(median "$work/run.jsonl")" -v same="$same" \
            -v sddmm="$(number sddmm_share "$work/run.jsonl")" -v spmm="$(number spmm_share "$work/run.jsonl")" \
            -v fused="$(number fused_share "$work/run.jsonl")" -v loss="$(number loss "$work/run.jsonl")" \
            -v metric="$(number metric "$work/run.jsonl")" 'BEGIN {
            printf "| %s | %s | %s | %.3g | %.0f %% | %.0f %% | %.0f %% | %.6g | %.6g | %s |\n", model, data, where, 1000 * median,
                100 * sddmm, 100 * spmm, 100 * fused, loss, metric, same }'
    done
}

iterations() { if [ -e "$work/killed.jsonl" ]; then grep -c '"iteration":' "$work/killed.jsonl" || :; else echo 0; fi; }

# A training that is killed once it has a few iterations, and goes on, beside one that was left alone; of twice as many
# iterations where it was too quick for that.
compare() {
    count=${KILLED_ITERATIONS:-100}
    for _ in 1 2 3 4 5; do
        rm -f "$work"/killed* "$work/whole"
        set -- --device "$device" --iterations "$count" --checkpoint-seconds 0
        "$program" train "$method" "$data" "$width" 32 --seed 1 --hold-out 0.1 --quiet "$@" -o "$work/killed" --json "$work/killed.jsonl" &
        running=$!
        while kill -0 $running 2>/dev/null && [ "$(iterations)" -lt 5 ]; do sleep 0.01; done
        kill -9 $running 2>/dev/null || :
        wait $running 2>/dev/null || :
        if [ -e "$work/killed" ]; then
            count=$((2 * count))
            continue
        fi
        done=$(iterations)
        train "$@" -o "$work/whole"
        train "$@" -o "$work/killed" --resume
        if cmp -s "$work/whole" "$work/killed"; then echo "the same bytes after $done of $count"; else echo 'other bytes'; fi
        return
    done
    echo 'was over before it could be killed'
}

one als jester "${JESTER:-}"
one ccd jester "${JESTER:-}"
one sfa jester "${JESTER:-}"
one implicit-als msweb "${MSWEB:-}"
one lda kos "${KOS:-}"
one gap kos "${KOS:-}"
one lda ap "${AP:-}"
one gap ap "${AP:-}"
[ "$failures" -eq 0 ]
