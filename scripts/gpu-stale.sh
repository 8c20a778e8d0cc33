#!/bin/sh
# Says loudly which evidence of docs/evidence was made with other sources than these, or has failed steps. No failure, since
# there is no GPU here and `make gpu-check` on a machine that has one makes it anew; but `gpu-stale.sh refuse`, which releases
# and pages of results go through, fails, and fails where there is none.
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
