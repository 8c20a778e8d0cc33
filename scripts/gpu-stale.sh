#!/bin/sh
# Warns of evidence in docs/evidence that was made from other sources or has failed steps. This is no failure, since only `make
# gpu-check` on a machine with a GPU can renew it. `gpu-stale.sh refuse`, for releases and pages of results, fails in these cases and
# if there is no evidence.
set -u
cd "$(dirname "$0")/.."
if ! ls docs/evidence/*.json >/dev/null 2>&1; then
    echo 'evidence: none yet; make gpu-check on a machine with a GPU makes it'
    [ "${1:-}" != refuse ]
    exit
fi
stale=$(python3 scripts/gpu-evidence.py stale docs/evidence "$(scripts/gpu-hash.sh)") || exit
if [ -z "$stale" ]; then
    echo 'evidence: made with these sources, and no step failed'
    exit 0
fi
rule='!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!'
printf '%s\n!! STALE EVIDENCE: it says nothing of these sources.\n' "$rule"
echo "$stale" | sed 's/^/!!   /'
printf '!! make gpu-check on a machine with a GPU, and commit docs/evidence.\n%s\n' "$rule"
[ "${1:-}" != refuse ]
