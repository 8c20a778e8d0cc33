#!/bin/sh
# Measures how much the sparse kernels speed up applications: applications.sh PROGRAM [DEVICE [OTHERS]] trains each model with the
# plans' own choice and with other algorithms in turn, and prints a line of Markdown for each. OTHERS are the algorithms to compare
# with (naive on the CPU; on a GPU three with commas between, for SDDMM, SpMM and fused:
# study-nnz-threads,study-spmm-row,study-fused-back-to-back).
#   RATINGS, DOCUMENTS  data; generated unless set, with NONZEROS each (2000k and 1500k)
#   ITERATIONS (10)     RUNS (3): the fastest run counts
set -eu
program=$1
device=${2:-cpu}
others=${3:-naive}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${RATINGS:-}" ]; then
    RATINGS=$work/ratings.npz
    "$program" generate rmat --rows 20000 --cols 4000 --nnz "${NONZEROS:-2000k}" --seed 5 -o "$RATINGS" --quiet
fi
if [ -z "${DOCUMENTS:-}" ]; then
    DOCUMENTS=$work/documents.npz
    "$program" generate rmat --rows 20000 --cols 8000 --nnz "${NONZEROS:-1500k}" --pattern --seed 6 -o "$DOCUMENTS" --quiet
fi
echo '| model | K | an iteration, s | SDDMM | SpMM | fused | speed-up |'
echo '|---|---|---|---|---|---|---|'
for method in als implicit-als ccd sfa lda gap; do
    case $method in lda | gap) data=$DOCUMENTS ;; *) data=$RATINGS ;; esac
    for factors in 32 128; do
        for run in $(seq "${RUNS:-3}"); do
            for algorithms in '' "$others"; do
                "$program" train "$method" "$data" -o "$work/model" --factors "$factors" --iterations "${ITERATIONS:-10}" --no-loss --quiet \
                    --device "$device" ${algorithms:+--algorithms "$algorithms"} --json "$work/${algorithms:-own}.$run.jsonl"
            done
        done
        awk -v method="$method" -v factors="$factors" '
            function field(name,   at) { at = match($0, "\"" name "\": [0-9.e+-]+"); return at ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) + 0 : -1 }
            /"iteration":/ && field("sddmm_share") >= 0 && field("iteration") > 1 {
                s = field("seconds"); own = FILENAME ~ /own\.[0-9]+\.jsonl$/
                if (!(own in least) || s < least[own]) {
                    least[own] = s
                    if (own) { sddmm = field("sddmm_share"); spmm = field("spmm_share"); fused = field("fused_share") }
                }
            }
            END { printf "| %s | %d | %.4f | %.0f %% | %.0f %% | %.0f %% | %.2f |\n", method, factors, least[1], 100 * sddmm, 100 * spmm, 100 * fused, least[0] / least[1] }
        ' "$work"/*.jsonl
        rm -f "$work"/*.jsonl
    done
done
